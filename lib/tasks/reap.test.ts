import { describe, expect, it } from 'vitest';
import type { ServiceId, TaskId } from '../ids.ts';
import { REAPER } from '../settings.ts';
import type { EpochMs } from '../time.ts';
import {
  reapSlots,
  type SlotRequest,
  type SlotStore,
  type SlotWrite,
  type StoredSlotTask,
  type WriteOutcome,
} from './reap.ts';
import type { Service } from './service.ts';
import type { SlotKey } from './task.ts';

const NOW = 1_000 as EpochMs;

function task(slotKey: string, taskId: string, other: Partial<StoredSlotTask> = {}): StoredSlotTask {
  return {
    ...{ slotKey: slotKey as SlotKey, taskId: taskId as TaskId, version: 1, released: true },
    ...{ state: 'failed', desiredState: 'shutdown' },
    ...other,
  };
}

const running = (slotKey: string, taskId = 'run') =>
  task(slotKey, taskId, { state: 'running', desiredState: 'running' });
const slot = (slotKey: string, other: Partial<SlotRequest> = {}): SlotRequest => ({
  ...{ slotKey: slotKey as SlotKey, removable: false },
  ...other,
});

interface Scene {
  readonly tasks: readonly StoredSlotTask[];
  /** `web` is there unless it says otherwise. */
  readonly services?: Readonly<Record<string, Partial<Service> | 'removed'>>;
  readonly clusterLimit?: number;
  /** What becomes of a write; default: it is carried out. */
  readonly answer?: (write: SlotWrite, nth: number) => WriteOutcome;
  readonly readSlot?: (slotKey: SlotKey) => void;
  readonly clock?: () => EpochMs;
}

/** Reaps `requests`, and what the store was asked for meanwhile. */
async function reap(requests: readonly SlotRequest[], scene: Scene) {
  const { services = { web: {} }, clusterLimit = 0, answer = () => 'done', clock = () => NOW } = scene;
  const asked: string[] = [];
  const pauses: number[] = [];
  let writes = 0;
  let atOnce = 0;
  let most = 0;
  const store: SlotStore = {
    async readServices(wanted) {
      asked.push(`services ${[...wanted].join(' ')}`);
      const plain = { mode: 'replicated', restartMaxAttempts: 0, jobIteration: 0 } as const;
      const found = Object.entries(services).filter(([id]) => wanted.has(id as ServiceId));
      const made = found.map(([id, set]): [ServiceId, Service | 'removed'] => [
        id as ServiceId,
        set === 'removed' ? set : { serviceId: id as ServiceId, ...plain, ...set },
      ]);
      return { services: new Map(made), clusterLimit };
    },
    async readSlot(slotKey) {
      asked.push(`slot ${slotKey}`);
      most = Math.max(most, ++atOnce);
      await Promise.resolve();
      atOnce--;
      scene.readSlot?.(slotKey);
      return { tasks: scene.tasks.filter((one) => one.slotKey === slotKey), malformed: [] };
    },
    async write(all) {
      asked.push(`write ${all.map(({ task, what }) => `${task.slotKey}/${task.taskId}:${what}`).join(' ')}`);
      return all.map((write) => answer(write, writes++));
    },
  };
  const sleep = async (ms: number) => {
    pauses.push(ms);
  };
  const outcomes = await reapSlots(requests, { store, clock, deadline: NOW, sleep, random: () => 0.5 });
  return { outcomes, asked, pauses, most };
}

describe('a batch of slots', () => {
  it('takes one read of services, one read of each slot, and the writes of all together', async () => {
    const tasks = [task('web#1', 'a'), running('web#1'), task('web#2', 'b'), running('web#2'), task('web#3', 'c')];
    const { outcomes, asked } = await reap([slot('web#1'), slot('web#2')], { tasks });
    expect(asked).toEqual(['services web', 'slot web#1', 'slot web#2', 'write web#1/a:history web#2/b:history']);
    expect(outcomes).toMatchObject([
      { slotKey: 'web#1', deleted: [{ taskId: 'a', rule: 'history' }], remaining: 1, conflicts: 0, error: undefined },
      { slotKey: 'web#2', deleted: [{ taskId: 'b', rule: 'history' }], remaining: 1 },
    ]);
  });

  it('writes nothing where nothing is to be done', async () => {
    const { asked } = await reap([slot('web#1')], { tasks: [running('web#1')] });
    expect(asked).toEqual(['services web', 'slot web#1']);
  });

  it('reads so many at once and no more', async () => {
    const many = Array.from({ length: 50 }, (_, at) => slot(`web#${at}`));
    expect((await reap(many, { tasks: [] })).most).toBe(REAPER.slotsAtOnce);
  });

  it.each([
    ['all is kept', { web: { historyLimit: -1 } }, false],
    ['the service is unknown', {}, true],
    ['the service is removed', { web: 'removed' as const }, false],
  ])('reads no slot in vain: %s', async (_why, services, unknown) => {
    const tasks = [task('web#1', 'a'), task('web#1', 'b', { desiredState: 'remove' })];
    const { outcomes, asked } = await reap([slot('web#1')], { tasks, services });
    expect(asked).toEqual(['services web']);
    expect(outcomes).toMatchObject([{ remaining: undefined, deleted: [], unknown }]);
    const again = await reap([slot('web#1', { removable: true })], { tasks, services });
    expect(again.outcomes).toMatchObject([{ remaining: 1, deleted: [{ taskId: 'b', rule: 'removable' }] }]);
  });

  it('asks for no service where there is none', async () => {
    const { asked, outcomes } = await reap([slot('@n1')], { tasks: [task('@n1', 'a', { state: 'orphaned' })] });
    expect(asked).toEqual(['services ', 'slot @n1', 'write @n1/a:orphaned']);
    expect(outcomes).toMatchObject([{ deleted: [{ rule: 'orphaned' }] }]);
  });

  it('tells of a key that is none of a slot', async () => {
    const { outcomes, asked } = await reap([slot('nonsense'), slot('web#1')], { tasks: [] });
    expect(asked).toEqual(['services web', 'slot web#1']);
    expect(outcomes).toMatchObject([{ malformed: [{ key: 'nonsense' }], error: undefined }, { malformed: [] }]);
  });
});

describe('a slot that fails', () => {
  const tasks = [task('web#1', 'a'), running('web#1'), task('web#2', 'b'), running('web#2')];
  const both = [slot('web#1'), slot('web#2')];

  it('in being read keeps no other from being done', async () => {
    const readSlot = (slotKey: SlotKey) => {
      if (slotKey === 'web#1') throw new Error('busy');
    };
    const { outcomes } = await reap(both, { tasks, readSlot });
    expect(outcomes).toMatchObject([
      { error: { message: 'busy' }, deleted: [] },
      { error: undefined, deleted: [{}] },
    ]);
  });

  it('in a write keeps no other from being done, and is not tried again at once', async () => {
    const answer = ({ task }: SlotWrite) => (task.slotKey === 'web#1' ? new Error('busy') : 'done');
    const { outcomes, pauses } = await reap(both, { tasks, answer });
    expect(outcomes).toMatchObject([
      { error: { message: 'busy' }, remaining: 2 },
      { error: undefined, remaining: 1 },
    ]);
    expect(pauses).toEqual([]);
  });

  it('is not begun after the deadline', async () => {
    let reads = 0;
    const clock = () => (NOW + (reads++ > 0 ? 1 : 0)) as EpochMs;
    const { outcomes, asked } = await reap(both, { tasks, clock });
    expect(asked.filter((one) => one.startsWith('slot'))).toEqual(['slot web#1']);
    expect(outcomes[1]?.error?.name).toBe('OutOfTimeError');
  });
});

describe('a task that has changed meanwhile', () => {
  const tasks = [task('web#1', 'a'), task('web#1', 'b'), running('web#1'), task('web#2', 'c'), running('web#2')];

  it('has its slot, and no other, decided anew after a pause', async () => {
    const answer = (_write: SlotWrite, nth: number): WriteOutcome => (nth === 0 ? 'changed' : 'done');
    const { outcomes, asked, pauses } = await reap([slot('web#1'), slot('web#2')], { tasks, answer });
    expect(asked.filter((one) => one.startsWith('slot'))).toEqual(['slot web#1', 'slot web#2', 'slot web#1']);
    expect(pauses).toEqual([100]);
    expect(outcomes).toMatchObject([{ conflicts: 1, error: undefined }, { conflicts: 0 }]);
  });

  it('is left for the next delivery after so many times', async () => {
    const { outcomes, asked } = await reap([slot('web#1')], { tasks, answer: () => 'changed' });
    expect(asked.filter((one) => one.startsWith('write'))).toHaveLength(REAPER.tries);
    expect(outcomes[0]?.error?.message).toContain(`${REAPER.tries} times`);
    expect(outcomes).toMatchObject([{ deleted: [], conflicts: 2 * REAPER.tries }]);
  });

  it('does not hide that another write of the slot has failed', async () => {
    const answer = (_write: SlotWrite, nth: number) => (nth === 0 ? new Error('busy') : 'changed');
    expect((await reap([slot('web#1')], { tasks, answer })).outcomes).toMatchObject([{ error: { message: 'busy' } }]);
  });
});

describe('a slot that is to go', () => {
  const tasks = [
    task('web#1', 'ended'),
    task('web#1', 'undealt', { desiredState: 'running' }),
    task('web#1', 'waits', { state: 'pending', desiredState: 'running' }),
    task('web#1', 'marked', { state: 'running', desiredState: 'remove' }),
    running('web#1'),
  ];
  const gone = ['ended', 'undealt', 'waits'].map((taskId) => ({ taskId, rule: 'removable' }));

  it('loses everything that no agent has, and marks the rest once', async () => {
    const { outcomes } = await reap([slot('web#1', { cascade: 'all' })], { tasks, clusterLimit: -1 });
    expect(outcomes).toMatchObject([{ deleted: gone, marked: ['run'], remaining: 2, error: undefined }]);
  });

  it('keeps what was placed in it after it was scaled away, a plan that is under way included', async () => {
    const at = (createdAt: number) =>
      ({ createdAt: createdAt as EpochMs, state: 'running', desiredState: 'running' }) as const;
    const placed = [
      task('web#1', 'before', at(499)),
      task('web#1', 'then', at(500)),
      task('web#1', 'after', at(501)),
      task('web#1', 'planned', { ...at(501), undo: {} }),
    ];
    const request = slot('web#1', { cascade: 'all', placedBefore: 500 as EpochMs });
    const { outcomes } = await reap([request], { tasks: placed });
    expect(outcomes).toMatchObject([{ marked: ['before', 'then'], deleted: [], error: undefined }]);
  });

  it('is one of a removed service if that is why', async () => {
    const request = slot('web#1', { cascade: 'removed' });
    const removed = await reap([request], { tasks, services: { web: 'removed' } });
    expect(removed.outcomes).toMatchObject([{ deleted: gone, marked: ['run'] }]);
    const there = await reap([request], { tasks, clusterLimit: -1 });
    expect(there.outcomes).toMatchObject([{ deleted: [], marked: [] }]);
  });

  it('is looked at again if a plan that changes a task of it is under way', async () => {
    const planned = [task('web#1', 'planned', { undo: {} }), task('web#1', 'ended')];
    const { outcomes } = await reap([slot('web#1', { cascade: 'all' })], { tasks: planned });
    expect(outcomes).toMatchObject([
      {
        deleted: [{ taskId: 'ended' }],
        marked: [],
        error: { name: 'PlanUnderWayError', message: expect.stringContaining('web#1') },
      },
    ]);
  });
});

it('fails every slot if the services cannot be read', async () => {
  const store = {
    readServices: () => Promise.reject(new Error('away')),
    readSlot: () => Promise.reject(new Error('not to be asked')),
    write: () => Promise.reject(new Error('not to be asked')),
  };
  const context = { store, clock: () => NOW, deadline: NOW, sleep: async () => undefined, random: () => 0 };
  const outcomes = await reapSlots([slot('web#1'), slot('web#2')], context);
  expect(outcomes.map(({ error }) => error?.message)).toEqual(['away', 'away']);
});
