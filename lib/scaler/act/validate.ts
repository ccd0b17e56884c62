import type { EpochMs } from '../../time.ts';
import type { Group, ObservedGameServer, ObservedNode, ObservedPod } from '../observation.ts';
import { hasSettled, isEmpty } from '../plan/plan-drain.ts';
import { isDeletable, isProtected, isRunningGamePod, nodeOf } from '../pool/agones.ts';
import { isHeldByOthers, lifeOf, type PoolNode } from '../pool/classes.ts';
import { cordonedAtOf, isMarkedBy, isPendingDelete } from '../pool/marks.ts';

/**
 * What must still be so right before something is done, on what has just been read. Between a plan and its deeds pods are
 * bound, games begin and people cordon. Each answers why not; undefined: go on.
 */

type Refusal = string | undefined;

function sameNode(fresh: ObservedNode | undefined, { node }: PoolNode): Refusal {
  if (fresh === undefined) return 'the node is gone';
  if (fresh.uid !== node.uid) return 'another node has its name';
  return fresh.deleting ? 'the node is being deleted' : undefined;
}

export function refuseCordon(fresh: ObservedNode | undefined, planned: PoolNode, object: string): Refusal {
  const other = sameNode(fresh, planned);
  if (other !== undefined || fresh === undefined) return other;
  if (fresh.unschedulable && !isMarkedBy(object, fresh)) return 'somebody else cordoned it';
  return isHeldByOthers(fresh) ? 'another tool holds it' : undefined;
}

/** Only where the mark is there: what somebody else cordoned stays cordoned. */
export function refuseUncordon(fresh: ObservedNode | undefined, planned: PoolNode, object: string): Refusal {
  const other = sameNode(fresh, planned);
  if (other !== undefined || fresh === undefined) return other;
  if (!fresh.unschedulable) return 'it is uncordoned already';
  if (!isMarkedBy(object, fresh)) return 'its cordon is not ours any more';
  if (isPendingDelete(fresh)) return 'its machine is about to be ended';
  return isHeldByOthers(fresh) ? 'another tool holds it' : undefined;
}

export function refuseUnmark(fresh: ObservedNode | undefined, planned: PoolNode): Refusal {
  const other = sameNode(fresh, planned);
  if (other !== undefined || fresh === undefined) return other;
  return fresh.unschedulable ? 'it is cordoned' : undefined;
}

/** Servers are only deleted where no new one is scheduled: elsewhere the fleet would put the next one there again. */
export function refuseDrain(fresh: ObservedNode | undefined, planned: PoolNode, object: string): Refusal {
  const other = sameNode(fresh, planned);
  if (other !== undefined || fresh === undefined) return other;
  if (!fresh.unschedulable || !isMarkedBy(object, fresh)) return 'it is not cordoned by us any more';
  return isHeldByOthers(fresh) ? 'another tool holds it' : undefined;
}

/** The servers on `node` that may go, by name, so that a tick that is repeated goes on where it was. */
export function deletableOn(node: string, servers: readonly ObservedGameServer[]): ObservedGameServer[] {
  return servers
    .filter((server) => nodeOf(server) === node && isDeletable(server))
    .sort((a, b) => (`${a.namespace}/${a.name}` < `${b.namespace}/${b.name}` ? -1 : 1));
}

/** What is read again before a node is removed. */
export interface Recheck {
  readonly pods: readonly ObservedPod[];
  readonly servers: readonly ObservedGameServer[];
}

export function refuseRemoval(
  fresh: ObservedNode | undefined,
  { pods, servers }: Recheck,
  planned: PoolNode,
  object: string,
  now: EpochMs,
): Refusal {
  const other = refuseDrain(fresh, planned, object);
  if (other !== undefined || fresh === undefined) return other;
  const cordonedAt = cordonedAtOf(fresh, now);
  if (!hasSettled(cordonedAt === undefined ? {} : { cordonedAt }, now)) return 'its cordon has not settled';
  const gamePods = pods.filter(isRunningGamePod).length;
  const protectedServers = servers.filter((server) => nodeOf(server) === fresh.name && isProtected(server)).length;
  return isEmpty({ gamePods, protectedServers }) ? undefined : 'games run on it';
}

/** Whether the machine of `instance` may be ended as `group` is now. */
export function refuseMachine(instance: string | undefined, group: Group | undefined): Refusal {
  if (group === undefined) return undefined;
  if (!group.steady) return 'the provider is changing the group';
  if (group.terminateSuspended) return 'the process Terminate of the group is suspended';
  if (lifeOf(group.instances.get(instance ?? '')) !== 'live') return 'its machine is going already';
  return group.desired > group.min ? undefined : `the group is at its minimum of ${group.min}`;
}
