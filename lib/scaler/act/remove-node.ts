import type { ObservedNode, PendingDeletion } from '../observation.ts';
import { isRunningGamePod } from '../pool/agones.ts';
import type { PoolNode } from '../pool/classes.ts';
import { isDetached, lifeOf } from '../pool/classes.ts';
import { isPendingDelete, MARKS } from '../pool/marks.ts';
import { instanceOf } from '../pool/membership.ts';
import { serversOf } from './delete-servers.ts';
import { attempt, forget, isDefinite, mayBegin, remember, type TickContext } from './tick-context.ts';
import { refuseMachine, refuseRemoval } from './validate.ts';

/**
 * Removes a node that is empty: durable intent, mark, machine, Node object, and the intent is cleared. A tick that dies
 * anywhere between leaves what the next one goes on from; a Node is never deleted while its machine may go on running.
 */
export async function removeNode(context: TickContext, planned: PoolNode): Promise<void> {
  if (!mayBegin(context, 'endMachine') || !mayBegin(context, 'deleteNode') || !mayBegin(context, 'read')) return;
  const fresh = await freshIfRemovable(context, planned);
  if (fresh === undefined) return;
  if (planned.live) {
    const machine = await machineOf(context, planned);
    if (machine === 'stays') return;
    if (machine === 'live' && !(await endMachine(context, planned, fresh))) return;
  }
  const { name, uid } = planned.node;
  const answer = await attempt(context, 'deleteNode', name, () => context.cluster.deleteNode({ name, uid }));
  if (!answer.ok) return;
  context.deeds.push({ kind: 'node-deleted', node: name });
  await forget(context, uid);
}

/** The node as it is now, if it may be removed now. */
async function freshIfRemovable(context: TickContext, planned: PoolNode): Promise<ObservedNode | undefined> {
  const { name } = planned.node;
  const servers = await serversOf(context);
  if (servers === undefined) return undefined;
  // Before its pods: the version of this read is what the mark is of, so nobody can have uncordoned it in between.
  const node = await attempt(context, 'read', name, () => context.cluster.readNode(name));
  if (!node.ok) return undefined;
  const pods = await attempt(context, 'read', name, () => context.cluster.podsOn(name));
  if (!pods.ok) return undefined;
  const recheck = { pods: pods.value, servers };
  const refusal = refuseRemoval(node.value, recheck, planned, context.object, context.clock());
  return refusal === undefined ? node.value : undefined;
}

/** Whether the machine is to be ended, is going already, or may not be ended now. */
async function machineOf(context: TickContext, { node, instance }: PoolNode): Promise<'live' | 'going' | 'stays'> {
  const group = await attempt(context, 'read', node.name, () => context.provider.inspect());
  if (!group.ok) return 'stays';
  if (group.value !== undefined && isDetached(instance, group.value)) return 'stays';
  if (group.value !== undefined && lifeOf(group.value.instances.get(instance ?? '')) === 'leaving') return 'going';
  return refuseMachine(instance, group.value) === undefined ? 'live' : 'stays';
}

/** Ends the machine of a node, after it has been written down and the node marked. Whether it is certain. */
async function endMachine(context: TickContext, { node, instance }: PoolNode, fresh: ObservedNode): Promise<boolean> {
  const { name, uid } = node;
  const machine = { node: name, ...(instance === undefined ? {} : { instance }) };
  if (!context.ledger.pendingDeletions.some((entry) => entry.uid === uid)) {
    const entry: PendingDeletion = { ...machine, uid, since: context.clock() };
    const written = await remember(context, (ledger) => ({
      ...ledger,
      pendingDeletions: [...ledger.pendingDeletions, entry],
    }));
    if (!written) return false;
  }
  const marked = await mark(context, fresh, instance);
  // Whoever was paused since the node was looked at does not know what is on it now: the next tick looks again.
  if (marked === undefined || !mayBegin(context, 'endMachine')) return false;
  const answer = await attempt(context, 'endMachine', name, () => context.provider.endMachine(machine));
  if (answer.ok) {
    context.deeds.push({ kind: 'machine-ended', ...machine });
    return instance !== undefined || rememberEnded(context, uid);
  }
  const { kind, message } = answer.error;
  if (!isDefinite(kind)) {
    context.findings.push({
      reason: 'Unknown',
      message: `whether the machine of node ${name} is ended is not known: ${message}`,
    });
    return false;
  }
  // A missing right is told as that alone.
  if (kind !== 'denied') {
    context.findings.push({
      reason: 'TerminateRefused',
      message: `the machine of node ${name} was not ended: ${message}`,
    });
  }
  // It may be brought back again. In this order: without the intent the mark alone is enough to go on from.
  if (await forget(context, uid)) {
    await attempt(context, 'unmark', name, () =>
      context.cluster.patchNode(marked, { annotations: { [MARKS.pendingDelete]: null } }),
    );
  }
  return false;
}

/**
 * Where nobody can be asked for the machine, that it was ended is known here alone: a tick that dies before the node is
 * taken out of Berth would leave it there. Whether that is certain.
 */
async function rememberEnded(context: TickContext, uid: string): Promise<boolean> {
  const { registration } = context.ledger;
  if (registration === undefined || registration.ended?.includes(uid)) return true;
  const ended = [...(registration.ended ?? []), uid];
  return remember(context, (ledger) => ({ ...ledger, registration: { ...registration, ended } }));
}

/** Marks the node, if it is still as it was when it was looked at: from here on nobody brings it back. */
async function mark(
  context: TickContext,
  fresh: ObservedNode,
  instance: string | undefined,
): Promise<ObservedNode | undefined> {
  if (isPendingDelete(fresh)) return fresh;
  const annotations = { [MARKS.pendingDelete]: instance ?? fresh.name };
  const answer = await attempt(context, 'mark', fresh.name, () => context.cluster.patchNode(fresh, { annotations }));
  if (answer.ok) return answer.value;
  if (isDefinite(answer.error.kind)) await forget(context, fresh.uid);
  return undefined;
}

/** Ends a machine whose node is gone already, as the ledger has it. */
export async function finishMachine(context: TickContext, entry: PendingDeletion): Promise<void> {
  if (!mayBegin(context, 'endMachine') || !mayBegin(context, 'read')) return;
  const { node, instance, uid } = entry;
  const group = await attempt(context, 'read', node, () => context.provider.inspect());
  if (!group.ok || refuseMachine(instance, group.value) !== undefined) return;
  if (!(await isDeserted(context, entry)) || !mayBegin(context, 'endMachine')) return;
  const machine = { node, ...(instance === undefined ? {} : { instance }) };
  const answer = await attempt(context, 'endMachine', node, () => context.provider.endMachine(machine));
  if (answer.ok) {
    context.deeds.push({ kind: 'machine-ended', ...machine });
    await forget(context, uid);
    return;
  }
  const { kind, message } = answer.error;
  if (kind === 'denied') return;
  const reason = isDefinite(kind) ? 'TerminateRefused' : 'Unknown';
  context.findings.push({ reason, message: `the machine of node ${node}, which is gone: ${message}` });
}

/** Whether nothing has come to a machine since its node was gone: a kubelet that starts again registers it anew. */
async function isDeserted(context: TickContext, { node, instance }: PendingDeletion): Promise<boolean> {
  const fresh = await attempt(context, 'read', node, () => context.cluster.readNode(node));
  if (!fresh.ok) return false;
  // Another machine's, to which the name has come: its pods say nothing of this one.
  if (fresh.value !== undefined) return instanceOf(fresh.value) !== instance && fresh.value.providerId !== '';
  const pods = await attempt(context, 'read', node, () => context.cluster.podsOn(node));
  return pods.ok && !pods.value.some(isRunningGamePod);
}
