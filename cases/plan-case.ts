import * as z from 'zod/mini';
import { isId, nodeId, type PlanId, type PoolName, poolName, type ServiceId, taskId } from '../lib/ids.ts';
import { nodeSpecSchema } from '../lib/nodes/node.ts';
import { poolSettingsSchema } from '../lib/nodes/pool.ts';
import { placementSchema } from '../lib/plans/plan.ts';
import { PLAN_STATUSES } from '../lib/plans/result.ts';
import { BOUNDS, POOL_DEFAULTS } from '../lib/settings.ts';
import { DESIRED_STATES, TASK_STATES } from '../lib/tasks/states.ts';
import { shaped } from './shape.ts';

/** The pool that a case is about. A node or a task with another `pool` belongs to that one. */
const CASE_POOL = 'test' as PoolName;

/** What a case says of a node besides what registers one is for people: it is passed over. */
const caseNode = z.object({ ...nodeSpecSchema.shape, pool: z._default(poolName, CASE_POOL) });

const caseTask = z.object({
  ...placementSchema.shape,
  state: z._default(z.enum(TASK_STATES), 'running'),
  desiredState: z._default(z.enum(DESIRED_STATES), 'running'),
  /** Default: that of its node. */
  pool: z.optional(poolName),
  /** Whether its resources were given back. Default: whether it has ended or, where plans release, is to shut down. */
  released: z.optional(z.boolean()),
  preemptedBy: z.optional(taskId),
});
export type CaseTask = z.output<typeof caseTask>;

const ids = z._default(z.array(z.string()), []);

/** Strict, unlike the rest: an expectation that nobody looks at would pass unseen. What is left out is not looked at. */
const planExpectation = z.strictObject({
  planId: z.optional(z.unknown()),
  status: z.enum(PLAN_STATUSES),
  rejectedNodes: z.optional(z.array(z.strictObject({ nodeId, code: z.string() }))),
  committed: z.optional(z.strictObject({ placements: ids, stops: ids, preemptions: ids })),
  refresh: z.optional(z.boolean()),
  ineligibleNodes: z.optional(z.array(z.string())),
  alreadyGone: z.optional(z.array(z.string())),
});
export type PlanExpectation = z.output<typeof planExpectation>;

/** A case of kind `plan` (the README of the shared cases has the format). */
const planCaseSchema = z.object({
  /** Settings of the pool `test`; each has its default. */
  pool: z._default(
    z.strictObject({
      shards: z._default(z.int().check(z.gte(1), z.lte(BOUNDS.shardsMax)), POOL_DEFAULTS.shards),
      settings: z._default(poolSettingsSchema, poolSettingsSchema.parse({})),
    }),
    { shards: POOL_DEFAULTS.shards, settings: poolSettingsSchema.parse({}) },
  ),
  nodes: z._default(z.array(caseNode), []),
  tasks: z._default(z.array(caseTask), []),
  /** Bodies of messages: anything at all may come over a queue. */
  plans: z.array(z.unknown()),
  /** Settings of the pool's tracker; each has its default. */
  tracker: poolSettingsSchema.shape.tracker,
  expect: z.strictObject({
    perPlan: z.array(planExpectation),
    scores: z.optional(z.record(z.string(), z.number())),
  }),
});

/** A case of kind `plan`, and the name that its main pool goes by. */
export type PlanCase = Omit<z.output<typeof planCaseSchema>, 'tracker'> & { readonly mainPool: PoolName };

/** `content` as a case of kind `plan`, or what of it is not of that shape. */
export function planCaseOf(content: unknown): PlanCase | { readonly problems: readonly string[] } {
  const outcome = shaped(planCaseSchema, content);
  if ('problems' in outcome) return outcome;
  const { tracker, pool, ...rest } = outcome.data;
  const { plans, expect } = rest;
  if (plans.length !== expect.perPlan.length) {
    return {
      problems: [`expect.perPlan: ${plans.length} plans, and expectations of ${expect.perPlan.length}: one each`],
    };
  }
  const settings = isObject(content) && 'tracker' in content ? { ...pool.settings, tracker } : pool.settings;
  return { ...rest, pool: { ...pool, settings }, mainPool: CASE_POOL };
}

/**
 * `planCase` under names that begin with `prefix`: its pools, its services (and so its slots) and its plans, so that
 * many cases stand side by side in one set of tables. An id that is none, or would be none then, stays as it is.
 */
export function renamedCase(planCase: PlanCase, prefix: string): PlanCase {
  const renamed = <T>(id: T): T => (isId(id) && isId(prefix + id) ? ((prefix + id) as T) : id);
  return {
    ...planCase,
    mainPool: renamed(planCase.mainPool),
    nodes: planCase.nodes.map((node) => ({ ...node, pool: renamed(node.pool) })),
    tasks: planCase.tasks.map((task) => ({
      ...task,
      serviceId: renamed<ServiceId>(task.serviceId),
      ...(task.pool === undefined ? {} : { pool: renamed(task.pool) }),
    })),
    plans: planCase.plans.map((plan) => renamedPlan(plan, renamed)),
    expect: {
      ...planCase.expect,
      perPlan: planCase.expect.perPlan.map((one) => ('planId' in one ? { ...one, planId: renamed(one.planId) } : one)),
    },
  };
}

function renamedPlan(plan: unknown, renamed: <T>(id: T) => T): unknown {
  if (!isObject(plan)) return plan;
  const entries = Object.entries(plan).map(([field, value]) => {
    if (field === 'planId' || field === 'pool') return [field, renamed(value)];
    if (!Array.isArray(value)) return [field, value];
    const list = value.map((entry: unknown) =>
      isObject(entry) && 'serviceId' in entry ? { ...entry, serviceId: renamed(entry.serviceId) } : entry,
    );
    return [field, list];
  });
  return Object.fromEntries(entries);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The message group that a plan is sent in: the pool that it names, if that is one, else the case's. */
export function groupOf(plan: unknown, { mainPool }: PlanCase): PoolName {
  return isObject(plan) && isId(plan.pool) ? (plan.pool as PoolName) : mainPool;
}

/** The id of a plan as it is sent, if it has a usable one. */
export function planIdOf(plan: unknown): PlanId | undefined {
  return isObject(plan) && isId(plan.planId) ? (plan.planId as PlanId) : undefined;
}
