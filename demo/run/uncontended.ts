import type { NodeSpecInput, PlanInput } from '../../lib/client/index.ts';
import { PLATFORM } from '../../lib/settings.ts';
import { type MeterReading, totalUsage, type Usage, usageBetween } from '../../local/dynamodb/usage.ts';
import type { Cluster } from './cluster.ts';

/** Plans of one batch of the applier. */
const BATCH = PLATFORM.fifoBatch;
/** Batches that are measured. */
const BATCHES = 5;
const PLACEMENTS_PER_PLAN = 5;
/** So many that no two plans of a batch share a node: nothing is folded that a user's plans would not. */
const NODES = BATCH * PLACEMENTS_PER_PLAN;
const CPU_PER_TASK = 100;

/** What the applier may cost without contention (docs/architecture, "Numbers to hold"). */
export const BOUNDS_UNCONTENDED = { requestsPerPlan: 0.25, reads: 0, writeUnitsPerPlacement: 7 } as const;

/** What the applier's work without contention cost. */
export interface Uncontended {
  readonly plans: number;
  readonly placements: number;
  readonly requestsPerPlan: number;
  readonly reads: number;
  readonly writeUnitsPerPlacement: number;
  /** Whether each of them is within its bound, and all plans were applied. */
  readonly withinBounds: boolean;
}

export interface UncontendedOptions {
  readonly cluster: Cluster;
  /** A pool of its own. */
  readonly pool: string;
  readonly readMeter: () => MeterReading;
  /** The applier, as the meter names it. */
  readonly applier: string;
  /** Stops and starts the delivery of plans, so that batches are full. */
  readonly delivery: {
    pause(): Promise<void>;
    resume(): void;
    /** Settles when no plan is on the queue or being worked on. */
    idle(): Promise<void>;
  };
  readonly signal: AbortSignal;
}

/**
 * Measures what the applier costs when nothing is contended: batches of ten plans, five placements each, every one on a
 * node of its own. A first batch is not measured: it finds a function that was never called.
 */
export async function measureUncontended(options: UncontendedOptions): Promise<Uncontended> {
  const { cluster, pool, readMeter, applier } = options;
  await cluster.registerPool({ pool });
  await cluster.registerNodes(Array.from({ length: NODES }, (_, node) => nodeSpec(pool, node)));
  await applyBatches(options, 0, 1);
  const before = readMeter();
  const applied = await applyBatches(options, 1, BATCHES);
  const usage = usageBetween(before, readMeter())[applier] ?? {};
  const plans = BATCH * BATCHES;
  const placements = plans * PLACEMENTS_PER_PLAN;
  const figures = {
    requestsPerPlan: totalUsage(usage).requests / plans,
    reads: readsOf(usage),
    writeUnitsPerPlacement: totalUsage(usage).writeUnits / placements,
  };
  const withinBounds =
    applied === plans &&
    figures.requestsPerPlan > 0 &&
    figures.requestsPerPlan <= BOUNDS_UNCONTENDED.requestsPerPlan &&
    figures.reads <= BOUNDS_UNCONTENDED.reads &&
    figures.writeUnitsPerPlacement <= BOUNDS_UNCONTENDED.writeUnitsPerPlacement;
  return { plans, placements, ...figures, withinBounds };
}

/** Requests that read. */
export function readsOf(usage: Usage): number {
  const reads = Object.entries(usage).filter(([operation]) => /Get|Query|Scan/.test(operation));
  return reads.reduce((sum, [, { requests }]) => sum + requests, 0);
}

/** Has the plans of some batches applied, all of them on the queue before the first is; answers how many were applied whole. */
async function applyBatches(
  { cluster, pool, delivery, signal }: UncontendedOptions,
  first: number,
  batches: number,
): Promise<number> {
  const plans = Array.from({ length: batches * BATCH }, (_, plan) => planOf(pool, first * BATCH + plan));
  await delivery.pause();
  try {
    for (const plan of plans) await cluster.push(plan);
  } finally {
    delivery.resume();
  }
  // Submitted again unchanged, a plan is waited for: the queue has it already.
  const results = await Promise.all(plans.map((plan) => cluster.submit(plan, { signal })));
  // A result can be read a moment before the meter has seen the answer to the write that made it.
  await delivery.idle();
  return results.filter(({ status }) => status === 'applied').length;
}

function planOf(pool: string, plan: number): PlanInput {
  return {
    planId: `${pool}-plan-${plan}`,
    pool,
    placements: Array.from({ length: PLACEMENTS_PER_PLAN }, (_, placement) => ({
      taskId: `${pool}-task-${plan * PLACEMENTS_PER_PLAN + placement}`,
      serviceId: pool,
      slot: plan * PLACEMENTS_PER_PLAN + placement,
      nodeId: nodeName(pool, (plan * PLACEMENTS_PER_PLAN + placement) % NODES),
      resources: { cpu: CPU_PER_TASK, memory: 128 },
    })),
  };
}

function nodeSpec(pool: string, node: number): NodeSpecInput {
  const tasks = BATCHES + 1;
  return { nodeId: nodeName(pool, node), pool, capacity: { cpu: tasks * CPU_PER_TASK, memory: tasks * 128 } };
}

function nodeName(pool: string, node: number): string {
  return `${pool}-node-${node}`;
}
