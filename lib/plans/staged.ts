import type { Pool } from '../nodes/pool.ts';
import { PLATFORM } from '../settings.ts';
import type { EpochMs } from '../time.ts';
import { countRefusals, type Scored } from './count-refusals.ts';
import { type NodePart, partsOf } from './decide-part.ts';
import { decideInto, decideOn, rejectionOf, resultOf, statusOf, withEffect } from './decide-plan.ts';
import type { Delivery } from './delivery.ts';
import { alsoNeeds, type Facts, isNeedy, type Needs, noNeeds } from './facts.ts';
import { type Commit, commitOf, copyOf, countWrites, type Ledger, newLedger } from './ledger.ts';
import type { Plan } from './plan.ts';
import { addTallies, NO_TALLY, type Progress, type Tally, withRefusals } from './progress.ts';
import type { PlanResult } from './result.ts';
import { carryOut, giveBack, needsOfAll, type Order, ordersOf, reserve, type StepOutcome } from './steps.ts';
import { fits, OWN_ACTIONS, REFUSAL_ACTIONS, type Run } from './transaction.ts';

/** One transaction of a plan that takes several. */
export type Staged =
  | { readonly kind: 'needs'; readonly needs: Needs }
  | {
      readonly kind: 'step';
      readonly commit: Commit;
      /** There with the last transaction. */
      readonly result: PlanResult | undefined;
      readonly marked: readonly Scored[];
      readonly withheld: readonly Scored[];
    };

/**
 * The next transaction of a plan past one: node by node, each whole. Nodes that fit a transaction are committed as many as
 * it holds; one that does not, and all nodes of an all-at-once plan, are reserved in steps, and then committed with the
 * one write that says so, or given back. Ends with the transaction that stores the result. A crash at any point is taken
 * up where the stored progress says.
 */
export function nextStep(
  delivery: Delivery,
  plan: Plan,
  stored: Progress | undefined,
  facts: Facts,
  pool: Pool,
  now: EpochMs,
  allowance: number = PLATFORM.transactionActions,
): Staged {
  const parts = partsOf(plan);
  const run: Run = {
    delivery,
    plan,
    parts,
    facts,
    pool,
    now,
    room: allowance - OWN_ACTIONS,
    ledger: newLedger(),
    beside: stored !== undefined && (stored.beside || stored.index !== pool.index),
    allRead: false,
    marked: [],
    withheld: [],
  };
  let progress: Progress = stored ?? {
    planId: delivery.planId,
    fingerprint: delivery.fingerprint,
    version: 0,
    phase: 'deciding',
    from: 0,
    to: 0,
    step: 0,
    index: pool.index,
    beside: false,
    tally: NO_TALLY,
    pending: NO_TALLY,
  };
  for (;;) {
    const turn = turnOf(run, progress);
    if (turn.kind === 'needs') return turn;
    if (turn.kind === 'ended')
      return commitStep(run, stored, undefined, resultOf(delivery, facts, now, statusOf(plan, turn.tally), turn.tally));
    progress = turn.progress;
    if (turn.kind === 'full') return commitStep(run, stored, progress, undefined);
  }
}

type Turn =
  | { readonly kind: 'needs'; readonly needs: Needs }
  /** Go on with this, in the same transaction. */
  | { readonly kind: 'on'; readonly progress: Progress }
  /** The transaction is full, or must be committed before it goes on. */
  | { readonly kind: 'full'; readonly progress: Progress }
  | { readonly kind: 'ended'; readonly tally: Tally };

function turnOf(run: Run, progress: Progress): Turn {
  switch (progress.phase) {
    case 'deciding':
      return run.delivery.givenUp ? { kind: 'ended', tally: givenUpTally(run, progress) } : decide(run, progress);
    case 'reserving':
      // Committed with the first step back: a crash before it leaves the plan to be taken up either way.
      if (run.delivery.givenUp) return { kind: 'on', progress: { ...progress, phase: 'undoing' } };
      return reserveOrders(run, progress);
    case 'finishing':
      return carryOutOrders(run, progress);
    case 'undoing':
      return giveOrdersBack(run, progress);
  }
}

/** What a plan that is given up comes to, nothing of it being reserved any more: each node that is not committed refuses it. */
function givenUpTally({ plan, parts }: Run, { from, tally }: Progress): Tally {
  const refused = new Set(tally.rejected.map(({ nodeId }) => nodeId));
  // Of an all-at-once plan in this phase nothing is committed, wherever deciding has come to.
  const rest = parts.slice(plan.allAtOnce ? 0 : from).filter(({ nodeId }) => !refused.has(nodeId));
  return withRefusals(
    tally,
    rest.map(({ nodeId }) => rejectionOf(nodeId, GIVEN_UP)),
  );
}

const GIVEN_UP = {
  code: 'discarded',
  message: 'an operator gave the plan up before it was committed here: plan again',
};

function commitStep(
  run: Run,
  stored: Progress | undefined,
  progress: Progress | undefined,
  result: PlanResult | undefined,
): Staged {
  const over = stored?.version ?? 0;
  const { delivery, ledger, pool, beside, marked, withheld } = run;
  const results = result ? [{ result, fingerprint: delivery.fingerprint, over }] : [];
  const written = progress && { ...progress, version: over + 1, index: pool.index + 1, beside };
  const commit = commitOf(ledger, pool, run.now, results, written);
  return { kind: 'step', commit, result, marked, withheld };
}

/** Decides about the part at `from`; of an all-at-once plan without entering it, until all of them are known to fit. */
function decide(run: Run, progress: Progress): Turn {
  const { plan, parts, facts, pool, now } = run;
  const part = parts[progress.from];
  const next: Progress = { ...progress, from: progress.from + 1 };
  if (part === undefined) {
    if (!plan.allAtOnce || progress.tally.rejected.length > 0 || parts.length === 0)
      return { kind: 'ended', tally: progress.tally };
    return {
      kind: 'on',
      progress: { ...progress, phase: 'reserving', from: 0, to: parts.length, step: 0, pending: NO_TALLY },
    };
  }
  const orders = ordersOf([part]);
  const tasks = part.stops.length + part.preemptions.length + part.placements.length;
  const apart = plan.allAtOnce || tasks + 1 + REFUSAL_ACTIONS > run.room;
  if (!apart) {
    const trial = copyOf(run.ledger);
    const outcome = decideInto(part, plan, trial, facts, pool, now);
    if (outcome.kind === 'needs') return { kind: 'needs', needs: needsAhead(run, progress) };
    if (outcome.kind === 'rejected') return refuse(run, progress, next, part, outcome);
    if (fits(run, trial)) {
      run.ledger = trial;
      return { kind: 'on', progress: { ...next, tally: withEffect(progress.tally, outcome.effect) } };
    }
    // Past a transaction by its bytes alone it would never fit one, and is reserved in steps like one past the actions.
    if (countWrites(run.ledger) > 0) return { kind: 'full', progress };
  }
  // What is reserved in steps is decided on what was read, all of it, before the first step.
  if (!run.allRead) {
    const needs = needsOfAll(plan.allAtOnce ? ordersOf(parts.slice(progress.from)) : orders, run.ledger, facts, now);
    if (isNeedy(needs)) return { kind: 'needs', needs };
    run.allRead = plan.allAtOnce;
  }
  const outcome = decideOn(part, plan, run.ledger, facts, pool, now);
  if (outcome.kind === 'needs') throw new Error(`part ${part.nodeId} of plan ${plan.planId} needs what was read`);
  if (outcome.kind === 'rejected') {
    return refuse(run, progress, next, part, { rejected: rejectionOf(part.nodeId, outcome), counts: outcome.counts });
  }
  if (plan.allAtOnce) return { kind: 'on', progress: next };
  const reserving: Progress = { ...progress, phase: 'reserving', to: progress.from + 1, step: 0, pending: NO_TALLY };
  return { kind: 'on', progress: reserving };
}

/** What the parts from `progress.from` on need, so that one batch of reads serves many nodes that refuse. */
function needsAhead({ plan, parts, ledger, facts, pool, now }: Run, { from }: Progress): Needs {
  const needs = noNeeds();
  for (const part of parts.slice(from, from + AHEAD)) {
    const outcome = decideInto(part, plan, copyOf(ledger), facts, pool, now);
    if (outcome.kind === 'needs') alsoNeeds(needs, outcome.needs);
  }
  return needs;
}

function refuse(
  run: Run,
  progress: Progress,
  next: Progress,
  part: NodePart,
  { rejected, counts }: { rejected: Tally['rejected'][number]; counts: boolean },
): Turn {
  const { facts, pool, now } = run;
  const trial = copyOf(run.ledger);
  const verdicts = countRefusals(counts ? [part.nodeId] : [], trial, facts, pool, now);
  if (isNeedy(verdicts.needs)) return { kind: 'needs', needs: verdicts.needs };
  if (!fits(run, trial)) return { kind: 'full', progress };
  run.ledger = trial;
  run.marked.push(...verdicts.marked);
  run.withheld.push(...verdicts.withheld);
  const ineligible = verdicts.marked.map(({ nodeId }) => nodeId);
  const tally = addTallies(withRefusals(progress.tally, [rejected]), { ...NO_TALLY, ineligible });
  return { kind: 'on', progress: { ...next, tally } };
}

/** Takes as many of the orders from `progress.step` on as the transaction holds; `order(n)` is the nth to be taken. */
function takeOrders(
  run: Run,
  progress: Progress,
  orders: readonly Order[],
  take: (order: Order, ledger: Ledger) => StepOutcome,
  done: (progress: Progress, outcome: StepOutcome) => Progress,
): { readonly progress: Progress; readonly stop: 'none' | 'full' | 'refused' } | { readonly needs: Needs } {
  let current = progress;
  for (const [at, order] of orders.entries()) {
    const trial = copyOf(run.ledger);
    const outcome = take(order, trial);
    if (outcome.kind === 'refused') return { progress: current, stop: 'refused' };
    if (outcome.kind === 'needs') {
      const needs = needsOfAll(orders.slice(at, at + AHEAD), run.ledger, run.facts, run.now);
      alsoNeeds(needs, outcome.needs);
      return { needs };
    }
    if (!fits(run, trial)) return { progress: current, stop: 'full' };
    run.ledger = trial;
    current = done(current, outcome);
  }
  return { progress: current, stop: 'none' };
}

/** Orders, or parts, for which is read ahead. */
const AHEAD = PLATFORM.batchGetKeys / 2;

function reserveOrders(run: Run, progress: Progress): Turn {
  const { plan, parts, facts, pool, now } = run;
  const orders = ordersOf(parts.slice(progress.from, progress.to));
  const taken = takeOrders(
    run,
    progress,
    orders.slice(progress.step),
    (order, ledger) => reserve(order, plan, ledger, facts, pool, now),
    (current, outcome) => ({
      ...current,
      step: current.step + 1,
      pending:
        outcome.kind === 'done' && outcome.effect ? withEffect(current.pending, outcome.effect) : current.pending,
    }),
  );
  if ('needs' in taken) return { kind: 'needs', needs: taken.needs };
  switch (taken.stop) {
    case 'full':
      return { kind: 'full', progress: taken.progress };
    case 'refused':
      // What this transaction has reserved so far is committed with it, and given back by the next: one way back, not two.
      return { kind: 'full', progress: { ...taken.progress, phase: 'undoing' } };
    case 'none':
      // The write that commits: from here on the parts are carried out, whatever happens.
      return { kind: 'full', progress: { ...taken.progress, phase: 'finishing', step: 0 } };
  }
}

function carryOutOrders(run: Run, progress: Progress): Turn {
  const { plan, parts, facts, now } = run;
  const orders = ordersOf(parts.slice(progress.from, progress.to));
  const taken = takeOrders(
    run,
    progress,
    orders.slice(progress.step),
    (order, ledger) => carryOut(order, plan, ledger, facts, now),
    (current) => ({ ...current, step: current.step + 1 }),
  );
  if ('needs' in taken) return { kind: 'needs', needs: taken.needs };
  if (taken.stop === 'full') return { kind: 'full', progress: taken.progress };
  const tally = addTallies(progress.tally, progress.pending);
  if (plan.allAtOnce) return { kind: 'ended', tally };
  return {
    kind: 'on',
    progress: { ...progress, phase: 'deciding', from: progress.to, step: 0, tally, pending: NO_TALLY },
  };
}

/** Backwards, so that what was passed from one task to another finds its way back. */
function giveOrdersBack(run: Run, progress: Progress): Turn {
  const { plan, parts, facts, pool, now } = run;
  const orders = ordersOf(parts.slice(progress.from, progress.to)).slice(0, progress.step).reverse();
  const taken = takeOrders(
    run,
    progress,
    orders,
    (order, ledger) => giveBack(order, plan, ledger, facts, pool, now, run.beside),
    (current) => ({ ...current, step: current.step - 1 }),
  );
  if ('needs' in taken) return { kind: 'needs', needs: taken.needs };
  if (taken.stop === 'full') return { kind: 'full', progress: taken.progress };
  // Decided again from the start of what was given back: the state that refused is what it is decided on.
  return { kind: 'full', progress: { ...taken.progress, phase: 'deciding', step: 0, pending: NO_TALLY } };
}
