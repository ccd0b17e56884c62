import { isDeepStrictEqual } from 'node:util';
import { checkPlan } from '../lib/plans/check-plan.ts';
import { type TaskKey, taskKeyOf } from '../lib/plans/decide-part.ts';
import type { Placement, Plan, Preemption, Stop } from '../lib/plans/plan.ts';
import type { PlanResult } from '../lib/plans/result.ts';
import { isTerminal } from '../lib/tasks/states.ts';
import type { Task } from '../lib/tasks/task.ts';
import type { Outcome } from './outcome.ts';
import { type PlanCase, planIdOf } from './plan-case.ts';

/** Ids of the tasks that a plan placed, stopped and preempted. */
export interface Committed {
  readonly placements: readonly string[];
  readonly stops: readonly string[];
  readonly preemptions: readonly string[];
}

export const NOTHING: Committed = { placements: [], stops: [], preemptions: [] };

type Entry = Placement | Stop | Preemption;

interface Kept {
  readonly placements: readonly Placement[];
  readonly stops: readonly Stop[];
  readonly preemptions: readonly Preemption[];
}

/**
 * What a plan did, from its result, its entries and the tasks at the end: a result has counts, not ids. Problems where
 * the three do not agree.
 */
export function committedOf(
  planCase: PlanCase,
  result: PlanResult,
  outcome: Outcome,
): { readonly committed: Committed; readonly problems: readonly string[] } {
  const kept = keptOf(planCase, result);
  const problems: string[] = [];
  const agreed = (what: keyof Committed, entries: readonly Entry[]) => {
    const count = result.committed[what];
    if (entries.length !== count)
      problems.push(`committed.${what} says ${count}, the tasks at the end say ${entries.length}`);
    return entries.map(({ taskId }) => taskId);
  };
  const ended = (entries: readonly (Stop | Preemption)[], count: number) => {
    const candidates = entries.filter((entry) => endsHere(entry, result, outcome));
    if (candidates.length <= count) return candidates;
    // Some were stopped already: those that this plan was the last to change are the ones it stopped.
    return candidates.filter((entry) => outcome.after.tasks.get(taskKeyOf(entry))?.lastPlanId === result.planId);
  };
  const committed = {
    placements: agreed(
      'placements',
      kept.placements.filter((entry) => outcome.after.tasks.get(taskKeyOf(entry))?.nodeId === entry.nodeId),
    ),
    stops: agreed('stops', ended(kept.stops, result.committed.stops)),
    preemptions: agreed('preemptions', ended(kept.preemptions, result.committed.preemptions)),
  };
  return { committed, problems };
}

/**
 * The entries of a plan on nodes that took their part of it. Of plans with one id the first delivery is the plan: its
 * result answers the others, whatever they hold.
 */
function keptOf({ plans }: PlanCase, { planId, status, rejectedNodes }: PlanResult): Kept {
  const checked = checkPlan(plans.find((plan) => planIdOf(plan) === planId));
  if (!('plan' in checked) || (status !== 'applied' && status !== 'partial')) {
    return { placements: [], stops: [], preemptions: [] };
  }
  const rejected = new Set<string>(rejectedNodes.map(({ nodeId }) => nodeId));
  const of = <E extends Entry>(entries: readonly E[]) => entries.filter(({ nodeId }) => !rejected.has(nodeId));
  const { placements, stops, preemptions }: Plan = checked.plan;
  return { placements: of(placements), stops: of(stops), preemptions: of(preemptions) };
}

/** Whether a stop or preemption that was kept had something to stop: a task that is there and has not ended. */
function endsHere(entry: Stop | Preemption, { alreadyGone }: PlanResult, { after }: Outcome): boolean {
  const task = after.tasks.get(taskKeyOf(entry));
  const asked = 'desiredState' in entry && entry.desiredState === 'remove' ? ['remove'] : ['shutdown', 'remove'];
  const stopped = task !== undefined && asked.includes(task.desiredState);
  return stopped && !isTerminal(task.state) && !alreadyGone.includes(entry.taskId);
}

/** What became of the tasks that no plan accounts for. */
export function strayTasks(planCase: PlanCase, outcome: Outcome): string[] {
  const placed = new Map<TaskKey, Placement>();
  const named = new Set<TaskKey>();
  const results = outcome.delivered.flatMap((one) => (one.kind === 'result' ? [one.result] : []));
  results.forEach((result, at) => {
    if (results.findIndex(({ planId }) => planId === result.planId) < at) return;
    const kept = keptOf(planCase, result);
    // A task is as the last plan has it.
    for (const placement of kept.placements) placed.set(taskKeyOf(placement), placement);
    for (const entry of [...kept.placements, ...kept.stops, ...kept.preemptions]) named.add(taskKeyOf(entry));
  });
  const { before, after } = outcome;
  const problems: string[] = [];
  for (const [key, task] of after.tasks) {
    const earlier = before.tasks.get(key);
    if (task.undo !== undefined) problems.push(`task ${task.taskId} is still reserved`);
    if (!named.has(key) && !isSame(task, earlier)) {
      problems.push(`task ${task.taskId} was ${earlier ? 'changed' : 'made'} by no plan that was committed`);
    }
    const placement = placed.get(key);
    if (placement && !isAs(task, placement)) problems.push(`task ${task.taskId} is not as its plan placed it`);
  }
  for (const [key, { taskId }] of before.tasks) {
    if (!after.tasks.has(key)) problems.push(`task ${taskId} is gone; a plan deletes none`);
  }
  return problems;
}

/** Whether nothing of a task has changed. Its version may have: a plan that was given back has written it, and back again. */
function isSame(task: Task, earlier: Task | undefined): boolean {
  return earlier !== undefined && isDeepStrictEqual({ ...task, version: 0 }, { ...earlier, version: 0 });
}

function isAs(task: Task, placement: Placement): boolean {
  return (Object.keys(placement) as (keyof Placement)[]).every((field) =>
    isDeepStrictEqual(task[field], placement[field]),
  );
}
