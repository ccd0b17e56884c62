/**
 * States of a task, in order (those of SwarmKit's `api/types.proto`). Each has the number that SwarmKit gives it, so that
 * states in between can be added without renumbering.
 */
const STATE_ORDER = {
  new: 0,
  pending: 64,
  assigned: 192,
  accepted: 256,
  preparing: 320,
  ready: 384,
  starting: 448,
  running: 512,
  complete: 576,
  shutdown: 640,
  failed: 704,
  rejected: 768,
  orphaned: 832,
} as const;

export type TaskState = keyof typeof STATE_ORDER;
export const TASK_STATES = Object.keys(STATE_ORDER) as [TaskState, ...TaskState[]];

const DESIRED_ORDER = { ready: 384, running: 512, complete: 576, shutdown: 640, remove: 896 } as const;

/** What the owner of a task wants of it. Only ever moves up. */
export type DesiredState = keyof typeof DESIRED_ORDER;
export const DESIRED_STATES = Object.keys(DESIRED_ORDER) as [DesiredState, ...DesiredState[]];

/** Whether `state` is an end: the task is never run again. */
export function isTerminal(state: TaskState): boolean {
  return STATE_ORDER[state] > STATE_ORDER.running;
}

/** Negative if `a` comes before `b`, positive if after, 0 if they are the same. */
export function compareStates(a: TaskState, b: TaskState): number {
  return STATE_ORDER[a] - STATE_ORDER[b];
}

/** Whether a node may have the task: it is assigned, or has come further. */
export function isAssigned(state: TaskState): boolean {
  return STATE_ORDER[state] >= STATE_ORDER.assigned;
}

/** Whether `desired` is past `limit`. */
export function isPast(desired: DesiredState, limit: DesiredState): boolean {
  return DESIRED_ORDER[desired] > DESIRED_ORDER[limit];
}

/** The higher of two desired states. */
export function laterDesired(a: DesiredState, b: DesiredState): DesiredState {
  return DESIRED_ORDER[a] >= DESIRED_ORDER[b] ? a : b;
}
