import type { Pool, PoolNode } from '../pool/classes.ts';
import { victimsOf } from '../pool/order.ts';
import type { Scene } from '../pool/scene.ts';
import { NOTHING, type Part } from './intents.ts';

const NOT_TO_BE_SCALED_DOWN = 'cluster-autoscaler.kubernetes.io/scale-down-disabled';

/**
 * Cordons what is active beyond `target`. Machines that are pending are not part of the excess: they cannot be cordoned,
 * and come to be the natural choice once they have joined, being empty.
 */
export function planDown(scene: Scene, pool: Pool, target: number): Part {
  const active = pool.nodes.filter((one) => one.class === 'active');
  const excess = active.length - target;
  const candidates = active.filter(mayBeCordoned);
  if (excess <= 0 || candidates.length === 0) return NOTHING;
  // A node that is emptied and cannot be removed would serve nobody.
  if (scene.group?.terminateSuspended) return { intents: [], findings: [TERMINATE_SUSPENDED] };
  const count = Math.min(excess, headroomOf(scene, pool));
  return { intents: victimsOf(candidates, active, count).map((node) => ({ kind: 'cordon', node })), findings: [] };
}

export const TERMINATE_SUSPENDED = {
  reason: 'TerminateSuspended',
  message: 'the process Terminate of the group is suspended, so nothing is removed: resume it',
} as const;

function mayBeCordoned({ node }: PoolNode): boolean {
  return node.annotations[NOT_TO_BE_SCALED_DOWN] !== 'true';
}

/** How many more nodes can be removed before the group is at its minimum, those that are already going counted. */
function headroomOf({ group }: Scene, pool: Pool): number {
  if (group === undefined) return Number.POSITIVE_INFINITY;
  const going = pool.nodes.filter((one) => one.ours && one.live).length + pool.orphans.length;
  return Math.max(0, group.desired - group.min - going);
}

/**
 * How many nodes that are ineligible are to be replaced: so many are had beyond the target, for a while. Once the others
 * have joined there is an excess, of which the ineligible ones go first.
 */
export function replacementsOf(scene: Scene, pool: Pool): number {
  if (!scene.replaceIneligible) return 0;
  return pool.nodes.filter((one) => one.class === 'active' && one.node.ineligible && mayBeCordoned(one)).length;
}
