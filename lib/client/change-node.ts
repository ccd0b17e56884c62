import { TransactWriteItemsCommand } from '@aws-sdk/client-dynamodb';
import type { NodeId, PoolName } from '../ids.ts';
import type { Account } from '../nodes/account.ts';
import { decideNodeChange, type NodeChange } from '../nodes/change-node.ts';
import type { NodeEvent } from '../nodes/profile.ts';
import { BOUNDS } from '../settings.ts';
import { accountWrite, eventsWrite } from '../store/writes.ts';
import type { Connection, NodeConnection } from './connection.ts';
import { NodeNotFoundError, readNode, type StoredNode } from './nodes.ts';
import { poolShards } from './pools.ts';
import { retrying } from './retrying.ts';

/** Thrown when a node cannot be changed as asked, being what it is. The message says what to do first. */
export class NodeChangeError extends Error {
  override readonly name = 'NodeChangeError';
}

/**
 * Changes a node, and writes that down among its events; whether anything changed. What is written rests on the account
 * that was read: beside an applier that writes it in between, it is read and decided again.
 * Throws PoolNotFoundError, NodeNotFoundError, NodeChangeError.
 */
export async function changeNode(
  connection: Connection,
  pool: PoolName,
  node: NodeId,
  change: NodeChange,
): Promise<boolean> {
  await poolShards(connection, pool);
  const outcome = await retrying(async () => {
    const stored = await readNode(connection, pool, node);
    if (!stored.account) return undefined;
    const decision = decideNodeChange(stored.account, change, connection.clock());
    if (decision.kind === 'write') await writeNode(connection, stored, decision.image, decision.event);
    return decision;
  });
  if (!outcome) throw new NodeNotFoundError(pool, node);
  if (outcome.kind === 'refused') throw new NodeChangeError(outcome.reason);
  return outcome.kind === 'write';
}

/** Writes an account that was computed from `stored`, with an event. Throws if either was changed in between. */
export async function writeNode(
  { dynamo, tables }: NodeConnection,
  { accountKey, profileKey, events }: StoredNode,
  image: Account,
  event: NodeEvent,
): Promise<void> {
  const account = accountWrite(tables.nodes, accountKey, { kind: 'known', image });
  const longer = [...(events ?? []), event].slice(-BOUNDS.nodeEvents);
  const writes = events
    ? [account, eventsWrite(tables.nodes, profileKey, { before: events, events: longer })]
    : [account];
  await dynamo.send(new TransactWriteItemsCommand({ TransactItems: writes }));
}
