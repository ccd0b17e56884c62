import { describe, expect, test } from 'vitest';
import type { EpochMs } from '../../lib/time.ts';
import { compileScheduleExpression } from './schedule-expression.ts';

const at = (time: string) => Date.parse(`${time}Z`) as EpochMs;
const text = (time: EpochMs | undefined) => time && new Date(time).toISOString().replace(/(:00)?\.000Z$/, '');
/** A Friday. */
const FROM = '2026-11-27T00:00';

function next(expression: string, count: number, { zone = 'UTC', from = FROM } = {}): (string | undefined)[] {
  const recurrence = compileScheduleExpression(expression, zone, at(from));
  const times: (string | undefined)[] = [];
  for (let time: EpochMs | undefined = at(from); times.length < count && time !== undefined; ) {
    time = recurrence.next(time);
    times.push(text(time));
  }
  return times;
}

// Source: EventBridge Scheduler user guide, "Schedule types", and the examples of cron expressions there.
test.each([
  ['rate(1 minute)', ['2026-11-27T00:01', '2026-11-27T00:02']],
  ['rate(5 minutes)', ['2026-11-27T00:05', '2026-11-27T00:10']],
  ['rate(12 hours)', ['2026-11-27T12:00', '2026-11-28T00:00']],
  ['rate(2 days)', ['2026-11-29T00:00', '2026-12-01T00:00']],
  ['at(2026-11-28T03:04:05)', ['2026-11-28T03:04:05', undefined]],
  ['cron(0 10 * * ? *)', ['2026-11-27T10:00', '2026-11-28T10:00']],
  ['cron(15 12 * * ? *)', ['2026-11-27T12:15', '2026-11-28T12:15']],
  ['cron(0 18 ? * MON-FRI *)', ['2026-11-27T18:00', '2026-11-30T18:00']],
  ['cron(0 18 ? * 2-6 *)', ['2026-11-27T18:00', '2026-11-30T18:00']],
  ['cron(0 8 1 * ? *)', ['2026-12-01T08:00', '2027-01-01T08:00']],
  ['cron(0/15 * * * ? *)', ['2026-11-27T00:15', '2026-11-27T00:30']],
  ['cron(0/30 20-2/6 ? * MON-FRI *)', undefined],
  ['cron(5,35 8-9 ? * SAT *)', ['2026-11-28T08:05', '2026-11-28T08:35', '2026-11-28T09:05', '2026-11-28T09:35']],
  ['cron(0 9 ? * 6L *)', ['2026-11-27T09:00', '2026-12-25T09:00']],
  ['cron(0 9 ? * 3#2 *)', ['2026-12-08T09:00', '2027-01-12T09:00']],
  ['cron(0 9 ? * L *)', ['2026-11-28T09:00', '2026-12-05T09:00']],
  ['cron(0 9 ? * 1 *)', ['2026-11-29T09:00', '2026-12-06T09:00']],
  ['cron(0 9 L * ? *)', ['2026-11-30T09:00', '2026-12-31T09:00']],
  ['cron(0 9 15W * ? *)', ['2026-12-15T09:00', '2027-01-15T09:00']],
  ['cron(0 9 1 JAN ? 2027-2028)', ['2027-01-01T09:00', '2028-01-01T09:00', undefined]],
  ['cron(0 9 1 1 ? 2026/2)', ['2028-01-01T09:00', '2030-01-01T09:00']],
  ['cron(0 9 30 2 ? *)', [undefined]],
])('%s', (expression, times) => {
  if (times === undefined)
    expect(() => next(expression, 1)).toThrow(`${expression}: CronPattern: From value is larger`);
  else expect(next(expression, times.length)).toEqual(times);
});

describe('a zone', () => {
  const zone = 'Europe/Berlin';

  test('moves the hours with daylight saving', () => {
    expect(next('cron(0 3 * * ? *)', 3, { zone, from: '2026-03-27T12:00' })).toEqual([
      '2026-03-28T02:00',
      '2026-03-29T01:00',
      '2026-03-30T01:00',
    ]);
    expect(next('at(2026-12-01T10:00:00)', 1, { zone })).toEqual(['2026-12-01T09:00']);
  });

  test('leaves out a time that does not exist, and has one that comes twice once', () => {
    expect(next('cron(30 2 * * ? *)', 2, { zone, from: '2026-03-28T00:00' })).toEqual([
      '2026-03-28T01:30',
      '2026-03-30T00:30',
    ]);
    expect(next('cron(30 2 * * ? *)', 3, { zone, from: '2026-10-24T00:00' })).toEqual([
      '2026-10-24T00:30',
      '2026-10-25T00:30',
      '2026-10-26T01:30',
    ]);
  });
});

describe('the last time', () => {
  const last = (expression: string, after: string, until: string, zone = 'UTC') =>
    text(compileScheduleExpression(expression, zone, at(FROM)).last(at(after), at(until)));

  test.each([
    ['rate(5 minutes)', '2026-11-27T00:00', '2026-11-27T00:04:59.999', undefined],
    ['rate(5 minutes)', '2026-11-27T00:00', '2026-11-27T00:05', '2026-11-27T00:05'],
    ['rate(5 minutes)', '2026-11-27T00:05', '2026-11-27T00:05', undefined],
    ['rate(5 minutes)', '2026-11-27T00:00', '2026-11-27T10:03', '2026-11-27T10:00'],
    ['rate(5 minutes)', '2026-11-26T00:00', '2026-11-26T10:00', undefined],
    ['cron(0 3 * * ? *)', FROM, '2026-11-27T02:59:59.999', undefined],
    ['cron(0 3 * * ? *)', FROM, '2026-11-27T03:00', '2026-11-27T03:00'],
    ['cron(0 3 * * ? *)', '2026-11-27T03:00', '2026-11-28T02:00', undefined],
    ['cron(0 3 * * ? *)', FROM, '2026-12-24T02:00', '2026-12-23T03:00'],
    ['at(2026-11-28T03:00:00)', FROM, '2026-11-28T02:59', undefined],
    ['at(2026-11-28T03:00:00)', FROM, '2026-12-28T03:00', '2026-11-28T03:00'],
    ['at(2026-11-28T03:00:00)', '2026-11-28T03:00', '2026-12-28T03:00', undefined],
  ])('of %s after %s up to %s', (expression, after, until, expected) => {
    expect(last(expression, after, until)).toBe(expected);
  });

  test('is none that a change to daylight saving leaves out', () => {
    const [after, until] = ['2026-03-28T12:00', '2026-03-29T12:00'];
    expect(last('cron(30 2 * * ? *)', after, until, 'Europe/Berlin')).toBeUndefined();
  });
});

test.each([
  ['every day', 'expected rate(...), cron(...) or at(...), found every day'],
  ['rate(0 minutes)', 'rate(0 minutes): expected a number and minutes, hours or days'],
  ['rate(1 week)', 'expected a number and minutes, hours or days'],
  ['cron(0 3 * * ?)', 'expected six fields: minutes, hours, day of month, month, day of week, year'],
  ['cron(0 3 * * * *)', 'either day of month or day of week must be ?, and not both'],
  ['cron(0 3 ? * ? *)', 'either day of month or day of week must be ?, and not both'],
  ['cron(0 ? * * ? *)', '? is for day of month or day of week'],
  ['cron(60 3 * * ? *)', 'Invalid value for minute: 60'],
  ['cron(0 3 ? * 8 *)', 'day of week: expected 1 (Sunday) to 7'],
  ['cron(0 3 ? * 0 *)', 'Invalid value for dayOfWeek'],
  ['cron(0 3 L-3 * ? *)', 'L has to be a value of its own'],
  ['at(2026-11-28 03:00)', 'expected a date and time such as 2027-01-31T03:00:00'],
  ['at(2026-13-28T03:00:00)', 'at(2026-13-28T03:00:00): '],
])('%s is refused', (expression, message) => {
  expect(() => next(expression, 1)).toThrow(message);
});

test('a zone that does not exist is refused', () => {
  expect(() => next('cron(0 3 * * ? *)', 1, { zone: 'Nowhere/X' })).toThrow('Nowhere/X');
});
