import type { NodeId } from '../ids.ts';
import type { Account } from '../nodes/account.ts';
import type { Pool } from '../nodes/pool.ts';
import { APPLIER, PLATFORM } from '../settings.ts';
import type { Task } from '../tasks/task.ts';
import type { Clock, EpochMs } from '../time.ts';
import type { TaskKey } from './decide-part.ts';
import type { Delivery } from './delivery.ts';
import type { Facts, Needs, StoredResult } from './facts.ts';
import { type Commit, type Decided, foldPlans } from './fold.ts';

/** What a look at the state has shown: read, or brought back by a failed condition. */
export interface Learned {
  readonly pool?: Pool | 'missing';
  readonly accounts: ReadonlyMap<NodeId, Account | 'missing'>;
  readonly tasks: ReadonlyMap<TaskKey, Task | 'missing'>;
  readonly results: readonly StoredResult[];
}

export type CommitOutcome =
  | { readonly kind: 'committed' }
  /** Conditions did not hold, or the state was busy: nothing was written. `busy`: a pause is due before the next try. */
  | { readonly kind: 'refused'; readonly learned: Learned; readonly busy: boolean };

/** The state that plans are applied to. Errors are those of `store/errors.ts`, told apart by their names. */
export interface PlanStore {
  readPool(pool: Delivery['pool']): Promise<Pool | 'missing'>;
  read(pool: Pool, needs: Needs): Promise<Learned>;
  commit(commit: Commit): Promise<CommitOutcome>;
}

export interface ApplyContext {
  readonly store: PlanStore;
  readonly clock: Clock;
  /** After this nothing is begun or tried again. */
  readonly deadline: EpochMs;
  readonly sleep: (ms: number) => Promise<void>;
  /** From 0 to below 1, for pauses of which no two are alike. */
  readonly random: () => number;
  /** What was known of pools when the last batch ended; kept up to date. A wrong entry costs one refused transaction. */
  readonly pools: Map<Delivery['pool'], Pool>;
}

/** What became of the deliveries of one pool; each is in exactly one list. */
export interface Applied {
  readonly decided: readonly Decided[];
  /** Can never be committed, whatever the state: to be parked, with the reason. */
  readonly parked: readonly { readonly delivery: Delivery; readonly reason: string }[];
  /** Not decided: to be delivered again, in this order. */
  readonly left: readonly Delivery[];
  /** Why there are `left` ones. */
  readonly error?: Error;
}

/**
 * Applies plans of one pool in order: decides as many as one transaction holds, on what is known and on conditions for
 * what is not, commits them, and where the database refuses looks at what it brought back and decides again.
 */
export async function applyPlans(deliveries: readonly Delivery[], context: ApplyContext): Promise<Applied> {
  const { store, clock } = context;
  const decided: Decided[] = [];
  const parked: { delivery: Delivery; reason: string }[] = [];
  let pending = deliveries;
  let facts: Facts | undefined;
  let alone = false;
  let tries = 0;
  const left = (error: Error): Applied => ({ decided, parked, left: pending, error });

  for (let first = pending[0]; first !== undefined; first = pending[0]) {
    if (clock() >= context.deadline) return left(new Error('no time is left in this invocation'));
    try {
      facts ??= newFacts(context.pools.get(first.pool) ?? (await store.readPool(first.pool)));
      const fold = foldPlans(alone ? [first] : pending, facts, clock(), PLATFORM.transactionActions);
      if (fold.kind === 'needs') {
        if (facts.pool !== 'missing') learn(facts, await store.read(facts.pool, fold.needs));
        continue;
      }
      const outcome: CommitOutcome =
        fold.commit.results.length > 0 ? await store.commit(fold.commit) : { kind: 'committed' };
      if (outcome.kind === 'committed') {
        settle(facts, fold.commit);
        remember(context, first.pool, facts.pool);
        decided.push(...fold.decided);
        pending = pending.slice(fold.decided.length);
        tries = 0;
        alone = false;
      } else {
        learn(facts, outcome.learned);
        if (outcome.busy) await pause(context, tries++, 0);
      }
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      if (error.name === 'RetryError' || error.name === 'ConflictError') {
        await pause(context, tries++, 'afterMs' in error ? Number(error.afterMs) : 0);
      } else if (error.name === 'PermanentError' && !alone && pending.length > 1) {
        // One of the group can never pass; which one shows when each is tried alone.
        alone = true;
      } else if (error.name === 'PermanentError') {
        parked.push({ delivery: first, reason: error.message });
        pending = pending.slice(1);
        alone = false;
      } else {
        return left(error);
      }
    }
  }
  return { decided, parked, left: [] };
}

function newFacts(pool: Pool | 'missing'): Facts {
  return { pool, accounts: new Map(), tasks: new Map(), results: new Map() };
}

function learn(facts: Facts, learned: Learned): void {
  for (const stored of learned.results) facts.results.set(stored.result.planId, stored);
  if (learned.pool !== undefined) {
    // Somebody else has committed. No condition proves a refusal, or that a task is gone: both hold at the index
    // that a commit demands only if what they go by was seen after that index was. So what was seen before is
    // forgotten, and what this refusal shows beside the index as well, since its items were not seen at one time.
    facts.pool = learned.pool;
    facts.accounts.clear();
    facts.tasks.clear();
    return;
  }
  for (const [node, account] of learned.accounts) facts.accounts.set(node, account);
  for (const [key, task] of learned.tasks) facts.tasks.set(key, task);
}

/** What is known once `commit` has taken effect. Accounts that were written blindly stay unknown. */
function settle(facts: Facts, commit: Commit): void {
  if (facts.pool !== 'missing' && commit.pool && commit.results.length > 0) {
    facts.pool = { ...facts.pool, index: commit.pool.index };
  }
  if (commit.results.length === 0) return;
  for (const [node, write] of commit.nodes) if (write.kind === 'known') facts.accounts.set(node, write.image);
  for (const [key, { image }] of commit.tasks) facts.tasks.set(key, image);
  for (const stored of commit.results) facts.results.set(stored.result.planId, stored);
}

function remember({ pools }: ApplyContext, name: Delivery['pool'], pool: Pool | 'missing'): void {
  if (pool === 'missing') pools.delete(name);
  else pools.set(name, pool);
}

/** Exponential back-off with full jitter (AWS Architecture Blog, "Exponential Backoff And Jitter"), never past the deadline. */
async function pause(
  { sleep, random, clock, deadline }: ApplyContext,
  tries: number,
  atLeastMs: number,
): Promise<void> {
  const cap = Math.min(APPLIER.backoffCapMs, APPLIER.backoffBaseMs * 2 ** Math.min(tries, 16));
  const ms = Math.max(atLeastMs, random() * cap);
  await sleep(Math.max(0, Math.min(ms, deadline - clock())));
}
