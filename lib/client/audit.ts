import type { NodeId, PoolName, TaskId } from '../ids.ts';
import { listed } from '../listed.ts';
import type { Account, Holding } from '../nodes/account.ts';
import { type Drift, driftOf, mended } from '../nodes/audit.ts';
import { holdingOf } from '../tasks/holding.ts';
import type { Task } from '../tasks/task.ts';
import { writeNode } from './change-node.ts';
import type { Connection } from './connection.ts';
import { isOn, readTasks, type StoredTaskKey, scanTasks, tasksOfNode } from './node-tasks.ts';
import { readAccounts, readNode } from './nodes.ts';
import { type PlanUnderWay, plansUnderWay, Reservations } from './plans-under-way.ts';
import { readPool } from './pools.ts';
import { pause, retrying } from './retrying.ts';
import { allAccounts } from './snapshot.ts';

export interface AuditOptions {
  /** Writes the accounts that drifted anew, from what their tasks hold. Default false. */
  readonly mend?: boolean;
  /** Told how many tasks were read so far. */
  readonly onProgress?: (tasks: number) => void;
}

/** A node whose account does not say what its tasks hold. */
export interface NodeDrift {
  readonly nodeId: NodeId;
  readonly drift: readonly Drift[];
  /** Whether the account was written anew. Not, if nobody asked for it or the node changed at that moment. */
  readonly mended: boolean;
}

export interface AuditReport {
  readonly pool: PoolName;
  /** How many nodes were looked at, and how many unreleased tasks of theirs. */
  readonly nodes: number;
  readonly tasks: number;
  readonly drifts: readonly NodeDrift[];
  /** Nodes that look wrong and changed at every look, so that nothing can be said of them. Audit again when less goes on. */
  readonly unsettled: readonly NodeId[];
  /** Unreleased tasks of nodes that are not registered: nothing is held, but they count as if it were. */
  readonly homeless: readonly { readonly taskId: TaskId; readonly nodeId: NodeId }[];
  /** Plans that hold reservations and have no result yet. Those that are `stuck` wait for somebody. */
  readonly plansUnderWay: readonly PlanUnderWay[];
}

/** Looks at all tasks before a node that changes at each of them is given up on. */
const LOOKS = 4;
/** Looks at one node's tasks, which its changes come between less often than between looks at all of them. */
const CLOSER_LOOKS = 3;
/** Things that the event of a mended node names. */
const NAMED = 3;
/** A transaction that is being applied shows on one item before it does on another, for some milliseconds. */
const PAUSE_MS = 100;

/** What one look at all tasks has found, by node. */
interface Look {
  readonly holdings: Map<NodeId, Holding[]>;
  readonly keys: Map<NodeId, StoredTaskKey[]>;
  readonly reservations: Reservations;
  tasks: number;
}

/**
 * Adds up what the unreleased tasks of each node hold, reserved ones included, and compares it with the node's account.
 * Safe beside a running applier: an account and its tasks are not read at one moment, so a node drifts only if two looks
 * at all tasks say so and its account was the same before and after both; every change of what a task holds changes it.
 * Reads all accounts and all tasks once, and tasks once more if something looks wrong.
 * Throws PoolNotFoundError.
 */
export async function audit(
  connection: Connection,
  name: PoolName,
  { mend = false, onProgress = () => undefined }: AuditOptions = {},
): Promise<AuditReport> {
  const pool = await readPool(connection, name);
  const accounts = new Map((await allAccounts(connection, pool)).map((account) => [account.nodeId, account]));
  const first = await lookAtTasks(connection, name, onProgress);
  const suspects = [...accounts.values()].filter((account) => isWrong(account, first));
  const confirmed = new Map<NodeId, { account: Account; holdings: readonly Holding[] }>();
  /** Version at which a look at all tasks has shown a drift. */
  const seen = new Map<NodeId, number>();
  let open = new Map(suspects.map((account) => [account.nodeId, account]));
  let look = first;
  for (let looks = 1; open.size > 0; looks++) {
    const after = await readAccounts(connection, name, pool.shards, open.keys());
    for (const [node, before] of open) {
      const account = after.get(node);
      const holdings = look.holdings.get(node) ?? [];
      if (!account) {
        open.delete(node);
      } else if (account.version !== before.version) {
        seen.delete(node);
        if (await isFineAtCloserLook(connection, name, pool.shards, node, look)) open.delete(node);
      } else if (driftOf(account, holdings).length === 0) {
        open.delete(node);
      } else if (seen.get(node) === account.version) {
        confirmed.set(node, { account, holdings });
        open.delete(node);
      } else {
        seen.set(node, account.version);
      }
    }
    if (open.size === 0 || looks === LOOKS) break;
    await pause(PAUSE_MS);
    open = await readAccounts(connection, name, pool.shards, open.keys());
    look = await lookAtTasks(connection, name, onProgress, open);
  }

  const drifts: NodeDrift[] = [];
  for (const [nodeId, { account, holdings }] of confirmed) {
    const drift = driftOf(account, holdings);
    drifts.push({ nodeId, drift, mended: mend && (await mendNode(connection, name, account, holdings, drift)) });
  }
  return {
    pool: name,
    nodes: accounts.size,
    tasks: first.tasks,
    drifts,
    unsettled: [...open.keys()].sort(),
    homeless: await homelessOf(connection, name, pool.shards, accounts, first),
    plansUnderWay: await plansUnderWay(connection, first.reservations, connection.clock()),
  };
}

/** Reads all tasks of the pool, and keeps what those of `nodes` hold, or of all. */
async function lookAtTasks(
  connection: Connection,
  pool: PoolName,
  onProgress: (tasks: number) => void,
  nodes?: ReadonlyMap<NodeId, unknown>,
): Promise<Look> {
  const look: Look = { holdings: new Map(), keys: new Map(), reservations: new Reservations(), tasks: 0 };
  let read = 0;
  for await (const task of scanTasks(connection, pool)) {
    onProgress(++read);
    look.reservations.see(task);
    if (task.released || nodes?.has(task.nodeId) === false) continue;
    look.tasks++;
    append(look.holdings, task.nodeId, holdingOf(task));
    append(look.keys, task.nodeId, { slotKey: task.slotKey, taskId: task.taskId });
  }
  return look;
}

function append<T>(map: Map<NodeId, T[]>, node: NodeId, value: T): void {
  const list = map.get(node);
  if (list) list.push(value);
  else map.set(node, [value]);
}

function isWrong(account: Account, { holdings }: Look): boolean {
  return driftOf(account, holdings.get(account.nodeId) ?? []).length > 0;
}

/**
 * Whether the node's account agrees with its tasks after all. Found by the index, which lags: tasks may be missing, so
 * that it agrees proves something, and that it does not proves nothing.
 */
async function isFineAtCloserLook(
  connection: Connection,
  pool: PoolName,
  shards: number,
  node: NodeId,
  look: Look,
): Promise<boolean> {
  for (let looks = 0; looks < CLOSER_LOOKS; looks++) {
    const before = (await readAccounts(connection, pool, shards, [node])).get(node);
    const tasks = new Map<string, Task>();
    for await (const page of tasksOfNode(connection, pool, node)) {
      for (const task of page) tasks.set(`${task.slotKey} ${task.taskId}`, task);
    }
    const missing = (look.keys.get(node) ?? []).filter(({ slotKey, taskId }) => !tasks.has(`${slotKey} ${taskId}`));
    for (const task of await readTasks(connection, missing)) {
      if (isOn(task, pool, node)) tasks.set(`${task.slotKey} ${task.taskId}`, task);
    }
    const after = (await readAccounts(connection, pool, shards, [node])).get(node);
    if (!before || !after) return true;
    const holdings = [...tasks.values()].filter(({ released }) => !released).map(holdingOf);
    if (before.version === after.version && driftOf(after, holdings).length === 0) return true;
    await pause(PAUSE_MS);
  }
  return false;
}

/** Writes an account anew if it is still the one that was looked at; whether it was. */
async function mendNode(
  connection: Connection,
  pool: PoolName,
  account: Account,
  holdings: readonly Holding[],
  drift: readonly Drift[],
): Promise<boolean> {
  if (!drift.some(({ mendable }) => mendable)) return false;
  const about = drift.filter(({ mendable }) => mendable).map(({ at }) => at);
  const message = `account mended: ${listed(about, NAMED)}`;
  return retrying(async () => {
    const stored = await readNode(connection, pool, account.nodeId);
    if (stored.account?.version !== account.version) return false;
    await writeNode(connection, stored, mended(account, holdings), { at: connection.clock(), message });
    return true;
  });
}

/** Unreleased tasks of nodes that are not there: neither when the audit began nor now. */
async function homelessOf(
  connection: Connection,
  pool: PoolName,
  shards: number,
  accounts: ReadonlyMap<NodeId, Account>,
  { keys }: Look,
): Promise<AuditReport['homeless']> {
  const strange = [...keys.keys()].filter((node) => !accounts.has(node));
  if (strange.length === 0) return [];
  const there = await readAccounts(connection, pool, shards, strange);
  const left = strange.filter((node) => !there.has(node)).flatMap((node) => keys.get(node) ?? []);
  const tasks = await readTasks(connection, left);
  return tasks
    .filter(({ released, nodeId }) => !released && keys.has(nodeId) && !there.has(nodeId) && !accounts.has(nodeId))
    .map(({ taskId, nodeId }) => ({ taskId, nodeId }))
    .sort((a, b) => (a.taskId < b.taskId ? -1 : 1));
}
