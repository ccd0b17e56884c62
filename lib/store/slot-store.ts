import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import {
  BatchExecuteStatementCommand,
  BatchGetItemCommand,
  type BatchGetItemCommandOutput,
  type BatchStatementResponse,
  GetItemCommand,
  QueryCommand,
  type QueryCommandOutput,
  TransactWriteItemsCommand,
} from '@aws-sdk/client-dynamodb';
import { abortable } from '../aws/requests.ts';
import type { PoolName } from '../ids.ts';
import { PLATFORM, REAPER } from '../settings.ts';
import { holdingOf } from '../tasks/holding.ts';
import type { Malformed, SlotContent, SlotStore, SlotWrite, StoredSlotTask, WriteOutcome } from '../tasks/reap.ts';
import type { SlotKey } from '../tasks/task.ts';
import type { EpochMs } from '../time.ts';
import { chunksOf } from './chunks.ts';
import { type Item, marshall, unmarshall } from './dynamo.ts';
import { BugError, ours, RetryError, statementError, storeError } from './errors.ts';
import { writeTaskEnd } from './give-back.ts';
import { CLUSTER_KEY } from './keys.ts';
import { poolFromItem, taskFromItem } from './records.ts';
import { bookOf } from './services.ts';
import { readSlotTasks, type SlotItem } from './slot-item.ts';
import type { TableNames } from './tables.ts';
import { markWrite } from './writes.ts';

/** The tables that slots are read from and written to. */
export type SlotTables = Pick<TableNames, 'tasks' | 'services' | 'nodes' | 'pools'>;

/** Shards of pools, which never change: kept from one invocation to the next. */
export type ShardCache = Map<PoolName, number>;

/** The slots in DynamoDB. `signal` ends what is under way when the invocation has no time left. */
export function slotStore(
  dynamo: DynamoDBClient,
  tables: SlotTables,
  shards: ShardCache,
  signal?: AbortSignal,
): SlotStore {
  const options = abortable(signal);
  const shardsOf = async (pool: PoolName) => {
    const known = shards.get(pool);
    if (known !== undefined) return known;
    const command = new GetItemCommand({ TableName: tables.pools, Key: marshall({ pool }) });
    const { Item } = await dynamo.send(command, options);
    if (!Item) throw new BugError(`there is no pool ${pool}, and tasks of it hold something`);
    const found = poolFromItem(unmarshall(Item)).shards;
    shards.set(pool, found);
    return found;
  };
  const db = { dynamo, tables, shardsOf, signal };

  return {
    readSlot: (slotKey) => ours(readSlot(dynamo, tables.tasks, slotKey, signal)),

    async readServices(services) {
      const items: Item[] = [];
      for (const ids of chunksOf([CLUSTER_KEY, ...services], PLATFORM.batchGetKeys)) {
        items.push(...(await ours(readServices(dynamo, tables.services, ids, signal))));
      }
      return bookOf(items);
    },

    async write(writes, now) {
      const outcomes = new Map<SlotWrite, WriteOutcome>();
      const run = async (batch: readonly SlotWrite[], send: () => Promise<readonly WriteOutcome[]>) => {
        const answered = await send().catch((error: unknown) => batch.map(() => storeError(error)));
        batch.forEach((write, at) => {
          outcomes.set(write, answered[at] ?? new BugError('a write was not answered'));
        });
      };
      const marks = writes.filter(({ what }) => what === 'mark');
      const deletes = writes.filter(({ what, task }) => what !== 'mark' && task.released);
      const holding = writes.filter(({ what, task }) => what !== 'mark' && !task.released);
      for (const batch of chunksOf(deletes, REAPER.deletesPerRequest)) {
        await run(batch, () => deleteAll(dynamo, tables.tasks, batch, signal));
      }
      for (const batch of chunksOf(marks, REAPER.deletesPerRequest)) {
        await run(batch, () => markAll(dynamo, tables.tasks, batch, now, signal));
      }
      for (const write of holding) {
        await run([write], async () => [await deleteHolding(write)]);
      }
      return writes.map((write) => outcomes.get(write) ?? new BugError('a write was not carried out'));
    },
  };

  /** Deletes a task and gives back what it holds, in one transaction. */
  async function deleteHolding({ task }: SlotWrite): Promise<WriteOutcome> {
    const whole = taskFromItem((task as SlotItem).item);
    try {
      await writeTaskEnd(db, whole, undefined, { gives: [holdingOf(whole)], takes: [] });
      return 'done';
    } catch (error) {
      const failure = storeError(error);
      return failure.name === 'ConflictError' ? 'changed' : failure;
    }
  }
}

/** The records of up to 100 services, by a consistent read. */
async function readServices(
  dynamo: DynamoDBClient,
  table: string,
  services: readonly string[],
  signal: AbortSignal | undefined,
): Promise<Item[]> {
  const items: Item[] = [];
  let keys = services.map((serviceId) => marshall({ serviceId }));
  while (keys.length > 0) {
    const command = new BatchGetItemCommand({ RequestItems: { [table]: { Keys: keys, ConsistentRead: true } } });
    const answer: BatchGetItemCommandOutput = await dynamo.send(command, abortable(signal));
    for (const item of answer.Responses?.[table] ?? []) items.push(unmarshall(item));
    const left = answer.UnprocessedKeys?.[table]?.Keys ?? [];
    // DynamoDB leaves keys out when it throttles: asking at once for all of them again would make it worse.
    if (left.length === keys.length) throw new RetryError('BatchGetItem: no key was processed');
    keys = left as typeof keys;
  }
  return items;
}

/** Every task of a slot, by a consistent query of its partition. */
export async function readSlot(
  dynamo: DynamoDBClient,
  table: string,
  slotKey: SlotKey,
  signal?: AbortSignal,
): Promise<SlotContent> {
  const tasks: StoredSlotTask[] = [];
  const malformed: Malformed[] = [];
  let start: QueryCommandOutput['LastEvaluatedKey'];
  do {
    const page: QueryCommandOutput = await dynamo.send(
      new QueryCommand({
        TableName: table,
        KeyConditionExpression: '#slotKey = :slotKey',
        ExpressionAttributeNames: { '#slotKey': 'slotKey' },
        ExpressionAttributeValues: marshall({ ':slotKey': slotKey }),
        ConsistentRead: true,
        ...(start ? { ExclusiveStartKey: start } : {}),
      }),
      abortable(signal),
    );
    const read = readSlotTasks(page.Items);
    tasks.push(...read.tasks);
    malformed.push(...read.malformed);
    start = page.LastEvaluatedKey;
  } while (start);
  return { tasks, malformed };
}

/**
 * Deletes up to 25 tasks by one request, each only if it is still as it was seen, and each whatever becomes of the others.
 * No other request does that: BatchWriteItem takes no conditions, and a transaction that one of them fails fails for all.
 */
async function deleteAll(
  dynamo: DynamoDBClient,
  table: string,
  writes: readonly SlotWrite[],
  signal: AbortSignal | undefined,
): Promise<WriteOutcome[]> {
  const Statements = writes.map(({ task: { slotKey, taskId, version, state, desiredState } }) => ({
    Statement:
      `DELETE FROM "${table}" WHERE "slotKey" = ? AND "taskId" = ? ` +
      'AND "version" = ? AND "state" = ? AND "desiredState" = ?',
    Parameters: [slotKey, taskId, version, state, desiredState].map(attribute),
  }));
  const command = new BatchExecuteStatementCommand({ Statements, ReturnConsumedCapacity: 'INDEXES' });
  const { Responses = [] } = await dynamo.send(command, abortable(signal));
  return writes.map((_, at) => outcomeOf(Responses[at]));
}

function outcomeOf(response: BatchStatementResponse | undefined): WriteOutcome {
  if (response === undefined) return new BugError('BatchExecuteStatement: a statement was not answered');
  if (response.Error === undefined) return 'done';
  const failure = statementError(response.Error);
  return failure.name === 'ConflictError' ? 'changed' : failure;
}

/**
 * Marks tasks as to be removed: all of them, or, if one has changed meanwhile, none, for them to be looked at again. One that
 * can never be written is found by halves, so that it keeps none of the others from being marked.
 */
async function markAll(
  dynamo: DynamoDBClient,
  table: string,
  writes: readonly SlotWrite[],
  now: EpochMs,
  signal: AbortSignal | undefined,
): Promise<WriteOutcome[]> {
  try {
    const TransactItems = writes.map(({ task }) => markWrite(table, task, now));
    await dynamo.send(new TransactWriteItemsCommand({ TransactItems }), abortable(signal));
    return writes.map(() => 'done');
  } catch (error) {
    const failure = storeError(error);
    if (failure.name === 'ConflictError') return writes.map(() => 'changed');
    if (failure.name === 'RetryError' || writes.length === 1) return writes.map(() => failure);
    const half = Math.ceil(writes.length / 2);
    const first = await markAll(dynamo, table, writes.slice(0, half), now, signal);
    return [...first, ...(await markAll(dynamo, table, writes.slice(half), now, signal))];
  }
}

const attribute = (value: string | number) => (typeof value === 'number' ? { N: String(value) } : { S: value });
