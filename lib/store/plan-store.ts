import {
  BatchGetItemCommand,
  type DynamoDBClient,
  GetItemCommand,
  type TransactWriteItem,
  TransactWriteItemsCommand,
} from '@aws-sdk/client-dynamodb';
import type { NodeId, TaskId } from '../ids.ts';
import type { Account } from '../nodes/account.ts';
import type { Pool } from '../nodes/pool.ts';
import type { CommitOutcome, Learned, PlanStore } from '../plans/apply.ts';
import { type TaskKey, taskKey } from '../plans/decide-part.ts';
import type { Needs, StoredResult } from '../plans/facts.ts';
import type { Commit } from '../plans/fold.ts';
import { PLATFORM } from '../settings.ts';
import type { SlotKey, Task } from '../tasks/task.ts';
import { accountFromItem, accountKey } from './account-item.ts';
import { type Item, marshall, unmarshall } from './dynamo.ts';
import { BugError, type CancellationReason, cancellationReasons, RetryError, storeError } from './errors.ts';
import { poolFromItem, resultFromItem, taskFromItem } from './records.ts';
import type { TableNames } from './tables.ts';
import { accountWrite, poolIndexWrite, resultWrite, taskWrite } from './writes.ts';

/** The tables that plans are applied to. */
export type PlanTables = Pick<TableNames, 'nodes' | 'tasks' | 'plans' | 'pools'>;

/** What one action of a transaction writes, and so what the item of a failed condition is. */
type Target =
  | { readonly kind: 'pool' }
  | { readonly kind: 'node'; readonly node: NodeId }
  | { readonly kind: 'task'; readonly key: TaskKey }
  | { readonly kind: 'result' };

interface Action {
  readonly target: Target;
  readonly write: TransactWriteItem;
}

/**
 * The state in DynamoDB. `signal` ends what is under way when the invocation has no time left: what became of it then is
 * seen at the redelivery, which finds the stored result or none.
 */
export function planStore(client: DynamoDBClient, tables: PlanTables, signal?: AbortSignal): PlanStore {
  const options = signal ? { abortSignal: signal } : {};
  return {
    async readPool(pool) {
      const { Item } = await ours(
        client.send(
          new GetItemCommand({
            TableName: tables.pools,
            Key: marshall({ pool }),
            ConsistentRead: true,
            ReturnConsumedCapacity: 'INDEXES',
          }),
          options,
        ),
      );
      return Item ? poolFromItem(unmarshall(Item)) : 'missing';
    },

    async read(pool, needs) {
      const accounts = new Map<NodeId, Account | 'missing'>();
      const tasks = new Map<TaskKey, Task | 'missing'>();
      for (const chunk of chunksOf(requestsOf(pool, needs), PLATFORM.batchGetKeys)) {
        for (const { key, table } of chunk) {
          if (table === 'nodes') accounts.set(key.nodeId, 'missing');
          else tasks.set(taskKey(key.slotKey, key.taskId), 'missing');
        }
        let keys = keysByTable(tables, chunk);
        while (Object.keys(keys).length > 0) {
          const { Responses, UnprocessedKeys } = await ours(
            client.send(new BatchGetItemCommand({ RequestItems: keys, ReturnConsumedCapacity: 'INDEXES' }), options),
          );
          for (const item of Responses?.[tables.nodes] ?? []) {
            const account = accountFromItem(unmarshall(item));
            accounts.set(account.nodeId, account);
          }
          for (const item of Responses?.[tables.tasks] ?? []) {
            const task = taskFromItem(unmarshall(item));
            tasks.set(taskKey(task.slotKey, task.taskId), task);
          }
          const unread = (UnprocessedKeys ?? {}) as typeof keys;
          // DynamoDB leaves keys out when it throttles: asking at once for all of them again would make it worse.
          if (countKeys(unread) > 0 && countKeys(unread) === countKeys(keys))
            throw new RetryError('BatchGetItem: no key was processed');
          keys = unread;
        }
      }
      return { accounts, tasks, results: [] };
    },

    async commit(commit) {
      const actions = actionsOf(commit, tables);
      try {
        await client.send(
          new TransactWriteItemsCommand({
            TransactItems: actions.map(({ write }) => write),
            ReturnConsumedCapacity: 'INDEXES',
          }),
          options,
        );
        return { kind: 'committed' };
      } catch (error) {
        const kind = storeError(error);
        const reasons = cancellationReasons(error);
        if (!reasons || (kind.name !== 'ConflictError' && kind.name !== 'RetryError')) throw kind;
        return refused(actions, reasons, kind);
      }
    },
  };
}

async function ours<T>(request: Promise<T>): Promise<T> {
  try {
    return await request;
  } catch (error) {
    throw storeError(error);
  }
}

type ReadRequest =
  | { readonly table: 'nodes'; readonly key: ReturnType<typeof accountKey> }
  | { readonly table: 'tasks'; readonly key: { readonly slotKey: SlotKey; readonly taskId: TaskId } };

function requestsOf(pool: Pool, needs: Needs): ReadRequest[] {
  return [
    ...[...needs.accounts].map(
      (node): ReadRequest => ({ table: 'nodes', key: accountKey(pool.pool, pool.shards, node) }),
    ),
    ...[...needs.tasks].map((key): ReadRequest => {
      const [slotKey, taskId] = key.split(' ') as [SlotKey, TaskId];
      return { table: 'tasks', key: { slotKey, taskId } };
    }),
  ];
}

function chunksOf<T>(list: readonly T[], size: number): T[][] {
  const chunks: T[][] = [];
  for (let at = 0; at < list.length; at += size) chunks.push(list.slice(at, at + size));
  return chunks;
}

function keysByTable(tables: PlanTables, requests: readonly ReadRequest[]) {
  const keys: Record<string, { Keys: ReturnType<typeof marshall>[]; ConsistentRead: true }> = {};
  for (const { table, key } of requests) {
    keys[tables[table]] ??= { Keys: [], ConsistentRead: true };
    keys[tables[table]]?.Keys.push(marshall(key));
  }
  return keys;
}

function countKeys(keys: ReturnType<typeof keysByTable>): number {
  return Object.values(keys).reduce((sum, { Keys }) => sum + Keys.length, 0);
}

/** The actions of a commit: the pool first, so that the fence is what fails first. */
function actionsOf(commit: Commit, tables: PlanTables): Action[] {
  const { pool } = commit;
  const results = commit.results.map(
    (stored): Action => ({ target: { kind: 'result' }, write: resultWrite(tables.plans, stored) }),
  );
  if (!pool) return results;
  return [
    { target: { kind: 'pool' }, write: poolIndexWrite(tables.pools, pool.pool, pool.index) },
    ...[...commit.nodes].map(
      ([node, write]): Action => ({
        target: { kind: 'node', node },
        write: accountWrite(tables.nodes, accountKey(pool.pool, pool.shards, node), write, pool.index),
      }),
    ),
    ...[...commit.tasks].map(
      ([key, write]): Action => ({ target: { kind: 'task', key }, write: taskWrite(tables.tasks, write) }),
    ),
    ...results,
  ];
}

/** What the failed conditions of a cancelled transaction have shown. */
function refused(actions: readonly Action[], reasons: readonly CancellationReason[], error: Error): CommitOutcome {
  if (reasons.length !== actions.length) {
    throw new BugError(`a transaction of ${actions.length} actions was cancelled with ${reasons.length} reasons`, {
      cause: error,
    });
  }
  const learned = {
    accounts: new Map<NodeId, Account | 'missing'>(),
    tasks: new Map<TaskKey, Task | 'missing'>(),
    results: [] as StoredResult[],
  };
  let pool: Learned['pool'];
  let failed = 0;
  reasons.forEach(({ Code, Item }, at) => {
    const target = actions[at]?.target;
    if (Code !== 'ConditionalCheckFailed' || !target) return;
    failed++;
    const item: Item | undefined =
      Item && Object.keys(Item).length > 0 ? unmarshall(Item as Parameters<typeof unmarshall>[0]) : undefined;
    switch (target.kind) {
      case 'pool':
        pool = item ? poolFromItem(item) : 'missing';
        break;
      case 'node':
        learned.accounts.set(target.node, item ? accountFromItem(item) : 'missing');
        break;
      case 'task':
        learned.tasks.set(target.key, item ? taskFromItem(item) : 'missing');
        break;
      case 'result':
        // Deleted between the condition and this answer: nothing to learn, the next try will write it.
        if (item) learned.results.push(resultFromItem(item));
        break;
    }
  });
  const busy = failed === 0 || error.name === 'RetryError';
  return { kind: 'refused', learned: pool === undefined ? learned : { ...learned, pool }, busy };
}
