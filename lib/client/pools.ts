import { GetItemCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import type { PoolName } from '../ids.ts';
import {
  type Pool,
  type PoolSettingsInput,
  type PoolSpec,
  type PoolSpecInput,
  poolSettingsSchema,
  poolSpecSchema,
  type TrackerSettings,
} from '../nodes/pool.ts';
import { InvalidInputError, parsed, problemsOf } from '../schema.ts';
import { type Item, marshall, unmarshall } from '../store/dynamo.ts';
import { poolFromItem } from '../store/records.ts';
import { batchGet } from './batch-get.ts';
import type { Connection, NodeConnection } from './connection.ts';
import { retrying } from './retrying.ts';
import { scanned } from './scan.ts';

/** Thrown when a pool is asked for that nobody has registered. */
export class PoolNotFoundError extends Error {
  override readonly name = 'PoolNotFoundError';
  readonly pool: string;

  constructor(pool: string) {
    super(`there is no pool ${pool}; register it first, or correct the name`);
    this.pool = pool;
  }
}

/** Thrown when a pool that exists is registered with another number of shards: its nodes would not be found again. */
export class PoolShardsError extends Error {
  override readonly name = 'PoolShardsError';
}

/** The pool as it is now, by a consistent read. Throws PoolNotFoundError. */
export async function readPool(connection: NodeConnection, name: PoolName): Promise<Pool> {
  const item = await retrying(() => getPool(connection, name));
  if (!item) throw new PoolNotFoundError(name);
  const pool = poolFromItem(item);
  connection.shards.set(name, pool.shards);
  return pool;
}

async function getPool({ dynamo, tables }: NodeConnection, name: PoolName): Promise<Item | undefined> {
  const command = new GetItemCommand({ TableName: tables.pools, Key: marshall({ pool: name }), ConsistentRead: true });
  const { Item } = await dynamo.send(command);
  return Item && unmarshall(Item);
}

/** Every pool, by name. */
export async function readPools(connection: Connection): Promise<Pool[]> {
  const pools: Pool[] = [];
  for await (const item of scanned(connection, { TableName: connection.tables.pools })) pools.push(poolFromItem(item));
  return pools.sort((a, b) => (a.pool < b.pool ? -1 : 1));
}

/** How many shards a pool has: read once, since it never changes. Throws PoolNotFoundError. */
export async function poolShards(connection: NodeConnection, pool: PoolName): Promise<number> {
  return connection.shards.get(pool) ?? (await readPool(connection, pool)).shards;
}

/** How many shards those of `pools` have that exist: all that are not known are read at once. */
export async function poolsShards(
  connection: NodeConnection,
  pools: readonly PoolName[],
): Promise<Map<PoolName, number>> {
  const unknown = pools.filter((pool) => !connection.shards.has(pool));
  const keys = [...new Set(unknown)].map((pool) => ({ pool }));
  for (const item of await batchGet(connection, connection.tables.pools, keys)) {
    const { pool, shards } = poolFromItem(item);
    connection.shards.set(pool, shards);
  }
  return new Map(
    pools.flatMap((pool) => {
      const shards = connection.shards.get(pool);
      return shards === undefined ? [] : [[pool, shards]];
    }),
  );
}

/** Makes the pool, or changes the settings of one that exists. Its index moves, so that the applier sees the change with its next batch. */
export async function registerPool({ dynamo, tables }: Connection, input: PoolSpecInput): Promise<Pool> {
  const spec: PoolSpec = parsed(poolSpecSchema, input, 'the pool');
  const { Attributes } = await retrying(() =>
    dynamo.send(
      new UpdateItemCommand({
        TableName: tables.pools,
        Key: marshall({ pool: spec.pool }),
        UpdateExpression: 'SET #settings = :settings, #shards = if_not_exists(#shards, :shards) ADD #index :one',
        ExpressionAttributeNames: { '#index': 'index', '#settings': 'settings', '#shards': 'shards' },
        ExpressionAttributeValues: marshall({ ':settings': spec.settings, ':shards': spec.shards, ':one': 1 }),
        ReturnValues: 'ALL_NEW',
      }),
    ),
  );
  const pool = poolFromItem(unmarshall(Attributes ?? {}));
  if (input.shards !== undefined && pool.shards !== spec.shards) {
    throw new PoolShardsError(
      `pool ${spec.pool} has ${pool.shards} shards for good; leave \`shards\` out, or register another pool (its settings were changed)`,
    );
  }
  return pool;
}

/** Settings to be changed; one that is not named stays as it is, null makes it what it is by default. */
export interface PoolChange {
  readonly stopRelease?: PoolSettingsInput['stopRelease'] | null;
  readonly ineligibleForSeconds?: number | null;
  readonly tracker?: { readonly [name in keyof TrackerSettings]?: TrackerSettings[name] | null };
}

/**
 * Changes settings of a pool that exists. Safe beside somebody who changes other settings at the same time. Its index
 * moves, so that the applier sees the change with its next batch. Throws InvalidInputError, PoolNotFoundError.
 */
export async function changePool(connection: Connection, name: PoolName, change: PoolChange): Promise<Pool> {
  const { dynamo, tables } = connection;
  const outcome = await retrying(async () => {
    const before = await getPool(connection, name);
    if (!before) return undefined;
    const input = changedSettings(before.settings, change);
    const settings = poolSettingsSchema.safeParse(input);
    if (!settings.success) return problemsOf(settings.error, input);
    const { Attributes } = await dynamo.send(
      new UpdateItemCommand({
        TableName: tables.pools,
        Key: marshall({ pool: name }),
        UpdateExpression: 'SET #settings = :settings ADD #index :one',
        ConditionExpression: '#settings = :before',
        ExpressionAttributeNames: { '#index': 'index', '#settings': 'settings' },
        ExpressionAttributeValues: marshall({ ':settings': settings.data, ':before': before.settings, ':one': 1 }),
        ReturnValues: 'ALL_NEW',
      }),
    );
    return poolFromItem(unmarshall(Attributes ?? {}));
  });
  if (!outcome) throw new PoolNotFoundError(name);
  if ('pool' in outcome) return outcome;
  throw new InvalidInputError('a setting', outcome);
}

/** `before` with what `change` names; what it sets to null is left out, so that the schema fills its default in. */
function changedSettings(before: PoolSettingsInput, { tracker, ...rest }: PoolChange): Record<string, unknown> {
  const merged = (old: object, changes: object) =>
    Object.fromEntries(Object.entries({ ...old, ...withoutUndefined(changes) }).filter(([, value]) => value !== null));
  return { ...merged(before, rest), tracker: merged(before.tracker ?? {}, tracker ?? {}) };
}

function withoutUndefined(changes: object): object {
  return Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined));
}
