import type { PlanInput } from '../lib/client/index.ts';
import type { Account } from '../lib/nodes/account.ts';
import type { Delivery } from '../lib/plans/delivery.ts';
import { type Facts, type Needs, newFacts } from '../lib/plans/facts.ts';
import { foldPlans } from '../lib/plans/fold.ts';
import type { Commit } from '../lib/plans/ledger.ts';
import { readMessage } from '../lib/plans/read-message.ts';
import { PLATFORM } from '../lib/settings.ts';
import type { Figure } from './figure.ts';
import { knownFacts, NOW, nodeName, POOL } from './known-facts.ts';
import { planOn } from './load.ts';

const NODES = 1_000;
const TASKS_PER_NODE = 5;

/**
 * The requests that a plan past one transaction takes, node by node and all at once, where nobody else writes: counted as they
 * are decided on, since making thousands of writes would take most of a minute.
 */
export function large(): Figure[] {
  const nodes = Array.from({ length: NODES * TASKS_PER_NODE }, (_, at) => nodeName(at % NODES));
  return [false, true].flatMap((allAtOnce) => {
    const { transactions, reads } = requestsOf({ ...planOn(POOL, 0, nodes), allAtOnce });
    const how = allAtOnce ? 'all at once' : 'node by node';
    const title = `${nodes.length.toLocaleString('en')} placements on ${NODES.toLocaleString('en')} nodes, ${how}`;
    const figure = (what: string, value: number): Figure => {
      return { bench: 'large', what: `${title}: ${what}`, value, unit: '', kind: 'count' };
    };
    return [figure('transactions', transactions), figure('reads', reads)];
  });
}

/** What applying `plan` asks of the database. Throws if it is not applied whole. */
function requestsOf(plan: PlanInput): { readonly transactions: number; readonly reads: number } {
  const { facts: there } = knownFacts(NODES, 0);
  const delivery = readMessage({ body: JSON.stringify(plan), group: POOL, sentAt: NOW });
  if ('reason' in delivery) throw new Error(delivery.reason);
  const facts = newFacts(there.pool);
  let transactions = 0;
  // The pool.
  let reads = 1;
  for (;;) {
    const fold = foldPlans([delivery], facts, NOW);
    if (fold.kind === 'stuck') throw new Error(fold.reason);
    if (fold.kind === 'needs') {
      reads += read(fold.needs, there.accounts, facts);
      continue;
    }
    transactions++;
    takeIn(fold.commit, facts);
    const [decided] = fold.decided;
    if (!decided) continue;
    expectApplied(delivery, decided.result.status);
    return { transactions, reads };
  }
}

function expectApplied({ planId }: Delivery, status: string): void {
  if (status !== 'applied') throw new Error(`plan ${planId} came to ${status}, the bench is about one that is applied`);
}

/** Has what is asked for known, and answers how many requests that takes. Of tasks and all else there is nothing yet. */
function read(needs: Needs, accounts: ReadonlyMap<string, Account | 'missing'>, facts: Facts): number {
  for (const node of needs.accounts) facts.accounts.set(node, accounts.get(node) ?? 'missing');
  for (const key of needs.tasks) facts.tasks.set(key, 'missing');
  for (const node of needs.windows) facts.windows.set(node, 'missing');
  for (const node of needs.events) facts.events.set(node, []);
  for (const plan of needs.progress) facts.progress.set(plan, 'none');
  const keys = Object.values(needs).reduce((sum, { size }) => sum + size, 0);
  return Math.ceil(keys / PLATFORM.batchGetKeys);
}

/** What is known of accounts that were written on conditions is as little as before. */
function takeIn({ nodes, tasks, progress, pool }: Commit, facts: Facts): void {
  for (const [node, write] of nodes) if (write.kind === 'known') facts.accounts.set(node, write.image);
  for (const [key, { image }] of tasks) facts.tasks.set(key, image ?? 'missing');
  if (progress) facts.progress.set(progress.planId, progress);
  if (pool && facts.pool !== 'missing') facts.pool = { ...facts.pool, index: pool.index };
}
