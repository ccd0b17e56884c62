import type { Holding } from '../nodes/account.ts';
import { claimsOf } from '../nodes/claims.ts';
import { TASKS_RESOURCE } from '../nodes/resources.ts';
import type { Placement } from '../plans/plan.ts';

/** What a task has of its node, or would have: its resources, its place among the node's tasks, its claims. */
export function holdingOf(task: Placement): Holding {
  return { taskId: task.taskId, resources: { ...task.resources, [TASKS_RESOURCE]: 1 }, claims: claimsOf(task) };
}
