import { describe, expect, it } from 'vitest';
import type { ServiceId, TaskId } from '../ids.ts';
import { SWEEPER } from '../settings.ts';
import type { EpochMs } from '../time.ts';
import type { ServiceBook, SlotOutcome, StoredSlotTask } from './reap.ts';
import type { Service } from './service.ts';
import {
  afterPage,
  countsOf,
  delayAfter,
  newSweep,
  type SweepPage,
  type SweepPageInput,
  type SweepReason,
  scaledAway,
  sweepPageSchema,
  viewOfPage,
} from './sweep.ts';
import type { SlotKey } from './task.ts';

const NOW = Date.UTC(2026, 0, 1) as EpochMs;
const GRACE_MS = SWEEPER.graceSeconds * 1000;

function pageOf(other: Partial<SweepPageInput> = {}): SweepPage {
  return sweepPageSchema.parse({
    ...{ apiVersion: 'berth/v1', kind: 'SweepPage', sweepId: 's', reason: 'request' },
    ...other,
  });
}

function task(slotKey: string, taskId: string, other: Partial<StoredSlotTask> = {}): StoredSlotTask {
  return {
    ...{ slotKey: slotKey as SlotKey, taskId: taskId as TaskId, version: 1, released: true },
    ...{ state: 'failed', desiredState: 'shutdown' },
    ...other,
  };
}

/** `web` keeps one old task of a slot, `gone` is removed, and nobody has told of any other. */
const BOOK: ServiceBook = {
  services: new Map<
    ServiceId,
    'removed' | { serviceId: ServiceId; mode: 'replicated'; restartMaxAttempts: 0; jobIteration: 0 }
  >([
    ['web' as ServiceId, { serviceId: 'web' as ServiceId, mode: 'replicated', restartMaxAttempts: 0, jobIteration: 0 }],
    ['gone' as ServiceId, 'removed'],
  ]),
  clusterLimit: 1,
};

describe('a page of a sweep', () => {
  it('is the first unless it says otherwise', () => {
    expect(pageOf()).toMatchObject({ page: 0, reason: 'request' });
  });

  it.each([
    [{ reason: 'whim' }],
    [{ reason: 'service-removed' }],
    [{ reason: 'scaled-away', serviceId: 'web' }],
    [{ reason: 'scaled-away', slots: [[1, 2]] }],
    [{ slots: [[1, 2]] }],
    [{ reason: 'scaled-away', serviceId: 'web', slots: [[2, 1]] }],
    [{ reason: 'scaled-away', serviceId: 'web', slots: [[0, 1_000_000]] }],
    [{ page: -1 }],
    [{ extra: 1 }],
  ])('cannot be %j', (wrong) => {
    const page = { apiVersion: 'berth/v1', kind: 'SweepPage', sweepId: 's', reason: 'request', ...wrong };
    expect(sweepPageSchema.safeParse(page).success).toBe(false);
  });
});

describe('scaledAway', () => {
  const slots = (page: SweepPage) => scaledAway(page).slotKeys.map((slotKey) => Number(slotKey.split('#')[1]));
  const away = (ranges: [number, number][], cursor?: string) =>
    pageOf({ reason: 'scaled-away', serviceId: 'web', slots: ranges, ...(cursor === undefined ? {} : { cursor }) });

  it('names the slots of the ranges, each once, in order', () => {
    const page = away([
      [7, 8],
      [1, 3],
      [2, 4],
      [2, 2],
    ]);
    expect(slots(page)).toEqual([1, 2, 3, 4, 7, 8]);
    expect(scaledAway(page).next).toBeUndefined();
  });

  it('goes on where the page before has ended, until there are none left', () => {
    const seen: number[] = [];
    let cursor: string | undefined;
    const ranges: [number, number][] = [
      [0, SWEEPER.pageSlots],
      [1_000, 1_000 + SWEEPER.pageSlots],
    ];
    do {
      const page = away(ranges, cursor);
      const some = slots(page);
      expect(some.length).toBeLessThanOrEqual(SWEEPER.pageSlots);
      seen.push(...some);
      cursor = scaledAway(page).next;
    } while (cursor !== undefined);
    expect(seen).toHaveLength(2 * (SWEEPER.pageSlots + 1));
    expect(new Set(seen).size).toBe(seen.length);
  });
});

describe('viewOfPage', () => {
  const whole = { from: false, to: false, now: NOW };
  const view = (tasks: StoredSlotTask[], reason: SweepReason = 'request', edges: Partial<typeof whole> = {}) =>
    viewOfPage(tasks, BOOK, { ...whole, reason, ...edges });
  const looked = (...args: Parameters<typeof view>) => view(...args).requests.map(({ slotKey }) => slotKey);

  it('looks at slots in which something is to be done, and at no others', () => {
    const tasks = [
      task('gone#1', 'a'),
      task('gone#2', 'a', { state: 'running' }),
      task('gone#3', 'a', { state: 'running', desiredState: 'remove' }),
      task('unset#1', 'a'),
      task('unset#1', 'b'),
      task('unset#2', 'a', { desiredState: 'remove' }),
      task('web#1', 'a'),
      task('web#2', 'a'),
      task('web#2', 'b'),
      task('@n1', 'a', { state: 'orphaned' }),
      task('@n2', 'a'),
    ];
    expect(looked(tasks)).toEqual(['gone#1', 'gone#2', 'unset#2', 'web#2', '@n1']);
    expect(view(tasks)).toMatchObject({ slots: 9, unknownServices: ['unset'] });
    expect(view(tasks).requests[0]).toEqual({ slotKey: 'gone#1', removable: true, cascade: 'removed' });
  });

  it('looks at slots of which it may show but a part', () => {
    const tasks = [task('web#1', 'a'), task('web#2', 'a'), task('web#3', 'a')];
    expect(looked(tasks, 'request', { from: true })).toEqual(['web#1']);
    expect(looked(tasks, 'request', { to: true })).toEqual(['web#3']);
    expect(looked(tasks.slice(0, 1), 'request', { from: true, to: true })).toEqual(['web#1']);
  });

  it.each([
    ['of a service that keeps all', { web: { historyLimit: -1 } }, 'web#1'],
    ['of a service that was never set', {}, 'web#1'],
    ['of no service', {}, '@n1'],
  ])('looks at no part of a slot %s, of which each page shows what is to go', (_of, services, slotKey) => {
    const spec = { serviceId: 'web' as ServiceId, mode: 'replicated', restartMaxAttempts: 0, jobIteration: 0 } as const;
    const known = Object.values(services).map((set): [ServiceId, Service] => ['web' as ServiceId, { ...spec, ...set }]);
    const book = { services: new Map(known), clusterLimit: undefined };
    const inside = { ...whole, reason: 'request', from: true, to: true } as const;
    expect(viewOfPage([task(slotKey, 'a'), task(slotKey, 'b')], book, inside).requests).toEqual([]);
    const removable = task(slotKey, 'c', { desiredState: 'remove' });
    expect(viewOfPage([task(slotKey, 'a'), removable], book, inside).requests).toHaveLength(1);
  });

  it.each<[string, Partial<StoredSlotTask>, boolean]>([
    ['just now', { appliedAt: (NOW - GRACE_MS + 1) as EpochMs }, false],
    ['a while ago', { appliedAt: (NOW - GRACE_MS) as EpochMs }, true],
    ['just now, in what is wanted', { appliedAt: 0 as EpochMs, desiredAt: (NOW - 1) as EpochMs }, false],
    ['at a time that nobody knows', {}, true],
    ['in a year, by a clock that is wrong', { appliedAt: (NOW + 31_536_000_000) as EpochMs }, true],
    ['in a moment, by a clock that is a little wrong', { appliedAt: (NOW + 1_000) as EpochMs }, false],
  ])('of a scheduled sweep, in a slot that changed %s', (_when, times, isLooked) => {
    const tasks = [task('web#1', 'a'), task('web#1', 'b', times)];
    expect(looked(tasks, 'schedule')).toEqual(isLooked ? ['web#1'] : []);
    expect(looked(tasks, 'request')).toEqual(['web#1']);
    expect(looked(tasks, 'limit')).toEqual(['web#1']);
  });
});

describe('the record of a sweep', () => {
  const outcome = (other: Partial<SlotOutcome>): SlotOutcome => ({
    ...{ slotKey: 'web#1' as SlotKey, deleted: [], marked: [], remaining: 0, conflicts: 0, malformed: [] },
    ...{ unknown: false, error: undefined },
    ...other,
  });
  const bad = (key: string) => ({ key, problem: 'odd' });

  it('adds up what its pages came to', () => {
    const taskId = 't' as TaskId;
    const counts = countsOf(
      [
        outcome({
          deleted: [{ taskId, rule: 'history' }],
          marked: [taskId, taskId],
          conflicts: 3,
          malformed: [bad('x')],
        }),
        outcome({ error: new Error('busy'), malformed: [bad('y')] }),
      ],
      { slots: 5, tasks: 9, malformed: [bad('x'), bad('z')] },
    );
    const expected = { slots: 5, tasks: 9, deleted: 1, marked: 2, conflicts: 3, malformed: 3, failed: 1 };
    expect(counts).toEqual(expected);
    const once = afterPage(
      newSweep(pageOf({ serviceId: 'web' }), NOW),
      { ...counts, unknownServices: ['a'] },
      undefined,
    );
    const twice = afterPage(once, { ...counts, unknownServices: ['a', 'b'] }, (NOW + 7) as EpochMs);
    expect(once).toMatchObject({ ...expected, page: 1, startedAt: NOW, serviceId: 'web', unknownServices: ['a'] });
    expect(once).not.toHaveProperty('finishedAt');
    expect(twice).toMatchObject({ slots: 10, failed: 2, page: 2, finishedAt: NOW + 7, unknownServices: ['a', 'b'] });
  });

  it('names some of the services that nobody has told of', () => {
    const many = Array.from({ length: 50 }, (_, at) => `s${at}`);
    const none = countsOf([], { slots: 0, tasks: 0, malformed: [] });
    const record = afterPage(newSweep(pageOf(), NOW), { ...none, unknownServices: many }, undefined);
    expect(record.unknownServices).toEqual(many.slice(0, 20));
  });

  it('expires some time after the sweep has begun', () => {
    expect(newSweep(pageOf(), NOW).expiresAt).toBe(NOW / 1000 + SWEEPER.recordSeconds);
  });
});

it('no more slots a second are looked at than are allowed', () => {
  expect([0, 1, SWEEPER.slotsPerSecond, SWEEPER.slotsPerSecond + 1].map(delayAfter)).toEqual([0, 1, 1, 2]);
});
