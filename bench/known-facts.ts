import type { NodeId, PlanId, PoolName, ServiceId, TaskId } from '../lib/ids.ts';
import { type Account, accountOf, exchanged } from '../lib/nodes/account.ts';
import { nodeSpecSchema } from '../lib/nodes/node.ts';
import { poolSpecSchema } from '../lib/nodes/pool.ts';
import { type TaskKey, taskKeyOf } from '../lib/plans/decide-part.ts';
import { type Facts, newFacts } from '../lib/plans/facts.ts';
import { holdingOf } from '../lib/tasks/holding.ts';
import { slotKeyOf, type Task } from '../lib/tasks/task.ts';
import type { EpochMs } from '../lib/time.ts';
import { CountingMap } from './counting-map.ts';

export const POOL = 'deciding' as PoolName;
export const NOW = Date.UTC(2026, 0, 1) as EpochMs;

/** Facts that count how often they are looked into. */
export interface KnownFacts {
  readonly facts: Facts;
  readonly accounts: CountingMap<NodeId, Account | 'missing'>;
  readonly tasks: CountingMap<TaskKey, Task | 'missing'>;
}

export const nodeName = (at: number) => `node-${at}` as NodeId;

/** A task that is known; the `at`th of them lies on the node of that number, once around after the other. */
export function knownTask(at: number, nodes: number): Task {
  const place = {
    taskId: `task-${at}` as TaskId,
    serviceId: `service-${at % 100}` as ServiceId,
    slot: at,
    nodeId: nodeName(at % nodes),
  };
  const planId = 'earlier' as PlanId;
  return {
    ...place,
    resources: { cpu: 100, memory: 128 },
    ports: [],
    cores: [],
    devices: [],
    volumes: [],
    jobIteration: 0,
    slotKey: slotKeyOf(place),
    pool: POOL,
    version: 1,
    state: 'running',
    desiredState: 'running',
    released: false,
    appliedAt: NOW,
    stateTimes: { running: NOW },
    desiredAt: NOW,
    createdAt: NOW,
    planId,
    lastPlanId: planId,
    priority: 50,
  };
}

/** A pool of which `nodes` nodes and `tasks` tasks are known. */
export function knownFacts(nodes: number, tasks: number): KnownFacts {
  const known: { accounts: KnownFacts['accounts']; tasks: KnownFacts['tasks'] } = {
    accounts: new CountingMap(),
    tasks: new CountingMap(),
  };
  const holders: Task[][] = Array.from({ length: nodes }, () => []);
  for (let at = 0; at < tasks; at++) {
    const task = knownTask(at, nodes);
    known.tasks.set(taskKeyOf(task), task);
    holders[at % nodes]?.push(task);
  }
  const capacity = { cpu: 1_000_000, memory: 1_000_000, disk: 1_000_000, 'gpu-milli/0': 1000 };
  const spec = nodeSpecSchema.parse({ nodeId: 'any', pool: POOL, capacity });
  holders.forEach((held, at) => {
    const account = accountOf({ ...spec, nodeId: nodeName(at) });
    known.accounts.set(account.nodeId, exchanged(account, { gives: [], takes: held.map(holdingOf) }));
  });
  const { pool, shards, settings } = poolSpecSchema.parse({ pool: POOL });
  return { facts: { ...newFacts({ pool, shards, settings, index: 1 }), ...known }, ...known };
}
