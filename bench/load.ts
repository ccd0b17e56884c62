import type { NodeSpecInput, PlanInput } from '../lib/client/index.ts';
import { PLATFORM } from '../lib/settings.ts';

/** What the bounds are about: plans of five placements on five nodes, in batches of ten. */
export const BATCH = PLATFORM.fifoBatch;
export const PLACEMENTS = 5;

const TASK = { cpu: 100, memory: 128 } as const;

/** A node that has room for `tasks` tasks. */
export function nodeFor(pool: string, nodeId: string, tasks: number): NodeSpecInput {
  return { nodeId, pool, capacity: { cpu: TASK.cpu * tasks, memory: TASK.memory * tasks, disk: 100_000 } };
}

/** Names of `count` nodes. */
export function nodeNames(count: number, prefix = 'node'): string[] {
  return Array.from({ length: count }, (_, at) => `${prefix}-${at}`);
}

/** The `at`th plan of `pool`: a task on each of `nodes`. */
export function planOn(pool: string, at: number, nodes: readonly string[]): PlanInput {
  return {
    planId: `${pool}-plan-${at}`,
    pool,
    placements: nodes.map((nodeId, nth) => ({
      taskId: `${pool}-task-${at}-${nth}`,
      serviceId: pool,
      slot: at * nodes.length + nth,
      nodeId,
      resources: TASK,
    })),
  };
}

/** The nodes of the `at`th plan: five of its own, as long as the names last. */
export function ownNodes(at: number, names: readonly string[]): string[] {
  return Array.from({ length: PLACEMENTS }, (_, nth) => names[(at * PLACEMENTS + nth) % names.length] ?? '');
}
