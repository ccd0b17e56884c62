import type { NodeId, PlanId, PoolName } from '../lib/ids.ts';
import { type Account, accountOf, exchanged } from '../lib/nodes/account.ts';
import type { NodeSpec } from '../lib/nodes/node.ts';
import { type Pool, poolSettingsSchema } from '../lib/nodes/pool.ts';
import { type TaskKey, taskKeyOf } from '../lib/plans/decide-part.ts';
import type { RejectionWindow } from '../lib/plans/rejections.ts';
import { POOL_DEFAULTS } from '../lib/settings.ts';
import { holdingOf } from '../lib/tasks/holding.ts';
import { isTerminal } from '../lib/tasks/states.ts';
import { isLive, slotKeyOf, type Task } from '../lib/tasks/task.ts';
import type { EpochMs } from '../lib/time.ts';
import type { CaseTask, PlanCase } from './plan-case.ts';

/** Everything that is stored of the pools of a case. */
export interface ClusterState {
  readonly pools: ReadonlyMap<PoolName, Pool>;
  readonly accounts: ReadonlyMap<PoolName, ReadonlyMap<NodeId, Account>>;
  readonly tasks: ReadonlyMap<TaskKey, Task>;
  /** Refusals of the nodes of the case's main pool. */
  readonly windows: ReadonlyMap<NodeId, RejectionWindow>;
}

/** Plan that the tasks of a case were placed by, as far as the case tells. */
const EARLIER_PLAN = 'earlier' as PlanId;

/** The state that a case begins with. It may be one that no plan could have made: a node that holds too much, or is gone. */
export function initialState(planCase: PlanCase, now: EpochMs): ClusterState {
  const tasks = new Map<TaskKey, Task>();
  for (const task of planCase.tasks) tasks.set(taskKeyOf(task), storedTask(task, planCase, now));
  const accounts = new Map<PoolName, Map<NodeId, Account>>();
  for (const node of planCase.nodes) {
    const ofPool = accounts.get(node.pool) ?? new Map<NodeId, Account>();
    accounts.set(node.pool, ofPool.set(node.nodeId, accountWith(node, [...tasks.values()])));
  }
  const names = [...accounts.keys(), ...[...tasks.values()].map(({ pool }) => pool)];
  const pools = new Map<PoolName, Pool>();
  for (const pool of names) {
    pools.set(pool, { pool, index: 1, shards: POOL_DEFAULTS.shards, settings: poolSettingsSchema.parse({}) });
  }
  return {
    pools: pools.set(planCase.mainPool, { pool: planCase.mainPool, index: 1, ...planCase.pool }),
    accounts,
    tasks,
    windows: new Map(),
  };
}

function storedTask(task: CaseTask, { nodes, mainPool, pool }: PlanCase, now: EpochMs): Task {
  const { state, desiredState, pool: named, released, ...placement } = task;
  const homes = nodes.filter(({ nodeId }) => nodeId === task.nodeId).map((node) => node.pool);
  const home = homes.includes(mainPool) ? mainPool : (homes[0] ?? mainPool);
  const stoppedIsReleased = pool.settings.stopRelease === 'plan';
  return {
    ...placement,
    slotKey: slotKeyOf(placement),
    pool: named ?? home,
    version: 1,
    state,
    desiredState,
    released: released ?? (stoppedIsReleased ? !isLive(task) : isTerminal(state)),
    appliedAt: now,
    stateTimes: { [state]: now },
    desiredAt: now,
    createdAt: now,
    planId: EARLIER_PLAN,
    lastPlanId: EARLIER_PLAN,
    priority: 50,
  };
}

/** The account of a node with what its unreleased tasks hold. */
export function accountWith(node: NodeSpec, tasks: readonly Task[]): Account {
  const holders = tasks.filter(
    ({ pool, nodeId, released }) => pool === node.pool && nodeId === node.nodeId && !released,
  );
  const held = exchanged(accountOf(node), { gives: [], takes: holders.map(holdingOf) });
  // As if the node had been registered again: what a task holds of it that it does not list is withdrawn.
  return accountOf(node, held);
}
