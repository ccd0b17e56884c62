import type { Account } from '../../lib/nodes/account.ts';
import type { RejectionWindow } from '../../lib/plans/rejections.ts';
import type { PlanResult } from '../../lib/plans/result.ts';
import type { Task } from '../../lib/tasks/task.ts';

/** Everything that a pool's plans have made of it. */
export interface World {
  readonly accounts: ReadonlyMap<string, Account>;
  /** By slot and id. */
  readonly tasks: ReadonlyMap<string, Task>;
  readonly results: ReadonlyMap<string, PlanResult>;
  /** Refusals by node. */
  readonly windows: ReadonlyMap<string, RejectionWindow>;
}

/**
 * What of a world must come out the same however its plans were delivered. Left out is what may differ: indexes and
 * versions, since they count transactions, times, and the words of a message.
 */
export interface Summary {
  readonly nodes: Readonly<Record<string, NodeSummary>>;
  readonly tasks: Readonly<Record<string, TaskSummary>>;
  readonly results: Readonly<Record<string, ResultSummary>>;
}

export interface NodeSummary {
  readonly free: Readonly<Record<string, number>>;
  readonly claims: Readonly<Record<string, string>>;
  readonly sharers: Readonly<Record<string, readonly string[]>>;
  readonly eligible: boolean;
  /** Refusals in its window. */
  readonly refusals: number;
}

export interface TaskSummary extends Pick<Task, 'resources' | 'ports' | 'cores' | 'devices' | 'volumes'> {
  readonly nodeId: string;
  readonly desiredState: string;
  readonly ended: boolean;
  readonly released: boolean;
  readonly placedBy: string;
  readonly changedBy: string;
  /** Whether a plan that is committed in steps has it reserved, and has not got further. */
  readonly underWay: boolean;
}

export interface ResultSummary {
  readonly status: string;
  readonly committed: PlanResult['committed'];
  /** Codes by node. */
  readonly rejected: Readonly<Record<string, string>>;
  readonly alreadyGone: readonly string[];
  readonly ineligible: readonly string[];
  readonly refresh: boolean;
}

export function summaryOf({ accounts, tasks, results, windows }: World): Summary {
  return {
    nodes: Object.fromEntries(
      [...accounts].map(([node, account]) => [node, nodeSummary(account, windows.get(node)?.times.length ?? 0)]),
    ),
    tasks: Object.fromEntries([...tasks].map(([key, task]) => [key, taskSummary(task)])),
    results: Object.fromEntries([...results].map(([plan, result]) => [plan, resultSummary(result)])),
  };
}

export function nodeSummary(
  { free, capacity, claims, sharers, withdrawn, eligibility }: Account,
  refusals: number,
): NodeSummary {
  return {
    // That a node has nothing of a resource that it does not list may be written down or not.
    free: Object.fromEntries(
      Object.entries(free).filter(([name, left]) => left !== 0 || Object.hasOwn(capacity, name)),
    ),
    // Nor does it matter whether a thing that nobody holds and nobody may have is written down.
    claims: Object.fromEntries([...claims].filter(([key, holder]) => holder !== '!free' || !withdrawn.has(key))),
    sharers: Object.fromEntries([...sharers].map(([key, tasks]) => [key, [...tasks].sort()])),
    eligible: eligibility === 'eligible',
    refusals,
  };
}

function taskSummary(task: Task): TaskSummary {
  const { nodeId, resources, ports, cores, devices, volumes, desiredState, released } = task;
  return {
    ...{ nodeId, resources, ports, cores, devices, volumes, desiredState, released },
    ended: ['complete', 'shutdown', 'failed', 'rejected', 'orphaned'].includes(task.state),
    placedBy: task.planId,
    changedBy: task.lastPlanId,
    underWay: task.state === 'pending' || task.undo !== undefined,
  };
}

function resultSummary(result: PlanResult): ResultSummary {
  const { status, committed, rejectedNodes, alreadyGone, ineligibleNodes, refreshIndex } = result;
  return {
    ...{ status, committed, alreadyGone },
    rejected: Object.fromEntries(rejectedNodes.map(({ nodeId, code }) => [nodeId, code])),
    ineligible: ineligibleNodes,
    refresh: refreshIndex > 0,
  };
}
