import type { PoolName } from '../ids.ts';
import { boundedProblems, type Problem, problemsOf } from '../schema.ts';
import { PLATFORM } from '../settings.ts';
import { type Plan, planSchema } from './plan.ts';

/** Whether `input` is a plan: the plan with every default filled in, or everything that is wrong with it. */
export function checkPlan(input: unknown): { readonly plan: Plan } | { readonly problems: readonly Problem[] } {
  const outcome = planSchema.safeParse(input);
  if (!outcome.success) return { problems: problemsOf(outcome.error, input) };
  const problems = [...repeatedTasks(outcome.data), ...tooLarge(outcome.data)];
  return problems.length > 0 ? { problems: boundedProblems(problems) } : { plan: outcome.data };
}

/** What is wrong with a plan of `pool` that came in the message group `group`. */
export function groupProblem(pool: PoolName, group: string): Problem {
  return { path: 'pool', message: `expected ${group}, the message group that the plan came in, got ${pool}` };
}

/** A task stands in a plan once: what two orders for one task mean together, nobody could say. */
function repeatedTasks(plan: Plan): Problem[] {
  const first = new Map<string, string>();
  const problems: Problem[] = [];
  for (const list of ['placements', 'stops', 'preemptions'] as const) {
    plan[list].forEach(({ taskId }, at) => {
      const path = `${list}[${at}].taskId`;
      const earlier = first.get(taskId);
      if (earlier === undefined) first.set(taskId, path);
      else problems.push({ path, message: `task ${taskId} stands in the plan already, at ${earlier}` });
    });
  }
  return problems;
}

/** Actions of a transaction that a plan takes at the most: its tasks, its nodes, its result and its pool. */
export function actionsOf(plan: Plan): number {
  const entries = [...plan.placements, ...plan.stops, ...plan.preemptions];
  return entries.length + new Set(entries.map(({ nodeId }) => nodeId)).size + 2;
}

function tooLarge(plan: Plan): Problem[] {
  const actions = actionsOf(plan);
  if (actions <= PLATFORM.transactionActions) return [];
  const message = `too-large: the plan writes ${actions} items, at most ${PLATFORM.transactionActions} are committed together; split it by node`;
  return [{ path: '', message }];
}
