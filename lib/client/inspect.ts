import type { NodeId, PlanId, PoolName } from '../ids.ts';
import { type Account, accountAt, isSchedulable } from '../nodes/account.ts';
import type { NodeEvent, Profile } from '../nodes/profile.ts';
import type { Progress } from '../plans/progress.ts';
import { marksAt, timesInside } from '../plans/rejections.ts';
import type { PlanResult } from '../plans/result.ts';
import { progressFromItem, resultFromItem, windowFromItem } from '../store/records.ts';
import { isTerminal } from '../tasks/states.ts';
import type { Task } from '../tasks/task.ts';
import type { EpochMs } from '../time.ts';
import { batchGet } from './batch-get.ts';
import type { Connection } from './connection.ts';
import { tasksOfNode } from './node-tasks.ts';
import { NodeNotFoundError, readNode } from './nodes.ts';
import { readPool } from './pools.ts';

/** Everything that is known of a node. */
export interface NodeDetails {
  readonly account: Account;
  /** Whether a new task may be placed on it: ready, eligible, not draining. */
  readonly schedulable: boolean;
  readonly profile: Profile;
  /** The last ten, the oldest first. */
  readonly events: readonly NodeEvent[];
  readonly refusals: {
    /** Times of those that count at this moment, the oldest first. */
    readonly times: readonly EpochMs[];
    /** How many of them make the node ineligible; nothing is counted if `enabled` is false. */
    readonly threshold: number;
    readonly windowSeconds: number;
    readonly enabled: boolean;
    /** Nodes of the pool that can be made ineligible now; a fraction is on its way to one more. */
    readonly marksLeft: number;
  };
  /** Tasks that hold something of the node or run there, as far as the index shows them: it lags by a moment. */
  readonly tasks: readonly Task[];
}

/** A node as an operator wants to see it. Throws PoolNotFoundError, NodeNotFoundError. */
export async function inspectNode(connection: Connection, name: PoolName, node: NodeId): Promise<NodeDetails> {
  const pool = await readPool(connection, name);
  const { account: stored, profile, events } = await readNode(connection, name, node);
  if (!stored || !profile || !events) throw new NodeNotFoundError(name, node);
  const [item] = await batchGet(connection, connection.rejectionsTable(), [{ pool: name, nodeId: node }]);
  const tasks: Task[] = [];
  for await (const page of tasksOfNode(connection, name, node)) {
    tasks.push(...page.filter(({ released, state }) => !released || !isTerminal(state)));
  }
  const now = connection.clock();
  const { tracker } = pool.settings;
  const times = timesInside(item && windowFromItem(item), now, tracker);
  const account = accountAt(stored, now);
  return {
    account,
    schedulable: isSchedulable(account),
    profile,
    events,
    refusals: {
      times: times.toSorted((a, b) => a - b),
      threshold: tracker.threshold,
      windowSeconds: tracker.windowSeconds,
      enabled: tracker.enabled,
      marksLeft: marksAt(pool.marks, now, tracker),
    },
    tasks: tasks.sort((a, b) => (a.taskId < b.taskId ? -1 : 1)),
  };
}

/** What is stored of a plan: its result, or how far one of several transactions has come. */
export type PlanRecord =
  | { readonly kind: 'ended'; readonly result: PlanResult }
  | { readonly kind: 'under-way'; readonly progress: Progress };

/** What is stored under a plan's id; undefined: nothing, so it waits, was never sent, or ended more than 16 days ago. */
export async function readPlanRecord(connection: Connection, planId: PlanId): Promise<PlanRecord | undefined> {
  const [item] = await batchGet(connection, connection.tables.plans, [{ planId }]);
  const stored = item && resultFromItem(item);
  if (stored) return { kind: 'ended', result: stored.result };
  const progress = item && progressFromItem(item);
  return progress && { kind: 'under-way', progress };
}
