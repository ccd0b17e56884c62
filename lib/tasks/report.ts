import * as z from 'zod/mini';
import type { Exchange } from '../nodes/account.ts';
import { epochMs, objectOf, oneOf, text } from '../schema.ts';
import type { EpochMs } from '../time.ts';
import { holdingOf } from './holding.ts';
import { compareStates, isTerminal, TASK_STATES } from './states.ts';
import type { Task } from './task.ts';

/** What an agent says of a task. */
export const taskReportSchema = objectOf({
  state: oneOf(TASK_STATES),
  /** When the state was entered, in milliseconds since 1970. Default: now. */
  at: z.optional(epochMs),
  /** Why, for people. At most 400 characters. */
  message: z.optional(text(0, 400)),
});
export type TaskReportInput = z.input<typeof taskReportSchema>;
export type TaskReport = z.output<typeof taskReportSchema>;

export type ReportDecision =
  /** The report is late or repeated: the task has come as far, or has ended. */
  | { readonly kind: 'unchanged' }
  | {
      readonly kind: 'write';
      readonly image: Task /** What the task's end gives back to its node. */;
      readonly exchange: Exchange | undefined;
    };

/**
 * What a report makes of a task. A report never moves a task back, and of two ends the first stands: it is the one that
 * gives the resources back, if the plan that stopped the task has not. What the order of history goes by is `now`: of the
 * agents' clocks one may be wrong by a year.
 */
export function decideReport(task: Task, { state, at, message }: TaskReport, now: EpochMs): ReportDecision {
  if (isTerminal(task.state) || compareStates(state, task.state) <= 0) return { kind: 'unchanged' };
  const release = isTerminal(state) && !task.released;
  const { message: _earlier, ...rest } = task;
  const image: Task = {
    ...rest,
    version: task.version + 1,
    state,
    appliedAt: now,
    stateTimes: { ...task.stateTimes, [state]: at ?? now },
    released: task.released || release,
    ...(message === undefined ? {} : { message }),
  };
  return { kind: 'write', image, exchange: release ? { gives: [holdingOf(task)], takes: [] } : undefined };
}
