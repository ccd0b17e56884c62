import { GetItemCommand, TransactWriteItemsCommand } from '@aws-sdk/client-dynamodb';
import type * as z from 'zod/mini';
import { type Account, type Exchange, exchanged } from '../nodes/account.ts';
import { type BlindChange, blindly } from '../nodes/blind.ts';
import type { NodeWrite } from '../plans/ledger.ts';
import { parsed } from '../schema.ts';
import { type AccountKey, accountFromItem, accountKey } from '../store/account-item.ts';
import { marshall, unmarshall } from '../store/dynamo.ts';
import { cancellationReasons, storeError } from '../store/errors.ts';
import { taskFromItem } from '../store/records.ts';
import { accountWrite, taskWrite } from '../store/writes.ts';
import { decideReport, type TaskReportInput, taskReportSchema } from '../tasks/report.ts';
import { slotKeyOf, type Task, taskRefSchema } from '../tasks/task.ts';
import type { Connection } from './connection.ts';
import { poolShards } from './pools.ts';
import { retrying } from './retrying.ts';

/** Names a task: its slot and its id. */
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
  return retrying(async () => {
    const { Item } = await dynamo.send(new GetItemCommand({ TableName: tables.tasks, Key: key, ConsistentRead: true }));
    if (!Item) return 'not-found';
    const task = taskFromItem(unmarshall(Item));
    const decision = decideReport(task, report, connection.clock());
    if (decision.kind === 'unchanged') return 'unchanged';
    await writeReport(connection, task, decision.image, decision.exchange);
    return 'applied';
  });
}

/** What is known of the account that gets something back: nothing at first, then what a refused write has shown. */
type Known = Account | 'missing' | undefined;

async function writeReport(
  connection: Connection,
  before: Task,
  image: Task,
  exchange: Exchange | undefined,
): Promise<void> {
  const { dynamo, tables } = connection;
  const task = taskWrite(tables.tasks, before, { before: before.version, image });
  if (!exchange) {
    await dynamo.send(new TransactWriteItemsCommand({ TransactItems: [task] }));
    return;
  }
  const key = accountKey(before.pool, await poolShards(connection, before.pool), before.nodeId);
  const change = blindly(undefined, exchange, 'there');
  let known: Known = change ? undefined : await readAccount(connection, key);
  // The account may refuse a first time, for what it shows then, and again only if somebody writes it in between.
  for (;;) {
    const release = releaseOf(known, change, exchange);
    const writes = release ? [task, accountWrite(tables.nodes, key, release)] : [task];
    try {
      await dynamo.send(new TransactWriteItemsCommand({ TransactItems: writes }));
      return;
    } catch (error) {
      const [taskReason, accountReason] = cancellationReasons(error) ?? [];
      if (taskReason?.Code !== 'None' || accountReason?.Code !== 'ConditionalCheckFailed') throw storeError(error);
      known = accountOrMissing(accountReason.Item);
    }
  }
}

/** How the account gets `exchange` back. A node that is gone gets nothing. */
function releaseOf(known: Known, change: BlindChange | undefined, exchange: Exchange): NodeWrite | undefined {
  if (known === 'missing') return undefined;
  if (known) return { kind: 'known', image: { ...exchanged(known, exchange), version: known.version + 1 } };
  return change && { kind: 'blind', change };
}

async function readAccount({ dynamo, tables }: Connection, key: AccountKey): Promise<Account | 'missing'> {
  const { Item } = await dynamo.send(
    new GetItemCommand({ TableName: tables.nodes, Key: marshall(key), ConsistentRead: true }),
  );
  return accountOrMissing(Item);
}

function accountOrMissing(item: Record<string, unknown> | undefined): Account | 'missing' {
  return item ? accountFromItem(unmarshall(item as Parameters<typeof unmarshall>[0])) : 'missing';
}
