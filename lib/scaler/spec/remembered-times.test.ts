import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { EpochMs } from '../../time.ts';
import type { CronTimes } from './cron-times.ts';
import { rememberedTimes } from './remembered-times.ts';

const SCHEDULE = { cron: '* * * * *', timezone: 'UTC' };

/** The times of a schedule that begins at `starts`, and what was asked of them. */
function timesOf(starts: readonly number[]) {
  const asked: string[] = [];
  const times: CronTimes = {
    hasZone: (zone) => zone === 'UTC',
    last(_, after, until) {
      asked.push('last');
      return starts.findLast((start) => start > after && start <= until) as EpochMs | undefined;
    },
    next(_, after) {
      asked.push('next');
      return starts.find((start) => start > after) as EpochMs | undefined;
    },
  };
  return { times, asked };
}

const at = (time: number) => time as EpochMs;

describe('remembered times', () => {
  it('are those that they stand on, whatever is asked for and in whatever order', () => {
    const starts = fc.uniqueArray(fc.nat(30), { maxLength: 8 });
    const question = fc.record({ of: fc.constantFrom('last', 'next'), from: fc.nat(32), length: fc.nat(12) });
    fc.assert(
      fc.property(starts, fc.array(question, { minLength: 1, maxLength: 8 }), (unsorted, questions) => {
        const { times } = timesOf([...unsorted].sort((a, b) => a - b));
        const remembered = rememberedTimes(times);
        for (const { of, from, length } of questions) {
          const answer = (one: CronTimes) =>
            of === 'next' ? one.next(SCHEDULE, at(from)) : one.last(SCHEDULE, at(from), at(from + length));
          expect(answer(remembered)).toBe(answer(times));
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it('ask for each start once, and for what comes after the last of them once', () => {
    const { times, asked } = timesOf([10, 20, 30]);
    const remembered = rememberedTimes(times);
    for (let pass = 0; pass < 3; pass++) {
      for (let now = 5; now < 45; now++) {
        remembered.next(SCHEDULE, at(now));
        remembered.last(SCHEDULE, at(now - 5), at(now));
      }
    }
    expect(asked.filter((one) => one === 'next')).toHaveLength(4);
    expect(remembered.asked()).toBe(asked.length);
    expect(asked.length).toBeLessThan(12);
  });

  it('know the start before the first that was asked for from then on', () => {
    const { times, asked } = timesOf([10, 20]);
    const remembered = rememberedTimes(times);
    expect(remembered.next(SCHEDULE, at(15))).toBe(20);
    expect([1, 2, 3].map(() => remembered.last(SCHEDULE, at(5), at(19)))).toEqual([10, 10, 10]);
    expect(asked).toEqual(['next', 'last']);
  });

  it('remember that there is none, and keep schedules apart', () => {
    const { times, asked } = timesOf([]);
    const remembered = rememberedTimes(times);
    for (let pass = 0; pass < 3; pass++) {
      expect(remembered.last(SCHEDULE, at(5), at(9))).toBeUndefined();
      expect(remembered.next(SCHEDULE, at(9))).toBeUndefined();
    }
    expect(asked).toEqual(['last', 'next']);
    remembered.next({ ...SCHEDULE }, at(9));
    expect(asked).toHaveLength(3);
  });

  it('know the same zones', () => {
    const remembered = rememberedTimes(timesOf([]).times);
    expect([remembered.hasZone('UTC'), remembered.hasZone('Mars')]).toEqual([true, false]);
  });
});
