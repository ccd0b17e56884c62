import type { NodeId, PoolName } from '../ids.ts';
import { type Account, exchanged } from '../nodes/account.ts';
import { type BlindChange, blindly } from '../nodes/blind.ts';
import type { Pool } from '../nodes/pool.ts';
import { clip, type Problem } from '../schema.ts';
import { PLATFORM, RESULTS } from '../settings.ts';
import type { Task } from '../tasks/task.ts';
import { type EpochMs, isoTime } from '../time.ts';
import {
  type AccountFact,
  decidePart,
  type PartContext,
  type PartEffect,
  partsOf,
  type TaskKey,
  taskKey,
} from './decide-part.ts';
import type { Delivery } from './delivery.ts';
import type { Facts, Needs, StoredResult } from './facts.ts';
import type { PlanResult, RejectedNode } from './result.ts';

/** What one transaction writes: everything that a group of plans does, added up. */
export interface Commit {
  /** The pool's index moves from `index` - 1 to `index`; undefined for a pool that is not there. */
  readonly pool: { readonly pool: PoolName; readonly index: number; readonly shards: number } | undefined;
  readonly nodes: ReadonlyMap<NodeId, NodeWrite>;
  readonly tasks: ReadonlyMap<TaskKey, TaskWrite>;
  readonly results: readonly StoredResult[];
}

export type NodeWrite =
  /** The account was read: it becomes `image`, if it is still of the version before. */
  | { readonly kind: 'known'; readonly image: Account }
  /** It was not: conditions say what must hold. */
  | { readonly kind: 'blind'; readonly change: BlindChange };

export interface TaskWrite {
  /** Version that must be there; 0: the task must not be there. */
  readonly before: number;
  readonly image: Task;
}

/** One plan of a group, decided. */
export interface Decided {
  readonly delivery: Delivery;
  readonly result: PlanResult;
  /** The result was stored before: by an earlier delivery, or by another applier. */
  readonly stored: boolean;
  /** Stored before, for another content. */
  readonly differs: boolean;
  /** Refusals that say something of a node: it is in the pool and was eligible. */
  readonly counted: readonly RejectedNode[];
}

export type Fold =
  | { readonly kind: 'needs'; readonly needs: Needs }
  /** The first plans, as many as one transaction holds. */
  | { readonly kind: 'group'; readonly decided: readonly Decided[]; readonly commit: Commit };

/** State of nodes and tasks after the plans of the group so far. Entries are never changed, only replaced. */
interface Ledger {
  readonly nodes: Map<NodeId, NodeWrite>;
  readonly tasks: Map<TaskKey, TaskWrite>;
}

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
  const needs = { tasks: new Set<TaskKey>(), accounts: new Set<NodeId>() };
  let ledger: Ledger = { nodes: new Map(), tasks: new Map() };
  const decided: Decided[] = [];
  const results: StoredResult[] = [];
  let bytes = 0;

  for (const delivery of deliveries) {
    const stored =
      facts.results.get(delivery.planId) ?? results.find(({ result }) => result.planId === delivery.planId);
    if (stored) {
      decided.push({
        delivery,
        result: stored.result,
        stored: true,
        differs: stored.fingerprint !== delivery.fingerprint,
        counted: [],
      });
      continue;
    }
    const outcome = decidePlan(delivery, ledger, facts, now);
    if (outcome.kind === 'needs') {
      for (const key of outcome.tasks) needs.tasks.add(key);
      for (const node of outcome.accounts) needs.accounts.add(node);
      continue;
    }
    if (needs.tasks.size + needs.accounts.size > 0) continue;
    const size =
      Buffer.byteLength(JSON.stringify(outcome.result)) + bytesOf(outcome.ledger.tasks) - bytesOf(ledger.tasks);
    const actions = 1 + results.length + 1 + outcome.ledger.nodes.size + outcome.ledger.tasks.size;
    if (results.length > 0 && (actions > allowance || bytes + size > MAX_BYTES)) break;
    ledger = outcome.ledger;
    bytes += size;
    results.push({ result: outcome.result, fingerprint: delivery.fingerprint });
    decided.push({ delivery, result: outcome.result, stored: false, differs: false, counted: outcome.counted });
  }

  if (needs.tasks.size + needs.accounts.size > 0) return { kind: 'needs', needs };
  return { kind: 'group', decided, commit: { pool: nextIndex(facts.pool), ...ledger, results } };
}

/** Bytes of a transaction that are planned for: what is stored is a little longer than its JSON, and accounts come on top. */
const MAX_BYTES = PLATFORM.transactionBytes / 2;

const byteCache = new WeakMap<Task, number>();

function bytesOf(tasks: ReadonlyMap<TaskKey, TaskWrite>): number {
  let sum = 0;
  for (const { image } of tasks.values()) {
    let bytes = byteCache.get(image);
    if (bytes === undefined) {
      bytes = Buffer.byteLength(JSON.stringify(image));
      byteCache.set(image, bytes);
    }
    sum += bytes;
  }
  return sum;
}

function nextIndex(pool: Facts['pool']): Commit['pool'] {
  return pool === 'missing' ? undefined : { pool: pool.pool, index: pool.index + 1, shards: pool.shards };
}

type PlanOutcome =
  | { readonly kind: 'needs'; readonly tasks: readonly TaskKey[]; readonly accounts: readonly NodeId[] }
  | {
      readonly kind: 'decided';
      readonly result: PlanResult;
      readonly counted: readonly RejectedNode[];
      readonly ledger: Ledger;
    };

/** Decides about one plan on what stands in `before`; the ledger that comes back is the one after it. */
function decidePlan(delivery: Delivery, before: Ledger, facts: Facts, now: EpochMs): PlanOutcome {
  const answer = (
    result: Partial<PlanResult> & Pick<PlanResult, 'status'>,
    ledger: Ledger,
    counted: readonly RejectedNode[] = [],
  ): PlanOutcome => ({ kind: 'decided', result: resultOf(delivery, facts.pool, now, result), counted, ledger });
  const problems = 'problems' in delivery.content ? delivery.content.problems : [];
  if (facts.pool === 'missing') {
    return answer({ status: 'invalid', problems: [POOL_NOT_FOUND(delivery.pool), ...problems] }, before);
  }
  if ('problems' in delivery.content) return answer({ status: 'invalid', problems: [...problems] }, before);
  const { plan } = delivery.content;
  if (plan.notAfter !== undefined && now > Date.parse(plan.notAfter)) return answer({ status: 'expired' }, before);

  const pool = facts.pool;
  const trial: Ledger = { nodes: new Map(before.nodes), tasks: new Map(before.tasks) };
  const context: PartContext = {
    plan,
    pool: pool.pool,
    stopRelease: pool.settings.stopRelease,
    now,
    task: (key) => trial.tasks.get(key)?.image ?? facts.tasks.get(key),
  };
  const needs = { tasks: [] as TaskKey[], accounts: [] as NodeId[] };
  const presumed = { tasks: [] as TaskKey[], accounts: [] as NodeId[] };
  const accepted: PartEffect[] = [];
  const rejected: RejectedNode[] = [];
  const counted: RejectedNode[] = [];
  for (const part of partsOf(plan)) {
    const fact = accountAfter(part.nodeId, trial, facts);
    const outcome = decidePart(part, fact, context);
    if (outcome.kind === 'needs') {
      needs.tasks.push(...outcome.tasks);
      if (outcome.account) needs.accounts.push(part.nodeId);
    } else if (outcome.kind === 'rejected') {
      const rejection = {
        nodeId: part.nodeId,
        code: outcome.code,
        message: clip(outcome.message, RESULTS.maxMessageLength),
      };
      rejected.push(rejection);
      if (outcome.counts) counted.push(rejection);
    } else if (enter(part.nodeId, outcome.effect, trial, facts, pool)) {
      accepted.push(outcome.effect);
      presumed.tasks.push(...outcome.effect.presumed.tasks);
      if (outcome.effect.presumed.account) presumed.accounts.push(part.nodeId);
    } else {
      needs.accounts.push(part.nodeId);
    }
  }
  const voided = plan.allAtOnce && rejected.length > 0;
  if (voided) {
    // Its worker is to learn of every node that refuses it, and no condition proves anything of a plan that is not
    // committed: what was presumed must be looked at.
    needs.tasks.push(...presumed.tasks);
    needs.accounts.push(...presumed.accounts);
  }
  if (needs.tasks.length + needs.accounts.length > 0) return { kind: 'needs', ...needs };

  const kept = voided ? [] : accepted;
  const status = rejected.length === 0 ? 'applied' : kept.length === 0 ? 'rejected' : 'partial';
  const count = (of: (effect: PartEffect) => readonly unknown[]) =>
    kept.reduce((sum, effect) => sum + of(effect).length, 0);
  return answer(
    {
      status,
      refreshIndex: rejected.length === 0 ? 0 : pool.index + 1,
      committed: {
        placements: count(({ placed }) => placed),
        stops: count(({ stopped }) => stopped),
        preemptions: count(({ preempted }) => preempted),
      },
      rejectedNodes: rejected,
      alreadyGone: kept.flatMap(({ alreadyGone }) => alreadyGone),
    },
    voided ? before : trial,
    counted,
  );
}

function accountAfter(node: NodeId, ledger: Ledger, facts: Facts): AccountFact {
  const write = ledger.nodes.get(node);
  if (write === undefined) return facts.accounts.get(node);
  return write.kind === 'known' ? write.image : undefined;
}

/** Enters an accepted part into `ledger`; false if the account must be read first, since conditions cannot say it. */
function enter(node: NodeId, effect: PartEffect, ledger: Ledger, facts: Facts, pool: Pool): boolean {
  const untouched = effect.demand === 'there' && effect.exchange.gives.length === 0;
  const fact = accountAfter(node, ledger, facts);
  const earlier = ledger.nodes.get(node);
  if (fact === undefined && !untouched) {
    const change = blindly(earlier?.kind === 'blind' ? earlier.change : undefined, effect.exchange, effect.demand);
    if (!change) return false;
    ledger.nodes.set(node, { kind: 'blind', change });
  } else if (fact !== undefined && fact !== 'missing' && !untouched) {
    // One write, however many plans of the group have a part in it.
    const version = earlier === undefined ? fact.version + 1 : fact.version;
    const image = { ...exchanged(fact, effect.exchange), version, index: pool.index + 1 };
    ledger.nodes.set(node, { kind: 'known', image });
  }
  for (const image of effect.tasks) {
    const key = taskKey(image.slotKey, image.taskId);
    const known = facts.tasks.get(key);
    const before = known === undefined || known === 'missing' ? 0 : known.version;
    ledger.tasks.set(key, { before, image: { ...image, version: before + 1 } });
  }
  return true;
}

const POOL_NOT_FOUND = (pool: PoolName): Problem => ({
  path: 'pool',
  message: `pool-not-found: there is no pool ${pool}; make it first, or correct the message group`,
});

function resultOf(
  { planId, pool, content, receivedAt }: Delivery,
  state: Facts['pool'],
  now: EpochMs,
  result: Partial<PlanResult> & Pick<PlanResult, 'status'>,
): PlanResult {
  const evalId = 'plan' in content ? content.plan.evalId : undefined;
  return {
    planId,
    pool,
    ...(evalId === undefined ? {} : { evalId }),
    index: state === 'missing' ? 0 : state.index + 1,
    refreshIndex: 0,
    committed: { placements: 0, stops: 0, preemptions: 0 },
    rejectedNodes: [],
    ineligibleNodes: [],
    alreadyGone: [],
    problems: [],
    receivedAt: isoTime(receivedAt),
    appliedAt: isoTime(now),
    ...result,
  };
}
