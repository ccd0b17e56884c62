import type { PlanId, PoolName } from '../ids.ts';
import type { Problem } from '../schema.ts';
import type { EpochMs } from '../time.ts';
import type { Plan } from './plan.ts';

/** A message of the plan queue that has a usable plan id: it ends as a result. */
export interface Delivery {
  readonly planId: PlanId;
  /** The message group, which is the pool whatever the plan says. */
  readonly pool: PoolName;
  /** The plan, or what is wrong with it. */
  readonly content: { readonly plan: Plan } | { readonly problems: readonly Problem[] };
  /** Of the content, for telling a redelivery from another plan of the same id. */
  readonly fingerprint: string;
  readonly receivedAt: EpochMs;
  /**
   * Somebody gives the plan up: what of it is committed stays, what it has reserved goes back, and every node that is not
   * committed is refused. Its result says so, whatever the state of the pool.
   */
  readonly givenUp?: boolean;
}
