import type { PlanId } from '../ids.ts';
import { PLATFORM } from '../settings.ts';
import type { EpochMs } from '../time.ts';
import type { Scored } from './count-refusals.ts';
import { decidePlan, fixedResult } from './decide-plan.ts';
import type { Delivery } from './delivery.ts';
import { alsoNeeds, type Facts, isNeedy, type Needs, noNeeds } from './facts.ts';
import {
  bytesOf,
  type Commit,
  commitOf,
  countWrites,
  MAX_COMMIT_BYTES,
  newLedger,
  POOL_ACTIONS,
  type ResultWrite,
} from './ledger.ts';
import type { Plan } from './plan.ts';
import type { PlanResult } from './result.ts';
import { nextStep } from './staged.ts';
import { isStaged } from './transaction.ts';

/** One plan of a group, decided. */
export interface Decided {
  readonly delivery: Delivery;
  readonly result: PlanResult;
  /** The result was stored before: by an earlier delivery, or by another applier. */
  readonly stored: boolean;
  /** Stored before, for another content. */
  readonly differs: boolean;
}

export type Fold =
  | { readonly kind: 'needs'; readonly needs: Needs }
  /** The first plans, as many as one transaction holds; none if it is a step of a plan that takes several. */
  | {
      readonly kind: 'group';
      readonly decided: readonly Decided[];
      readonly commit: Commit;
      /** Nodes that the commit makes ineligible, and nodes that it would if the pool had a mark left. */
      readonly marked: readonly Scored[];
      readonly withheld: readonly Scored[];
    }
  /** The first plan cannot go on: another one of its id is under way. */
  | { readonly kind: 'stuck'; readonly reason: string };

/**
 * Decides about `deliveries` in order, each seeing what the ones before it did, and adds up what they do, until one
 * transaction is full. `allowance` bounds the actions of the transaction, by default what the platform does.
 */
export function foldPlans(
  deliveries: readonly Delivery[],
  facts: Facts,
  now: EpochMs,
  allowance: number = PLATFORM.transactionActions,
): Fold {
  const needs = noNeeds();
  let ledger = newLedger();
  const decided: Decided[] = [];
  const results: ResultWrite[] = [];
  const marked: Scored[] = [];
  const withheld: Scored[] = [];
  let bytes = 0;
  const answered = (planId: PlanId) =>
    facts.results.get(planId) ?? results.find(({ result }) => result.planId === planId);

  for (const delivery of deliveries) {
    const stored = answered(delivery.planId);
    if (stored) {
      const differs = stored.fingerprint !== delivery.fingerprint;
      decided.push({ delivery, result: stored.result, stored: true, differs });
      continue;
    }
    const plan = 'plan' in delivery.content ? delivery.content.plan : undefined;
    const progress = facts.progress.get(delivery.planId);
    const begun = progress !== undefined && progress !== 'none';
    const apart = delivery.givenUp || (plan && isStaged(plan, allowance));
    if (begun || (apart && facts.pool !== 'missing')) {
      // A plan of several transactions has them to itself; what came before it is committed first. So has one that is given up.
      if (decided.length === 0 && !isNeedy(needs)) return foldStaged(delivery, plan, facts, now, allowance);
      break;
    }
    const fixed = fixedResult(delivery, facts, now);
    const outcome =
      fixed || !plan || facts.pool === 'missing'
        ? { kind: 'decided' as const, result: fixed as PlanResult, marked: [], withheld: [], ledger }
        : decidePlan(delivery, plan, ledger, facts, facts.pool, now);
    if (outcome.kind === 'needs') {
      alsoNeeds(needs, outcome.needs);
      continue;
    }
    if (isNeedy(needs)) continue;
    const size = Buffer.byteLength(JSON.stringify(outcome.result)) + bytesOf(outcome.ledger) - bytesOf(ledger);
    const actions = POOL_ACTIONS + results.length + 1 + countWrites(outcome.ledger);
    if (results.length > 0 && (actions > allowance || bytes + size > MAX_COMMIT_BYTES)) break;
    ledger = outcome.ledger;
    bytes += size;
    results.push({ result: outcome.result, fingerprint: delivery.fingerprint, over: 0 });
    decided.push({ delivery, result: outcome.result, stored: false, differs: false });
    marked.push(...outcome.marked);
    withheld.push(...outcome.withheld);
  }

  if (isNeedy(needs)) return { kind: 'needs', needs };
  return { kind: 'group', decided, commit: commitOf(ledger, facts.pool, now, results), marked, withheld };
}

/** The next step of a plan that takes several transactions, or back. */
function foldStaged(delivery: Delivery, plan: Plan | undefined, facts: Facts, now: EpochMs, allowance: number): Fold {
  const progress = facts.progress.get(delivery.planId);
  if (progress === undefined) {
    const needs = noNeeds();
    needs.progress.add(delivery.planId);
    return { kind: 'needs', needs };
  }
  if (progress !== 'none' && (!plan || progress.fingerprint !== delivery.fingerprint)) {
    return {
      kind: 'stuck',
      reason: `another plan of the id ${delivery.planId} is under way; give every plan an id of its own`,
    };
  }
  if (progress === 'none') {
    const fixed = fixedResult(delivery, facts, now);
    if (fixed) {
      const results = [{ result: fixed, fingerprint: delivery.fingerprint, over: 0 }];
      const decided = [{ delivery, result: fixed, stored: false, differs: false }];
      return {
        kind: 'group',
        decided,
        commit: commitOf(newLedger(), facts.pool, now, results),
        marked: [],
        withheld: [],
      };
    }
  }
  if (!plan) throw new Error(`message of plan ${delivery.planId} is no plan, and was not found to be invalid`);
  if (facts.pool === 'missing') throw new Error(`plan ${delivery.planId} is staged in a pool that is not there`);
  const step = nextStep(delivery, plan, progress === 'none' ? undefined : progress, facts, facts.pool, now, allowance);
  if (step.kind === 'needs') return step;
  const { commit, result, marked, withheld } = step;
  const decided = result ? [{ delivery, result, stored: false, differs: false }] : [];
  return { kind: 'group', decided, commit, marked, withheld };
}
