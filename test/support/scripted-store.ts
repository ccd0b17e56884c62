import type { CommitOutcome, Learned, PlanStore } from '../../lib/plans/apply.ts';
import type { Needs } from '../../lib/plans/facts.ts';
import type { Commit } from '../../lib/plans/ledger.ts';
import { poolOf } from './plans.ts';

type Answer<A> = A | Error;

/** What the store answers, call by call; when a list is used up, what it answers by itself. */
export interface Script {
  readonly readPool?: Answer<Awaited<ReturnType<PlanStore['readPool']>>>[];
  readonly read?: Answer<Partial<Learned>>[];
  readonly commit?: (Answer<CommitOutcome> | ((commit: Commit) => Answer<CommitOutcome>))[];
}

export interface ScriptedStore extends PlanStore {
  /** What was asked of it, in order. */
  readonly calls: string[];
  readonly commits: Commit[];
  readonly needs: Needs[];
}

export const COMMITTED: CommitOutcome = { kind: 'committed' };

/** What a look at nothing has shown. */
function learned(more: Partial<Learned> = {}): Learned {
  return {
    accounts: new Map(),
    tasks: new Map(),
    windows: new Map(),
    events: new Map(),
    progress: new Map(),
    results: [],
    ...more,
  };
}

export function refused(more: Partial<Learned> = {}, busy = false): CommitOutcome {
  return { kind: 'refused', learned: learned(more), busy };
}

/** An error as the store throws it: told from others by its name. */
export function errorNamed(name: string, more: object = {}): Error {
  return Object.assign(new Error(`a ${name}`), { name }, more);
}

/** By itself: a pool `prod` at index 7, of which nothing else is there; every commit passes. */
export function scriptedStore(script: Script = {}): ScriptedStore {
  const [pools, reads, outcomes] = [[...(script.readPool ?? [])], [...(script.read ?? [])], [...(script.commit ?? [])]];
  const answer = <A>(value: Answer<A>): A => {
    if (value instanceof Error) throw value;
    return value;
  };
  const store: ScriptedStore = {
    calls: [],
    commits: [],
    needs: [],
    async readPool() {
      store.calls.push('readPool');
      return answer(pools.shift() ?? poolOf('prod', { index: 7 }));
    },
    async read(_pool, needs) {
      store.calls.push('read');
      store.needs.push(needs);
      return learned(answer(reads.shift() ?? nothingThere(needs)));
    },
    async commit(commit) {
      store.calls.push('commit');
      store.commits.push(commit);
      const next = outcomes.shift() ?? COMMITTED;
      return answer(typeof next === 'function' ? next(commit) : next);
    },
  };
  return store;
}

function nothingThere({ accounts, tasks, windows, events, progress }: Needs): Partial<Learned> {
  const missing = <K>(keys: Iterable<K>) => new Map([...keys].map((key) => [key, 'missing' as const]));
  return {
    accounts: missing(accounts),
    tasks: missing(tasks),
    windows: missing(windows),
    events: missing(events),
    progress: new Map([...progress].map((plan) => [plan, 'none'])),
  };
}
