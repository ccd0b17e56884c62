import type { Deed } from '../act/report.ts';
import type { ClusterSnapshot, Group, RegisteredNode, Whereabouts } from '../observation.ts';
import { BERTH_LABELS, compareMachine, isMachineOf } from './registration-spec.ts';

/**
 * What has become of a node that was registered and is not of the pool any more. Only what is `ended` loses its tasks.
 *
 * - ended: its machine is at its end, for certain.
 * - unsure: there is no node of it, and its machine may go on running; its end will show.
 * - unknown: the same, and nobody can be asked for its machine.
 * - elsewhere: the node is there.
 */
export type Fate = 'ended' | 'unsure' | 'unknown' | 'elsewhere';

export interface FateView {
  readonly snapshot: Pick<ClusterSnapshot, 'nodes'>;
  readonly deeds: readonly Deed[];
  /** Undefined: there is none that could be asked for. */
  readonly group?: Group;
  /** Of the machines of `strangersOf`, as far as somebody has answered. */
  readonly whereabouts: ReadonlyMap<string, Whereabouts>;
  /** Uids of nodes whose machines earlier ticks have ended. */
  readonly ended: readonly string[];
}

export function fateOf(registered: RegisteredNode, view: FateView): Fate {
  const { nodeId, labels } = registered;
  const instance = labels[BERTH_LABELS.instance];
  const node = view.snapshot.nodes.find(({ name }) => name === nodeId);
  if (node !== undefined && isMachineOf(registered, node)) {
    // The machine comes before the node: where the node was deleted, its machine's end is certain.
    return view.deeds.some((deed) => deed.kind === 'node-deleted' && deed.node === nodeId) ? 'ended' : 'elsewhere';
  }
  // By the machine: a name may have come to another one since.
  const isEnded = (deed: Deed) => deed.kind === 'machine-ended' && instance !== undefined && deed.instance === instance;
  if (view.deeds.some(isEnded) || view.ended.includes(labels[BERTH_LABELS.uid] ?? '')) return 'ended';
  const life = instance === undefined ? 'unknown' : machineFate(instance, view);
  // Two machines of one name are of one cluster one after the other.
  const isTaken = node !== undefined && compareMachine(registered, node) === 'other';
  return life === 'unknown' && isTaken ? 'ended' : life;
}

function machineFate(instance: string, { group, whereabouts }: FateView): Exclude<Fate, 'elsewhere'> {
  const state = group?.instances.get(instance);
  // One that is detached runs on.
  if (state !== undefined) return /^Terminat/.test(state) ? 'ended' : 'unsure';
  const where = whereabouts.get(instance);
  if (where === undefined) return 'unknown';
  return where === 'gone' ? 'ended' : 'unsure';
}

/** Machines whose end cannot be told from the group: it has none of them, and an object may have had another one before. */
export function strangersOf(
  registered: Iterable<RegisteredNode>,
  { snapshot, group }: Pick<FateView, 'snapshot' | 'group'>,
): string[] {
  const nodes = new Map(snapshot.nodes.map((node) => [node.name, node]));
  return [...registered].flatMap((one) => {
    const instance = one.labels[BERTH_LABELS.instance];
    const node = nodes.get(one.nodeId);
    if (instance === undefined || group?.instances.has(instance)) return [];
    return node !== undefined && isMachineOf(one, node) ? [] : [instance];
  });
}
