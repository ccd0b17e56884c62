import { isDeepStrictEqual } from 'node:util';
import type { NodeId } from '../../lib/ids.ts';
import type { Account } from '../../lib/nodes/account.ts';
import type { BlindChange } from '../../lib/nodes/blind.ts';
import type { ClaimKey } from '../../lib/nodes/claims.ts';
import type { Pool } from '../../lib/nodes/pool.ts';
import type { NodeEvent } from '../../lib/nodes/profile.ts';
import type { CommitOutcome, Learned, PlanStore } from '../../lib/plans/apply.ts';
import type { StoredResult } from '../../lib/plans/facts.ts';
import type { Commit, NodeWrite } from '../../lib/plans/ledger.ts';
import type { Progress } from '../../lib/plans/progress.ts';
import type { RejectionWindow } from '../../lib/plans/rejections.ts';
import type { Task } from '../../lib/tasks/task.ts';
import type { World } from './summary.ts';

/**
 * The state of one pool in memory, with the conditions of a commit evaluated as the database does. Fast enough for
 * thousands of histories; that it and DynamoDB agree is what `plan-store-contract.ts` holds.
 */
export class MemoryState {
  pool: Pool | 'missing';
  readonly accounts = new Map<string, Account>();
  /** Of a node that was registered, from the start: none. */
  readonly events = new Map<string, readonly NodeEvent[]>();
  readonly windows = new Map<string, RejectionWindow>();
  readonly tasks = new Map<string, Task>();
  /** What is stored under the id of a plan: how far it has come, then its result. */
  readonly plans = new Map<string, StoredResult | Progress>();

  constructor(pool: Pool | 'missing') {
    this.pool = pool;
  }

  world(): World {
    const results = [...this.plans].flatMap(([plan, stored]) =>
      'result' in stored ? [[plan, stored.result] as const] : [],
    );
    return { accounts: this.accounts, tasks: this.tasks, results: new Map(results), windows: this.windows };
  }
}

/** The store over `state`; `committed` is told of every commit, in the step in which it takes effect. */
export function memoryStore(state: MemoryState, committed: (commit: Commit) => void = () => undefined): PlanStore {
  return {
    async readPool() {
      return state.pool;
    },
    async read(_pool, { accounts, tasks, windows, events, progress }) {
      return {
        accounts: lookup(accounts, state.accounts),
        tasks: lookup(tasks, state.tasks),
        windows: lookup(windows, state.windows),
        events: lookup(events, state.events),
        ...plansIn(state, progress),
      };
    },
    async commit(commit) {
      const refusal = refusalOf(state, commit);
      if (refusal) return refusal;
      write(state, commit);
      committed(commit);
      return { kind: 'committed' };
    },
  };
}

function lookup<K extends string, V>(keys: Iterable<K>, map: ReadonlyMap<string, V>): Map<K, V | 'missing'> {
  return new Map([...keys].map((key) => [key, map.get(key) ?? 'missing']));
}

/** What is stored under the ids of plans, as a look at it tells. */
function plansIn(state: MemoryState, plans: Iterable<Progress['planId']>): Pick<Learned, 'progress' | 'results'> {
  const progress = new Map<Progress['planId'], Progress | 'none'>();
  const results: StoredResult[] = [];
  for (const plan of plans) {
    const stored = state.plans.get(plan);
    if (stored && 'result' in stored) results.push(stored);
    else progress.set(plan, stored ?? 'none');
  }
  return { progress, results };
}

/** What the failed conditions of `commit` show; undefined if none fails. */
function refusalOf(state: MemoryState, commit: Commit): CommitOutcome | undefined {
  const { pool } = state;
  const fenced = commit.pool !== undefined && (pool === 'missing' || pool.index !== commit.pool.index - 1);
  const failing = <K extends string, W>(writes: ReadonlyMap<K, W>, holds: (key: K, write: W) => boolean) =>
    [...writes].filter(([key, each]) => !holds(key, each)).map(([key]) => key);
  const accounts = failing(commit.nodes, (node, each) => accepts(state.accounts.get(node), each));
  const tasks = failing(commit.tasks, (key, { before }) => (state.tasks.get(key)?.version ?? 0) === before);
  const windows = failing(
    commit.windows,
    (node, { version }) => (state.windows.get(node)?.version ?? 0) === version - 1,
  );
  const events = failing(commit.events, (node, { before }) => isDeepStrictEqual(state.events.get(node), before));
  const plans = [
    ...(commit.progress ? [{ plan: commit.progress.planId, before: commit.progress.version - 1 }] : []),
    ...commit.results.map(({ result, over }) => ({ plan: result.planId, before: over })),
  ].flatMap(({ plan, before }) => (storedVersion(state.plans.get(plan)) === before ? [] : [plan]));
  const failed = accounts.length + tasks.length + windows.length + events.length + plans.length;
  if (!fenced && failed === 0) return undefined;
  const learned: Learned = {
    accounts: lookup(accounts, state.accounts),
    tasks: lookup(tasks, state.tasks),
    windows: lookup(windows, state.windows),
    events: lookup<NodeId, readonly NodeEvent[]>(events, state.events),
    ...plansIn(state, plans),
  };
  return { kind: 'refused', learned: fenced ? { ...learned, pool } : learned, busy: false };
}

/** The version that a condition compares: that of progress, 0 where nothing is stored, none of a result. */
function storedVersion(stored: StoredResult | Progress | undefined): number | undefined {
  if (stored === undefined) return 0;
  return 'version' in stored ? stored.version : undefined;
}

function write(state: MemoryState, { pool, nodes, tasks, windows, events, progress, results }: Commit): void {
  if (pool && state.pool !== 'missing') {
    state.pool = { ...state.pool, index: pool.index, ...(pool.marks ? { marks: pool.marks } : {}) };
  }
  for (const [node, nodeWrite] of nodes) {
    const before = state.accounts.get(node);
    if (nodeWrite.kind === 'known') state.accounts.set(node, nodeWrite.image);
    else if (before) state.accounts.set(node, changed(before, nodeWrite.change, pool?.index));
  }
  for (const [key, { image }] of tasks) {
    if (image) state.tasks.set(key, image);
    else state.tasks.delete(key);
  }
  for (const [node, window] of windows) state.windows.set(node, window);
  for (const [node, { events: list }] of events) state.events.set(node, list);
  if (progress) state.plans.set(progress.planId, progress);
  for (const { result, fingerprint } of results) state.plans.set(result.planId, { result, fingerprint });
}

function accepts(account: Account | undefined, nodeWrite: NodeWrite): boolean {
  if (nodeWrite.kind === 'known') return (account?.version ?? 0) === nodeWrite.image.version - 1;
  if (!account) return false;
  const { change } = nodeWrite;
  return demanded(account, change) && enough(account, change) && hasRoom(account, change) && unclaimed(account, change);
}

function demanded(account: Account, { demand }: BlindChange): boolean {
  if (demand === 'there') return true;
  const ready = account.status === 'ready';
  return demand === 'ready' ? ready : ready && account.eligibility === 'eligible' && !account.drain;
}

function enough({ free }: Account, { need }: BlindChange): boolean {
  return [...need].every(([name, least]) => Object.hasOwn(free, name) && (free[name] ?? 0) >= least);
}

/** Whether there is room to write the ports and volumes down. */
function hasRoom({ claims, sharers }: Account, { named }: BlindChange): boolean {
  if (named.need === undefined) return true;
  const shared = [...sharers].flatMap(([key, tasks]) => [...tasks].map((task) => [key, task] as const));
  const used = [...claims, ...shared]
    .filter(([key]) => /^(port|volume)/.test(key))
    .reduce((sum, [key, task]) => sum + Buffer.byteLength(`${key}${task}`) + 3, 0);
  return used + named.need <= 96 * 1024;
}

function unclaimed(account: Account, { claims, joins, leaves }: BlindChange): boolean {
  const available = (key: ClaimKey) => {
    const port = /^port\/.*\/(\d+)$/.exec(key)?.[1];
    const withdrawn = account.withdrawn.has(key) || account.withdrawn.has(`port/*/${port}` as ClaimKey);
    return !withdrawn && (port === undefined || account.reservedRanges.size === 0);
  };
  for (const [key, claim] of claims) {
    const holder = account.claims.get(key);
    if (claim.op === 'release' && holder !== claim.task) return false;
    if (claim.op === 'pass' && (holder !== claim.from || account.sharers.has(key) || !available(key))) return false;
    const listed = key.startsWith('core/') || key.startsWith('device/');
    if (claim.op === 'take') {
      if (holder !== (listed ? '!free' : undefined) || account.sharers.has(key) || !available(key)) return false;
    }
  }
  const shared = [...leaves].every(
    ([key, tasks]) => !key.startsWith('port/') || [...tasks].every((task) => account.sharers.get(key)?.has(task)),
  );
  return shared && [...joins.keys()].every((key) => key.startsWith('port/') || !account.claims.has(key));
}

function changed(account: Account, change: BlindChange, index: number | undefined): Account {
  const free = { ...account.free };
  for (const [name, amount] of change.net) if (amount !== 0) free[name] = (free[name] ?? 0) - amount;
  const claims = new Map(account.claims);
  for (const [key, claim] of change.claims) {
    if (claim.op === 'release') {
      if (key.startsWith('core/') || key.startsWith('device/')) claims.set(key, '!free');
      else claims.delete(key);
    } else {
      claims.set(key, claim.task);
    }
  }
  const sharers = new Map(account.sharers);
  for (const [key, tasks] of change.joins) sharers.set(key, new Set([...(sharers.get(key) ?? []), ...tasks]));
  for (const [key, tasks] of change.leaves) {
    const left = [...(sharers.get(key) ?? [])].filter((task) => !tasks.has(task));
    if (left.length > 0) sharers.set(key, new Set(left));
    else sharers.delete(key);
  }
  return { ...account, free, claims, sharers, version: account.version + 1, index: index ?? account.index };
}
