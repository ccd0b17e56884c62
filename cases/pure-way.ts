import type { NodeId, PlanId, PoolName } from '../lib/ids.ts';
import type { Account } from '../lib/nodes/account.ts';
import type { Pool } from '../lib/nodes/pool.ts';
import { taskKeyOf } from '../lib/plans/decide-part.ts';
import type { Delivery } from '../lib/plans/delivery.ts';
import { type Facts, newFacts } from '../lib/plans/facts.ts';
import { foldPlans } from '../lib/plans/fold.ts';
import type { Commit } from '../lib/plans/ledger.ts';
import type { Plan } from '../lib/plans/plan.ts';
import { readMessage } from '../lib/plans/read-message.ts';
import { PLATFORM } from '../lib/settings.ts';
import type { EpochMs } from '../lib/time.ts';
import { type ClusterState, initialState } from './cluster-state.ts';
import type { Delivered, Outcome, Way } from './outcome.ts';
import { groupOf, type PlanCase } from './plan-case.ts';
import { runReaperPure } from './reaper/pure.ts';
import { scalerDifferences } from './scaler/pure.ts';
import { pureCounter, windowDifferences } from './window-case.ts';

/** The deciding part alone, with everything known that the case knows. */
export const PURE_WAY: Way = {
  name: 'pure',
  async run(planCase, now) {
    return runPure(planCase, now);
  },
  window: (content) => windowDifferences(content, pureCounter),
  reaper: runReaperPure,
  scaler: scalerDifferences,
};

function runPure(planCase: PlanCase, now: EpochMs): Outcome {
  const before = initialState(planCase, now);
  const known = new KnownState(before);
  const delivered: Delivered[] = [];
  for (let from = 0; from < planCase.plans.length; from += PLATFORM.fifoBatch) {
    const batch = planCase.plans.slice(from, from + PLATFORM.fifoBatch);
    const groups = new Map<PoolName, number[]>();
    batch.forEach((plan, at) => {
      const pool = groupOf(plan, planCase);
      groups.set(pool, [...(groups.get(pool) ?? []), at]);
    });
    for (const [pool, positions] of groups) {
      const readable: { readonly at: number; readonly delivery: Delivery }[] = [];
      for (const at of positions) {
        const message = readMessage({ body: JSON.stringify(batch[at]) ?? '', group: pool, sentAt: now });
        if ('reason' in message) delivered[from + at] = { kind: 'quarantined' };
        else readable.push({ at: from + at, delivery: message });
      }
      const deliveries = readable.map(({ delivery }) => delivery);
      const outcomes = known.apply(pool, deliveries, now);
      readable.forEach(({ at }, index) => {
        const outcome = outcomes[index];
        if (outcome) delivered[at] = outcome;
      });
    }
  }
  return { delivered, before, after: known.state(planCase.mainPool), endedAt: now };
}

/** State of which everything is known, and that commits change as the database would. */
class KnownState {
  readonly #facts = new Map<PoolName, Facts>();
  readonly #before: ClusterState;
  /** Tasks and results are of no pool. */
  readonly #tasks: Facts['tasks'];
  readonly #results: Facts['results'] = new Map();
  readonly #progress: Facts['progress'] = new Map();

  constructor(before: ClusterState) {
    this.#before = before;
    this.#tasks = new Map(before.tasks);
    for (const pool of before.pools.keys()) this.#factsOf(pool);
  }

  /** Applies `deliveries` of one pool in order; what became of each. */
  apply(pool: PoolName, deliveries: readonly Delivery[], now: EpochMs): Delivered[] {
    const delivered: Delivered[] = [];
    const facts = this.#factsOf(pool);
    for (const { planId, content } of deliveries) know(facts, planId, 'plan' in content ? content.plan : undefined);
    for (let pending = deliveries; pending.length > 0; pending = deliveries.slice(delivered.length)) {
      const fold = foldPlans(pending, facts, now);
      if (fold.kind === 'needs') throw new Error('everything is known of the case, and the plans need more');
      if (fold.kind === 'stuck') {
        delivered.push({ kind: 'quarantined' });
        continue;
      }
      if (fold.decided.length === 0 && !fold.commit.progress) throw new Error('the plans do not get on');
      commitTo(facts, fold.commit);
      for (const { result } of fold.decided) delivered.push({ kind: 'result', result });
    }
    return delivered;
  }

  state(mainPool: PoolName): ClusterState {
    const pools = new Map<PoolName, Pool>();
    const accounts = new Map<PoolName, Map<NodeId, Account>>();
    for (const [name, facts] of this.#facts) {
      if (facts.pool === 'missing') continue;
      pools.set(name, facts.pool);
      accounts.set(name, there(facts.accounts));
    }
    return { pools, accounts, tasks: there(this.#tasks), windows: there(this.#factsOf(mainPool).windows) };
  }

  #factsOf(pool: PoolName): Facts {
    const known = this.#facts.get(pool);
    if (known) return known;
    const facts: Facts = {
      ...newFacts(this.#before.pools.get(pool) ?? 'missing'),
      accounts: new Map(this.#before.accounts.get(pool) ?? []),
      tasks: this.#tasks,
      results: this.#results,
      progress: this.#progress,
    };
    this.#facts.set(pool, facts);
    return facts;
  }
}

/** Adds to `facts` that whatever `plan` may ask for, and is not there, is known not to be. */
function know(facts: Facts, planId: PlanId, plan: Plan | undefined): void {
  if (!facts.progress.has(planId)) facts.progress.set(planId, 'none');
  for (const entry of plan ? [...plan.placements, ...plan.stops, ...plan.preemptions] : []) {
    const { nodeId } = entry;
    if (!facts.accounts.has(nodeId)) facts.accounts.set(nodeId, 'missing');
    if (!facts.windows.has(nodeId)) facts.windows.set(nodeId, 'missing');
    if (!facts.events.has(nodeId)) facts.events.set(nodeId, []);
    const key = taskKeyOf(entry);
    if (!facts.tasks.has(key)) facts.tasks.set(key, 'missing');
  }
}

function commitTo(facts: Facts, commit: Commit): void {
  for (const [node, write] of commit.nodes) {
    if (write.kind === 'blind') throw new Error(`node ${node} is known, but was written blindly`);
    facts.accounts.set(node, write.image);
  }
  for (const [key, { before, image }] of commit.tasks) {
    const task = facts.tasks.get(key);
    const version = task === undefined || task === 'missing' ? 0 : task.version;
    if (version !== before) throw new Error(`task ${key} is of version ${version}, the write expects ${before}`);
    facts.tasks.set(key, image ?? 'missing');
  }
  for (const [node, window] of commit.windows) facts.windows.set(node, window);
  for (const [node, { events }] of commit.events) facts.events.set(node, events);
  for (const stored of commit.results) facts.results.set(stored.result.planId, stored);
  if (commit.progress) facts.progress.set(commit.progress.planId, commit.progress);
  if (commit.pool && facts.pool !== 'missing') {
    const { index, marks } = commit.pool;
    facts.pool = { ...facts.pool, index, ...(marks ? { marks } : {}) };
  }
}

function there<K, V>(map: ReadonlyMap<K, V | 'missing'>): Map<K, V> {
  return new Map([...map].filter((entry): entry is [K, V] => entry[1] !== 'missing'));
}
