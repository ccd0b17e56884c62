import { expect, test } from 'vitest';
import type { NodeId, PlanId, PoolName, ServiceId, TaskId } from '../lib/ids.ts';
import { accountOf } from '../lib/nodes/account.ts';
import { nodeSpecSchema } from '../lib/nodes/node.ts';
import type { Pool } from '../lib/nodes/pool.ts';
import { taskKey } from '../lib/plans/decide-part.ts';
import type { ResultWrite } from '../lib/plans/ledger.ts';
import { planStore } from '../lib/store/plan-store.ts';
import { slotKeyOf, type Task } from '../lib/tasks/task.ts';
import type { EpochMs, EpochSeconds } from '../lib/time.ts';
import { permissionsAsked, permissionsGranted } from '../test/support/permissions.ts';
import { planApplierStatements } from './plan-applier-policy.ts';

const TABLES = { pools: 'Pools', nodes: 'Nodes', tasks: 'Tasks', plans: 'Plans', rejections: 'Rejections' } as const;

test('the plan applier may do on the tables what its store sends, no less and no more', async () => {
  const { dynamo, asked } = permissionsAsked();
  const store = planStore(dynamo, TABLES);

  const pool = { pool: 'prod' as PoolName, index: 1, shards: 1, settings: {} } as Pool;
  const [known, unknown] = ['n1', 'n2'] as NodeId[] as [NodeId, NodeId];
  const task = {
    taskId: 't1' as TaskId,
    serviceId: 'web' as ServiceId,
    slot: 1,
    nodeId: known,
    pool: pool.pool,
  } as Task;
  const key = taskKey(slotKeyOf(task), task.taskId);
  const account = accountOf(nodeSpecSchema.parse({ nodeId: known, pool: pool.pool, capacity: {} }));
  const none = new Map();

  await store.readPool(pool.pool);
  await store.read(pool, {
    accounts: new Set([known]),
    tasks: new Set([key]),
    windows: new Set([known]),
    events: new Set([known]),
    progress: new Set(['p1' as PlanId]),
  });
  const gone = taskKey(slotKeyOf(task), 't2' as TaskId);
  await store.commit({
    pool: { pool: pool.pool, index: 2, shards: 1, marks: undefined },
    nodes: new Map([
      [known, { kind: 'known', image: account }],
      [
        unknown,
        {
          kind: 'blind',
          change: {
            ...{ demand: 'there', net: none, need: none, named: { net: 0 } },
            ...{ claims: none, joins: none, leaves: none },
          },
        },
      ],
    ]),
    tasks: new Map([
      [key, { before: 1, image: task }],
      [gone, { before: 1, image: undefined }],
    ]),
    windows: new Map([[known, { nodeId: known, times: [], version: 1, expiresAt: 1 as EpochSeconds }]]),
    events: new Map([[known, { before: [], events: [] }]]),
    at: 1 as EpochMs,
    results: [
      {
        fingerprint: 'f',
        over: 0,
        result: { planId: 'p1' as PlanId, appliedAt: '2027-01-01T00:00:00Z' },
      } as ResultWrite,
    ],
  });

  const granted = planApplierStatements(
    { tableArn: (table) => TABLES[table as keyof typeof TABLES], queueArn: (queue) => queue },
    'bus',
  );
  expect(asked()).toEqual(permissionsGranted(granted).filter((permission) => permission.includes('dynamodb:')));
});
