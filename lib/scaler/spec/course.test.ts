import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cronTimes } from '../../cron/croner.ts';
import type { EpochMs } from '../../time.ts';
import { courseOf } from './course.ts';
import type { CronTimes } from './cron-times.ts';
import { rememberedTimes } from './remembered-times.ts';
import type { Override, Schedule } from './spec.ts';
import { targetAt } from './target.ts';

const MINUTE = 60_000;
const DAY = 1440 * MINUTE;
const at = (text: string) => Date.parse(text) as EpochMs;
const schedule = (fields: Partial<Schedule> = {}): Schedule => ({
  name: 'evening',
  timezone: 'Europe/Berlin',
  cron: '0 18 * * *',
  durationMinutes: 60,
  replicas: 9,
  leadSeconds: 0,
  ...fields,
});
const spec = (schedules: Schedule[], overrides: Override[] = []) => ({ replicas: 3, schedules, overrides });
const course = (of: ReturnType<typeof spec>, from: string, until: string, looks = 10_000) =>
  courseOf(of, at(from), at(until), cronTimes, looks);
const told = ({ changes }: ReturnType<typeof courseOf>) =>
  changes.map(({ at: time, from, target, windows }) => [
    new Date(time).toISOString().slice(5, 16),
    `${from.replicas}-${target.replicas}`,
    ...windows.map(({ name, event }) => `${name} ${event}`),
  ]);

describe('the course of a target', () => {
  it('follows the clock of the zone over the day that it is put forward on', () => {
    expect(told(course(spec([schedule()]), '2026-03-28T00:00:00Z', '2026-03-30T00:00:00Z'))).toEqual([
      ['03-28T17:00', '3-9', 'evening opens'],
      ['03-28T18:00', '9-3', 'evening closes'],
      ['03-29T16:00', '3-9', 'evening opens'],
      ['03-29T17:00', '9-3', 'evening closes'],
    ]);
  });

  it('is after its beginning and up to its end', () => {
    expect(told(course(spec([schedule()]), '2026-01-15T17:00:00Z', '2026-01-15T18:00:00Z'))).toEqual([
      ['01-15T18:00', '9-3', 'evening closes'],
    ]);
    expect(course(spec([schedule()]), '2026-01-15T17:00:00Z', '2026-01-15T17:59:59.999Z').changes).toEqual([]);
  });

  it('names the windows that make a change, and no others', () => {
    const small = schedule({ name: 'small', cron: '0 18 * * *', durationMinutes: 120, replicas: 5 });
    const launch = { name: 'launch', start: at('2026-01-15T17:30:00Z'), end: at('2026-01-15T19:30:00Z'), replicas: 40 };
    const both = spec([schedule({ leadSeconds: 300 }), small], [launch]);
    expect(told(course(both, '2026-01-15T12:00:00Z', '2026-01-16T12:00:00Z'))).toEqual([
      ['01-15T16:55', '3-9', 'evening opens'],
      ['01-15T17:30', '9-40', 'launch opens'],
      ['01-15T19:30', '40-3', 'launch closes'],
    ]);
    expect(told(course(spec(both.schedules), '2026-01-15T12:00:00Z', '2026-01-16T12:00:00Z'))).toEqual([
      ['01-15T16:55', '3-9', 'evening opens'],
      ['01-15T18:00', '9-5', 'evening closes'],
      ['01-15T19:00', '5-3', 'small closes'],
    ]);
    const [first] = course(both, '2026-01-15T12:00:00Z', '2026-01-16T12:00:00Z').changes;
    expect(first?.windows).toEqual([
      { window: 'schedule', name: 'evening', event: 'opens', timezone: 'Europe/Berlin', leadSeconds: 300 },
    ]);
  });

  it('names of windows that open together those that say the target, by kind and size', () => {
    const small = schedule({ name: 'small', replicas: 5 });
    const launch = { name: 'launch', start: at('2026-01-15T17:00:00Z'), end: at('2026-01-15T18:00:00Z'), replicas: 9 };
    const of = (...more: Override[]) =>
      course(spec([schedule(), small], more), '2026-01-15T12:00:00Z', '2026-01-16T12:00:00Z');
    expect(of().changes.map(({ windows }) => windows)).toEqual([
      [{ window: 'schedule', name: 'evening', event: 'opens', timezone: 'Europe/Berlin' }],
      [{ window: 'schedule', name: 'evening', event: 'closes', timezone: 'Europe/Berlin' }],
    ]);
    expect(of(launch).changes.map(({ windows }) => windows)).toEqual([
      [{ window: 'override', name: 'launch', event: 'opens' }],
      [{ window: 'override', name: 'launch', event: 'closes' }],
    ]);
  });

  it('tells of a lead where a window opens, and not where it closes', () => {
    const { changes } = course(spec([schedule({ leadSeconds: 60 })]), '2026-01-15T12:00:00Z', '2026-01-16T12:00:00Z');
    expect(changes.map(({ windows: [one] }) => one?.leadSeconds)).toEqual([60, undefined]);
  });

  it('has no change where one window opens as another of its size closes', () => {
    const late = schedule({ name: 'late', cron: '0 19 * * *' });
    expect(told(course(spec([schedule(), late]), '2026-01-15T12:00:00Z', '2026-01-16T12:00:00Z'))).toEqual([
      ['01-15T17:00', '3-9', 'evening opens'],
      ['01-15T19:00', '9-3', 'late closes'],
    ]);
  });

  it('tells how far it was looked at, where that was not far enough', () => {
    let asked = 0;
    const counted: CronTimes = {
      ...cronTimes,
      next: (...of) => {
        asked += 1;
        return cronTimes.next(...of);
      },
    };
    const every = Array.from({ length: 50 }, (_, n) => schedule({ name: `s${n}`, cron: '* * * * *' }));
    const from = at('2026-01-15T12:00:00Z');
    const short = courseOf(spec(every), from, (from + 7 * DAY) as EpochMs, counted, 500);
    expect(short).toMatchObject({ capped: true, start: { replicas: 9 }, changes: [] });
    expect(short.until).toBeGreaterThan(from);
    expect(short.until).toBeLessThan(from + 20 * MINUTE);
    expect(asked).toBeLessThan(600);
    const few = courseOf(spec([schedule()]), from, (from + 7 * DAY) as EpochMs, counted, 500);
    expect(few).toMatchObject({ capped: false, until: from + 7 * DAY });
    expect(few.changes).toHaveLength(14);
  });
});

/** Windows in minutes from a beginning: everything about cron is in the list of starts. */
interface Window {
  readonly starts: readonly number[];
  readonly duration: number;
  readonly lead: number;
  readonly replicas: number;
}
const SPAN = 300;
const minute = (min: number, max: number) => fc.integer({ min, max });
const windows: fc.Arbitrary<Window[]> = fc.array(
  fc.record({
    starts: fc.uniqueArray(minute(-120, SPAN + 60), { maxLength: 8 }).map((all) => all.sort((a, b) => a - b)),
    duration: minute(1, 100),
    lead: fc.constantFrom(0, 0, 1, 7, 40),
    replicas: minute(0, 4),
  }),
  { maxLength: 4 },
);
const spans = fc.array(fc.record({ start: minute(-20, SPAN), length: minute(1, 90), replicas: minute(0, 4) }), {
  maxLength: 3,
});

const EPOCH = at('2026-01-01T00:00:00Z');
const timeOf = (minutes: number) => (EPOCH + minutes * MINUTE) as EpochMs;

/** The start lists as a calendar, found by the number that stands in place of the expression. */
function calendar(all: readonly Window[]): CronTimes {
  const startsOf = ({ cron }: { readonly cron: string }) => (all[Number(cron)]?.starts ?? []).map(timeOf);
  return {
    hasZone: () => true,
    next: (of, after) => startsOf(of).find((start) => start > after),
    last: (of, after, until) => startsOf(of).findLast((start) => start > after && start <= until),
  };
}

describe('a course, whatever windows there are', () => {
  it('has each change that watching the target minute by minute shows, and names what opens or closes', () => {
    fc.assert(
      fc.property(windows, spans, (all, short) => {
        const openAt = (now: number) => ({
          overrides: short.filter(({ start, length }) => start <= now && now < start + length),
          schedules: all.filter(({ starts, duration, lead }) =>
            starts.some((start) => start - lead <= now && now < start + duration),
          ),
        });
        const model = (now: number) => {
          const { overrides, schedules } = openAt(now);
          const [inForce] = [overrides, schedules].filter(({ length }) => length > 0);
          return inForce === undefined ? 3 : Math.max(...inForce.map(({ replicas }) => replicas));
        };
        const expected: unknown[] = [];
        for (let now = 1; now <= SPAN; now++) {
          if (model(now) !== model(now - 1)) expected.push({ at: timeOf(now), from: model(now - 1), to: model(now) });
        }
        const schedules = all.map(({ duration, lead, replicas }, n) =>
          schedule({ name: `w${n}`, cron: String(n), durationMinutes: duration, leadSeconds: lead * 60, replicas }),
        );
        const overrides = short.map(({ start, length, replicas }, n) => {
          return { name: `o${n}`, start: timeOf(start), end: timeOf(start + length), replicas };
        });
        const found = courseOf(spec(schedules, overrides), EPOCH, timeOf(SPAN), calendar(all), 100_000);
        expect(found.start.replicas).toBe(model(0));
        expect(
          found.changes.map((change) => ({
            at: change.at,
            from: change.from.replicas,
            to: change.target.replicas,
          })),
        ).toEqual(expected);
        for (const change of found.changes) {
          expect(change.windows.length).toBeGreaterThan(0);
          const now = (change.at - EPOCH) / MINUTE;
          for (const { name, event } of change.windows) {
            const of = name.startsWith('w') ? all[Number(name.slice(1))] : short[Number(name.slice(1))];
            const isOpen = (time: number) =>
              [...openAt(time).overrides, ...openAt(time).schedules].some((w) => w === of);
            expect(of?.replicas).toBe((event === 'opens' ? change.target : change.from).replicas);
            expect([isOpen(now - 1), isOpen(now)]).toEqual(event === 'opens' ? [false, true] : [true, false]);
          }
        }
      }),
      { numRuns: 300 },
    );
  });

  it('agrees with the target of every minute where clocks change', () => {
    const crons = fc.constantFrom('30 1 * * *', '15 2 * * *', '*/20 2,3 * * *', '0 3 * * SUN', '*/7 * * * *');
    const lists = fc.array(
      fc.record({
        cron: crons,
        durationMinutes: minute(1, 200),
        leadSeconds: fc.constantFrom(0, 600),
        replicas: minute(0, 4),
      }),
      { minLength: 1, maxLength: 2 },
    );
    const changes = fc.constantFrom('2026-03-29T01:00:00Z', '2026-10-25T01:00:00Z');
    fc.assert(
      fc.property(lists, changes, minute(-180, 60), (fields, change, offset) => {
        const of = spec(fields.map((field, n) => schedule({ name: `w${n}`, ...field })));
        const from = (at(change) + offset * MINUTE) as EpochMs;
        const seen: unknown[] = [];
        let present = targetAt(of, from, cronTimes).replicas;
        for (let now = from + MINUTE; now <= from + 180 * MINUTE; now += MINUTE) {
          const next = targetAt(of, now as EpochMs, cronTimes).replicas;
          if (next !== present) seen.push([now, next]);
          present = next;
        }
        const found = courseOf(of, from, (from + 180 * MINUTE) as EpochMs, cronTimes, 100_000);
        expect(found.changes.map(({ at: time, target }) => [time, target.replicas])).toEqual(seen);
      }),
      { numRuns: 20 },
    );
  });
});

describe('times that are remembered', () => {
  it('are those that they were made of, in whatever order they are asked for', () => {
    const asks = fc.array(
      fc.record({ which: minute(0, 1), last: fc.boolean(), after: minute(-150, SPAN), span: minute(0, 200) }),
      {
        maxLength: 40,
      },
    );
    fc.assert(
      fc.property(windows, asks, (all, questions) => {
        const times = calendar(all);
        const remembered = rememberedTimes(times);
        const schedules = [0, 1].map((n) => ({ cron: String(n), timezone: 'UTC' }));
        for (const { which, last, after, span } of questions) {
          const of = schedules[which];
          if (of === undefined) continue;
          const [from, until] = [timeOf(after), timeOf(after + span)];
          if (last) expect(remembered.last(of, from, until)).toBe(times.last(of, from, until));
          else expect(remembered.next(of, from)).toBe(times.next(of, from));
        }
      }),
      { numRuns: 500 },
    );
  });

  it('are asked for once each, going forwards', () => {
    const from = at('2026-01-15T12:00:00Z');
    const remembered = rememberedTimes(cronTimes);
    const hourly = { cron: '0 * * * *', timezone: 'UTC' };
    for (let now = from; now < from + DAY; now = (now + MINUTE) as EpochMs) {
      expect(remembered.last(hourly, (now - 90 * MINUTE) as EpochMs, now)).toBe(now - (now % (60 * MINUTE)));
      expect(remembered.next(hourly, now)).toBe(now - (now % (60 * MINUTE)) + 60 * MINUTE);
    }
    expect(remembered.asked()).toBeLessThan(30);
  });
});
