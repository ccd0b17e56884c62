import { describe, expect, it } from 'vitest';
import { SlotWorld, type WorldTask, worldStore, worldSweeps } from '../../test/support/slot-world.ts';
import type { ServiceId, TaskId } from '../ids.ts';
import { SWEEPER } from '../settings.ts';
import type { EpochMs } from '../time.ts';
import type { SlotStore } from './reap.ts';
import { type PageContext, runPage, type SweepStore } from './run-page.ts';
import type { SweepPage } from './sweep.ts';
import type { SlotKey } from './task.ts';

const NOW = 1_000 as EpochMs;

/** Slots of `web`, each with two old tasks and one that runs; the cluster keeps one old task. */
function worldWith(slots: number): SlotWorld {
  const world = new SlotWorld();
  world.clusterLimit = 1;
  const serviceId = 'web' as ServiceId;
  world.services.set(serviceId, { serviceId, mode: 'replicated', restartMaxAttempts: 0, jobIteration: 0 });
  for (let slot = 0; slot < slots; slot++) {
    for (const [taskId, state, desiredState] of [
      ['a', 'failed', 'shutdown'],
      ['b', 'failed', 'shutdown'],
      ['c', 'running', 'running'],
    ] as const) {
      world.put(taskIn(`web#${slot}`, taskId, { state, desiredState }));
    }
  }
  return world;
}

function taskIn(slotKey: string, taskId: string, other: Partial<WorldTask> = {}): WorldTask {
  return {
    ...{ slotKey: slotKey as SlotKey, taskId: taskId as TaskId, version: 1, released: true },
    ...{ state: 'failed', desiredState: 'shutdown' },
    ...other,
  };
}

const first = (other: Partial<SweepPage> = {}): SweepPage => ({
  ...{ apiVersion: 'berth/v1', kind: 'SweepPage', sweepId: 's', reason: 'request', page: 0 },
  ...other,
});

interface Delays {
  readonly delays: number[];
}

/** What a page of `world` is run with; `slots` and `sweeps` in place of what does as the world says. */
function contextOf(
  world: SlotWorld,
  other: { slots?: Partial<SlotStore>; sweeps?: Partial<SweepStore> } & Partial<
    Omit<PageContext, 'slots' | 'sweeps'>
  > = {},
): PageContext & Delays {
  const delays: number[] = [];
  const { slots: slotsOther, sweeps: sweepsOther, ...rest } = other;
  const slots = { ...worldStore(world, () => undefined).store, ...slotsOther };
  const real = worldSweeps(world, slots);
  const send: SweepStore['send'] = (page, delay) => {
    delays.push(delay);
    return real.send(page, delay);
  };
  return {
    ...{ slots, sweeps: { ...real, send, ...sweepsOther }, clock: () => NOW, deadline: NOW, delays },
    ...{ sleep: async () => undefined, random: () => 0, pageTasks: 4, tolerant: false },
    ...rest,
  };
}

/** Runs pages until none is left; how many ran. */
async function runAll(world: SlotWorld, page: SweepPage, context = contextOf(world)): Promise<number> {
  world.pages.push(page);
  for (let ran = 0; ; ran++) {
    const next = world.pages.shift();
    if (!next) return ran;
    await runPage(next, context);
  }
}

const old = (world: SlotWorld) =>
  world.slotKeys.map((slotKey) =>
    world
      .slot(slotKey)
      .map(({ taskId }) => taskId)
      .join(''),
  );

describe('a sweep', () => {
  it('goes through the table page by page, and counts what it sees and does', async () => {
    const world = worldWith(5);
    expect(await runAll(world, first())).toBe(4);
    expect(old(world)).toEqual(Array(5).fill('bc'));
    expect(world.sweeps.get('s')).toMatchObject({
      page: 4,
      finishedAt: NOW,
      deleted: 5,
      tasks: expect.any(Number),
      failed: 0,
    });
  });

  it('is over at once where there is nothing', async () => {
    const world = new SlotWorld();
    expect(await runAll(world, first())).toBe(1);
    expect(world.sweeps.get('s')).toMatchObject({ slots: 0, tasks: 0, finishedAt: NOW });
  });

  it('reads no slot that its page shows to be as it should', async () => {
    const world = worldWith(0);
    for (const slot of [1, 2, 3]) world.put(taskIn(`web#${slot}`, 'a'));
    const seen = worldStore(world, () => undefined);
    await runPage(first(), { ...contextOf(world), slots: seen.store, pageTasks: 10 });
    expect(seen.reads).toEqual([]);
  });

  it('is spread over time: the next page waits for the slots of this one', async () => {
    const world = worldWith(SWEEPER.slotsPerSecond + 1);
    const context = contextOf(world, { pageTasks: 3 * SWEEPER.slotsPerSecond + 1 });
    await runPage(first(), context);
    expect(context.delays).toEqual([2]);
  });

  it('names services that nobody has told of', async () => {
    const world = worldWith(1);
    world.put(taskIn('unset#1', 'a'));
    world.put(taskIn('zzz#1', 'a'));
    await runAll(world, first());
    expect(world.sweeps.get('s')?.unknownServices).toEqual(['unset', 'zzz']);
  });
});

describe('a sweep of one service', () => {
  const web = 'web' as ServiceId;

  it('looks at its slots and at no other', async () => {
    const world = worldWith(3);
    world.put(taskIn('other#1', 'a', { desiredState: 'remove' }));
    const seen = worldStore(world, () => undefined);
    await runAll(world, first({ reason: 'limit', serviceId: web }), { ...contextOf(world), slots: seen.store });
    expect([...new Set(seen.reads)]).toEqual(['web#0', 'web#1', 'web#2']);
    expect(world.slot('other#1' as SlotKey)).toHaveLength(1);
  });

  it('that is removed marks what an agent has and deletes the rest', async () => {
    const world = worldWith(3);
    world.services.set(web, 'removed');
    await runAll(world, first({ reason: 'service-removed', serviceId: web }));
    expect(old(world)).toEqual(['c', 'c', 'c']);
    expect(world.slot('web#0' as SlotKey)).toMatchObject([{ desiredState: 'remove' }]);
    expect(world.sweeps.get('s')).toMatchObject({ deleted: 6, marked: 3, serviceId: 'web' });
  });

  it('that is there again takes nothing but what is beyond the limit', async () => {
    const world = worldWith(2);
    await runAll(world, first({ reason: 'service-removed', serviceId: web }));
    expect(old(world)).toEqual(['bc', 'bc']);
  });

  it('that is scaled down takes the slots that are named, whatever the limit is', async () => {
    const world = worldWith(4);
    world.clusterLimit = -1;
    await runAll(world, first({ reason: 'scaled-away', serviceId: web, slots: [[1, 2]] }));
    expect(old(world)).toEqual(['abc', 'c', 'c', 'abc']);
  });
});

describe('a page', () => {
  const busy = () => Promise.reject(new Error('busy'));

  it('that was done before does nothing', async () => {
    const world = worldWith(5);
    await runAll(world, first());
    const { step } = world;
    expect(await runPage(first(), contextOf(world))).toMatchObject({ kind: 'repeated', record: { page: 4 } });
    expect(await runPage(first({ page: 9 }), contextOf(world))).toMatchObject({ kind: 'repeated' });
    expect({ step: world.step, pages: world.pages }).toEqual({ step, pages: [] });
  });

  it('fails if a slot of it does, before anything is sent or noted, and goes on when it is delivered again', async () => {
    const world = worldWith(2);
    const failing = contextOf(world, { slots: { readSlot: busy } });
    await expect(runPage(first(), failing)).rejects.toMatchObject({
      ...{ name: 'PageError', message: '2 slots of page 0 of sweep s failed: busy' },
      outcomes: [
        { slotKey: 'web#0', error: { message: 'busy' } },
        { slotKey: 'web#1', error: { message: 'busy' } },
      ],
    });
    expect({ pages: world.pages, record: world.sweeps.get('s') }).toEqual({ pages: [], record: undefined });
    await runAll(world, first());
    expect(old(world)).toEqual(['bc', 'bc']);
  });

  it('that has failed again and again leaves the slot as it is, so that the sweep goes on', async () => {
    const world = worldWith(2);
    const readSlot = worldStore(world, () => undefined).store.readSlot;
    const slots = { readSlot: (slotKey: SlotKey) => (slotKey === 'web#0' ? busy() : readSlot(slotKey)) };
    await runAll(world, first(), contextOf(world, { slots, tolerant: true, pageTasks: 2 }));
    expect(old(world)).toEqual(['abc', 'bc']);
    expect(world.sweeps.get('s')).toMatchObject({ failed: 2, finishedAt: NOW });
  });

  it.each(['send', 'writeSweep', 'readSweep', 'readTable', 'readServices'] as const)(
    'that breaks off in %s is made good when it is delivered again',
    async (name) => {
      const world = worldWith(5);
      await expect(runPage(first(), contextOf(world, { sweeps: { [name]: busy } }))).rejects.toThrow('busy');
      await runAll(world, first());
      expect(old(world)).toEqual(Array(5).fill('bc'));
      expect(world.sweeps.get('s')?.finishedAt).toBe(NOW);
    },
  );

  it('that is delivered again while it is done leads to one next page, though it was begun', async () => {
    const world = worldWith(5);
    let passed: () => void = () => undefined;
    const waits = new Promise<void>((resolve) => {
      passed = resolve;
    });
    const { readTable } = contextOf(world).sweeps;
    const sweeps = { readTable: (...args: Parameters<typeof readTable>) => waits.then(() => readTable(...args)) };
    const second = runPage(first(), contextOf(world, { sweeps }));
    await runPage(first(), contextOf(world));
    passed();
    expect((await second).kind).toBe('done');
    expect(world.pages).toHaveLength(1);
    expect(world.sweeps.get('s')).toMatchObject({ page: 1 });
  });

  it('that is delivered twice at once leads to one sweep', async () => {
    const world = worldWith(5);
    const ran = await Promise.all([runPage(first(), contextOf(world)), runPage(first(), contextOf(world))]);
    expect(ran.map(({ kind }) => kind)).toEqual(['done', 'done']);
    expect(world.pages).toHaveLength(2);
    const next = world.pages.shift() as SweepPage;
    await runAll(world, next);
    expect(old(world)).toEqual(Array(5).fill('bc'));
    expect(world.pages).toEqual([]);
    expect(world.sweeps.get('s')).toMatchObject({ page: 4, finishedAt: NOW });
  });
});
