import type { NodeId, PoolName } from '../ids.ts';
import { type Account, accountAt, exchanged } from '../nodes/account.ts';
import { type BlindChange, blindly } from '../nodes/blind.ts';
import type { Marks, Pool } from '../nodes/pool.ts';
import type { NodeEvent } from '../nodes/profile.ts';
import { PLATFORM } from '../settings.ts';
import type { Task } from '../tasks/task.ts';
import type { EpochMs } from '../time.ts';
import { type AccountFact, type PartEffect, type TaskFact, type TaskKey, taskKey } from './decide-part.ts';
import type { Facts, StoredResult } from './facts.ts';
import type { Progress } from './progress.ts';
import type { RejectionWindow } from './rejections.ts';

/** What one transaction writes: everything that a group of plans does, added up. */
export interface Commit {
  /** The pool's index moves from `index` - 1 to `index`; undefined for a pool that is not there. */
  readonly pool: PoolWrite | undefined;
  readonly nodes: ReadonlyMap<NodeId, NodeWrite>;
  readonly tasks: ReadonlyMap<TaskKey, TaskWrite>;
  readonly windows: ReadonlyMap<NodeId, RejectionWindow>;
  readonly events: ReadonlyMap<NodeId, EventsWrite>;
  readonly results: readonly ResultWrite[];
  /** How far a plan past one transaction has come, if this is a step of one. */
  readonly progress?: Progress;
  /** When it was decided. */
  readonly at: EpochMs;
}

export interface PoolWrite {
  readonly pool: PoolName;
  readonly index: number;
  readonly shards: number;
  /** Marks as they are afterwards, if one was taken. */
  readonly marks: Marks | undefined;
}

export type NodeWrite =
  /** The account was read: it becomes `image`, if it is still of the version before. */
  | { readonly kind: 'known'; readonly image: Account }
  /** It was not: conditions say what must hold. */
  | { readonly kind: 'blind'; readonly change: BlindChange };

export interface TaskWrite {
  /** Version that must be there; 0: the task must not be there. */
  readonly before: number;
  /** What it becomes; undefined: it is deleted. */
  readonly image: Task | undefined;
}

export interface EventsWrite {
  /** What must be there. */
  readonly before: readonly NodeEvent[];
  readonly events: readonly NodeEvent[];
}

export interface ResultWrite extends StoredResult {
  /** Version of the progress that the result takes the place of; 0: nothing is stored under the plan's id. */
  readonly over: number;
}

/** State of nodes and tasks after the plans of a group so far. Entries are never changed, only replaced. */
export interface Ledger {
  readonly nodes: Map<NodeId, NodeWrite>;
  readonly tasks: Map<TaskKey, TaskWrite>;
  readonly windows: Map<NodeId, RejectionWindow>;
  readonly events: Map<NodeId, EventsWrite>;
  marks: Marks | undefined;
}

export function newLedger(): Ledger {
  return { nodes: new Map(), tasks: new Map(), windows: new Map(), events: new Map(), marks: undefined };
}

/** A copy that can be written without a trace in the original. */
export function copyOf(ledger: Ledger): Ledger {
  return {
    nodes: new Map(ledger.nodes),
    tasks: new Map(ledger.tasks),
    windows: new Map(ledger.windows),
    events: new Map(ledger.events),
    marks: ledger.marks,
  };
}

/** Actions that every transaction of a pool takes: its index, and which nodes the commit changed. */
export const POOL_ACTIONS = 2;

type Writes = Pick<Commit, 'nodes' | 'tasks' | 'windows' | 'events'>;

/** Actions of a transaction that writes what stands in `ledger`, the pool and results not counted. */
export function countWrites({ nodes, tasks, windows, events }: Writes): number {
  return nodes.size + tasks.size + windows.size + events.size;
}

/** Bytes of a transaction that are planned for: what is stored is a little longer than its JSON, and accounts come on top. */
export const MAX_COMMIT_BYTES = PLATFORM.transactionBytes / 2;

const byteCache = new WeakMap<Task, number>();

/** About how many bytes the tasks of `ledger` take. */
export function bytesOf({ tasks }: Ledger): number {
  let sum = 0;
  for (const { image } of tasks.values()) {
    if (!image) continue;
    let bytes = byteCache.get(image);
    if (bytes === undefined) {
      bytes = Buffer.byteLength(JSON.stringify(image));
      byteCache.set(image, bytes);
    }
    sum += bytes;
  }
  return sum;
}

/** The commit that writes `ledger` and `results`. */
export function commitOf(
  ledger: Ledger,
  pool: Facts['pool'],
  at: EpochMs,
  results: readonly ResultWrite[],
  progress?: Progress,
): Commit {
  const { nodes, tasks, windows, events, marks } = ledger;
  return {
    pool: pool === 'missing' ? undefined : { pool: pool.pool, index: pool.index + 1, shards: pool.shards, marks },
    nodes,
    tasks,
    windows,
    events,
    results,
    at,
    ...(progress ? { progress } : {}),
  };
}

/** What is known of a node's account after what stands in `ledger`, as it is at `now`. */
export function accountAfter(node: NodeId, ledger: Ledger, facts: Facts, now: EpochMs): AccountFact {
  const write = ledger.nodes.get(node);
  if (write) return write.kind === 'known' ? write.image : undefined;
  const fact = facts.accounts.get(node);
  return fact === undefined || fact === 'missing' ? fact : accountAt(fact, now);
}

/** What is known of a task after what stands in `ledger`. */
export function taskAfter(key: TaskKey, ledger: Ledger, facts: Facts): TaskFact {
  const write = ledger.tasks.get(key);
  return write ? (write.image ?? 'missing') : facts.tasks.get(key);
}

/** Enters what an account becomes, its version and index those of the commit. */
export function enterAccount(image: Account, ledger: Ledger, facts: Facts, pool: Pool): void {
  const original = facts.accounts.get(image.nodeId);
  const version = original === undefined || original === 'missing' ? image.version : original.version + 1;
  ledger.nodes.set(image.nodeId, { kind: 'known', image: { ...image, version, index: pool.index + 1 } });
}

/** Enters what a task becomes; undefined: it is deleted. */
export function enterTask(key: TaskKey, image: Task | undefined, ledger: Ledger, facts: Facts): void {
  const known = facts.tasks.get(key);
  const before = known === undefined || known === 'missing' ? 0 : known.version;
  // The id of a task that was reaped may be used again: what somebody has seen of that one must not pass for this one, so
  // versions begin with the time.
  const version = before === 0 ? Math.max(1, image?.createdAt ?? 0) : before + 1;
  ledger.tasks.set(key, { before, image: image && { ...image, version } });
}

/** Enters an accepted part into `ledger`; false if the account must be read first, since conditions cannot say it. */
export function enterPart(
  node: NodeId,
  effect: PartEffect,
  ledger: Ledger,
  facts: Facts,
  pool: Pool,
  now: EpochMs,
): boolean {
  const untouched = effect.demand === 'there' && effect.exchange.gives.length === 0;
  const fact = accountAfter(node, ledger, facts, now);
  if (fact === undefined && !untouched) {
    const earlier = ledger.nodes.get(node);
    const change = blindly(earlier?.kind === 'blind' ? earlier.change : undefined, effect.exchange, effect.demand);
    if (!change) return false;
    ledger.nodes.set(node, { kind: 'blind', change });
  } else if (fact !== undefined && fact !== 'missing' && !untouched) {
    enterAccount(exchanged(fact, effect.exchange), ledger, facts, pool);
  }
  for (const image of effect.tasks) enterTask(taskKey(image.slotKey, image.taskId), image, ledger, facts);
  return true;
}
