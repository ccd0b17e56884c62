import type { EpochMs } from '../../lib/time.ts';
import type { KubeObject } from '../kubernetes/kube-object.ts';
import { Agenda } from './agenda.ts';
import { AutoScalingGroups } from './auto-scaling-groups.ts';
import { stateOf } from './cluster-objects.ts';
import { Verdicts } from './referee.ts';
import { type ClusterSettings, SimulatedCluster } from './simulated-cluster.ts';
import { DEFAULT_TIMINGS, type Timings } from './timings.ts';

/** What a simulated cluster stands on: time that passes when a test says so, groups, and the referee's verdicts. */
export class ClusterTestBed {
  now = Date.parse('2026-01-15T12:00:00Z') as EpochMs;
  readonly agenda = new Agenda({ clock: () => this.now, dynamics: true });
  readonly groups = new AutoScalingGroups(this.agenda);
  readonly verdicts = new Verdicts();
  readonly #timings: Timings;

  constructor(timings: Partial<Timings> = {}) {
    this.#timings = { ...DEFAULT_TIMINGS, ...timings };
  }

  clusterOf(settings: Partial<ClusterSettings> = {}): SimulatedCluster {
    const { agenda, groups, verdicts } = this;
    const world = { agenda, groups, timings: this.#timings, verdicts, seed: 's' };
    return new SimulatedCluster({ name: 'game', ...settings }, world);
  }

  /** A cluster of `size` nodes that have joined, all of one group. */
  running(size: number, settings: Partial<ClusterSettings> = {}): SimulatedCluster {
    const cluster = this.clusterOf({ nodegroups: [{ name: 'games', max: 20, desired: size }], ...settings });
    this.pass(120);
    return cluster;
  }

  pass(seconds: number): void {
    this.now = (this.now + seconds * 1000) as EpochMs;
    this.agenda.settle();
  }
}

export const nodes = ({ store }: SimulatedCluster) => store.list('nodes');
export const names = (objects: readonly KubeObject[]): string[] => objects.map(({ metadata }) => metadata.name);
/** States of the servers of the fleet `f`. */
export const states = ({ fleets }: SimulatedCluster): string[] => fleets.servers('f').map(stateOf);
/** The nodes that they run on. */
export const nodesOf = ({ fleets }: SimulatedCluster) => fleets.servers('f').map(({ status }) => status.nodeName);

/** The machine that runs behind the Node `node`. */
export function instanceOn(cluster: SimulatedCluster, node: string | undefined): string {
  const found = cluster.machines.list().find((machine) => machine.node === node && machine.running);
  if (found === undefined) throw new Error(`there is no machine of ${node}`);
  return found.instance;
}

export function cordon({ store }: SimulatedCluster, name: string): void {
  const node = store.get('nodes', name) as KubeObject;
  store.update('nodes', { ...node, spec: { ...node.spec, unschedulable: true } });
}
