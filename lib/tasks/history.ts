import type { TaskId } from '../ids.ts';
import type { EpochMs } from '../time.ts';
import { effectiveLimit, isJob, type Service } from './service.ts';
import { type DesiredState, isAssigned, isPast, isTerminal, type TaskState } from './states.ts';

/** What the rule looks at of a task. Every stored task is one. */
export interface SlotTask {
  readonly taskId: TaskId;
  /** `remove` is no state that a task comes to, but SwarmKit ranks it among the ends. */
  readonly state: TaskState | 'remove';
  readonly desiredState: DesiredState;
  readonly appliedAt?: EpochMs | undefined;
  readonly stateTimes?: Readonly<Record<string, EpochMs | undefined>> | undefined;
  readonly jobIteration?: number | undefined;
  /** There while a plan that changes the task is under way. */
  readonly undo?: unknown;
}

/**
 * What is known of the service that a slot belongs to. `none`: a task of no service, attached to a node. `unknown`: nobody
 * has told Berth of the service, so that nothing is known of what its tasks are good for. `removed`: it was, and is gone.
 */
export type SlotService = Service | 'none' | 'unknown' | 'removed';

/**
 * Why a task goes. `removable`: it is to be removed, and no agent has it. `history`: it is old and beyond its slot's
 * limit. `orphaned`: it is attached to a node that is lost.
 */
export type ReapRule = 'removable' | 'history' | 'orphaned';

/** Why a task stays. */
export type KeepReason =
  /** Assigned to running, whatever is wanted: an agent may have it, and its resources are in use. */
  | 'agent'
  /** New or pending, and still wanted. */
  | 'wanted'
  /** It ended while it was wanted: nobody has dealt with its end yet. */
  | 'end-not-dealt-with'
  /** The newest that ran in a slot in which nothing is alive: the only trace that the slot ran. */
  | 'last-trace'
  /** Complete in the present iteration of its job: it is the job's progress. */
  | 'job-progress'
  | 'within-limit'
  /** A plan that changes it is under way; when that is through, the task is looked at again. */
  | 'plan-under-way'
  | 'service-unknown'
  /** Its service is removed, and the task is not marked so yet. */
  | 'service-removed'
  /** Attached to a node, and not orphaned: whoever attached it detaches it. */
  | 'attached';

export type Verdict<T extends SlotTask = SlotTask> =
  | { readonly task: T; readonly reap: ReapRule }
  | { readonly task: T; readonly keep: KeepReason };

/** The state of a whole slot, and what becomes of it. */
export interface SlotDecision<T extends SlotTask = SlotTask> {
  /** Old tasks that the slot keeps; `Infinity`: all. Undefined where there is no limit to speak of. */
  readonly limit: number | undefined;
  /** What becomes of each task, the oldest first. */
  readonly verdicts: readonly Verdict<T>[];
}

/** Whether no task is ever to be expected of it: an end, or the place of one. */
const hasEnded = ({ state }: SlotTask) => state === 'remove' || isTerminal(state);

/** Whether no agent has it yet. */
const isUnowned = ({ state }: SlotTask) => state !== 'remove' && !isAssigned(state);

/** Not assigned, and no longer wanted: it will never run. Of a job's task `complete` is what is wanted, and no more than that. */
function willNeverRun(task: SlotTask, job: boolean): boolean {
  return isUnowned(task) && isPast(task.desiredState, job ? 'complete' : 'running');
}

/** Whether the task may go at once, being one that is to be removed and that no agent has. */
export function isRemovable(task: SlotTask): boolean {
  return task.desiredState === 'remove' && task.undo === undefined && (isUnowned(task) || hasEnded(task));
}

/** Ended while its owner still wanted it. */
const isUndealtWith = ({ desiredState }: SlotTask) => desiredState === 'ready' || desiredState === 'running';

/**
 * What is to become of the tasks of one slot: the one rule of the reaper. All of a slot's tasks must be in `tasks`, and no
 * others. `clusterLimit` is what a service without a limit of its own keeps of a slot; undefined: 5.
 *
 * Sources: `api/types.proto`, `taskreaper/task_reaper.go` and `design/tla/Tasks.tla` of SwarmKit, with the answers to
 * moby/swarmkit#2672: the limit is a number of old tasks, and nothing goes that an agent may have.
 */
export function decideSlot<T extends SlotTask>(
  tasks: readonly T[],
  service: SlotService,
  clusterLimit: number | undefined,
): SlotDecision<T> {
  const ordered = tasks.toSorted(byAge);
  if (typeof service === 'string') {
    return { limit: undefined, verdicts: ordered.map((task) => withoutService(task, service)) };
  }
  const limit = effectiveLimit(service, clusterLimit);
  const job = isJob(service.mode);
  const left = ordered.filter((task) => !isRemovable(task));
  const isOld = (task: SlotTask) => hasEnded(task) || willNeverRun(task, job);
  const alive = left.some((task) => !isOld(task));
  const lastTrace = alive ? undefined : left.findLast(hasEnded);
  let excess = left.filter(isOld).length - limit;

  const keepOf = (task: T): KeepReason | undefined => {
    if (task.undo !== undefined) return 'plan-under-way';
    if (!isOld(task)) return isUnowned(task) ? 'wanted' : 'agent';
    if (hasEnded(task) && isUndealtWith(task)) return 'end-not-dealt-with';
    if (job && task.state === 'complete' && (task.jobIteration ?? 0) >= service.jobIteration) return 'job-progress';
    if (excess <= 0) return 'within-limit';
    return task === lastTrace ? 'last-trace' : undefined;
  };
  const verdicts = ordered.map((task): Verdict<T> => {
    if (isRemovable(task)) return { task, reap: 'removable' };
    const keep = keepOf(task);
    if (keep !== undefined) return { task, keep };
    excess--;
    return { task, reap: 'history' };
  });
  return { limit, verdicts };
}

function withoutService<T extends SlotTask>(task: T, service: 'none' | 'unknown' | 'removed'): Verdict<T> {
  if (isRemovable(task)) return { task, reap: 'removable' };
  if (task.undo !== undefined) return { task, keep: 'plan-under-way' };
  if (service === 'none') return task.state === 'orphaned' ? { task, reap: 'orphaned' } : { task, keep: 'attached' };
  if (!hasEnded(task) && !isUnowned(task)) return { task, keep: 'agent' };
  return { task, keep: service === 'removed' ? 'service-removed' : 'service-unknown' };
}

/** By when the state was applied, else by the time of the state, those without either first; then by id. */
function byAge(a: SlotTask, b: SlotTask): number {
  return ageOf(a) - ageOf(b) || (a.taskId < b.taskId ? -1 : a.taskId > b.taskId ? 1 : 0);
}

function ageOf({ appliedAt, stateTimes, state }: SlotTask): number {
  const statusAt = stateTimes !== undefined && Object.hasOwn(stateTimes, state) ? stateTimes[state] : undefined;
  return appliedAt ?? statusAt ?? 0;
}

/** What a reason means, as a sentence for whoever asks why. */
export const REASONS: Readonly<Record<ReapRule | KeepReason, string>> = {
  removable: 'it is to be removed, and no agent has it',
  history: 'it is old, and beyond what its slot keeps',
  orphaned: 'it is attached to a node that is lost',
  agent: 'an agent may have it',
  wanted: 'it is wanted, and waits',
  'end-not-dealt-with': 'it ended while it was wanted, and its owner has not dealt with that: a stop of it says so',
  'last-trace': 'nothing is alive in the slot, and it is the newest that ran there',
  'job-progress': "it is complete in the job's present iteration",
  'within-limit': 'it is within what its slot keeps',
  'plan-under-way': 'a plan that changes it is under way',
  'service-unknown': 'its service was never set: berth service set says how much of its history is kept',
  'service-removed':
    'its service is removed; it is marked and goes when the removal comes to it, or with the next sweep',
  attached: 'it is attached to its node, and not orphaned',
};
