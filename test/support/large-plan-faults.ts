import { beforeAll, expect, it } from 'vitest';
import { type Applied, applyPlans } from '../../lib/plans/apply.ts';
import type { Delivery } from '../../lib/plans/delivery.ts';
import type { PlanResult } from '../../lib/plans/result.ts';
import { WindowCache } from '../../lib/plans/window-cache.ts';
import type { EpochMs } from '../../lib/time.ts';
import { type FaultScript, noFaults } from './faults.ts';
import { faultyStore } from './faulty-store.ts';
import { copyOf, differencesOf, LARGE, largeHistory } from './large-plan.ts';
import { memoryBed } from './memory-bed.ts';
import { type MemoryState, memoryStore } from './memory-store.ts';
import { deliveryOf, SENT_AT } from './plans.ts';

/** A hundred runs of thousands of placements: most of a minute of work, which a busy machine may take half an hour for. */
const LONG = 1_800_000;

/**
 * One invocation that knows nothing but what is stored, over `state`; `after` is told of each request once it has had
 * its effect. The clock stands still, so that nothing that is stored differs for its time.
 */
async function invoke(
  state: MemoryState,
  delivery: Delivery,
  script: FaultScript = noFaults,
  after: (name: string) => void = () => undefined,
): Promise<Applied | 'killed'> {
  const { readPool, read, commit } = memoryStore(state);
  const told = async <T>(name: string, request: Promise<T>) => {
    const answer = await request;
    after(name);
    return answer;
  };
  const { store, killed } = faultyStore(
    {
      readPool: (pool) => told('readPool', readPool(pool)),
      read: (pool, needs) => told('read', read(pool, needs)),
      commit: (what) => told('commit', commit(what)),
    },
    script,
  );
  const applied = applyPlans([delivery], {
    store,
    clock: () => SENT_AT,
    deadline: (SENT_AT + 25_000) as EpochMs,
    sleep: async () => undefined,
    random: () => 0.5,
    pools: new Map(),
    windows: new WindowCache(),
  });
  return Promise.race([applied, killed]);
}

/** The one result that an invocation came to. Throws if it came to anything else. */
function resultOf(applied: Applied | 'killed'): PlanResult {
  if (applied === 'killed') throw new Error('the invocation was killed');
  const { decided, parked, left, error } = applied;
  const [first] = decided;
  if (!first || decided.length + parked.length + left.length > 1) throw error ?? new Error('not one plan was decided');
  return first.result;
}

interface Undisturbed {
  readonly start: MemoryState;
  readonly delivery: Delivery;
  /** The state after each request, in order. */
  readonly points: readonly { readonly name: string; readonly state: MemoryState }[];
  readonly end: MemoryState;
  readonly result: PlanResult;
}

async function undisturbed(allAtOnce: boolean): Promise<Undisturbed> {
  const history = largeHistory('large', allAtOnce);
  const { state } = memoryBed(history);
  const start = copyOf(state);
  const delivery = deliveryOf(history.plan);
  const points: { name: string; state: MemoryState }[] = [];
  const result = resultOf(
    await invoke(state, delivery, noFaults, (name) => points.push({ name, state: copyOf(state) })),
  );
  return { start, delivery, points, end: state, result };
}

/** Tasks that are there, by the state that they are in. */
function counts({ tasks }: MemoryState): Record<string, number> {
  const found: Record<string, number> = {};
  for (const { state } of tasks.values()) found[state] = (found[state] ?? 0) + 1;
  return found;
}

/** Nodes on which what is free and what tasks hold do not add up to what there is, and how many tasks nodes have. */
function nodesOf({ accounts, tasks }: MemoryState): { readonly wrong: string[]; readonly loads: ReadonlySet<number> } {
  const held = new Map<string, number>();
  const placed = new Map<string, number>();
  for (const { nodeId, resources } of tasks.values()) {
    held.set(nodeId, (held.get(nodeId) ?? 0) + (resources.cpu ?? 0));
    placed.set(nodeId, (placed.get(nodeId) ?? 0) + 1);
  }
  const wrong = [...accounts].filter(
    ([node, { free, capacity }]) => (free.cpu ?? 0) + (held.get(node) ?? 0) !== capacity.cpu,
  );
  return {
    wrong: wrong.map(([node]) => node),
    loads: new Set([...accounts.keys()].map((node) => placed.get(node) ?? 0)),
  };
}

const WHOLE = LARGE.placements / LARGE.nodes;

/** What a plan of 5,000 placements on 1,000 nodes comes to, however the function that applies it dies. */
export function largePlanFaults(allAtOnce: boolean): void {
  let run: Undisturbed;
  beforeAll(async () => {
    run = await undisturbed(allAtOnce);
  });

  it('is applied whole, and leaves nothing but its tasks and its result', () => {
    const { end, result, delivery } = run;
    expect(result).toMatchObject({
      status: 'applied',
      committed: { placements: LARGE.placements, stops: 0, preemptions: 0 },
    });
    expect(counts(end)).toEqual({ assigned: LARGE.placements });
    expect(nodesOf(end)).toEqual({ wrong: [], loads: new Set([WHOLE]) });
    expect([...end.plans]).toEqual([[delivery.planId, { result, fingerprint: delivery.fingerprint }]]);
    expect([...end.tasks.values()].filter((task) => task.undo)).toEqual([]);
    // One index a transaction, and a write each.
    const commits = run.points.filter(({ name }) => name === 'commit');
    expect(end.pool).toMatchObject({ index: 1 + commits.length });
    expect(commits.length).toBeGreaterThan(LARGE.placements / 100);
  });

  it('is nowhere half there for an agent, and adds up, after each request', () => {
    let committed = false;
    for (const [at, { state }] of run.points.entries()) {
      const { wrong, loads } = nodesOf(state);
      const { pending = 0, assigned = 0 } = counts(state);
      expect(wrong, `after request ${at + 1}`).toEqual([]);
      const stored = state.plans.get(run.delivery.planId);
      committed ||= stored !== undefined && ('result' in stored || stored.phase === 'finishing');
      if (allAtOnce) {
        // None of it is anybody's to run before the write that commits all of it; from there on all of it is there.
        expect(committed ? pending + assigned : assigned, `after request ${at + 1}`).toBe(
          committed ? LARGE.placements : 0,
        );
      } else {
        expect(
          [...loads].filter((load) => load !== 0 && load !== WHOLE),
          `after request ${at + 1}`,
        ).toEqual([]);
        expect(pending).toBe(0);
      }
    }
  });

  it('ends in the same state if the function is killed before the first request, or after any', {
    timeout: LONG,
  }, async () => {
    const { start, delivery, points, end, result } = run;
    // All that a function leaves behind when it is killed is what is stored: killed after a request it leaves what is
    // stored then, and killed before the next one the same.
    for (const [at, { state }] of [{ state: start }, ...points].entries()) {
      const left = copyOf(state);
      const again = resultOf(await invoke(left, delivery));
      expect([again, differencesOf(left, end)], `killed after request ${at} of ${points.length}`).toEqual([result, []]);
    }
  });

  it('ends in the same state if every invocation is killed after its first write', async () => {
    const { start, delivery, points, end, result } = run;
    const state = copyOf(start);
    let invocations = 0;
    for (let outcome: Applied | 'killed' = 'killed'; outcome === 'killed'; invocations++) {
      outcome = await invoke(state, delivery, ({ name }) => (name === 'commit' ? 'kill-after' : undefined));
      if (outcome !== 'killed') expect(resultOf(outcome)).toEqual(result);
    }
    expect(differencesOf(state, end)).toEqual([]);
    // One for each write, and one that finds the result.
    expect(invocations).toBe(points.filter(({ name }) => name === 'commit').length + 1);
  });

  it('ends in the same state if the answer to every other request is lost, and the function lives', async () => {
    const { start, delivery, end, result } = run;
    const state = copyOf(start);
    const again = await invoke(state, delivery, ({ number }) => (number % 2 === 0 ? 'lost-after' : undefined));
    expect([resultOf(again), differencesOf(state, end)]).toEqual([result, []]);
  });
}
