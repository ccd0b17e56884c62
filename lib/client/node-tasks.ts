import { QueryCommand, type QueryCommandOutput } from '@aws-sdk/client-dynamodb';
import type { NodeId, PoolName, TaskId } from '../ids.ts';
import { marshall, unmarshall } from '../store/dynamo.ts';
import { poolNodeKey } from '../store/keys.ts';
import { taskFromItem } from '../store/records.ts';
import { BY_NODE_INDEX } from '../store/tables.ts';
import type { SlotKey, Task } from '../tasks/task.ts';
import { batchGet } from './batch-get.ts';
import type { NodeConnection } from './connection.ts';
import { retrying } from './retrying.ts';
import { scanned } from './scan.ts';

/** Where a task is found in the table. */
export interface StoredTaskKey {
  readonly slotKey: SlotKey;
  readonly taskId: TaskId;
}

/** Tasks of one page: a node may have had any number. */
const PAGE = 500;

/**
 * Tasks that are or were on a node, a page of the by-node index at a time, each as a consistent read shows it. The index
 * itself lags behind the table, mostly by less than a second: a task that was placed just now may be missing.
 */
export async function* tasksOfNode(connection: NodeConnection, pool: PoolName, node: NodeId): AsyncGenerator<Task[]> {
  const { dynamo, tables } = connection;
  let start: QueryCommandOutput['LastEvaluatedKey'];
  do {
    const page: QueryCommandOutput = await retrying(() =>
      dynamo.send(
        new QueryCommand({
          TableName: tables.tasks,
          IndexName: BY_NODE_INDEX,
          KeyConditionExpression: '#poolNode = :poolNode',
          ExpressionAttributeNames: { '#poolNode': 'poolNode' },
          ExpressionAttributeValues: marshall({ ':poolNode': poolNodeKey(pool, node) }),
          Limit: PAGE,
          ...(start ? { ExclusiveStartKey: start } : {}),
        }),
      ),
    );
    const keys = (page.Items ?? []).map((item) => unmarshall(item) as unknown as StoredTaskKey);
    yield (await readTasks(connection, keys)).filter((task) => isOn(task, pool, node));
    start = page.LastEvaluatedKey;
  } while (start);
}

/** Whether the task is one of this node: its id may have been used again elsewhere since the task of that id was reaped. */
export function isOn(task: Task, pool: PoolName, node: NodeId): boolean {
  return task.pool === pool && task.nodeId === node;
}

/** Those of `keys` that are there, by consistent reads. */
export async function readTasks(connection: NodeConnection, keys: readonly StoredTaskKey[]): Promise<Task[]> {
  const own = keys.map(({ slotKey, taskId }) => ({ slotKey, taskId }));
  return (await batchGet(connection, connection.tables.tasks, own)).map(taskFromItem);
}

/** Every task of a pool, or of one node of it, in no order, by a consistent read of the whole table. */
export async function* scanTasks(connection: NodeConnection, pool: PoolName, node?: NodeId): AsyncGenerator<Task> {
  const [name, value] = node === undefined ? ['pool', pool] : ['poolNode', poolNodeKey(pool, node)];
  const items = scanned(connection, {
    TableName: connection.tables.tasks,
    FilterExpression: '#name = :value',
    ExpressionAttributeNames: { '#name': name },
    ExpressionAttributeValues: marshall({ ':value': value }),
  });
  for await (const item of items) yield taskFromItem(item);
}
