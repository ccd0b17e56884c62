import type { ObservedGameServer } from '../observation.ts';
import { isDeletable, isProtected } from '../pool/agones.ts';
import type { PoolNode } from '../pool/classes.ts';
import { answerTo, attempt, mayBegin, note, type TickContext } from './tick-context.ts';
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
    for (const server of deletable.slice(0, left)) {
      if (!mayBegin(context, 'deleteGameServer')) return;
      await deleteServer(context, server);
      left -= 1;
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
 * then the delete is refused, and it is looked at again; a session is never deleted.
 */
async function deleteServer(context: TickContext, seen: ObservedGameServer): Promise<void> {
  const first = await answerTo(() => context.cluster.deleteGameServer(seen));
  if (first.ok) return deleted(context, seen);
  if (first.error.kind !== 'conflict') return note(context, 'deleteGameServer', seen.name, first.error);
  const again = await attempt(context, 'read', seen.name, () => context.cluster.readGameServer(seen));
  if (!again.ok || again.value === undefined || again.value.uid !== seen.uid) return;
  if (isProtected(again.value)) return note(context, 'deleteGameServer', seen.name, first.error);
  const { value } = again;
  if (!isDeletable(value) || !mayBegin(context, 'deleteGameServer')) return;
  // Once: what changes without pause is left for the next tick.
  const second = await attempt(context, 'deleteGameServer', seen.name, () => context.cluster.deleteGameServer(value));
  if (second.ok) deleted(context, value);
}

function deleted(context: TickContext, { namespace, name }: ObservedGameServer): void {
  context.deeds.push({ kind: 'server-deleted', namespace, name });
}
