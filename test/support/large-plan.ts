import { isDeepStrictEqual } from 'node:util';
import type { PlanInput } from '../../lib/plans/plan.ts';
import type { History } from './histories.ts';
import { MemoryState } from './memory-store.ts';
import { nodeOf } from './plans.ts';

/** The size that a plan must be able to have: five tasks on each of a thousand nodes. */
export const LARGE = { nodes: 1_000, placements: 5_000 } as const;

const CPU = 100;

/** A pool that one large plan fills to the last thousandth of a core, in transactions of the size that the platform takes. */
export function largeHistory(pool: string, allAtOnce: boolean): History & { readonly plan: PlanInput } {
  const capacity = { cpu: (CPU * LARGE.placements) / LARGE.nodes };
  const plan: PlanInput = {
    planId: `${pool}-large`,
    pool,
    allAtOnce,
    placements: Array.from({ length: LARGE.placements }, (_, at) => ({
      taskId: `${pool}-t${at}`,
      serviceId: pool,
      slot: at,
      nodeId: `n${at % LARGE.nodes}`,
      resources: { cpu: CPU },
    })),
  };
  return {
    plan,
    pool,
    nodes: Array.from({ length: LARGE.nodes }, (_, at) => nodeOf({ nodeId: `n${at}`, pool, capacity })),
    batches: [{ plans: [plan], appliers: [1], again: false, others: [] }],
    settings: { stopRelease: 'plan' },
    allowance: 100,
    faults: [],
  };
}

const PARTS = ['accounts', 'events', 'windows', 'tasks', 'plans'] as const;

/** The state as it is now: what becomes of the one is no matter of the other. Cheap, since values are only ever replaced. */
export function copyOf(state: MemoryState): MemoryState {
  const copy = new MemoryState(state.pool);
  for (const name of PARTS) {
    const part: Map<string, unknown> = copy[name];
    for (const [key, value] of state[name]) part.set(key, value);
  }
  return copy;
}

/** Names of what is in only one of two states, or differs: the pool, and accounts, tasks and all else by their keys. */
export function differencesOf(a: MemoryState, b: MemoryState): string[] {
  const differing = isDeepStrictEqual(a.pool, b.pool) ? [] : ['pool'];
  for (const name of PARTS) {
    const [one, other]: [ReadonlyMap<string, unknown>, ReadonlyMap<string, unknown>] = [a[name], b[name]];
    for (const key of new Set([...one.keys(), ...other.keys()])) {
      const [left, right] = [one.get(key), other.get(key)];
      // Most of it is the very same object: what was there before a crash is in both.
      if (left !== right && !isDeepStrictEqual(left, right)) differing.push(`${name} ${key}`);
    }
  }
  return differing;
}
