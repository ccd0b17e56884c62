import type { EpochMs } from '../../lib/time.ts';
import type { KubeObject } from '../kubernetes/kube-object.ts';
import type { Change, ObjectStore } from '../kubernetes/object-store.ts';
import type { Agenda } from './agenda.ts';
import type { AutoScalingGroups, EndCause } from './auto-scaling-groups.ts';
import { isBeingDeleted, isCordoned, isInUse, isRunningGame, stateOf } from './cluster-objects.ts';
import type { Machine, Machines } from './machines.ts';
import { type Instance, liveOf, type ScalingGroup } from './scaling-group.ts';

/** A session that ended because what it ran on went away. */
export interface KilledSession {
  readonly cluster: string;
  readonly server: string;
  readonly node: string;
  readonly at: EpochMs;
  readonly cause: string;
}

/** What has gone wrong in a world. */
export class Verdicts {
  /** What a request did that no request may do, each a sentence: what tests and the demo want to see empty. */
  readonly violations: string[] = [];
  /** All sessions that were lost, whosever fault it was: machines fail as well. */
  readonly killedSessions: KilledSession[] = [];
}

export interface RefereeSettings {
  readonly cluster: string;
  readonly store: ObjectStore;
  readonly machines: Machines;
  readonly groups: AutoScalingGroups;
  readonly agenda: Agenda;
  readonly verdicts: Verdicts;
  /** How many usable nodes a group is to have at the moment, at most; undefined: nobody knows. */
  needOf(group: ScalingGroup): number | undefined;
}

/** Causes that somebody has asked for; the others are the world's own. */
const ASKED_FOR: readonly (Machine['ending'] | undefined)[] = ['by id', 'by lowered desired capacity'];

/** Watches one cluster and its groups for what must not happen, and writes it down. */
export class Referee {
  readonly #settings: RefereeSettings;
  /** Uids of servers whose session is known to be lost. */
  readonly #lost = new Set<string>();
  #excused = false;

  constructor(settings: RefereeSettings) {
    this.#settings = settings;
    settings.store.onChange((change) => this.#changed(change));
    settings.machines.onOff((machine) => this.#machineOff(machine));
    settings.groups.listen({
      terminating: (group, instance, cause) => this.#terminating(group, instance, cause),
      raised: (group) => this.#raised(group),
    });
  }

  /** What happens in `act` is the world's own doing, and nobody's fault. */
  excuse<T>(act: () => T): T {
    const before = this.#excused;
    this.#excused = true;
    try {
      return act();
    } finally {
      this.#excused = before;
    }
  }

  #changed({ type, resource, object, previous }: Change): void {
    if (resource === 'gameservers') this.#serverChanged(type, object, previous);
    if (resource === 'nodes' && type === 'DELETED') this.#nodeDeleted(object);
    if (resource === 'pods' && type === 'DELETED') this.#podDeleted(previous ?? object);
  }

  #serverChanged(type: Change['type'], server: KubeObject, previous: KubeObject | undefined): void {
    if (previous === undefined || isBeingDeleted(previous) || !isInUse(previous)) return;
    if (type !== 'DELETED' && !isBeingDeleted(server)) return;
    if (stateOf(server) !== stateOf(previous)) return;
    const { name } = server.metadata;
    this.#blame(`game server ${name} was deleted in state ${stateOf(server)}`);
    this.#killed(server, 'it was deleted');
  }

  #nodeDeleted(node: KubeObject): void {
    const { machines } = this.#settings;
    const { name } = node.metadata;
    const machine = machines.of(node);
    if (machine !== undefined && !machine.running) return;
    const games = this.#gamesOn(name);
    if (games.length > 0) this.#blame(`Node ${name} was deleted with ${gamesText(games)}`);
  }

  #podDeleted(pod: KubeObject): void {
    if (!isRunningGame(pod) || isBeingDeleted(pod)) return;
    const server = this.#serverOf(pod);
    if (server !== undefined && isInUse(server) && !isBeingDeleted(server)) this.#killed(server, 'its pod was deleted');
  }

  #machineOff(machine: Machine): void {
    for (const pod of this.#gamesOn(machine.node)) {
      const server = this.#serverOf(pod);
      if (server === undefined || !isInUse(server) || isBeingDeleted(server)) continue;
      this.#killed(server, `its machine ${machine.instance} was ended ${machine.ending}`);
      if (ASKED_FOR.includes(machine.ending)) {
        this.#blame(`the session of ${server.metadata.name} was lost: ${machine.instance} was ended ${machine.ending}`);
      }
    }
  }

  #terminating(group: ScalingGroup, { id }: Instance, cause: EndCause): void {
    const machine = this.#settings.machines.get(id);
    if (group.cluster !== this.#settings.cluster || !machine?.running || !ASKED_FOR.includes(cause)) return;
    const games = this.#gamesOn(machine.node);
    if (games.length > 0)
      this.#blame(`instance ${id} of node ${machine.node} was ended ${cause} with ${gamesText(games)}`);
  }

  /** Instances that are no use any more, since their Node is cordoned or gone, may be replaced. */
  #raised(group: ScalingGroup): void {
    const { cluster, machines, store, needOf } = this.#settings;
    const need = needOf(group);
    if (group.cluster !== cluster || need === undefined) return;
    const spent = liveOf(group).filter(({ id }) => {
      const machine = machines.get(id);
      const node = machine && store.get('nodes', machine.node);
      return machine?.joined === true && (node === undefined || isCordoned(node));
    });
    const usable = group.desired - spent.length;
    if (usable > need) {
      this.#blame(
        `desired capacity of ${group.name} was raised to ${group.desired}, of which ${usable} are or become usable, and ${need} are needed`,
      );
    }
  }

  #gamesOn(node: string): KubeObject[] {
    return this.#settings.store.list('pods').filter((pod) => pod.spec?.nodeName === node && isRunningGame(pod));
  }

  #serverOf({ metadata }: KubeObject): KubeObject | undefined {
    return this.#settings.store.get('gameservers', metadata.name, metadata.namespace);
  }

  #blame(sentence: string): void {
    if (!this.#excused) this.#settings.verdicts.violations.push(`${this.#settings.cluster}: ${sentence}`);
  }

  #killed({ metadata, status }: KubeObject, cause: string): void {
    const { cluster, agenda, verdicts } = this.#settings;
    if (this.#lost.has(metadata.uid)) return;
    this.#lost.add(metadata.uid);
    const node = String(status?.nodeName ?? '');
    verdicts.killedSessions.push({ cluster, server: metadata.name, node, at: agenda.now(), cause });
  }
}

function gamesText(games: readonly KubeObject[]): string {
  return `${games.length} running game pods: ${games.map(({ metadata }) => metadata.name).join(', ')}`;
}
