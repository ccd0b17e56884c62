import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cronTimes } from '../../cron/croner.ts';
import type { EpochMs } from '../../time.ts';
import type { CronTimes } from './cron-times.ts';
import type { Override, Schedule } from './spec.ts';
import { clamp, nextTransition, targetAt } from './target.ts';

const at = (text: string) => Date.parse(text) as EpochMs;
const schedule = (fields: Partial<Schedule> = {}): Schedule => ({
  name: 'evening',
  timezone: 'UTC',
  cron: '0 18 * * *',
  durationMinutes: 60,
  replicas: 9,
  leadSeconds: 0,
  ...fields,
});
const override = (start: string, end: string, replicas: number): Override => ({
  name: start,
  start: at(start),
  end: at(end),
  replicas,
});
const spec = (schedules: readonly Schedule[], overrides: readonly Override[] = []) => ({
  replicas: 3,
  schedules: [...schedules],
  overrides: [...overrides],
});

describe('the target', () => {
  it.each([
    ['2026-01-15T17:59:59.999Z', 3, 'base'],
    ['2026-01-15T18:00:00Z', 9, 'schedule'],
    ['2026-01-15T18:59:59.999Z', 9, 'schedule'],
    ['2026-01-15T19:00:00Z', 3, 'base'],
  ])('at %s is %i by %s', (now, replicas, source) => {
    expect(targetAt(spec([schedule()]), at(now), cronTimes)).toEqual({ replicas, source });
  });

  it('is the largest of the windows that are open, though it is less than the base', () => {
    const windows = [schedule({ replicas: 1 }), schedule({ name: 'other', replicas: 2 })];
    expect(targetAt(spec(windows), at('2026-01-15T18:30:00Z'), cronTimes)).toEqual({ replicas: 2, source: 'schedule' });
  });

  it('is what an override says, whatever window is open', () => {
    const overrides = [
      override('2026-01-15T18:10:00Z', '2026-01-15T18:40:00Z', 1),
      override('2026-01-15T18:20:00Z', '2026-01-15T18:30:00Z', 2),
    ];
    const replicasAt = (now: string) => targetAt(spec([schedule()], overrides), at(now), cronTimes).replicas;
    expect(replicasAt('2026-01-15T18:10:00Z')).toBe(1);
    expect(replicasAt('2026-01-15T18:20:00Z')).toBe(2);
    expect(replicasAt('2026-01-15T18:30:00Z')).toBe(1);
    expect(replicasAt('2026-01-15T18:40:00Z')).toBe(9);
  });
});

describe('the preview', () => {
  it('tells of the next change, not of a boundary at which nothing changes', () => {
    const shadowed = [schedule(), schedule({ name: 'less', cron: '30 17 * * *', durationMinutes: 60, replicas: 3 })];
    expect(nextTransition(spec(shadowed), at('2026-01-15T12:00:00Z'), cronTimes)).toEqual({
      at: at('2026-01-15T18:00:00Z'),
      target: { replicas: 9, source: 'schedule' },
    });
  });

  it('knows of the end of a window, and of the lead of one', () => {
    const early = schedule({ leadSeconds: 600 });
    expect(nextTransition(spec([early]), at('2026-01-15T12:00:00Z'), cronTimes)?.at).toBe(at('2026-01-15T17:50:00Z'));
    expect(nextTransition(spec([early]), at('2026-01-15T17:55:00Z'), cronTimes)?.at).toBe(at('2026-01-15T19:00:00Z'));
  });

  it('is none where nothing changes any more', () => {
    expect(nextTransition(spec([]), at('2026-01-15T12:00:00Z'), cronTimes)).toBeUndefined();
    const always = schedule({ cron: '* * * * *' });
    expect(nextTransition(spec([always]), at('2026-01-15T12:00:00Z'), cronTimes)).toBeUndefined();
  });

  it('asks for no more starts where there are many schedules', () => {
    let asked = 0;
    const counted: CronTimes = {
      ...cronTimes,
      last: (...of) => {
        asked += 1;
        return cronTimes.last(...of);
      },
      next: (...of) => {
        asked += 1;
        return cronTimes.next(...of);
      },
    };
    const many = Array.from({ length: 50 }, (_, index) => schedule({ name: `s${index}`, cron: '* * * * *' }));
    expect(nextTransition(spec(many), at('2026-01-15T12:00:00Z'), counted)).toBeUndefined();
    expect(asked).toBeLessThan(2_000);
  });

  it('comes true: until then the target stays, then it is what was said', () => {
    const minutes = fc.integer({ min: 0, max: 59 });
    const window = fc.record({
      minute: minutes,
      hour: fc.integer({ min: 0, max: 23 }),
      duration: fc.integer({ min: 1, max: 900 }),
      replicas: fc.integer({ min: 0, max: 4 }),
      lead: fc.constantFrom(0, 60, 600),
    });
    fc.assert(
      fc.property(fc.array(window, { maxLength: 3 }), fc.integer({ min: -1500, max: 1500 }), (windows, offset) => {
        const schedules = windows.map(({ minute, hour, duration, replicas, lead }, index) =>
          schedule({
            name: `w${index}`,
            timezone: 'Europe/Berlin',
            cron: `${minute} ${hour} * * *`,
            durationMinutes: duration,
            replicas,
            leadSeconds: lead,
          }),
        );
        const now = (at('2026-03-29T01:00:00Z') + offset * 60_000) as EpochMs;
        const told = nextTransition(spec(schedules), now, cronTimes);
        const end = Math.min(told?.at ?? Number.POSITIVE_INFINITY, now + 1440 * 60_000);
        const present = targetAt(spec(schedules), now, cronTimes).replicas;
        for (let time = now; time < end; time = (time + 30 * 60_000) as EpochMs) {
          expect(targetAt(spec(schedules), time, cronTimes).replicas).toBe(present);
        }
        if (told) expect(targetAt(spec(schedules), told.at, cronTimes)).toEqual(told.target);
      }),
      { numRuns: 100 },
    );
  });
});

describe('the limits of the provider', () => {
  it.each([
    [1, { min: 3, max: 9 }, { replicas: 3, clamped: 'BelowProviderMinimum' }],
    [12, { min: 3, max: 9 }, { replicas: 9, clamped: 'AboveProviderMaximum' }],
    [3, { min: 3, max: 3 }, { replicas: 3 }],
    [7, undefined, { replicas: 7 }],
  ])('%i within %o', (replicas, limits, expected) => {
    expect(clamp(replicas, limits)).toEqual(expected);
  });
});
