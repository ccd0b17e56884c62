import type { NodeId, PoolName, TaskId } from '../ids.ts';
import { type Account, isSchedulable, namedBytesIn } from '../nodes/account.ts';
import type { ClaimKey } from '../nodes/claims.ts';
import type { PortRanges } from '../nodes/ports.ts';
import { shardOf } from '../nodes/shard.ts';
import { accountPartition, profilePartition } from './keys.ts';

/**
 * The account as an item. Sharers of a volume or a port stand in a set attribute of their own under the claim's key, since
 * DynamoDB adds to and takes from top-level sets only, and drops a set that has become empty.
 */
const SHARED = /^(volume|port)\//;

export interface AccountKey {
  readonly poolShard: string;
  readonly nodeId: NodeId;
}

export function accountKey(pool: PoolName, shards: number, nodeId: NodeId): AccountKey {
  return { poolShard: accountPartition(pool, shardOf(nodeId, shards)), nodeId };
}

/** Key of a node's profile: of the same form, in a partition of its own. */
export function profileKey(pool: PoolName, shards: number, nodeId: NodeId): AccountKey {
  return { poolShard: profilePartition(pool, shardOf(nodeId, shards)), nodeId };
}

export function accountItem(key: AccountKey, account: Account): Record<string, unknown> {
  const { claims, sharers, withdrawn, reservedRanges, ...plain } = account;
  return {
    ...plain,
    ...key,
    schedulable: isSchedulable(account),
    namedBytes: namedBytesIn(account),
    claims: Object.fromEntries(claims),
    ...Object.fromEntries(sharers),
    ...(withdrawn.size > 0 ? { withdrawn } : {}),
    ...(reservedRanges.size > 0 ? { reservedRanges: Object.fromEntries(reservedRanges) } : {}),
  };
}

/** The account that an item of ours holds. */
export function accountFromItem(item: Readonly<Record<string, unknown>>): Account {
  const stored = item as unknown as Omit<Account, 'claims' | 'sharers' | 'withdrawn' | 'reservedRanges'> & {
    claims: Record<ClaimKey, string>;
    withdrawn?: Set<ClaimKey>;
    reservedRanges?: Record<string, PortRanges>;
  };
  const sharers = Object.entries(item).filter(([name]) => SHARED.test(name)) as [ClaimKey, Set<TaskId>][];
  return {
    nodeId: stored.nodeId,
    status: stored.status,
    eligibility: stored.eligibility,
    drain: stored.drain,
    ...(stored.eligibleAt === undefined ? {} : { eligibleAt: stored.eligibleAt }),
    capacity: stored.capacity,
    free: stored.free,
    claims: new Map(Object.entries(stored.claims) as [ClaimKey, string][]),
    sharers: new Map(sharers),
    withdrawn: stored.withdrawn ?? new Set(),
    reservedRanges: new Map(Object.entries(stored.reservedRanges ?? {})),
    profile: stored.profile,
    version: stored.version,
    index: stored.index,
  };
}
