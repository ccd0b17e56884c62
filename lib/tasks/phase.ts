import { isRemovable, type SlotTask } from './history.ts';
import { isAssigned, isPast, isTerminal } from './states.ts';
import type { Task } from './task.ts';

/**
 * How far a task is on its way out, stored with it: the filters of the event source compare texts, and cannot compare
 * states. `old`: it has ended or will never run. `removable`: it may go at once. None: nothing the reaper would do
 * anything about. It says when to look and never what to delete, which is for `decideSlot`.
 */
export type Phase = 'old' | 'removable';

export function phaseOf(task: Pick<Task, keyof SlotTask & keyof Task>): Phase | undefined {
  // When its plan is through, the task is written again, and has a phase then.
  if (task.undo !== undefined) return undefined;
  if (isRemovable(task)) return 'removable';
  if (isTerminal(task.state)) return 'old';
  // Only a job's task is ever wanted `complete`; which of the two modes it is of is not known here.
  return !isAssigned(task.state) && isPast(task.desiredState, 'complete') ? 'old' : undefined;
}
