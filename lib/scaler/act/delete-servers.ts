import { ADMISSION_DENIED } from '../call-error.ts';
import type { ObservedGameServer } from '../observation.ts';
import { isDeletable, isProtected } from '../pool/agones.ts';
import type { PoolNode } from '../pool/classes.ts';
import { type Answer, answerTo, attempt, mayBegin, note, type TickContext } from './tick-context.ts';
import { deletableOn, refuseDrain } from './validate.ts';

/** Deletes at most `limit` servers that hold no session on `nodes`, from a list that is newer than every cordon. */
export async function deleteServers(context: TickContext, nodes: readonly PoolNode[], limit: number): Promise<void> {
  if (!mayBegin(context, 'deleteGameServer')) return;
  const servers = await serversOf(context);
  if (servers === undefined) return;
  let left = limit;
  for (const node of nodes) {
    const { name } = node.node;
    const deletable = deletableOn(name, servers);
    if (deletable.length === 0 || left === 0) continue;
    const fresh = await attempt(context, 'read', name, () => context.cluster.readNode(name));
    if (!fresh.ok || refuseDrain(fresh.value, node, context.object) !== undefined) continue;
    for (const server of deletable) {
      if (!mayBegin(context, 'deleteGameServer')) return;
      // One that a webhook keeps must not use up the limit: in every tick it would be the same one.
      if (!(await deleteServer(context, server))) left -= 1;
      if (left === 0) break;
    }
  }
}

/** Every server of the cluster, listed once in a tick. Undefined: they could not be listed. */
export async function serversOf(context: TickContext): Promise<readonly ObservedGameServer[] | undefined> {
  if (context.servers !== undefined) return context.servers;
  const answer = await attempt(context, 'read', 'gameservers', () => context.cluster.listGameServers());
  if (!answer.ok) return undefined;
  context.servers = answer.value;
  return answer.value;
}

/**
 * Deletes a server of the version that was seen without a session. Whoever allocates it meanwhile changes the version:
 * then the delete is refused, and it is looked at again; a session is never deleted. Whether a webhook or a policy keeps it.
 */
async function deleteServer(context: TickContext, seen: ObservedGameServer): Promise<boolean> {
  const first = await answerTo(() => context.cluster.deleteGameServer(seen));
  if (first.ok || first.error.kind !== 'conflict') return isKept(context, seen, first);
  const again = await attempt(context, 'read', seen.name, () => context.cluster.readGameServer(seen));
  if (!again.ok || again.value === undefined || again.value.uid !== seen.uid) return false;
  const { value } = again;
  if (isProtected(value)) {
    note(context, 'deleteGameServer', seen.name, first.error);
    return false;
  }
  if (!isDeletable(value) || !mayBegin(context, 'deleteGameServer')) return false;
  // Once: what changes without pause is left for the next tick.
  return isKept(context, value, await answerTo(() => context.cluster.deleteGameServer(value)));
}

/** Notes what came of a delete. Whether a webhook or a policy keeps the server. */
function isKept(context: TickContext, { namespace, name }: ObservedGameServer, answer: Answer<void>): boolean {
  if (answer.ok) {
    context.deeds.push({ kind: 'server-deleted', namespace, name });
    return false;
  }
  note(context, 'deleteGameServer', name, answer.error);
  return answer.error.code === ADMISSION_DENIED;
}
