import { DESIRED_STATES, TASK_STATES } from '../../lib/tasks/states.ts';
import type { Setting, WorldTask } from './slot-world.ts';

/**
 * What the specification says of the tasks of a slot, in its own words and apart from the code: which may go, and by
 * which rule. Written per task and as sets, where the code walks.
 */

const ENDS: readonly string[] = ['complete', 'shutdown', 'failed', 'rejected', 'orphaned'];
const UNOWNED: readonly string[] = ['new', 'pending'];

export const hasEnded = (task: WorldTask) => ENDS.includes(task.state);
/** Whether an agent may have the task. */
export const isOwned = (task: WorldTask) => !hasEnded(task) && !UNOWNED.includes(task.state);

/** The slot is to go with all that is in it. */
export const isDoomed = ({ service, away }: Setting) => service === 'removed' || away;

export function limitOf({ service, clusterLimit }: Setting): number {
  if (typeof service === 'string') return Number.POSITIVE_INFINITY;
  const set = [service.historyLimit, clusterLimit, 5].find((limit) => limit !== undefined) as number;
  if (set < 0) return Number.POSITIVE_INFINITY;
  const attempts = service.restartMaxAttempts;
  return attempts === 0 ? set : Math.max(set, attempts + 1);
}

const isJob = ({ service }: Setting) => typeof service !== 'string' && service.mode.endsWith('-job');

/** Past what is wanted of a task that is to run, so that one that is not assigned never will. */
function isUnwanted(task: WorldTask, setting: Setting): boolean {
  return ['shutdown', 'remove', ...(isJob(setting) ? [] : ['complete'])].includes(task.desiredState);
}

const isRemovable = (task: WorldTask) => task.desiredState === 'remove' && !isOwned(task) && !task.undo;

function isOld(task: WorldTask, setting: Setting): boolean {
  return hasEnded(task) || (UNOWNED.includes(task.state) && isUnwanted(task, setting));
}

function isOlder(a: WorldTask, b: WorldTask): boolean {
  const [one, other] = [a.appliedAt ?? 0, b.appliedAt ?? 0];
  return one === other ? a.taskId < b.taskId : one < other;
}

/** The old tasks of a slot: what its limit is a number of. */
export function oldOnes(tasks: readonly WorldTask[], setting: Setting): WorldTask[] {
  return tasks.filter((task) => !isRemovable(task) && isOld(task, setting));
}

/** Old tasks that no limit touches. */
function isProtected(task: WorldTask, tasks: readonly WorldTask[], setting: Setting): boolean {
  if (task.undo) return true;
  if (hasEnded(task) && (task.desiredState === 'ready' || task.desiredState === 'running')) return true;
  const { service } = setting;
  const isPresent = typeof service !== 'string' && (task.jobIteration ?? 0) >= service.jobIteration;
  if (isJob(setting) && task.state === 'complete' && isPresent) return true;
  return lastTrace(tasks, setting)?.taskId === task.taskId;
}

/** The newest that ran, of a slot in which nothing is alive. */
export function lastTrace(tasks: readonly WorldTask[], setting: Setting): WorldTask | undefined {
  const left = tasks.filter((task) => !isRemovable(task));
  if (left.some((task) => !isOld(task, setting))) return undefined;
  const ran = left.filter(hasEnded);
  return ran.find((task) => ran.every((other) => other === task || isOlder(other, task)));
}

/** The tasks that are to go by the rules, each with its rule. What is doomed is not told of here. */
export function goners(tasks: readonly WorldTask[], setting: Setting): Map<string, string> {
  const rules = new Map<string, string>();
  for (const task of tasks) if (isRemovable(task)) rules.set(task.taskId, 'removable');
  if (setting.service === 'none') {
    for (const task of tasks) {
      if (task.state === 'orphaned' && !task.undo && !rules.has(task.taskId)) rules.set(task.taskId, 'orphaned');
    }
  }
  if (typeof setting.service === 'string') return rules;
  const old = oldOnes(tasks, setting);
  const candidates = old.filter((task) => !isProtected(task, tasks, setting));
  for (const task of candidates) {
    const before = candidates.filter((other) => isOlder(other, task)).length;
    if (before < old.length - limitOf(setting)) rules.set(task.taskId, 'history');
  }
  return rules;
}

/** A later state of either kind. */
export function isLaterState(state: WorldTask['state'], than: WorldTask['state']): boolean {
  return TASK_STATES.indexOf(state) > TASK_STATES.indexOf(than);
}

export function isLaterDesired(desired: WorldTask['desiredState'], than: WorldTask['desiredState']): boolean {
  return DESIRED_STATES.indexOf(desired) > DESIRED_STATES.indexOf(than);
}
