import { GetItemCommand } from '@aws-sdk/client-dynamodb';
import type * as z from 'zod/mini';
import type { PoolName } from '../ids.ts';
import { parsed } from '../schema.ts';
import { marshall, unmarshall } from '../store/dynamo.ts';
import { writeTaskEnd } from '../store/give-back.ts';
import { taskFromItem } from '../store/records.ts';
import { decideReport, type TaskReportInput, taskReportSchema } from '../tasks/report.ts';
import { slotKeyOf, taskRefSchema } from '../tasks/task.ts';
import type { Connection } from './connection.ts';
import { poolShards } from './pools.ts';
import { retrying } from './retrying.ts';

/** Names a task: its slot, its id and the node that it is on. */
export type TaskRefInput = z.input<typeof taskRefSchema>;

/** `unchanged`: the report was late or repeated. `not-found`: there is no such task (any more). */
export type ReportOutcome = 'applied' | 'unchanged' | 'not-found';

/**
 * Writes what an agent says of a task; the first report that ends it gives its resources back in the same
 * transaction. Safe to repeat, and beside a running applier.
 */
export async function reportTask(
  connection: Connection,
  refInput: TaskRefInput,
  input: TaskReportInput,
): Promise<ReportOutcome> {
  const ref = parsed(taskRefSchema, refInput, 'the task');
  const report = parsed(taskReportSchema, input, 'the report');
  const key = marshall({ slotKey: slotKeyOf(ref), taskId: ref.taskId });
  const { dynamo, tables } = connection;
  const db = { dynamo, tables, shardsOf: (pool: PoolName) => poolShards(connection, pool) };
  return retrying(async () => {
    const { Item } = await dynamo.send(new GetItemCommand({ TableName: tables.tasks, Key: key, ConsistentRead: true }));
    if (!Item) return 'not-found';
    const task = taskFromItem(unmarshall(Item));
    // A task never moves: this is another one, which has the id of one that was on the node and was reaped.
    if (task.nodeId !== ref.nodeId) return 'not-found';
    const decision = decideReport(task, report, connection.clock());
    if (decision.kind === 'unchanged') return 'unchanged';
    await writeTaskEnd(db, task, decision.image, decision.exchange);
    return 'applied';
  });
}
