import { describe, expect, it } from 'vitest';
import { cronTimes } from '../cron/croner.ts';
import { courseOf } from '../scaler/spec/course.ts';
import type { Schedule } from '../scaler/spec/spec.ts';
import type { EpochMs } from '../time.ts';
import { timetablesText } from './scaler-timetable-view.ts';

const DAY_MS = 24 * 3600 * 1000;
const at = (text: string) => Date.parse(text) as EpochMs;
const schedule = (fields: Partial<Schedule> = {}): Schedule => ({
  ...{
    name: 'evening',
    timezone: 'Europe/Berlin',
    cron: '0 18 * * *',
    durationMinutes: 240,
    replicas: 8,
    leadSeconds: 300,
  },
  ...fields,
});

function linesOf(schedules: Schedule[], days: number, from = '2026-03-27T12:00:00Z', replicas = 2, looks = 5_000) {
  const overrides = [{ name: 'off', start: at('2026-03-30T00:00:00Z'), end: at('2026-03-30T12:00:00Z'), replicas: 0 }];
  const until = (at(from) + days * DAY_MS) as EpochMs;
  const course = courseOf({ replicas, schedules, overrides }, at(from), until, cronTimes, looks);
  const pool = { object: 'game', state: 'Accepted', problems: [], well: true, windows: 2, course };
  return timetablesText([pool]).split('\n');
}

describe('the timetable of a pool', () => {
  it('shows the week at a glance, and each change in UTC and in the zone that it is made in', () => {
    const [head, days, bar, legend, columns, ...rows] = linesOf([schedule()], 4);
    expect(head).toBe('game: 2, 10 changes in 4 days');
    expect(days).toBe('      |Sat        |Sun        |Mon        |Tue');
    expect(bar).toBe('▂▂███▂▂▂▂▂▂▂▂▂███▂▂▂▂▂▂▂▂███▂▂______▂███▂▂▂▂▂▂▂▂');
    expect(legend).toBe(
      'a character is 2 h, as high as the largest target in it; the highest is 8, _ is 0; days begin at midnight UTC',
    );
    expect(columns).toMatch(/^UTC +THERE +TARGET +WHY$/);
    expect(rows[0]).toBe(
      '2026-03-27T16:55:00.000Z  Fri 2026-03-27 17:55 +01:00 Europe/Berlin  2 -> 8  schedule evening opens 300 s early',
    );
    expect(rows[4]).toBe(
      '2026-03-29T15:55:00.000Z  Sun 2026-03-29 17:55 +02:00 Europe/Berlin  2 -> 8  schedule evening opens 300 s early',
    );
    expect(rows[6]).toBe(
      '2026-03-30T00:00:00.000Z  Mon 2026-03-30 00:00 +00:00 UTC            2 -> 0  override off opens',
    );
  });

  it.each([1, 3, 7, 14, 31, 366])('is bounded in width and length over %i days', (days) => {
    const often = schedule({ name: 'n'.repeat(63), cron: '*/20 * * * *', durationMinutes: 5, leadSeconds: 0 });
    const [, dayLine = '', bar = '', , ...table] = linesOf([often], days, '2026-03-27T12:00:00Z', 2, 1_000);
    expect(dayLine.length).toBeLessThanOrEqual(84);
    expect(bar.length).toBeLessThanOrEqual(85);
    expect(bar.length).toBeGreaterThan(20);
    expect(table.length).toBeLessThanOrEqual(62);
    expect(table.at(-1)).toMatch(/^and \d+ changes more: ask for fewer --days, or for --json$/);
  });

  it('shows a window that is shorter than a character, and none that has ended as it begins', () => {
    const short = schedule({ cron: '0 14 27 3 *', timezone: 'UTC', durationMinutes: 1, leadSeconds: 0 });
    expect(linesOf([short], 4)[2]).toMatch(/^▂█▂▂/);
    const long = schedule({ cron: '0 14 27 3 *', timezone: 'UTC', durationMinutes: 120, leadSeconds: 0 });
    expect(linesOf([long], 4)[2]).toMatch(/^▂█▂▂/);
  });

  it('says how far it goes where that is less than was asked for', () => {
    const [head, , bar] = linesOf(
      [schedule({ cron: '*/2 * * * *', durationMinutes: 1, leadSeconds: 0 })],
      7,
      '2026-03-27T12:00:00Z',
      2,
      50,
    );
    expect(head).toMatch(/^game: .*until 2026-03-27T13:\d\d:00.000Z; capped there/);
    expect(bar).toMatch(/\?$/);
  });

  it('names some of many windows that make one change', () => {
    const many = Array.from({ length: 5 }, (_, n) => schedule({ name: `s${n}`, leadSeconds: 0 }));
    expect(linesOf(many, 1)[5]).toMatch(/ 2 -> 8 +schedule s0 opens, schedule s1 opens, schedule s2 opens, 2 more$/);
  });

  it('says that there is no change', () => {
    expect(linesOf([], 1)).toEqual(['game: 2, no change in 1 day']);
  });
});
