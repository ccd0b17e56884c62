import { type DynamoDBClient, GetItemCommand, TransactWriteItemsCommand } from '@aws-sdk/client-dynamodb';
import { abortable } from '../aws/requests.ts';
import type { PoolName } from '../ids.ts';
import { type Account, type Exchange, exchanged } from '../nodes/account.ts';
import { type BlindChange, blindly } from '../nodes/blind.ts';
import type { NodeWrite } from '../plans/ledger.ts';
import type { Task } from '../tasks/task.ts';
import { type AccountKey, accountFromItem, accountKey } from './account-item.ts';
import { marshall, unmarshall } from './dynamo.ts';
import { cancellationReasons, storeError } from './errors.ts';
import type { TableNames } from './tables.ts';
import { accountWrite, taskWrite } from './writes.ts';

/** What a task's end is written to. */
export interface TaskTables {
  readonly dynamo: DynamoDBClient;
  readonly tables: Pick<TableNames, 'nodes' | 'tasks'>;
  /** Shards of a pool. They never change. */
  readonly shardsOf: (pool: PoolName) => Promise<number>;
  readonly signal?: AbortSignal | undefined;
}

/** What is known of the account that gets something back: nothing at first, then what a refused write has shown. */
type Known = Account | 'missing' | undefined;

/**
 * Writes `image` in place of `before`, or deletes it, if the task is still of the version of `before`; and gives its node
 * back, in the same transaction, what `exchange` says. Throws a ConflictError if the task has changed.
 */
export async function writeTaskEnd(
  db: TaskTables,
  before: Task,
  image: Task | undefined,
  exchange: Exchange | undefined,
): Promise<void> {
  const { dynamo, tables, shardsOf, signal } = db;
  const options = abortable(signal);
  const task = taskWrite(tables.tasks, before, { before: before.version, image });
  if (!exchange) {
    await dynamo.send(new TransactWriteItemsCommand({ TransactItems: [task] }), options);
    return;
  }
  const key = accountKey(before.pool, await shardsOf(before.pool), before.nodeId);
  const change = blindly(undefined, exchange, 'there');
  let known: Known = change ? undefined : await readAccount(db, key);
  // The account may refuse a first time, for what it shows then, and again only if somebody writes it in between.
  for (;;) {
    const release = releaseOf(known, change, exchange);
    const writes = release ? [task, accountWrite(tables.nodes, key, release)] : [task];
    try {
      await dynamo.send(new TransactWriteItemsCommand({ TransactItems: writes }), options);
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

async function readAccount({ dynamo, tables, signal }: TaskTables, key: AccountKey): Promise<Account | 'missing'> {
  const { Item } = await dynamo.send(
    new GetItemCommand({ TableName: tables.nodes, Key: marshall(key), ConsistentRead: true }),
    abortable(signal),
  );
  return accountOrMissing(Item);
}

function accountOrMissing(item: Record<string, unknown> | undefined): Account | 'missing' {
  return item ? accountFromItem(unmarshall(item as Parameters<typeof unmarshall>[0])) : 'missing';
}
