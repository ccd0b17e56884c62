import type { EpochMs } from '../../lib/time.ts';
import { ObjectStore } from '../kubernetes/object-store.ts';
import type { Agenda } from './agenda.ts';
import type { AutoScalingGroups } from './auto-scaling-groups.ts';
import type { Nodegroup } from './eks-server.ts';
import { type FleetSettings, Fleets } from './fleets.ts';
import { runGameServers } from './game-servers.ts';
import { Machines } from './machines.ts';
import { runPodGc } from './pod-gc.ts';
import { Referee, type Verdicts } from './referee.ts';
import type { GroupSettings, ScalingGroup } from './scaling-group.ts';
import { Scene } from './scene.ts';
import type { Timings } from './timings.ts';

export interface NodegroupSettings extends Omit<GroupSettings, 'cluster' | 'nodegroup'> {
  /** Name of its Auto Scaling group. Default `eks-<name>`. */
  readonly group?: string;
  /** Default ACTIVE. */
  readonly status?: string;
  /** Default ON_DEMAND. */
  readonly capacityType?: Nodegroup['capacityType'];
  readonly labels?: Readonly<Record<string, string>>;
  readonly issues?: Nodegroup['issues'];
}

export interface ClusterSettings {
  readonly name: string;
  /** Default eu-central-1. */
  readonly region?: string;
  readonly nodegroups?: readonly NodegroupSettings[];
  /** Self-managed ones, whose machines join this cluster. */
  readonly autoScalingGroups?: readonly Omit<GroupSettings, 'cluster' | 'nodegroup'>[];
  readonly fleets?: readonly FleetSettings[];
  /** Game pods that a node has room for. Default 4. */
  readonly gameServersPerNode?: number;
  /** Whether the name of a node that is gone is the next one's. Default false. */
  readonly reuseNames?: boolean;
}

export interface ClusterWorld {
  readonly agenda: Agenda;
  readonly groups: AutoScalingGroups;
  readonly timings: Timings;
  readonly verdicts: Verdicts;
  /** Makes uids and generated names the same in every run. */
  readonly seed?: string | undefined;
}

/** Everything of one EKS cluster but its API: what is in it, and what happens to that. */
export class SimulatedCluster {
  readonly name: string;
  readonly region: string;
  readonly store: ObjectStore;
  readonly machines: Machines;
  readonly fleets: Fleets;
  readonly scene: Scene;
  readonly nodegroups = new Map<string, Nodegroup>();
  readonly #world: ClusterWorld;
  readonly #needs = new Map<string, () => number>();

  constructor(settings: ClusterSettings, world: ClusterWorld) {
    const { name, region = 'eu-central-1', gameServersPerNode = 4, reuseNames = false } = settings;
    const { agenda, groups, timings, verdicts, seed } = world;
    this.name = name;
    this.region = region;
    this.#world = world;
    let setTime: EpochMs | undefined;
    const clock = () => setTime ?? agenda.now();
    const store = new ObjectStore({ clock, ...(seed === undefined ? {} : { seed: `${seed}/${name}` }) });
    this.store = store;
    const machines = new Machines({ cluster: name, region, store, groups, agenda, timings, reuseNames });
    this.machines = machines;
    const needOf = (group: ScalingGroup) => this.#needOf(group);
    const referee = new Referee({ cluster: name, store, machines, groups, agenda, verdicts, needOf });
    const atTime = <T>(at: EpochMs | undefined, act: () => T): T => {
      setTime = at;
      try {
        return act();
      } finally {
        setTime = undefined;
      }
    };
    this.scene = new Scene({ store, machines, referee, atTime });
    this.fleets = new Fleets({ store, agenda });
    runPodGc({ store, agenda, podGcSeconds: timings.podGcSeconds });
    runGameServers({
      store,
      agenda,
      timings,
      perNode: gameServersPerNode,
      rulesOf: (server) => this.fleets.rulesOf(server),
      isRunning: (node) => machines.isRunning(node),
    });
    for (const one of settings.nodegroups ?? []) this.addNodegroup(one);
    for (const one of settings.autoScalingGroups ?? []) groups.add({ ...one, cluster: name });
    for (const one of settings.fleets ?? []) this.fleets.add(one);
  }

  addNodegroup(settings: NodegroupSettings): Nodegroup {
    const { group: named, status = 'ACTIVE', capacityType = 'ON_DEMAND', labels = {}, issues = [], ...rest } = settings;
    const { name, tags = {} } = rest;
    const group = this.#world.groups.add({
      ...rest,
      name: named ?? `eks-${name}`,
      cluster: this.name,
      nodegroup: name,
    });
    const nodegroup: Nodegroup = { name, status, capacityType, labels, tags, issues, group };
    this.nodegroups.set(name, nodegroup);
    return nodegroup;
  }

  /** Says how many usable nodes a group needs at most, where its GameServerNode does not tell. */
  expectNeed(group: string, need: () => number): void {
    this.#needs.set(group, need);
  }

  #needOf(group: ScalingGroup): number | undefined {
    return this.#needs.get(group.name)?.() ?? this.#largestTargetOf(group);
  }

  /** The largest number that the GameServerNode of a group can come to, whatever time it is. */
  #largestTargetOf({ name, nodegroup, min }: ScalingGroup): number | undefined {
    const own = this.store.list('gameservernodes').flatMap(({ spec }) => {
      const { nodegroup: wanted, autoScalingGroup } = spec?.config ?? {};
      const matches = autoScalingGroup === name || (wanted !== undefined && wanted === nodegroup);
      return matches ? [spec, ...(spec.schedules ?? []), ...(spec.overrides ?? [])] : [];
    });
    if (own.length === 0) return undefined;
    return Math.max(min, ...own.map(({ replicas }) => Number(replicas)));
  }
}
