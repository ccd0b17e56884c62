import type { Pool } from '../../lib/nodes/pool.ts';
import type { Delivery } from '../../lib/plans/delivery.ts';
import { type Facts, newFacts } from '../../lib/plans/facts.ts';
import { foldPlans } from '../../lib/plans/fold.ts';
import type { Commit } from '../../lib/plans/ledger.ts';
import type { PlanResult } from '../../lib/plans/result.ts';
import { NOW } from './builders.ts';

/** Everything there is, read at once, and written as a commit says. For plans of which every node was looked at. */
export interface Stage {
  readonly facts: Facts;
  readonly commits: Commit[];
  readonly results: PlanResult[];
}

/** What `facts` holds is all there is: what is asked for besides is not there. */
export function stageOf(pool: Pool, more: Partial<Facts> = {}): Stage {
  return { facts: { ...newFacts(pool), ...more }, commits: [], results: [] };
}

/** Every maximum is far beyond what a plan of a test can take: a plan that reaches it never ends. */
const MOST_STEPS = 500;

/**
 * Applies a plan, transaction by transaction; `between` is called after each and may change what is there, as others do.
 * Throws if it does not come to an end.
 */
export function runPlan(
  delivery: Delivery,
  { facts, commits, results }: Stage,
  allowance?: number,
  between: (commit: Commit) => void = () => undefined,
): PlanResult {
  for (let step = 0; step < MOST_STEPS; step++) {
    const fold = foldPlans([delivery], facts, NOW, allowance);
    if (fold.kind === 'stuck') throw new Error(fold.reason);
    if (fold.kind === 'needs') {
      for (const key of fold.needs.tasks) setMissing(facts.tasks, key);
      for (const node of fold.needs.accounts) setMissing(facts.accounts, node);
      for (const node of fold.needs.windows) setMissing(facts.windows, node);
      for (const node of fold.needs.events) if (!facts.events.has(node)) facts.events.set(node, []);
      for (const plan of fold.needs.progress) if (!facts.progress.has(plan)) facts.progress.set(plan, 'none');
      continue;
    }
    write(facts, fold.commit);
    commits.push(fold.commit);
    between(fold.commit);
    const [decided] = fold.decided;
    if (!decided) continue;
    results.push(decided.result);
    return decided.result;
  }
  throw new Error(`plan ${delivery.planId} has no result after ${MOST_STEPS} steps`);
}

function setMissing<K>(map: Map<K, unknown>, key: K): void {
  if (!map.has(key)) map.set(key, 'missing');
}

function write(facts: Facts, { pool, nodes, tasks, windows, events, progress, results }: Commit): void {
  if (pool && facts.pool !== 'missing') {
    if (pool.index !== facts.pool.index + 1) throw new Error(`index ${pool.index} after ${facts.pool.index}`);
    facts.pool = { ...facts.pool, index: pool.index, ...(pool.marks ? { marks: pool.marks } : {}) };
  }
  for (const [node, each] of nodes) {
    const before = facts.accounts.get(node);
    if (each.kind === 'blind' || before === undefined || before === 'missing') throw new Error(`${node} was not read`);
    if (each.image.version !== before.version + 1) throw new Error(`${node}: version ${each.image.version}`);
    facts.accounts.set(node, each.image);
  }
  for (const [key, { before, image }] of tasks) {
    const task = facts.tasks.get(key);
    const version = task === undefined || task === 'missing' ? 0 : task.version;
    if (version !== before) throw new Error(`${key}: version ${version} where ${before} is expected`);
    facts.tasks.set(key, image ?? 'missing');
  }
  for (const [node, window] of windows) facts.windows.set(node, window);
  for (const [node, each] of events) facts.events.set(node, each.events);
  for (const stored of results) facts.results.set(stored.result.planId, stored);
  if (!progress) return;
  const stored = facts.progress.get(progress.planId);
  const version = stored === undefined || stored === 'none' ? 0 : stored.version;
  if (progress.version !== version + 1) throw new Error(`progress ${progress.version} after ${version}`);
  facts.progress.set(progress.planId, progress);
}
