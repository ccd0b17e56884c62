import { setTimeout as sleep } from 'node:timers/promises';
import type { NodeId, PlanId } from '../ids.ts';
import { type Pool, poolSpecSchema } from '../nodes/pool.ts';
import { applyPlans, type Learned, type PlanStore } from '../plans/apply.ts';
import type { TaskKey } from '../plans/decide-part.ts';
import { isNeedy, type Needs, noNeeds } from '../plans/facts.ts';
import type { Commit } from '../plans/ledger.ts';
import type { PlanInput } from '../plans/plan.ts';
import { readMessage } from '../plans/read-message.ts';
import type { PlanResult } from '../plans/result.ts';
import { WindowCache } from '../plans/window-cache.ts';
import { planStore } from '../store/plan-store.ts';
import type { EpochMs } from '../time.ts';
import type { Connection } from './connection.ts';
import { sendablePlan } from './submit.ts';

/** What the applier would decide about a plan if it came now. */
export interface PlanCheck {
  /** The result that it would get, or has. `index` and `refreshIndex` are those of a commit that did not happen. */
  readonly result: PlanResult;
  /** Whether this is its stored result: the plan has been decided before. */
  readonly stored: boolean;
  /** Whether that was of another content under the same id: this plan would have no effect. */
  readonly differs: boolean;
}

/** Thrown when a plan would not come to a result: it would be parked in the quarantine queue. */
export class PlanUnusableError extends Error {
  override readonly name = 'PlanUnusableError';
}

/** How long a check may take, milliseconds: one of a plan of thousands of tasks reads all of them. */
const CHECK_MS = 600_000;

/**
 * What the applier would decide about a plan now, by the applier's own code on what is read consistently; nothing is
 * written, counted or held. It is no promise: plans that wait before it, and whatever else changes, come first.
 * Throws InvalidInputError, PlanUnusableError.
 */
export async function checkAgainstState(connection: Connection, input: PlanInput): Promise<PlanCheck> {
  const { body, plan } = sendablePlan(input);
  const delivery = readMessage({ body, group: plan.pool, sentAt: connection.clock() });
  if ('reason' in delivery) throw new PlanUnusableError(delivery.reason);
  const tables = { ...connection.tables, rejections: connection.rejectionsTable() };
  const { decided, parked, error } = await applyPlans([delivery], {
    store: dryRunStore(planStore(connection.dynamo, tables)),
    clock: connection.clock,
    deadline: (connection.clock() + CHECK_MS) as EpochMs,
    sleep: (ms) => sleep(ms),
    random: Math.random,
    pools: new Map(),
    windows: new WindowCache(),
  });
  const [outcome] = decided;
  if (outcome) return { result: outcome.result, stored: outcome.stored, differs: outcome.differs };
  throw error ?? new PlanUnusableError(parked[0]?.reason ?? 'it was not decided');
}

/**
 * `real` for reading alone. What a commit presumes of things that nobody has looked at, conditions would prove; here it is
 * refused once, with everything that they are about, and agreed to when it was decided on that. What it would have
 * written is known to the caller from then on, so that the next step of a large plan builds on it.
 */
function dryRunStore(real: PlanStore): PlanStore {
  const seen = { accounts: new Set<NodeId>(), tasks: new Set<TaskKey>(), plans: new Set<PlanId>() };
  let pool: Pool | 'missing' = 'missing';
  const read = (of: Pool, needs: Needs): Promise<Learned> => {
    for (const node of needs.accounts) seen.accounts.add(node);
    for (const key of needs.tasks) seen.tasks.add(key);
    for (const plan of needs.progress) seen.plans.add(plan);
    return real.read(of, needs);
  };
  const unseenOf = (commit: Commit): Needs => {
    const unseen = noNeeds();
    for (const [node, { kind }] of commit.nodes)
      if (kind === 'blind' && !seen.accounts.has(node)) unseen.accounts.add(node);
    for (const [key, { before }] of commit.tasks) if (before === 0 && !seen.tasks.has(key)) unseen.tasks.add(key);
    for (const { result } of commit.results) if (!seen.plans.has(result.planId)) unseen.progress.add(result.planId);
    return unseen;
  };
  return {
    async readPool(name) {
      pool = await real.readPool(name);
      return pool;
    },
    read,
    async commit(commit) {
      const unseen = unseenOf(commit);
      if (!isNeedy(unseen)) return { kind: 'committed' };
      // Of a pool that is not there nothing is read but the plan's own record, whose key names no pool.
      const of = pool === 'missing' ? { ...poolSpecSchema.parse({ pool: 'none' }), index: 0 } : pool;
      return { kind: 'refused', learned: await read(of, unseen), busy: false };
    },
  };
}
