import { GetItemCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import type { PoolName } from '../ids.ts';
import { type Pool, type PoolSpec, type PoolSpecInput, poolSpecSchema } from '../nodes/pool.ts';
import { parsed } from '../schema.ts';
import { marshall, unmarshall } from '../store/dynamo.ts';
import { poolFromItem } from '../store/records.ts';
import type { Connection } from './connection.ts';
import { retrying } from './retrying.ts';

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
export async function readPool({ dynamo, tables, shards }: Connection, name: PoolName): Promise<Pool> {
  const { Item } = await retrying(() =>
    dynamo.send(new GetItemCommand({ TableName: tables.pools, Key: marshall({ pool: name }), ConsistentRead: true })),
  );
  if (!Item) throw new PoolNotFoundError(name);
  const pool = poolFromItem(unmarshall(Item));
  shards.set(name, pool.shards);
  return pool;
}

/** How many shards a pool has: read once, since it never changes. Throws PoolNotFoundError. */
export async function poolShards(connection: Connection, pool: PoolName): Promise<number> {
  return connection.shards.get(pool) ?? (await readPool(connection, pool)).shards;
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
