import type { Pool } from '../../lib/nodes/pool.ts';
import { type Applied, applyPlans } from '../../lib/plans/apply.ts';
import type { Delivery } from '../../lib/plans/delivery.ts';
import type { Plan, PlanInput } from '../../lib/plans/plan.ts';
import type { PlanResult } from '../../lib/plans/result.ts';
import { WindowCache } from '../../lib/plans/window-cache.ts';
import type { EpochMs } from '../../lib/time.ts';
import { type FaultScript, faultsInTurn, noFaults } from './faults.ts';
import type { FaultyStore } from './faulty-store.ts';
import type { History, Other } from './histories.ts';
import { PoolModel } from './model.ts';
import { deliveryOf, SENT_AT } from './plans.ts';
import type { ResultSummary, Summary } from './summary.ts';

/** What a history runs on. */
export interface Bed {
  /** The state as one process sees it, with the faults of `script` in between. */
  open(script: FaultScript): FaultyStore;
  /** What somebody else does. */
  meanwhile(other: Other): Promise<void>;
}

/** What deliveries have come to, as those who delivered them saw it. */
export interface Ran {
  /** Every answer that was given for a plan, by plan: all the same, if a plan takes effect once. */
  readonly answers: ReadonlyMap<string, readonly PlanResult[]>;
  /** What was wrong with how batches were answered. */
  readonly problems: readonly string[];
}

/** More requests than any history needs: a store that refuses for ever is found out. */
const MAX_REQUESTS = 3_000;
const MAX_ROUNDS = 60;

/**
 * Delivers the batches of a history as a queue does: a batch, or what of it came back, until all of it is decided;
 * then the next. `turn` is awaited where time passes, so that a scheduler decides who goes first.
 */
export async function runHistory(
  history: History,
  bed: Bed,
  turn: (what: string) => Promise<unknown> = async () => undefined,
): Promise<Ran> {
  const answers = new Map<string, PlanResult[]>();
  const problems: string[] = [];
  const script = faultsInTurn(history.faults);
  const caches = [newCaches(), newCaches()];
  let now = SENT_AT as number;
  let requests = 0;

  /** One invocation; what is left of the batch, all of it if the process was killed. */
  const deliver = async (plans: readonly PlanInput[], applier: number, faults: FaultScript) => {
    const { store, killed } = bed.open((request) => {
      if (++requests > MAX_REQUESTS) throw new Error('the plans are never decided');
      return faults(request);
    });
    const outcome = await Promise.race([
      applyPlans(plans.map(deliveryFor), {
        store,
        clock: () => now as EpochMs,
        deadline: (now + 25_000) as EpochMs,
        sleep: async (ms) => {
          now += ms;
          await turn('pause');
        },
        random: () => 0.5,
        ...(caches[applier] ?? newCaches()),
        allowance: history.allowance,
      }),
      killed,
    ]);
    if (outcome === 'killed') {
      caches[applier] = newCaches();
      return plans;
    }
    note(outcome, plans);
    return plans.slice(plans.length - outcome.left.length);
  };

  /** A batch in pieces of `size`, one after the other; what is left of it. */
  const deliverAll = async (
    plans: readonly PlanInput[],
    applier: number,
    size: number,
  ): Promise<readonly PlanInput[]> => {
    for (let at = 0; at < plans.length; at += size) {
      const left = await deliver(plans.slice(at, at + size), applier, script);
      if (left.length > 0) return plans.slice(Math.min(at + size, plans.length) - left.length);
    }
    return [];
  };

  const note = ({ decided, parked, left, error }: Applied, plans: readonly PlanInput[]) => {
    const order = [...decided.map(({ delivery }) => delivery.planId), ...left.map(({ planId }) => planId)];
    if (order.join() !== plans.map(({ planId }) => planId).join()) problems.push(`out of order: ${order}`);
    if (left.length > 0 && !error) problems.push('plans came back without a reason');
    for (const { reason } of parked) problems.push(`parked: ${reason}`);
    for (const { delivery, result } of decided) {
      answers.set(delivery.planId, [...(answers.get(delivery.planId) ?? []), result]);
    }
  };

  let before: readonly PlanInput[] = [];
  for (const { plans, appliers, again, others } of history.batches) {
    const side = others.map(async ({ after, other }) => {
      for (let turns = 0; turns <= after; turns++) await turn(other.kind);
      await bed.meanwhile(other);
    });
    const under = appliers.map((size, applier) => deliverAll(plans, applier, size));
    const repeated = again && before.length > 0 ? [deliver(before, 1, script)] : [];
    const [left] = await Promise.all([Promise.all(under), ...repeated, ...side]);
    let rest = left.reduce((least, each) => (each.length < least.length ? each : least));
    for (let round = 0; rest.length > 0; round++) {
      if (round === MAX_ROUNDS) return { answers, problems: [...problems, `never decided: ${rest[0]?.planId}`] };
      rest = await deliver(rest, round % 2, round > MAX_ROUNDS / 2 ? noFaults : script);
    }
    before = plans;
  }
  return { answers, problems };
}

const deliveries = new WeakMap<PlanInput, Delivery>();

/** Read once, however often it is delivered: most of the time of a history goes into reading. */
function deliveryFor(plan: PlanInput): Delivery {
  const delivery = deliveries.get(plan) ?? deliveryOf(plan);
  deliveries.set(plan, delivery);
  return delivery;
}

/** What a process remembers from one batch to the next. */
function newCaches() {
  return { pools: new Map<Pool['pool'], Pool>(), windows: new WindowCache() };
}

/** The plans of a history in the order of the queue, defaults filled in. */
export function plansOf({ batches }: History): Plan[] {
  return batches
    .flatMap(({ plans }) => plans)
    .map((input) => {
      const { content } = deliveryFor(input);
      if ('problems' in content) throw new Error(`not a plan: ${JSON.stringify(content.problems)}`);
      return content.plan;
    });
}

/** What must come of a history in which nobody but the appliers does anything. */
export function expectedOf(history: History): Summary {
  const model = new PoolModel(history.settings);
  for (const node of history.nodes) model.register(node);
  const results: Record<string, ResultSummary> = {};
  for (const plan of plansOf(history)) results[plan.planId] = model.apply(plan, model.decide(plan));
  return model.summary(results);
}

/** Answers that differ from one another or from what is stored: a result never changes. */
export function changedAnswers({ answers }: Ran, stored: ReadonlyMap<string, PlanResult>): string[] {
  return [...answers].flatMap(([plan, results]) =>
    results.every((result) => JSON.stringify(result) === JSON.stringify(stored.get(plan)))
      ? []
      : [`${plan}: ${JSON.stringify([...results, stored.get(plan)])}`],
  );
}
