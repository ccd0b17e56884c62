import { QueryCommand, type QueryCommandOutput } from '@aws-sdk/client-dynamodb';
import type { NodeId, PoolName } from '../ids.ts';
import { type Account, isSchedulable } from '../nodes/account.ts';
import type { Pool } from '../nodes/pool.ts';
import type { Profile } from '../nodes/profile.ts';
import { accountFromItem } from '../store/account-item.ts';
import { type Item, marshall, unmarshall } from '../store/dynamo.ts';
import { accountPartition, profilePartition } from '../store/keys.ts';
import type { Connection } from './connection.ts';
import { readPool } from './pools.ts';
import { retrying } from './retrying.ts';

/** A node as a worker sees it: its account and its profile. */
export interface NodeView
  extends Omit<Account, 'profile'>,
    Pick<Profile, 'addresses' | 'devices' | 'labels' | 'cores' | 'reservedPorts'> {
  /** Whether a new task may be placed on it: ready, eligible, not draining. */
  readonly schedulable: boolean;
}

/** A pool and its nodes. Every commit up to `index` is in it; later ones may be, node by node. */
export interface PoolSnapshot extends Pool {
  readonly nodes: readonly NodeView[];
}

/** Profiles that were read, by node: they change rarely, and each account names the revision that belongs to it. */
export type ProfileCache = Map<NodeId, Profile>;

/**
 * Reads a pool consistently: its index first, then its shards side by side. Profiles are read only where `profiles` holds
 * none of the right revision, a shard's together.
 */
export async function readSnapshot(
  connection: Connection,
  name: PoolName,
  profiles: ProfileCache,
): Promise<PoolSnapshot> {
  const pool = await readPool(connection, name);
  const shards = await Promise.all(
    Array.from({ length: pool.shards }, async (_, shard) => {
      const accounts = (await queryAll(connection, accountPartition(name, shard))).map(accountFromItem);
      const stale = accounts.some(({ nodeId, profile }) => profiles.get(nodeId)?.revision !== profile);
      if (stale) {
        for (const item of await queryAll(connection, profilePartition(name, shard))) {
          const profile = item as unknown as Profile;
          profiles.set(profile.nodeId, profile);
        }
      }
      return accounts;
    }),
  );
  return { ...pool, nodes: shards.flat().flatMap((account) => viewOf(account, profiles.get(account.nodeId))) };
}

function viewOf({ profile: _revision, ...account }: Account, profile: Profile | undefined): NodeView[] {
  // An account without a profile: the node was removed between the two reads.
  if (!profile) return [];
  const { addresses, devices, labels, cores, reservedPorts } = profile;
  return [{ ...account, schedulable: isSchedulable(account), addresses, devices, labels, cores, reservedPorts }];
}

async function queryAll({ dynamo, tables }: Connection, poolShard: string): Promise<Item[]> {
  const items: Item[] = [];
  let start: QueryCommandOutput['LastEvaluatedKey'];
  do {
    const page: QueryCommandOutput = await retrying(() =>
      dynamo.send(
        new QueryCommand({
          TableName: tables.nodes,
          KeyConditionExpression: '#poolShard = :poolShard',
          ExpressionAttributeNames: { '#poolShard': 'poolShard' },
          ExpressionAttributeValues: marshall({ ':poolShard': poolShard }),
          ConsistentRead: true,
          ...(start ? { ExclusiveStartKey: start } : {}),
        }),
      ),
    );
    for (const item of page.Items ?? []) items.push(unmarshall(item));
    start = page.LastEvaluatedKey;
  } while (start);
  return items;
}
