import type { Pool } from '../nodes/pool.ts';
import { PLATFORM } from '../settings.ts';
import type { EpochMs } from '../time.ts';
import type { Scored } from './count-refusals.ts';
import { type NodePart, partsOf } from './decide-part.ts';
import type { Delivery } from './delivery.ts';
import type { Facts } from './facts.ts';
import { bytesOf, countWrites, type Ledger, MAX_COMMIT_BYTES, POOL_ACTIONS } from './ledger.ts';
import type { Plan } from './plan.ts';

/** Actions that every transaction of a plan takes: the pool's and the plan's record. */
export const OWN_ACTIONS = POOL_ACTIONS + 1;
/** Actions that counting one refusal may take: the window, and if it marks, the account and the node's events. */
export const REFUSAL_ACTIONS = 3;

/** Actions of a transaction that `plan` may take, everything refused and marked. */
function actionsOf(plan: Plan): number {
  const tasks = plan.placements.length + plan.stops.length + plan.preemptions.length;
  return OWN_ACTIONS + tasks + REFUSAL_ACTIONS * partsOf(plan).length;
}

/** Whether `plan` may take more than one transaction. */
export function isStaged(plan: Plan, allowance: number = PLATFORM.transactionActions): boolean {
  return actionsOf(plan) > allowance;
}

/** One transaction of a plan that takes several, while it is put together. */
export interface Run {
  readonly delivery: Delivery;
  readonly plan: Plan;
  readonly parts: readonly NodePart[];
  readonly facts: Facts;
  readonly pool: Pool;
  readonly now: EpochMs;
  /** Actions that it may hold besides the plan's own. */
  readonly room: number;
  ledger: Ledger;
  /** Whether the pool had commits of others since the plan was begun: what it has given may be taken. */
  readonly beside: boolean;
  /** Whether what all parts to come need is known: asked once, not once a part, of a plan that may have 20,000. */
  allRead: boolean;
  readonly marked: Scored[];
  readonly withheld: Scored[];
}

/** Whether `ledger` fits the transaction, with `more` actions to come. */
export function fits(run: Run, ledger: Ledger, more = 0): boolean {
  return countWrites(ledger) + more <= run.room && bytesOf(ledger) <= MAX_COMMIT_BYTES;
}
