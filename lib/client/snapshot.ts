import { QueryCommand, type QueryCommandOutput } from '@aws-sdk/client-dynamodb';
import * as z from 'zod/mini';
import { type NodeId, nodeId, type PoolName } from '../ids.ts';
import { type Account, accountAt, isSchedulable } from '../nodes/account.ts';
import type { Pool } from '../nodes/pool.ts';
import type { Profile } from '../nodes/profile.ts';
import { InvalidInputError, integer, listOf, objectOf, parsed, quantity } from '../schema.ts';
import { accountFromItem, profileKey } from '../store/account-item.ts';
import { type Item, marshall, unmarshall } from '../store/dynamo.ts';
import { accountPartition, profilePartition } from '../store/keys.ts';
import type { EpochMs } from '../time.ts';
import { batchGet } from './batch-get.ts';
import { changedNodes } from './changes.ts';
import type { Connection, NodeConnection } from './connection.ts';
import { readAccounts } from './nodes.ts';
import { readPool } from './pools.ts';
import { pause, retrying } from './retrying.ts';

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
  /** When the reading of all of it began, in milliseconds since 1970; what was refreshed since is newer. */
  readonly readAt?: EpochMs;
}

export interface SnapshotOptions {
  /** The least index that it must show, such as the `refreshIndex` of a result: it is waited for. Default: what there is. */
  readonly atLeast?: number;
  /** How long to wait for `atLeast`, milliseconds. Default 10,000. */
  readonly timeoutMs?: number;
  /** An earlier snapshot of the pool: of its nodes only those are read again that a plan has changed since. */
  readonly since?: PoolSnapshot;
  /** Nodes to be read again whatever is known of them: those that a result names in `rejectedNodes`. At most 10,000. */
  readonly nodes?: readonly string[];
  /** Age past which `since` is read again in full, milliseconds, from 0 to 1,800,000. Default 30,000. */
  readonly maxAgeMs?: number;
  /** Ends the waiting for `atLeast`. */
  readonly signal?: AbortSignal;
}

/** Thrown when a pool does not come to an index in time. */
export class PoolIndexTimeoutError extends Error {
  override readonly name = 'PoolIndexTimeoutError';

  constructor({ pool, index }: Pool, atLeast: number, timeoutMs: number) {
    super(
      `pool ${pool} is at index ${index} and has not come to ${atLeast} in ${timeoutMs} ms; is that index of this pool?`,
    );
  }
}

/** Profiles that were read, by node: they change rarely, and each account names the revision that belongs to it. */
export type ProfileCache = Map<NodeId, Profile>;

const optionsSchema = objectOf({
  atLeast: z._default(quantity, 0),
  timeoutMs: z._default(integer(0, 86_400_000), 10_000),
  // Of what was committed longer ago than records of changes are kept, one that is missing would say nothing.
  maxAgeMs: z._default(integer(0, 1_800_000), 30_000),
  nodes: z._default(listOf(nodeId, 10_000), []),
});

/** Pauses between two looks at the index, milliseconds. */
const SHORTEST_MS = 20;
const LONGEST_MS = 500;

/** A pool as `options` ask for it. Throws InvalidInputError, PoolNotFoundError, PoolIndexTimeoutError. */
export async function takeSnapshot(
  connection: Connection,
  name: PoolName,
  profiles: ProfileCache,
  { since, signal, ...rest }: SnapshotOptions = {},
): Promise<PoolSnapshot> {
  const { atLeast, timeoutMs, maxAgeMs, nodes } = parsed(optionsSchema, rest, 'an option of the snapshot');
  if (since && since.pool !== name) {
    const message = `a snapshot of pool ${name} is expected, it is one of pool ${since.pool}`;
    throw new InvalidInputError('the options of the snapshot', [{ path: 'since', message }]);
  }
  const now = connection.clock();
  const pool = await poolAtLeast(connection, name, atLeast, timeoutMs, signal);
  if (since?.readAt !== undefined && now - since.readAt <= maxAgeMs && now >= since.readAt) {
    const refreshed = await refresh(connection, pool, since, nodes, profiles, now);
    if (refreshed) return refreshed;
  }
  return readAll(connection, pool, profiles, now);
}

async function poolAtLeast(
  connection: Connection,
  name: PoolName,
  atLeast: number,
  timeoutMs: number,
  signal?: AbortSignal,
): Promise<Pool> {
  const begin = performance.now();
  for (let ms = SHORTEST_MS; ; ms = Math.min(LONGEST_MS, ms * 2)) {
    const pool = await readPool(connection, name);
    if (pool.index >= atLeast) return pool;
    const left = timeoutMs - (performance.now() - begin);
    if (left <= 0) throw new PoolIndexTimeoutError(pool, atLeast, timeoutMs);
    await pause(Math.min(ms, left), signal);
  }
}

/** Reads the shards of `pool` side by side, and of a shard all profiles where one is not of the right revision. */
async function readAll(
  connection: Connection,
  pool: Pool,
  profiles: ProfileCache,
  now: EpochMs,
): Promise<PoolSnapshot> {
  const shards = await Promise.all(
    shardsOf(pool).map(async (shard) => {
      const accounts = await accountsOfShard(connection, pool, shard);
      if (accounts.some((account) => isStale(account, profiles))) {
        const items = await queryAll(connection, profilePartition(pool.pool, shard));
        learnProfiles(items, profiles);
      }
      return accounts;
    }),
  );
  const accounts = shards.flat();
  const there = new Set(accounts.map(({ nodeId }) => nodeId));
  for (const node of profiles.keys()) if (!there.has(node)) profiles.delete(node);
  return { ...pool, nodes: accounts.flatMap((account) => viewOf(account, profiles, now)), readAt: now };
}

/** `since` with what the commits up to the index of `pool` have changed; undefined if to read all is surer or cheaper. */
async function refresh(
  connection: Connection,
  pool: Pool,
  since: PoolSnapshot,
  also: readonly NodeId[],
  profiles: ProfileCache,
  now: EpochMs,
): Promise<PoolSnapshot | undefined> {
  const changed = await changedNodes(connection, pool, since, also);
  if (!changed) return undefined;
  const accounts = await accountsAt(connection, pool, changed);
  if (!accounts) return undefined;
  const stale = [...accounts.values()].filter((account) => isStale(account, profiles));
  const keys = stale.map(({ nodeId }) => profileKey(pool.pool, pool.shards, nodeId));
  learnProfiles(await batchGet(connection, connection.tables.nodes, keys), profiles);

  const known = new Set(since.nodes.map(({ nodeId }) => nodeId));
  const added = [...accounts.values()].filter(({ nodeId }) => !known.has(nodeId));
  const nodes = since.nodes.flatMap((view) => {
    if (!changed.has(view.nodeId)) return [viewAt(view, now)];
    const account = accounts.get(view.nodeId);
    return account ? viewOf(account, profiles, now) : [];
  });
  for (const account of added) nodes.push(...viewOf(account, profiles, now));
  return { ...pool, nodes, ...(since.readAt === undefined ? {} : { readAt: since.readAt }) };
}

/** Times that an account is read again which does not show a commit yet that is known to have changed it. */
const REREADS = 5;

/**
 * The accounts of `changed`, each at least as of the commit that is named with it. A transaction that is being applied shows
 * on one item some milliseconds before it does on another. Undefined if one does not get there: it was registered anew.
 */
async function accountsAt(
  connection: Connection,
  { pool, shards }: Pool,
  changed: ReadonlyMap<NodeId, number>,
): Promise<Map<NodeId, Account> | undefined> {
  const accounts = await readAccounts(connection, pool, shards, changed.keys());
  for (let reread = 0; reread < REREADS; reread++) {
    const behind = [...accounts.values()].filter(({ nodeId, index }) => index < (changed.get(nodeId) ?? 0));
    if (behind.length === 0) return accounts;
    await pause(SHORTEST_MS);
    const again = await readAccounts(
      connection,
      pool,
      shards,
      behind.map(({ nodeId }) => nodeId),
    );
    for (const [node, account] of again) accounts.set(node, account);
  }
  return undefined;
}

/** All accounts of a pool, each shard as of a moment of its own. */
export async function allAccounts(connection: Connection, pool: Pool): Promise<Account[]> {
  return (await Promise.all(shardsOf(pool).map((shard) => accountsOfShard(connection, pool, shard)))).flat();
}

/** All nodes of a pool, each account and each profile as of a moment of its own. */
export async function allNodes(
  connection: NodeConnection,
  pool: PoolName,
  shards: number,
): Promise<{ readonly account: Account; readonly profile: Profile | undefined }[]> {
  const profiles: ProfileCache = new Map();
  const accounts = await Promise.all(
    shardsOf({ shards }).map(async (shard) => {
      const own = await accountsOfShard(connection, { pool }, shard);
      if (own.length > 0) learnProfiles(await queryAll(connection, profilePartition(pool, shard)), profiles);
      return own;
    }),
  );
  return accounts.flat().map((account) => ({ account, profile: profiles.get(account.nodeId) }));
}

const shardsOf = ({ shards }: Pick<Pool, 'shards'>) => Array.from({ length: shards }, (_, shard) => shard);

async function accountsOfShard(
  connection: NodeConnection,
  { pool }: Pick<Pool, 'pool'>,
  shard: number,
): Promise<Account[]> {
  return (await queryAll(connection, accountPartition(pool, shard))).map(accountFromItem);
}

function isStale({ nodeId, profile }: Account, profiles: ProfileCache): boolean {
  return profiles.get(nodeId)?.revision !== profile;
}

function learnProfiles(items: readonly Item[], profiles: ProfileCache): void {
  for (const item of items) {
    const profile = item as unknown as Profile;
    profiles.set(profile.nodeId, profile);
  }
}

function viewOf(stored: Account, profiles: ProfileCache, now: EpochMs): NodeView[] {
  const { profile: _revision, ...account } = accountAt(stored, now);
  const profile = profiles.get(account.nodeId);
  // An account without a profile: the node was removed between the two reads.
  if (!profile) return [];
  const { addresses, devices, labels, cores, reservedPorts } = profile;
  return [{ ...account, schedulable: isSchedulable(account), addresses, devices, labels, cores, reservedPorts }];
}

/** `view` as it is at `now`: eligible again, if its time has come. */
function viewAt(view: NodeView, now: EpochMs): NodeView {
  const { eligibleAt, ...rest } = view;
  if (eligibleAt === undefined || eligibleAt > now) return view;
  const eligible = { ...rest, eligibility: 'eligible' as const };
  return { ...eligible, schedulable: isSchedulable(eligible) };
}

async function queryAll({ dynamo, tables }: NodeConnection, poolShard: string): Promise<Item[]> {
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
