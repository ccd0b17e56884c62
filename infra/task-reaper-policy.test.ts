import { GetItemCommand, QueryCommand, ScanCommand } from '@aws-sdk/client-dynamodb';
import { describe, expect, test } from 'vitest';
import type { PoolName, ServiceId, TaskId } from '../lib/ids.ts';
import { accountItem, accountKey } from '../lib/store/account-item.ts';
import { marshall } from '../lib/store/dynamo.ts';
import { quarantine } from '../lib/store/queue.ts';
import { poolItem, taskItem } from '../lib/store/records.ts';
import { serviceItem } from '../lib/store/services.ts';
import { slotStore } from '../lib/store/slot-store.ts';
import { sweepStore } from '../lib/store/sweep-store.ts';
import type { ReapContext } from '../lib/tasks/reap.ts';
import { reapSlots } from '../lib/tasks/reap.ts';
import { runPage } from '../lib/tasks/run-page.ts';
import type { Service } from '../lib/tasks/service.ts';
import type { SweepPage } from '../lib/tasks/sweep.ts';
import { slotKeyOfNumber, type Task } from '../lib/tasks/task.ts';
import type { EpochMs } from '../lib/time.ts';
import { accountWith, NOW, taskOf } from '../test/support/builders.ts';
import { type Permissions, permissionsAsked, permissionsGranted } from '../test/support/permissions.ts';
import { poolOf } from '../test/support/plans.ts';
import { taskReaperStatements, taskSweeperStatements } from './task-reaper-policy.ts';

const TABLES = { pools: 'Pools', nodes: 'Nodes', tasks: 'Tasks', services: 'Services' } as const;
const BY_SERVICE = 'Tasks/index/by-service';
const RESOURCES = {
  tableArn: (table: string) => TABLES[table as keyof typeof TABLES],
  queueArn: (queue: string) => queue,
};

const web = 'web' as ServiceId;
const service: Service = {
  serviceId: web,
  mode: 'replicated',
  restartMaxAttempts: 0,
  historyLimit: 0,
  jobIteration: 0,
};
const ended = { state: 'failed', desiredState: 'shutdown' } as const;
/** More claims than conditions can say: what it gives back is written over the account as it was read. */
const many = { cores: Array.from({ length: 21 }, (_, core) => core) };

/** Old tasks: one that has given back what it held, one that has not, and one that holds more. */
const OLD: readonly Task[] = [
  taskOf('released', {}, { ...ended, released: true }),
  taskOf('holding', {}, ended),
  taskOf('holding-much', many, ended),
  taskOf('last-trace', {}, { ...ended, released: true, appliedAt: NOW }),
];
const RUNNING = taskOf('running');

/** Clients that answer with a slot of `tasks`, of `of`, whatever they are asked. */
function clients(tasks: readonly Task[], of: Service): Permissions {
  const items = tasks.map((task) => marshall(taskItem(task)));
  const account = accountWith({ cores: many.cores }, tasks);
  return permissionsAsked((command) => {
    if (command instanceof QueryCommand) return { Items: items };
    if (command instanceof ScanCommand) return { Items: items, LastEvaluatedKey: marshall({ slotKey: 'web#1' }) };
    if (command instanceof GetItemCommand) {
      if (command.input.TableName === 'Pools') return { Item: marshall(poolItem(poolOf('prod'))) };
      const key = accountKey('prod' as PoolName, 2, account.nodeId);
      return command.input.TableName === 'Nodes' ? { Item: marshall(accountItem(key, account)) } : {};
    }
    const statements = (command as { input: { Statements?: unknown[] } }).input.Statements;
    if (statements) return { Responses: statements.map(() => ({})) };
    return { Responses: { Services: [marshall(serviceItem(of))] } };
  });
}

const context = ({ dynamo }: Permissions): ReapContext => ({
  store: slotStore(dynamo, TABLES, new Map()),
  clock: () => NOW,
  deadline: (NOW + 1) as EpochMs,
  sleep: () => Promise.resolve(),
  random: () => 0,
});

describe('no less and no more than what it sends', () => {
  test('may the task reaper do, and Lambda in its name', async () => {
    const permissions = clients([...OLD, RUNNING], service);
    const [outcome] = await reapSlots([{ slotKey: slotKeyOfNumber(web, 1), removable: true }], context(permissions));
    expect(outcome?.deleted.map(({ taskId }) => taskId).toSorted()).toEqual(OLD.map(idOf).toSorted());

    const lambda = [
      'stream dynamodb:DescribeStream',
      'stream dynamodb:GetRecords',
      'stream dynamodb:GetShardIterator',
      'Tasks/stream/* dynamodb:ListStreams',
      'reaperFailures sqs:SendMessage',
    ];
    const granted = permissionsGranted(taskReaperStatements(RESOURCES, 'stream'));
    expect([...permissions.asked(), ...lambda].toSorted()).toEqual(granted);
  });

  test('may the task sweeper do, and Lambda in its name', async () => {
    const asked = new Set<string>();
    const run = async (page: Partial<SweepPage>, permissions: Permissions) => {
      const { dynamo, sqs } = permissions;
      const slots = context(permissions).store;
      const sweeps = sweepStore({ dynamo, tables: TABLES, sqs, queueUrl: 'sweep' });
      const outcome = await runPage(
        { apiVersion: 'berth/v1', kind: 'SweepPage', sweepId: 's', reason: 'request', page: 0, ...page },
        {
          ...context(permissions),
          slots,
          sweeps: { ...sweeps, readServices: (services) => slots.readServices(services) },
          pageTasks: 10,
          tolerant: false,
        },
      );
      for (const permission of permissions.asked()) asked.add(permission);
      return outcome.record;
    };
    expect(await run({}, clients(OLD, service))).toMatchObject({ deleted: 3, marked: 0 });
    const removed = clients([...OLD, RUNNING], { ...service, removedAt: NOW });
    expect(await run({ reason: 'service-removed', serviceId: web }, removed)).toMatchObject({ deleted: 4, marked: 1 });
    const bad = permissionsAsked();
    await quarantine(bad.sqs, 'reaperFailures', '?', { reason: 'r', messageId: 'm', group: '', source: 's' });
    for (const permission of bad.asked()) asked.add(permission);

    const lambda = ['ChangeMessageVisibility', 'DeleteMessage', 'GetQueueAttributes', 'ReceiveMessage'];
    const granted = permissionsGranted(taskSweeperStatements(RESOURCES, BY_SERVICE));
    expect([...asked, ...lambda.map((action) => `sweep sqs:${action}`)].toSorted()).toEqual(granted);
  });
});

function idOf({ taskId }: Task): TaskId {
  return taskId;
}
