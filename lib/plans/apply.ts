import type { NodeId, PlanId } from '../ids.ts';
import type { Account } from '../nodes/account.ts';
import type { Pool } from '../nodes/pool.ts';
import type { NodeEvent } from '../nodes/profile.ts';
import { APPLIER, PLATFORM } from '../settings.ts';
import type { Task } from '../tasks/task.ts';
import type { Clock, EpochMs } from '../time.ts';
import type { Scored } from './count-refusals.ts';
import type { TaskKey } from './decide-part.ts';
import type { Delivery } from './delivery.ts';
import { type Facts, type Needs, newFacts, type StoredResult } from './facts.ts';
import { type Decided, type Fold, foldPlans } from './fold.ts';
import { type Commit, countWrites } from './ledger.ts';
import type { Progress } from './progress.ts';
import type { RejectionWindow } from './rejections.ts';
import { OWN_ACTIONS } from './transaction.ts';
import type { WindowCache } from './window-cache.ts';

/** What a look at the state has shown: read, or brought back by a failed condition. */
export interface Learned {
  readonly pool?: Pool | 'missing';
  readonly accounts: ReadonlyMap<NodeId, Account | 'missing'>;
  readonly tasks: ReadonlyMap<TaskKey, Task | 'missing'>;
  readonly windows: ReadonlyMap<NodeId, RejectionWindow | 'missing'>;
  readonly events: ReadonlyMap<NodeId, readonly NodeEvent[] | 'missing'>;
  readonly progress: ReadonlyMap<PlanId, Progress | 'none'>;
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
  /** Refusals that were counted lately, by pool and node; bounded. A wrong entry costs one refused transaction. */
  readonly windows: WindowCache;
  /** Actions of one transaction, at least 8. Default: as many as the platform takes. */
  readonly allowance?: number;
  /** Told of each commit, with what it did to nodes that are refused again and again. */
  readonly committed?: (fold: CommittedGroup) => void;
}

/** What a commit did. */
export type CommittedGroup = Pick<Extract<Fold, { kind: 'group' }>, 'decided' | 'marked' | 'withheld'> & {
  readonly pool: Delivery['pool'];
  /** The most refusals inside the window of one of the nodes that were refused. */
  readonly highestScore: number;
};

/** What became of the deliveries of one pool; each is in exactly one list. */
export interface Applied {
  readonly decided: readonly Decided[];
  /** Can never be committed, whatever the state: to be parked, with the reason. What was reserved is given back, if it can be. */
  readonly parked: readonly { readonly delivery: Delivery; readonly reason: string }[];
  /** Not decided: to be delivered again, in this order. */
  readonly left: readonly Delivery[];
  /** Why there are `left` ones. */
  readonly error?: Error;
}

/** Actions of the smallest transaction that a plan can be applied by, and what it may write besides the pool and the plan. */
const FEWEST_ACTIONS = 8;
const FEWEST_WRITES = FEWEST_ACTIONS - OWN_ACTIONS;

/** Why plans are left: the invocation has no time for them. */
export class OutOfTimeError extends Error {
  override readonly name = 'OutOfTimeError';
  /** Whether something was committed in it: then it is worth while to deliver the rest again at once. */
  readonly progressed: boolean;

  constructor(progressed: boolean) {
    super('no time is left in this invocation');
    this.progressed = progressed;
  }
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
  /** Can never be committed, and is being given back before it is parked. */
  let doomed: { readonly delivery: Delivery; readonly reason: string } | undefined;
  const most = context.allowance ?? PLATFORM.transactionActions;
  /** Actions that the first plan is given: fewer, once a transaction of it was too much for the database. */
  let allowance = most;
  let tries = 0;
  let commits = 0;
  const left = (error: Error): Applied => ({ decided, parked, left: pending, error });

  for (let first = pending[0]; first !== undefined; first = pending[0]) {
    if (clock() >= context.deadline) return left(new OutOfTimeError(commits > 0));
    let tried: Commit | undefined;
    try {
      facts ??= await firstFacts(first.pool, context);
      const fold = foldPlans(alone ? [first] : pending, facts, clock(), allowance);
      if (fold.kind === 'needs') {
        if (facts.pool !== 'missing') learn(facts, await store.read(facts.pool, fold.needs));
        continue;
      }
      if (fold.kind === 'stuck') {
        parked.push({ delivery: first, reason: fold.reason });
        pending = pending.slice(1);
        allowance = most;
        continue;
      }
      const { commit, marked, withheld } = fold;
      const writes = commit.results.length > 0 || commit.progress !== undefined;
      tried = commit;
      const outcome: CommitOutcome = writes ? await store.commit(commit) : { kind: 'committed' };
      if (outcome.kind === 'committed') {
        if (writes) {
          settle(facts, commit, context, first.pool);
          commits++;
        }
        context.committed?.({
          pool: first.pool,
          decided: fold.decided,
          marked,
          withheld,
          highestScore: highestOf(commit, marked),
        });
        decided.push(...fold.decided);
        pending = pending.slice(fold.decided.length);
        tries = 0;
        alone = false;
        if (fold.decided.length > 0) allowance = most;
        if (doomed?.delivery === first && commit.progress?.phase === 'deciding') {
          parked.push(doomed);
          pending = pending.slice(1);
          allowance = most;
        }
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
      } else if (error.name === 'PermanentError' && tried && mayBeTooMuch(error, tried)) {
        allowance = Math.max(FEWEST_ACTIONS, Math.floor(Math.min(allowance, countWrites(tried)) / 2));
      } else if (error.name === 'PermanentError' && !first.givenUp && turnBack(facts, first)) {
        doomed = { delivery: first, reason: error.message };
      } else if (error.name === 'PermanentError') {
        parked.push({ delivery: first, reason: error.message });
        pending = pending.slice(1);
        alone = false;
        allowance = most;
      } else {
        return left(error);
      }
    }
  }
  return { decided, parked, left: [] };
}

/**
 * Whether the database refused `commit` for what all of it takes together: items count with all that they hold, which nobody
 * knows of those that were not read, and 90 accounts with a thousand ports each are past the 4 MB of a transaction. Fewer at
 * a time may pass. A stored item that is damaged, which is found here and not there, has no cause.
 */
function mayBeTooMuch({ cause }: Error, commit: Commit): boolean {
  return cause !== undefined && countWrites(commit) > FEWEST_WRITES;
}

/** What is known before anything was looked at: what the last batch left, or the pool as it is. */
async function firstFacts(name: Delivery['pool'], { store, pools, windows }: ApplyContext): Promise<Facts> {
  const facts = newFacts(pools.get(name) ?? (await store.readPool(name)));
  for (const [node, window] of windows.of(name)) facts.windows.set(node, window);
  return facts;
}

function learn(facts: Facts, learned: Learned): void {
  for (const stored of learned.results) facts.results.set(stored.result.planId, stored);
  for (const [node, window] of learned.windows) facts.windows.set(node, window);
  for (const [node, events] of learned.events) facts.events.set(node, events);
  for (const [plan, progress] of learned.progress) facts.progress.set(plan, progress);
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

/**
 * Has what a plan has reserved given back, so that others can have it; false if there is nothing to give back, or the plan is
 * committed already. Stored with the first step back: a crash before it leaves the plan to come to the same error again.
 */
function turnBack(facts: Facts | undefined, { planId }: Delivery): boolean {
  const progress = facts?.progress.get(planId);
  if (!progress || progress === 'none' || progress.phase !== 'reserving' || progress.step === 0) return false;
  facts?.progress.set(planId, { ...progress, phase: 'undoing' });
  return true;
}

/** What is known once `commit` has taken effect. Accounts that were written blindly stay unknown. */
function settle(facts: Facts, commit: Commit, { pools, windows }: ApplyContext, name: Delivery['pool']): void {
  for (const [node, write] of commit.nodes) if (write.kind === 'known') facts.accounts.set(node, write.image);
  for (const [key, { image }] of commit.tasks) facts.tasks.set(key, image ?? 'missing');
  for (const [node, window] of commit.windows) {
    facts.windows.set(node, window);
    windows.set(name, window);
  }
  for (const [node, { events }] of commit.events) facts.events.set(node, events);
  for (const stored of commit.results) facts.results.set(stored.result.planId, stored);
  if (commit.progress) facts.progress.set(commit.progress.planId, commit.progress);
  if (facts.pool !== 'missing' && commit.pool) {
    facts.pool = {
      ...facts.pool,
      index: commit.pool.index,
      ...(commit.pool.marks ? { marks: commit.pool.marks } : {}),
    };
    pools.set(name, facts.pool);
  } else {
    pools.delete(name);
  }
}

function highestOf(commit: Commit, marked: readonly Scored[]): number {
  return Math.max(
    0,
    ...[...commit.windows.values()].map(({ times }) => times.length),
    ...marked.map(({ score }) => score),
  );
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
