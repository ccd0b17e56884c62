import type { NodeId, PoolName } from '../ids.ts';
import type { Account } from '../nodes/account.ts';
import type { NodeEvent, Profile } from '../nodes/profile.ts';
import { type AccountKey, accountFromItem, accountKey, profileKey } from '../store/account-item.ts';
import { eventsFromItem } from '../store/records.ts';
import { batchGet } from './batch-get.ts';
import type { NodeConnection } from './connection.ts';
import { poolShards } from './pools.ts';

/** Thrown when a node is asked for that is not registered in the pool. */
export class NodeNotFoundError extends Error {
  override readonly name = 'NodeNotFoundError';
  readonly pool: PoolName;
  readonly nodeId: NodeId;

  constructor(pool: PoolName, nodeId: NodeId) {
    super(`there is no node ${nodeId} in pool ${pool}; register it first, or correct the name`);
    this.pool = pool;
    this.nodeId = nodeId;
  }
}

/** What is stored of a node. */
export interface StoredNode {
  readonly accountKey: AccountKey;
  readonly profileKey: AccountKey;
  /** Undefined: it is not registered. */
  readonly account: Account | undefined;
  readonly profile: Profile | undefined;
  /** As they stand in the profile; undefined without one. */
  readonly events: readonly NodeEvent[] | undefined;
}

/** A node's account and profile, by a consistent read. Throws PoolNotFoundError. */
export async function readNode(connection: NodeConnection, pool: PoolName, node: NodeId): Promise<StoredNode> {
  const shards = await poolShards(connection, pool);
  const keys = { account: accountKey(pool, shards, node), profile: profileKey(pool, shards, node) };
  const items = await batchGet(connection, connection.tables.nodes, [keys.account, keys.profile]);
  const account = items.find(({ poolShard }) => poolShard === keys.account.poolShard);
  const profile = items.find(({ poolShard }) => poolShard === keys.profile.poolShard);
  return {
    accountKey: keys.account,
    profileKey: keys.profile,
    account: account && accountFromItem(account),
    profile: profile as unknown as Profile | undefined,
    events: profile && eventsFromItem(profile),
  };
}

/** Nodes of any pools, each item by a consistent read of its own. In the order of `nodes`. */
export async function readNodes<N extends { readonly pool: PoolName; readonly shards: number; readonly node: NodeId }>(
  connection: NodeConnection,
  nodes: readonly N[],
): Promise<(N & Pick<StoredNode, 'account' | 'profile'>)[]> {
  const keyed = nodes.map((one) => ({
    one,
    account: accountKey(one.pool, one.shards, one.node),
    profile: profileKey(one.pool, one.shards, one.node),
  }));
  const keys = keyed.flatMap(({ account, profile }) => [account, profile]);
  const items = await batchGet(connection, connection.tables.nodes, keys);
  const text = ({ poolShard, nodeId }: { readonly [name: string]: unknown }) => `${poolShard} ${nodeId}`;
  const found = new Map(items.map((item) => [text(item), item]));
  return keyed.map(({ one, ...key }) => {
    const account = found.get(text({ ...key.account }));
    const profile = found.get(text({ ...key.profile })) as unknown as Profile | undefined;
    return { ...one, account: account && accountFromItem(account), profile };
  });
}

/** The accounts of those of `nodes` that are there, read consistently, each at a moment of its own. */
export async function readAccounts(
  connection: NodeConnection,
  pool: PoolName,
  shards: number,
  nodes: Iterable<NodeId>,
): Promise<Map<NodeId, Account>> {
  const keys = [...nodes].map((node) => accountKey(pool, shards, node));
  const accounts = (await batchGet(connection, connection.tables.nodes, keys)).map(accountFromItem);
  return new Map(accounts.map((account) => [account.nodeId, account]));
}
