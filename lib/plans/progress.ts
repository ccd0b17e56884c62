import type { NodeId, PlanId, TaskId } from '../ids.ts';
import type { RejectedNode } from './result.ts';

/** What a plan has come to so far. */
export interface Tally {
  readonly placements: number;
  readonly stops: number;
  readonly preemptions: number;
  readonly rejected: readonly RejectedNode[];
  readonly ineligible: readonly NodeId[];
  readonly alreadyGone: readonly TaskId[];
}

export const NO_TALLY: Tally = {
  placements: 0,
  stops: 0,
  preemptions: 0,
  rejected: [],
  ineligible: [],
  alreadyGone: [],
};

export function addTallies(a: Tally, b: Tally): Tally {
  return {
    placements: a.placements + b.placements,
    stops: a.stops + b.stops,
    preemptions: a.preemptions + b.preemptions,
    rejected: [...a.rejected, ...b.rejected],
    ineligible: [...a.ineligible, ...b.ineligible],
    alreadyGone: [...a.alreadyGone, ...b.alreadyGone],
  };
}

/**
 * Refusals of a plan that say why in full: a message may name a task with the longest of ids, and the item that all of them
 * stand in holds 400 KB (`tooManyNames` in check-plan.ts bounds the rest). Those after them have their codes.
 */
const MOST_MESSAGES = 250;
const NOT_TOLD = `the code says why: only the first ${MOST_MESSAGES} refusals of a plan are told in full`;

export function withRefusals(tally: Tally, refused: readonly RejectedNode[]): Tally {
  const told = refused.map((each, at) =>
    tally.rejected.length + at < MOST_MESSAGES ? each : { ...each, message: NOT_TOLD },
  );
  return { ...tally, rejected: [...tally.rejected, ...told] };
}

/**
 * How far a plan past one transaction has come: stored under the plan's id until its result takes the place, written by
 * every transaction of the plan, so that a redelivery goes on where a crash left it.
 */
export interface Progress {
  readonly planId: PlanId;
  readonly fingerprint: string;
  /** Counted up by every transaction of the plan. */
  readonly version: number;
  /**
   * `deciding`: the parts before `from` are done. `reserving`: the parts from `from` up to `to` are committed whole or not at
   * all, `step` of their orders are reserved. `finishing`: all are reserved, so the parts are committed; `step` of the
   * orders are carried out. `undoing`: they are given back, `step` are still reserved.
   */
  readonly phase: 'deciding' | 'reserving' | 'finishing' | 'undoing';
  readonly from: number;
  readonly to: number;
  readonly step: number;
  readonly tally: Tally;
  /** The pool's index of the last transaction of the plan: of another one, others have committed since. */
  readonly index: number;
  /** Whether that has ever been so: the plan was left in the middle. */
  readonly beside: boolean;
  /** What the parts that are being reserved add once they are committed. */
  readonly pending: Tally;
}
