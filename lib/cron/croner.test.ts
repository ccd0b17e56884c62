import { Cron } from 'croner';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import type { EpochMs } from '../time.ts';
import { cronTimes } from './croner.ts';

const MINUTE = 60_000;
const at = (text: string) => Date.parse(text) as EpochMs;
const iso = (instant: number | undefined) => instant && new Date(instant).toISOString();

describe('the start of a schedule', () => {
  it.each([
    [
      'in a gap is moved forward by it',
      '30 2 * * *',
      'America/New_York',
      '2026-03-08T00:00:00Z',
      '2026-03-08T07:30:00.000Z',
    ],
    [
      'in a gap, though every hour is named',
      '30 * 8 3 *',
      'America/New_York',
      '2026-03-08T06:45:00Z',
      '2026-03-08T07:30:00.000Z',
    ],
    [
      'that comes twice is the first',
      '30 1 1 11 *',
      'America/New_York',
      '2026-10-01T00:00:00Z',
      '2026-11-01T05:30:00.000Z',
    ],
    [
      'that comes twice does not come again',
      '30 1 * * *',
      'America/New_York',
      '2026-11-01T05:30:00Z',
      '2026-11-02T06:30:00.000Z',
    ],
    [
      'in a gap of half an hour',
      '15 2 * * *',
      'Australia/Lord_Howe',
      '2026-10-03T00:00:00Z',
      '2026-10-03T15:45:00.000Z',
    ],
    [
      'on a day that a zone left out',
      '0 12 30 12 *',
      'Pacific/Apia',
      '2011-12-01T00:00:00Z',
      '2011-12-30T22:00:00.000Z',
    ],
    [
      'behind a gap, before one that is moved out of it',
      '*/7 2 * * *',
      'Australia/Lord_Howe',
      '2026-10-03T15:40:00Z',
      '2026-10-03T15:42:00.000Z',
    ],
    ['on either of two kinds of day', '0 0 13 * FRI', 'UTC', '2026-01-10T00:00:00Z', '2026-01-13T00:00:00.000Z'],
    ['on Sunday as 7', '0 0 * * 7', 'UTC', '2026-01-12T00:00:00Z', '2026-01-18T00:00:00.000Z'],
    ['on Sunday as the end of a range', '0 0 * * SAT-SUN', 'UTC', '2026-01-17T00:00:00Z', '2026-01-18T00:00:00.000Z'],
    ['by names', '0 17 * dec fri', 'Europe/Berlin', '2026-01-01T00:00:00Z', '2026-12-04T16:00:00.000Z'],
  ])('%s', (_, cron, timezone, after, expected) => {
    expect(iso(cronTimes.next({ cron, timezone }, at(after)))).toBe(expected);
    expect(iso(cronTimes.last({ cron, timezone }, at(after), at(expected)))).toBe(expected);
  });

  it('that never comes is none', () => {
    const never = { cron: '0 0 30 2 *', timezone: 'UTC' };
    expect(cronTimes.next(never, at('2026-01-01T00:00:00Z'))).toBeUndefined();
    expect(cronTimes.last(never, at('2020-01-01T00:00:00Z'), at('2026-01-01T00:00:00Z'))).toBeUndefined();
  });

  const CHANGES = [
    { timezone: 'Europe/Berlin', change: at('2026-03-29T01:00:00Z') },
    { timezone: 'Europe/Berlin', change: at('2026-10-25T01:00:00Z') },
    { timezone: 'America/New_York', change: at('2026-11-01T06:00:00Z') },
    { timezone: 'Australia/Lord_Howe', change: at('2026-10-03T15:30:00Z') },
    { timezone: 'Australia/Lord_Howe', change: at('2026-04-04T15:00:00Z') },
    { timezone: 'Asia/Kolkata', change: at('2026-06-01T00:00:00Z') },
  ];

  it('is where a clock on the wall shows it, near every change of it', () => {
    const steps = fc.constantFrom('*', '*/7', '0', '30', '0,30', '5-50/15');
    const hours = fc.constantFrom('*', '*/2', '1', '2', '1,2', '0-3', '23');
    fc.assert(
      fc.property(
        fc.constantFrom(...CHANGES),
        steps,
        hours,
        fc.integer({ min: -300, max: 300 }),
        (zone, m, h, offset) => {
          const schedule = { cron: `${m} ${h} * * *`, timezone: zone.timezone };
          const now = (zone.change + offset * MINUTE) as EpochMs;
          const starts = startsNear(zone.change, zone.timezone, m, h);
          const past = starts.filter((start) => start <= now && start > now - 600 * MINUTE);
          expect(iso(cronTimes.next(schedule, now))).toBe(iso(starts.find((start) => start > now)));
          expect(iso(cronTimes.last(schedule, (now - 600 * MINUTE) as EpochMs, now))).toBe(iso(past.at(-1)));
        },
      ),
      { numRuns: 300 },
    );
  });
});

/** What a clock on the wall shows within two days of a change, minute by minute; instants once per showing. */
interface Shown {
  readonly instant: number;
  /** Of the day. */
  readonly minute: number;
}

const watched = new Map<string, readonly Shown[]>();

/** Every minute of the clock, those that it left out as if it had gone on as before, those that it showed again once. */
function watch(change: number, timeZone: string): readonly Shown[] {
  const key = `${change} ${timeZone}`;
  const known = watched.get(key);
  if (known) return known;
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone,
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
    day: '2-digit',
  });
  const seen = new Set<string>();
  const shown: Shown[] = [];
  let previous: number | undefined;
  for (let instant = change - 2880 * MINUTE; instant < change + 2880 * MINUTE; instant += MINUTE) {
    const text = format.format(instant);
    const minute = minuteOf(text);
    const gap = previous === undefined ? 0 : (minute - previous + 1440) % 1440;
    for (let left = 1; left < gap && gap < 720; left++) {
      shown.push({ instant: instant + (left - 1) * MINUTE, minute: ((previous ?? 0) + left) % 1440 });
    }
    if (!seen.has(text)) shown.push({ instant, minute });
    seen.add(text);
    previous = minute;
  }
  watched.set(key, shown);
  return shown;
}

/** Every start within two days of `change`, from watching the clock. */
function startsNear(change: number, timeZone: string, minutes: string, hours: string): number[] {
  return watch(change, timeZone)
    .filter(({ minute }) => named(minutes, minute % 60) && named(hours, Math.floor(minute / 60)))
    .map(({ instant }) => instant)
    .sort((a, b) => a - b);
}

function minuteOf(shown: string): number {
  const [, hour = '', minute = ''] = /(\d\d):(\d\d)/.exec(shown) ?? [];
  return Number(hour) * 60 + Number(minute);
}

function named(field: string, value: number): boolean {
  return field.split(',').some((part) => {
    const [range = '', step = '1'] = part.split('/');
    const [from, to = from] = range === '*' ? [0, 59] : range.split('-').map(Number);
    return (
      from !== undefined && to !== undefined && value >= from && value <= to && (value - from) % Number(step) === 0
    );
  });
}

describe('a zone', () => {
  it.each(['Europe/Berlin', 'UTC', 'America/Argentina/Ushuaia'])('%s is known', (zone) => {
    expect(cronTimes.hasZone(zone)).toBe(true);
  });
  it.each(['Europe/Berlinn', '', '+02:00', 'CET+1', 'local'])('"%s" is not', (zone) => {
    expect(cronTimes.hasZone(zone)).toBe(false);
  });
});

describe('a schedule that never begins', () => {
  const never = { cron: '0 0 30 2 *', timezone: 'Europe/Berlin' };

  it('is looked for once, however often it is asked for', () => {
    const searched = vi.spyOn(Cron.prototype, 'nextRun');
    const back = vi.spyOn(Cron.prototype, 'previousRuns');
    try {
      for (let day = 1; day < 200; day++) {
        const now = (at('2026-01-01T00:00:00Z') + day * 1440 * MINUTE) as EpochMs;
        expect(cronTimes.next(never, now)).toBeUndefined();
        expect(cronTimes.last(never, (now - 600 * MINUTE) as EpochMs, now)).toBeUndefined();
      }
      expect(searched.mock.calls.length).toBeLessThanOrEqual(2);
      expect(back).not.toHaveBeenCalled();
    } finally {
      vi.restoreAllMocks();
    }
  });
});

it('what was found for one time is not told of another', () => {
  const hourly = { cron: '0 * * * *', timezone: 'UTC' };
  const starts = ['2026-01-15T12:30:00Z', '2026-01-15T10:30:00Z', '2026-01-15T11:00:00Z', '2026-01-15T10:59:59.999Z'];
  expect(starts.map((start) => iso(cronTimes.next(hourly, at(start))))).toEqual([
    '2026-01-15T13:00:00.000Z',
    '2026-01-15T11:00:00.000Z',
    '2026-01-15T12:00:00.000Z',
    '2026-01-15T11:00:00.000Z',
  ]);
});
