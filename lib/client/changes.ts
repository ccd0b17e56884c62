import { TransactGetItemsCommand } from '@aws-sdk/client-dynamodb';
import * as z from 'zod/mini';
import { type NodeId, nodeId } from '../ids.ts';
import type { Pool } from '../nodes/pool.ts';
import { PLATFORM } from '../settings.ts';
import { marshall, unmarshall } from '../store/dynamo.ts';
import { changesKey } from '../store/keys.ts';
import type { Connection } from './connection.ts';
import { retrying } from './retrying.ts';

/** Commits that a snapshot catches up on by what they changed; past that all is read. */
const MOST_COMMITS = 200;
/** Accounts of 1 KB that a consistent query reads for a read unit, of which a single account takes a whole one. */
const ACCOUNTS_PER_UNIT = 4;

const recordSchema = z.object({ nodes: z.array(nodeId) });

/**
 * Nodes that commits after the index of `since`, up to that of `pool`, have changed, each with the last of these
 * commits, and those of `also` with 0; undefined if to read the whole pool costs no more, or the pool was made anew.
 *
 * A commit without a record has changed no node: what is asked for is younger than the hour for which records are
 * kept, since a snapshot that old is read again in full.
 */
export async function changedNodes(
  connection: Connection,
  { pool, index }: Pool,
  since: { readonly index: number; readonly nodes: readonly unknown[] },
  also: readonly NodeId[],
): Promise<Map<NodeId, number> | undefined> {
  const commits = index - since.index;
  const worth = since.nodes.length / ACCOUNTS_PER_UNIT;
  if (commits < 0 || commits > Math.min(MOST_COMMITS, worth)) return undefined;
  const changed = new Map<NodeId, number>(also.map((node) => [node, 0]));
  for (let from = since.index + 1; from <= index; from += PLATFORM.transactionActions) {
    const upTo = Math.min(index, from + PLATFORM.transactionActions - 1);
    for (const [at, nodes] of (await readRecords(connection, pool, from, upTo)).entries()) {
      for (const node of nodes) changed.set(node, from + at);
    }
  }
  return commits + changed.size > worth && changed.size > 0 && commits > 0 ? undefined : changed;
}

/**
 * The nodes of each commit from `from` to `upTo`. Read in a transaction: while one that writes is still being applied, a
 * plain read may show the pool's new index and miss the record that belongs to it.
 */
async function readRecords(
  { dynamo, tables }: Connection,
  pool: Pool['pool'],
  from: number,
  upTo: number,
): Promise<(readonly NodeId[])[]> {
  const keys = Array.from({ length: upTo - from + 1 }, (_, at) => changesKey(pool, from + at));
  const { Responses } = await retrying(() =>
    dynamo.send(
      new TransactGetItemsCommand({
        TransactItems: keys.map((planId) => ({ Get: { TableName: tables.plans, Key: marshall({ planId }) } })),
      }),
    ),
  );
  return keys.map((_, at) => {
    const item = Responses?.[at]?.Item;
    return item ? recordSchema.parse(unmarshall(item)).nodes : [];
  });
}
