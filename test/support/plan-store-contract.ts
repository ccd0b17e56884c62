import { describe, expect, it } from 'vitest';
import type { NodeId, PlanId, PoolName } from '../../lib/ids.ts';
import { type Account, accountOf } from '../../lib/nodes/account.ts';
import type { NodeSpecInput } from '../../lib/nodes/node.ts';
import type { Pool } from '../../lib/nodes/pool.ts';
import type { CommitOutcome, PlanStore } from '../../lib/plans/apply.ts';
import { type TaskKey, taskKey } from '../../lib/plans/decide-part.ts';
import type { Commit, EventsWrite, NodeWrite } from '../../lib/plans/ledger.ts';
import type { RejectionWindow } from '../../lib/plans/rejections.ts';
import type { Task } from '../../lib/tasks/task.ts';
import type { EpochMs, EpochSeconds } from '../../lib/time.ts';
import { change } from './blind-case.ts';
import { BLIND_CASES } from './blind-cases.ts';
import { taskOf } from './builders.ts';
import {
  again,
  commitOf,
  commitOnce,
  commitUntilKnown,
  needs,
  otherwise,
  progressOf,
  resultOf,
  storedOf,
} from './commits.ts';
import { nodeOf, poolOf } from './plans.ts';
import { nodeSummary } from './summary.ts';

/** A store under contract, and a way to put into its state what a test starts from. */
export interface ContractBed {
  readonly store: PlanStore;
  /** Nodes are put with their profiles, in which there are no events yet. */
  put(state: { pool?: Pool; accounts?: readonly Account[]; tasks?: readonly Task[] }): Promise<void>;
}

let pools = 0;

/**
 * What every store of plans owes. Written for a store that may be busy and whose answers may get lost, so that the same
 * suite holds for one to which faults happen.
 */
export function planStoreContract(open: () => Promise<ContractBed>): void {
  /** A pool of its own for each test, with node `n1`. */
  const start = async (node: Partial<NodeSpecInput> = {}, account: (made: Account) => Account = (made) => made) => {
    const bed = await open();
    const pool = poolOf(`contract-${++pools}`, { index: 7, shards: 3 });
    const made = accountOf(nodeOf({ nodeId: 'n1', pool: pool.pool, capacity: { cpu: 4, memory: 8 }, ...node }));
    await bed.put({ pool, accounts: [account(made)] });
    return { bed, pool, store: bed.store };
  };
  const accountIn = async (store: PlanStore, pool: Pool, node = 'n1') => {
    const { accounts } = await again(() => store.read(pool, needs({ accounts: [node] })));
    const account = accounts.get(node as NodeId);
    if (account === undefined || account === 'missing') throw new Error(`there is no account of ${node}`);
    return account;
  };

  describe('reading', () => {
    it('shows a pool, or that it is missing', async () => {
      const { store, pool } = await start();
      expect(await again(() => store.readPool(pool.pool))).toEqual(pool);
      expect(await again(() => store.readPool('contract-none' as PoolName))).toBe('missing');
    });

    it('shows every account and task that is asked for, those that are missing too', async () => {
      const { store, pool, bed } = await start();
      const task = taskOf(`${pool.pool}-a`, {}, { pool: pool.pool });
      await bed.put({ tasks: [task] });
      const asked = needs({ tasks: [keyOf(task), 'web#1 nobody'], accounts: ['n1', 'n2'] });
      const { accounts, tasks } = await again(() => store.read(pool, asked));
      expect([...accounts.keys()].sort()).toEqual(['n1', 'n2']);
      expect(accounts.get('n1' as NodeId)).toMatchObject({ nodeId: 'n1', version: 1, free: { cpu: 4, memory: 8 } });
      expect(accounts.get('n2' as NodeId)).toBe('missing');
      expect(tasks.get(keyOf(task))).toEqual(task);
      expect(tasks.get('web#1 nobody' as TaskKey)).toBe('missing');
    });

    it('shows more than one batch read holds', async () => {
      const { store, pool, bed } = await start();
      const tasks = Array.from({ length: 130 }, (_, at) => taskOf(`${pool.pool}-${at}`, {}, { pool: pool.pool }));
      await bed.put({ tasks });
      const read = await again(() => store.read(pool, needs({ tasks: tasks.map(keyOf), accounts: ['n1'] })));
      expect(read.tasks.size).toBe(130);
      expect([...read.tasks.values()]).not.toContain('missing');
      expect(read.accounts.get('n1' as NodeId)).toMatchObject({ nodeId: 'n1' });
    });
  });

  describe('committing', () => {
    it('writes pool, accounts, tasks and results together', async () => {
      const { store, pool } = await start();
      const account = await accountIn(store, pool);
      const image = { ...account, version: 2, index: 8, free: { ...account.free, cpu: 1 } };
      const task = taskOf(`${pool.pool}-a`, {}, { pool: pool.pool, version: 1 });
      const commit = commitOf(pool, {
        nodes: [['n1', { kind: 'known', image }]],
        tasks: [[keyOf(task), { before: 0, image: task }]],
      });
      expect(await commitUntilKnown(store, commit)).toEqual({ kind: 'committed' });
      expect(await again(() => store.readPool(pool.pool))).toEqual({ ...pool, index: 8 });
      const read = await again(() => store.read(pool, needs({ tasks: [keyOf(task)], accounts: ['n1'] })));
      expect(read.accounts.get('n1' as NodeId)).toEqual(image);
      expect(read.tasks.get(keyOf(task))).toEqual(task);
    });

    it('refuses when the pool has moved on, and shows the pool', async () => {
      const { store, pool } = await start();
      const commit = commitOf({ ...pool, index: 5 });
      const outcome = await commitUntilKnown(store, commit);
      expect(outcome).toMatchObject({ kind: 'refused', learned: { pool } });
      expect(await again(() => store.readPool(pool.pool))).toEqual(pool);
    });

    it('refuses for a pool that is missing', async () => {
      const { store } = await start();
      const outcome = await commitUntilKnown(store, commitOf(poolOf('contract-none', { index: 7 })));
      expect(outcome).toMatchObject({ kind: 'refused', learned: { pool: 'missing' } });
    });

    it('writes results alone for a pool that is not there', async () => {
      const { store, pool } = await start();
      const { results } = commitOf(pool);
      const commit = { ...commitOf(pool), pool: undefined, results };
      expect(await commitUntilKnown(store, commit)).toEqual({ kind: 'committed' });
      const second = await commitUntilKnown(store, { ...commit, results: results.map(otherwise) });
      expect(second).toMatchObject({ kind: 'refused', learned: { results: results.map(storedOf) } });
    });

    it('puts a result once: the first stands, and is shown to whoever comes second', async () => {
      const { store, pool } = await start();
      const first = commitOf(pool);
      await commitUntilKnown(store, first);
      const second = { ...commitOf({ ...pool, index: 8 }), results: first.results.map(otherwise) };
      const outcome = await commitUntilKnown(store, second);
      expect(outcome).toMatchObject({ kind: 'refused', learned: { results: first.results.map(storedOf) } });
      expect(await again(() => store.readPool(pool.pool))).toEqual({ ...pool, index: 8 });
    });

    it('puts a new task only where there is none, and an old one only as it was', async () => {
      const { store, pool, bed } = await start();
      const task = taskOf(`${pool.pool}-a`, {}, { pool: pool.pool, version: 3 });
      await bed.put({ tasks: [task] });
      const withTask = (before: number) =>
        commitOf(pool, { tasks: [[keyOf(task), { before, image: { ...task, version: before + 1, priority: 60 } }]] });
      for (const before of [0, 2, 4]) {
        const { kind, learned } = refusal(await commitUntilKnown(store, withTask(before)));
        expect([kind, learned.tasks.get(keyOf(task))]).toEqual(['refused', task]);
      }
      expect(await commitUntilKnown(store, withTask(3))).toEqual({ kind: 'committed' });
      const { tasks } = await again(() => store.read(pool, needs({ tasks: [keyOf(task)] })));
      expect(tasks.get(keyOf(task))).toMatchObject({ version: 4, priority: 60 });
    });

    it('shows that a task to be changed is gone', async () => {
      const { store, pool } = await start();
      const task = taskOf(`${pool.pool}-gone`, {}, { pool: pool.pool, version: 3 });
      const commit = commitOf(pool, { tasks: [[keyOf(task), { before: 2, image: task }]] });
      const { learned } = refusal(await commitUntilKnown(store, commit));
      expect(learned.tasks.get(keyOf(task))).toBe('missing');
    });

    it('writes an account that was read only as it was read', async () => {
      const { store, pool } = await start();
      const account = await accountIn(store, pool);
      for (const version of [1, 3]) {
        const commit = commitOf(pool, { nodes: [['n1', { kind: 'known', image: { ...account, version } }]] });
        const { learned } = refusal(await commitUntilKnown(store, commit));
        expect(learned.accounts.get('n1' as NodeId)).toEqual(account);
      }
    });

    it('deletes a task only as it was', async () => {
      const { store, pool, bed } = await start();
      const task = taskOf(`${pool.pool}-a`, {}, { pool: pool.pool, version: 3 });
      await bed.put({ tasks: [task] });
      const without = (before: number) => commitOf(pool, { tasks: [[keyOf(task), { before, image: undefined }]] });
      const { learned } = refusal(await commitUntilKnown(store, without(2)));
      expect(learned.tasks.get(keyOf(task))).toEqual(task);
      expect(await commitUntilKnown(store, without(3))).toEqual({ kind: 'committed' });
      const { tasks } = await again(() => store.read(pool, needs({ tasks: [keyOf(task)] })));
      expect(tasks.get(keyOf(task))).toBe('missing');
    });

    it('takes a mark of the pool, and leaves the others when it takes none', async () => {
      const { store, pool } = await start();
      const marks = { left: 3.5, at: 1_772_366_400_000 as EpochMs };
      const { pool: write, ...rest } = commitOf(pool);
      await commitUntilKnown(store, { ...rest, pool: write && { ...write, marks } });
      expect(await again(() => store.readPool(pool.pool))).toEqual({ ...pool, index: 8, marks });
      await commitUntilKnown(store, commitOf({ ...pool, index: 8 }));
      expect(await again(() => store.readPool(pool.pool))).toEqual({ ...pool, index: 9, marks });
    });

    it('writes the refusals of a node only as they were', async () => {
      const { store, pool } = await start();
      const window = (version: number): RejectionWindow => ({
        nodeId: 'n1' as NodeId,
        times: [1_772_366_400_000 as EpochMs],
        version,
        expiresAt: 1_772_366_700 as EpochSeconds,
      });
      const commit = (version: number) => commitOf(pool, { windows: [window(version)] });
      const { learned } = refusal(await commitUntilKnown(store, commit(2)));
      expect(learned.windows.get('n1' as NodeId)).toBe('missing');
      expect(await commitUntilKnown(store, commit(1))).toEqual({ kind: 'committed' });
      const second = await commitUntilKnown(store, commitOf({ ...pool, index: 8 }, { windows: [window(1)] }));
      expect(refusal(second).learned.windows.get('n1' as NodeId)).toEqual(window(1));
      const { windows } = await again(() => store.read(pool, needs({ windows: ['n1', 'n2'] })));
      expect(windows).toEqual(
        new Map<string, RejectionWindow | 'missing'>([
          ['n1', window(1)],
          ['n2', 'missing'],
        ]),
      );
    });

    it('writes the events of a node only as they were', async () => {
      const { store, pool } = await start();
      const event = { at: 1_772_366_400_000 as EpochMs, message: 'made ineligible' };
      const commit = (node: string, before: EventsWrite['before'], on = pool) =>
        commitOf(on, { events: [[node, { before, events: [...before, event] }]] });
      expect(await commitUntilKnown(store, commit('n1', []))).toEqual({ kind: 'committed' });
      const second = refusal(await commitUntilKnown(store, commit('n1', [], { ...pool, index: 8 })));
      expect(second.learned.events.get('n1' as NodeId)).toEqual([event]);
      const nowhere = refusal(await commitUntilKnown(store, commit('n9', [], { ...pool, index: 8 })));
      expect(nowhere.learned.events.get('n9' as NodeId)).toBe('missing');
      const { events } = await again(() => store.read(pool, needs({ events: ['n1', 'n9'] })));
      expect([events.get('n1' as NodeId), events.get('n9' as NodeId)]).toEqual([[event], 'missing']);
    });

    it('commits nothing if anything is refused, and shows everything that refuses', async () => {
      const { store, pool, bed } = await start();
      const second = accountOf(nodeOf({ nodeId: 'n2', pool: pool.pool, capacity: { cpu: 1 } }));
      await bed.put({ accounts: [second] });
      const task = taskOf(`${pool.pool}-a`, {}, { pool: pool.pool, version: 1 });
      const take = (cpu: number): NodeWrite => ({ kind: 'blind', change: change({ net: { cpu }, need: { cpu } }) });
      const commit = commitOf(pool, {
        nodes: [
          ['n1', take(1)],
          ['n2', take(2)],
          ['n3', take(1)],
        ],
        tasks: [[keyOf(task), { before: 0, image: task }]],
      });
      const { learned } = refusal(await commitUntilKnown(store, commit));
      expect(learned.accounts).toEqual(
        new Map<string, Account | 'missing'>([
          ['n2', second],
          ['n3', 'missing'],
        ]),
      );
      expect(learned.pool).toBeUndefined();
      expect(await accountIn(store, pool)).toMatchObject({ version: 1, free: { cpu: 4 } });
      const { tasks } = await again(() => store.read(pool, needs({ tasks: [keyOf(task)] })));
      expect(tasks.get(keyOf(task))).toBe('missing');
      expect(await again(() => store.readPool(pool.pool))).toEqual(pool);
    });
  });

  describe('a plan that is committed in steps', () => {
    const step = (pool: Pool, planId: string, version: number): Commit =>
      commitOf(pool, { results: [], progress: progressOf(planId, version) });

    it('is where the last step has left it', async () => {
      const { store, pool } = await start();
      const planId = `${pool.pool}-steps`;
      const look = async () => {
        const read = await again(() => store.read(pool, needs({ progress: [planId] })));
        return [read.progress.get(planId as PlanId), read.results];
      };
      expect(await look()).toEqual(['none', []]);
      await commitUntilKnown(store, step(pool, planId, 1));
      expect(await look()).toEqual([progressOf(planId, 1), []]);
      await commitUntilKnown(store, step({ ...pool, index: 8 }, planId, 2));
      expect(await look()).toEqual([progressOf(planId, 2), []]);
      const ended = commitOf({ ...pool, index: 9 }, { results: [resultOf(pool, planId, 2)] });
      await commitUntilKnown(store, ended);
      expect((await look())[1]).toEqual(ended.results.map(storedOf));
    });

    it.each([
      { name: 'a step taken twice', version: 1 },
      { name: 'a step left out', version: 3 },
    ])('refuses $name', async ({ version }) => {
      const { store, pool } = await start();
      const planId = `${pool.pool}-steps`;
      await commitUntilKnown(store, step(pool, planId, 1));
      const { learned } = refusal(await commitOnce(store, step({ ...pool, index: 8 }, planId, version)));
      expect(learned.progress.get(planId as PlanId)).toEqual(progressOf(planId, 1));
    });

    it.each([0, 1, 3])('refuses a result over step %i, when step 2 was the last', async (over) => {
      const { store, pool } = await start();
      const planId = `${pool.pool}-steps`;
      await commitUntilKnown(store, step(pool, planId, 1));
      await commitUntilKnown(store, step({ ...pool, index: 8 }, planId, 2));
      const ended = commitOf({ ...pool, index: 9 }, { results: [resultOf(pool, planId, over)] });
      const { learned } = refusal(await commitUntilKnown(store, ended));
      expect(learned.progress.get(planId as PlanId)).toEqual(progressOf(planId, 2));
    });

    it('takes no step once it has its result', async () => {
      const { store, pool } = await start();
      const first = commitOf(pool);
      const planId = first.results[0]?.result.planId ?? '';
      await commitUntilKnown(store, first);
      for (const version of [1, 2]) {
        const { learned } = refusal(await commitOnce(store, step({ ...pool, index: 8 }, planId, version)));
        expect(learned.results).toEqual(first.results.map(storedOf));
      }
    });
  });

  describe('a change on conditions', () => {
    it.each(BLIND_CASES)('$name', async ({ node, holds, change: blind, after }) => {
      const { store, pool } = await start(node, holds);
      const before = await accountIn(store, pool);
      const commit = commitOf(pool, { nodes: [['n1', { kind: 'blind', change: change(blind) }]] });
      const outcome = await commitUntilKnown(store, commit);
      const account = await accountIn(store, pool);
      if (after === 'refused') {
        expect(refusal(outcome).learned.accounts).toEqual(new Map([['n1', before]]));
        expect(account).toEqual(before);
      } else {
        expect(outcome).toEqual({ kind: 'committed' });
        const { free, claims, sharers, ...rest } = nodeSummary(before, 0);
        expect(nodeSummary(account, 0)).toEqual({
          ...rest,
          free: without({ ...free, ...after.free }),
          claims: without({ ...claims, ...after.claims }),
          sharers: without({ ...sharers, ...after.sharers }),
        });
        expect([account.version, account.index]).toEqual([before.version + 1, 8]);
      }
    });

    it('is refused by a node that is not there', async () => {
      const { store, pool } = await start();
      const blind = change({ demand: 'there', net: { cpu: -1 } });
      const commit = commitOf(pool, { nodes: [['n9', { kind: 'blind', change: blind }]] });
      const { learned } = refusal(await commitUntilKnown(store, commit));
      expect(learned.accounts.get('n9' as NodeId)).toBe('missing');
    });
  });
}

/** Entries that are not null: null stands for one that must be gone. */
function without<T>(entries: Readonly<Record<string, T | null>>): Record<string, T> {
  return Object.fromEntries(Object.entries(entries).filter((entry): entry is [string, T] => entry[1] !== null));
}

function refusal(outcome: CommitOutcome) {
  if (outcome.kind !== 'refused') throw new Error('it was committed');
  return outcome;
}

const keyOf = (task: Task) => taskKey(task.slotKey, task.taskId);
