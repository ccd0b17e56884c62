import type { Group } from '../observation.ts';
import { lifeOf, type Pool, type PoolNode } from '../pool/classes.ts';
import { victimsOf } from '../pool/order.ts';
import type { Scene } from '../pool/scene.ts';
import type { Finding } from './findings.ts';
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
  const room = headroomOf(scene, pool);
  const victims = victimsOf(candidates, active, Math.min(excess, room));
  return {
    intents: victims.map((node) => ({ kind: 'cordon', node })),
    findings: excess > room && scene.group ? lyingCapacity(scene.group, pool) : [],
  };
}

export const TERMINATE_SUSPENDED = {
  reason: 'TerminateSuspended',
  message: 'the process Terminate of the group is suspended, so nothing is removed: resume it',
} as const;

/**
 * What there is to say of a group whose desired capacity is below the machines that it has: lowered by hand, and they are
 * protected from scale-in. To end one lowers it further, which its minimum forbids; to raise it is for whoever lowered it.
 */
export function lyingCapacity({ desired, min, instances }: Group, pool: Pool): Finding[] {
  const live = pool.nodes.filter((one) => one.live).length + pool.orphans.length;
  if (live <= desired) return [];
  const machines = [...instances.values()].filter((state) => lifeOf(state) === 'live').length;
  const message = `the group has ${machines} machines, and its desired capacity is ${desired} of at least ${min}: to end one would bring it below its minimum, so not all that are too many go. Set the desired capacity to ${machines} (\`aws autoscaling set-desired-capacity\`), which starts and ends none`;
  return [{ reason: 'TerminateRefused', message }];
}

function mayBeCordoned({ node, twins }: PoolNode): boolean {
  return twins === undefined && node.annotations[NOT_TO_BE_SCALED_DOWN] !== 'true';
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
