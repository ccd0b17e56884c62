import type { NodeId } from '../ids.ts';
import type { Pool } from '../nodes/pool.ts';
import { clip, type Problem } from '../schema.ts';
import { RESULTS } from '../settings.ts';
import { type EpochMs, isoTime } from '../time.ts';
import { countRefusals, type Scored } from './count-refusals.ts';
import {
  decidePart,
  type NodePart,
  type PartContext,
  type PartEffect,
  type PartOutcome,
  partsOf,
} from './decide-part.ts';
import type { Delivery } from './delivery.ts';
import { alsoNeeds, type Facts, isNeedy, type Needs, noNeeds } from './facts.ts';
import { accountAfter, copyOf, enterPart, type Ledger, taskAfter } from './ledger.ts';
import type { Plan } from './plan.ts';
import { NO_TALLY, type Tally } from './progress.ts';
import type { PlanResult, RejectedNode } from './result.ts';

export type PlanOutcome =
  | { readonly kind: 'needs'; readonly needs: Needs }
  | {
      readonly kind: 'decided';
      readonly result: PlanResult;
      readonly marked: readonly Scored[];
      readonly withheld: readonly Scored[];
      /** The state after the plan. */
      readonly ledger: Ledger;
    };

/** The result of a delivery that no state has a say in: it is no plan, it came too late, or its pool is not there. */
export function fixedResult(delivery: Delivery, facts: Facts, now: EpochMs): PlanResult | undefined {
  const { content, pool } = delivery;
  const problems = 'problems' in content ? content.problems : [];
  if (facts.pool === 'missing') {
    return resultOf(delivery, facts, now, 'invalid', NO_TALLY, [poolNotFound(pool), ...problems]);
  }
  if ('problems' in content) return resultOf(delivery, facts, now, 'invalid', NO_TALLY, problems);
  const { notAfter } = content.plan;
  if (notAfter !== undefined && now > Date.parse(notAfter)) return resultOf(delivery, facts, now, 'expired', NO_TALLY);
  return undefined;
}

/** Decides about one plan that fits one transaction, on what stands in `before`. */
export function decidePlan(
  delivery: Delivery,
  plan: Plan,
  before: Ledger,
  facts: Facts,
  pool: Pool,
  now: EpochMs,
): PlanOutcome {
  const needs = noNeeds();
  const presumed = noNeeds();
  let ledger = copyOf(before);
  let tally = NO_TALLY;
  const counted: NodeId[] = [];
  for (const part of partsOf(plan)) {
    const outcome = decideInto(part, plan, ledger, facts, pool, now);
    if (outcome.kind === 'needs') {
      alsoNeeds(needs, outcome.needs);
    } else if (outcome.kind === 'rejected') {
      tally = { ...tally, rejected: [...tally.rejected, outcome.rejected] };
      if (outcome.counts) counted.push(part.nodeId);
    } else {
      tally = withEffect(tally, outcome.effect);
      for (const key of outcome.effect.presumed.tasks) presumed.tasks.add(key);
      if (outcome.effect.presumed.account) presumed.accounts.add(part.nodeId);
    }
  }
  const voided = plan.allAtOnce && tally.rejected.length > 0;
  // Its worker is to learn of every node that refuses it, and of a plan that is not committed no condition proves anything.
  if (voided) alsoNeeds(needs, presumed);
  if (isNeedy(needs)) return { kind: 'needs', needs };
  if (voided) {
    ledger = copyOf(before);
    tally = { ...NO_TALLY, rejected: tally.rejected };
  }
  const verdicts = countRefusals(counted, ledger, facts, pool, now);
  if (isNeedy(verdicts.needs)) return { kind: 'needs', needs: verdicts.needs };
  tally = { ...tally, ineligible: verdicts.marked.map(({ nodeId }) => nodeId) };
  const { marked, withheld } = verdicts;
  return {
    kind: 'decided',
    result: resultOf(delivery, facts, now, statusOf(plan, tally), tally),
    marked,
    withheld,
    ledger,
  };
}

export type EnteredPart =
  | { readonly kind: 'needs'; readonly needs: Needs }
  | { readonly kind: 'rejected'; readonly rejected: RejectedNode; readonly counts: boolean }
  | { readonly kind: 'accepted'; readonly effect: PartEffect };

/** Decides about one part, and enters it into `ledger` if it is accepted. */
export function decideInto(
  part: NodePart,
  plan: Plan,
  ledger: Ledger,
  facts: Facts,
  pool: Pool,
  now: EpochMs,
): EnteredPart {
  const outcome = decideOn(part, plan, ledger, facts, pool, now);
  const needs = noNeeds();
  switch (outcome.kind) {
    case 'needs':
      for (const key of outcome.tasks) needs.tasks.add(key);
      if (outcome.account) needs.accounts.add(part.nodeId);
      // It is about to refuse: what counting that takes is read with it.
      else if (pool.settings.tracker.enabled && isUncounted(part, ledger, facts, now)) needs.windows.add(part.nodeId);
      return { kind: 'needs', needs };
    case 'rejected':
      return { kind: 'rejected', rejected: rejectionOf(part.nodeId, outcome), counts: outcome.counts };
    case 'accepted':
      if (enterPart(part.nodeId, outcome.effect, ledger, facts, pool, now)) return outcome;
      needs.accounts.add(part.nodeId);
      return { kind: 'needs', needs };
  }
}

/** Whether the account of a part's node is known, and its refusals are not. */
function isUncounted({ nodeId }: NodePart, ledger: Ledger, facts: Facts, now: EpochMs): boolean {
  const account = accountAfter(nodeId, ledger, facts, now);
  return account !== undefined && account !== 'missing' && !ledger.windows.has(nodeId) && !facts.windows.has(nodeId);
}

/** Decides about one part on what stands in `ledger`, which stays as it is. */
export function decideOn(
  part: NodePart,
  plan: Plan,
  ledger: Ledger,
  facts: Facts,
  pool: Pool,
  now: EpochMs,
): PartOutcome {
  const context: PartContext = {
    plan,
    pool: pool.pool,
    stopRelease: pool.settings.stopRelease,
    now,
    task: (key) => taskAfter(key, ledger, facts),
  };
  return decidePart(part, accountAfter(part.nodeId, ledger, facts, now), context);
}

export function rejectionOf(nodeId: NodeId, { code, message }: { code: string; message: string }): RejectedNode {
  return { nodeId, code, message: clip(message, RESULTS.maxMessageLength) };
}

export function withEffect(tally: Tally, { placed, stopped, preempted, alreadyGone }: PartEffect): Tally {
  return {
    ...tally,
    placements: tally.placements + placed.length,
    stops: tally.stops + stopped.length,
    preemptions: tally.preemptions + preempted.length,
    alreadyGone: [...tally.alreadyGone, ...alreadyGone],
  };
}

/** `partial` if some node of the plan was accepted and some was not. */
export function statusOf(plan: Plan, { rejected }: Tally): PlanResult['status'] {
  if (rejected.length === 0) return 'applied';
  const nodes = new Set([...plan.placements, ...plan.stops, ...plan.preemptions].map(({ nodeId }) => nodeId));
  return plan.allAtOnce || rejected.length === nodes.size ? 'rejected' : 'partial';
}

function poolNotFound(pool: string): Problem {
  return {
    path: 'pool',
    message: `pool-not-found: there is no pool ${pool}; make it first, or correct the message group`,
  };
}

export function resultOf(
  { planId, pool, content, receivedAt }: Delivery,
  facts: Facts,
  now: EpochMs,
  status: PlanResult['status'],
  tally: Tally,
  problems: readonly Problem[] = [],
): PlanResult {
  const evalId = 'plan' in content ? content.plan.evalId : undefined;
  const index = facts.pool === 'missing' ? 0 : facts.pool.index + 1;
  return {
    planId,
    pool,
    ...(evalId === undefined ? {} : { evalId }),
    status,
    index,
    refreshIndex: tally.rejected.length === 0 ? 0 : index,
    committed: { placements: tally.placements, stops: tally.stops, preemptions: tally.preemptions },
    rejectedNodes: [...tally.rejected],
    ineligibleNodes: [...tally.ineligible],
    alreadyGone: [...tally.alreadyGone],
    problems: [...problems],
    receivedAt: isoTime(receivedAt),
    appliedAt: isoTime(now),
  };
}
