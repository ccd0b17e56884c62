import { setTimeout as sleep } from 'node:timers/promises';
import type { PlanId } from '../ids.ts';
import { type ApplyContext, applyPlans, OutOfTimeError } from '../plans/apply.ts';
import type { Delivery } from '../plans/delivery.ts';
import { readMessage } from '../plans/read-message.ts';
import type { PlanResult } from '../plans/result.ts';
import { WindowCache } from '../plans/window-cache.ts';
import { planStore } from '../store/plan-store.ts';
import type { EpochMs } from '../time.ts';
import type { Connection } from './connection.ts';
import { readPlanRecord } from './inspect.ts';
import { type SetAside, setAside, untilFound } from './set-aside.ts';
import type { SetAsideMessage } from './set-aside-message.ts';

/** What became of one message that was to be discarded. */
export interface Discarded {
  readonly messageId: string;
  /** Of its plan; undefined if it is none. */
  readonly planId: PlanId | undefined;
  /**
   * What the plan has come to: the result that it had (`stored`), or that it was given up with. Undefined of a message that
   * stays or is no plan, and of a plan that was redriven before and of which nothing is stored: it may have had a result.
   */
  readonly result: PlanResult | undefined;
  readonly stored: boolean;
  /** Undefined: the message is gone. Otherwise why it stays where it is. */
  readonly refusal: string | undefined;
}

/** The dead-letter queue of the plan queue. */
export interface DeadLetters extends Omit<SetAside, 'discard'> {
  /**
   * Gives plans up, and deletes their messages. What a plan of several transactions has reserved goes back, by the applier's own
   * steps; what of it is committed stays, and an all-at-once plan that is committed is carried out. Each gets a result
   * that says so, with code `discarded` for the nodes that it does not have, before its message goes; a plan that has one
   * keeps it. Safe beside an applier; run again after a crash it goes on. What is no plan, and a plan that cannot be turned back,
   * stays unless `force`d: then the message is deleted, whatever is reserved. Throws what the database and the queue throw.
   */
  discard(which: 'all' | readonly string[], options?: { readonly force?: boolean }): Promise<Discarded[]>;
}

export function deadLetters(connection: Connection): DeadLetters {
  const { list, redrive } = setAside(connection, 'plansDead');
  return { list, redrive, discard: (which, { force = false } = {}) => discard(connection, which, force) };
}

async function discard(connection: Connection, which: 'all' | readonly string[], force: boolean): Promise<Discarded[]> {
  const outcomes = new Map<string, Discarded>();
  const wanted = which === 'all' ? undefined : new Set(which);
  const missing = await untilFound(connection, 'plansDead', wanted, async ({ message }, take, hold) => {
    const { messageId } = message;
    // One that stays is seen again with those that come after it.
    if (outcomes.has(messageId)) return;
    await hold();
    const outcome = await giveUp(connection, message, hold);
    const refusal = force ? undefined : outcome.refusal;
    if (refusal === undefined) await take();
    outcomes.set(messageId, { messageId, ...outcome, refusal });
  });
  for (const [messageId, refusal] of missing) outcomes.set(messageId, { messageId, ...NOTHING, refusal });
  return [...outcomes.values()];
}

const NOTHING = { planId: undefined, result: undefined, stored: false } as const;

type GivenUp = Omit<Discarded, 'messageId'>;

/** Sees to it that the plan of a message has a result, or says why it gets none. */
async function giveUp(connection: Connection, message: SetAsideMessage, hold: () => Promise<void>): Promise<GivenUp> {
  const { pool, body, at, redrivenAt } = message;
  if (pool === undefined) return { ...NOTHING, refusal: 'nothing says which pool it came for; force deletes it' };
  const delivery = readMessage({ body, group: pool, sentAt: at });
  if ('reason' in delivery) {
    const way = 'redrive sends it to the quarantine, force deletes it';
    return { ...NOTHING, refusal: `it is no plan: ${delivery.reason}; ${way}` };
  }
  const { planId } = delivery;
  // Its result, if it had one before it was redriven, may have expired. A second one would say something else.
  if (redrivenAt !== undefined && !(await readPlanRecord(connection, planId))) {
    return { ...NOTHING, planId, refusal: undefined };
  }
  return turnBack(connection, { ...delivery, givenUp: true }, hold);
}

/** Milliseconds that are worked on a plan until its message is held anew: less than it is held. */
const SLICE_MS = 30_000;
/** Milliseconds that one plan may take: the largest takes a few hundred transactions. */
const PLAN_MS = 600_000;

async function turnBack(connection: Connection, delivery: Delivery, hold: () => Promise<void>): Promise<GivenUp> {
  const { clock } = connection;
  const { planId } = delivery;
  const until = clock() + PLAN_MS;
  for (;;) {
    const { decided, parked, error } = await applyPlans([delivery], contextOf(connection));
    const [ended] = decided;
    if (ended) return { planId, result: ended.result, stored: ended.stored, refusal: undefined };
    const [stuck] = parked;
    if (stuck) return { ...NOTHING, planId, refusal: `plan ${planId}: ${stuck.reason}; force deletes the message` };
    if (!(error instanceof OutOfTimeError)) throw error ?? new Error(`plan ${planId} came to nothing`);
    if (!error.progressed || clock() >= until) {
      throw new Error(
        `plan ${planId} could not be turned back in time: the database is busy or away, or an applier works on the plan; ` +
          'discard it again, which goes on where it is',
        { cause: error },
      );
    }
    await hold();
  }
}

function contextOf({ dynamo, tables, rejectionsTable, clock }: Connection): ApplyContext {
  return {
    store: planStore(dynamo, { ...tables, rejections: rejectionsTable() }),
    clock,
    deadline: (clock() + SLICE_MS) as EpochMs,
    sleep: (ms) => sleep(ms),
    random: Math.random,
    pools: new Map(),
    windows: new WindowCache(),
  };
}
