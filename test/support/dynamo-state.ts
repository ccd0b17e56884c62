import { GetItemCommand, QueryCommand, ScanCommand } from '@aws-sdk/client-dynamodb';
import type { Account } from '../../lib/nodes/account.ts';
import type { Pool } from '../../lib/nodes/pool.ts';
import type { RejectionWindow } from '../../lib/plans/rejections.ts';
import type { PlanResult } from '../../lib/plans/result.ts';
import { accountFromItem } from '../../lib/store/account-item.ts';
import { type Item, marshall, unmarshall } from '../../lib/store/dynamo.ts';
import { accountPartition } from '../../lib/store/keys.ts';
import { resultFromItem, taskFromItem, windowFromItem } from '../../lib/store/records.ts';
import type { Task } from '../../lib/tasks/task.ts';
import type { Database } from './database.ts';
import type { World } from './summary.ts';

/** Everything that plans have made of a pool, read past all faults. */
export async function readWorld(database: Database, pool: Pool, planIds: readonly string[]): Promise<World> {
  const accounts = new Map<string, Account>();
  for (let shard = 0; shard < pool.shards; shard++) {
    for (const item of await query(database, database.tables.nodes, 'poolShard', accountPartition(pool.pool, shard))) {
      const account = accountFromItem(item);
      accounts.set(account.nodeId, account);
    }
  }
  const windows = new Map<string, RejectionWindow>();
  for (const item of await query(database, database.tables.rejections, 'pool', pool.pool)) {
    const window = windowFromItem(item);
    windows.set(window.nodeId, window);
  }
  const results = new Map<string, PlanResult>();
  const keys = planIds.map((planId) => ({ TableName: database.tables.plans, Key: marshall({ planId }) }));
  for (const { Item } of await Promise.all(keys.map((key) => database.client.send(new GetItemCommand(key))))) {
    const stored = Item && resultFromItem(unmarshall(Item));
    if (stored) results.set(stored.result.planId, stored.result);
  }
  return { accounts, tasks: await tasksOf(database, pool), results, windows };
}

async function tasksOf({ client, tables }: Database, { pool }: Pool): Promise<Map<string, Task>> {
  const tasks = new Map<string, Task>();
  let start: Record<string, never> | undefined;
  do {
    const page = await client.send(
      new ScanCommand({
        TableName: tables.tasks,
        FilterExpression: '#pool = :pool',
        ExpressionAttributeNames: { '#pool': 'pool' },
        ExpressionAttributeValues: marshall({ ':pool': pool }),
        ...(start ? { ExclusiveStartKey: start } : {}),
      }),
    );
    for (const item of page.Items ?? []) {
      const task = taskFromItem(unmarshall(item));
      tasks.set(`${task.slotKey} ${task.taskId}`, task);
    }
    start = page.LastEvaluatedKey as typeof start;
  } while (start);
  return tasks;
}

/** All items of a partition, which in a test fit one page. */
async function query({ client }: Database, table: string, name: string, value: string): Promise<Item[]> {
  const { Items = [] } = await client.send(
    new QueryCommand({
      TableName: table,
      KeyConditionExpression: '#key = :key',
      ExpressionAttributeNames: { '#key': name },
      ExpressionAttributeValues: marshall({ ':key': value }),
    }),
  );
  return Items.map((item) => unmarshall(item));
}
