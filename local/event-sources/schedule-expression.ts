import { Cron } from 'croner';
import type { EpochMs } from '../../lib/time.ts';

/** When a schedule is due. */
export interface Recurrence {
  /** The first time after `after`; undefined: never again. */
  next(after: EpochMs): EpochMs | undefined;
  /** The last time up to `until`, if it is after `after`. */
  last(after: EpochMs, until: EpochMs): EpochMs | undefined;
}

/** An expression that EventBridge Scheduler would refuse, or that cannot be run here. */
export class ScheduleExpressionError extends Error {
  override readonly name = 'ScheduleExpressionError';
}

const UNIT_MS: Readonly<Record<string, number>> = { minute: 60_000, hour: 3_600_000, day: 86_400_000 };

/**
 * Compiles an expression of EventBridge Scheduler: `rate(5 minutes)`, `cron(0 3 * * ? *)`, `at(2027-01-31T03:00:00)`.
 *
 * A time that a change to daylight saving leaves out is left out; one that comes twice is due once, unless the expression
 * has more than one hour or minute. Source: EventBridge Scheduler user guide, "Schedule types".
 *
 * @param zone IANA time zone of `cron` and `at`
 * @param start `rate` counts from here on; the first time is one interval later
 * @throws ScheduleExpressionError
 */
export function compileScheduleExpression(expression: string, zone: string, start: EpochMs): Recurrence {
  const [, kind = '', argument = ''] = /^(rate|cron|at)\((.*)\)$/.exec(expression) ?? [];
  switch (kind) {
    case 'rate':
      return compileRate(argument, start);
    case 'cron':
      return compileCron(argument, zone);
    case 'at':
      return compileAt(argument, zone);
    default:
      throw new ScheduleExpressionError(`expected rate(...), cron(...) or at(...), found ${expression}`);
  }
}

function compileRate(argument: string, start: EpochMs): Recurrence {
  const [, count = '', unit = ''] = /^([1-9]\d*) (minute|hour|day)s?$/.exec(argument) ?? [];
  const interval = Number(count) * (UNIT_MS[unit] ?? 0);
  if (interval === 0) {
    throw new ScheduleExpressionError(`rate(${argument}): expected a number and minutes, hours or days`);
  }
  const timeAt = (index: number) => (start + index * interval) as EpochMs;
  const indexAt = (at: EpochMs) => Math.max(0, Math.floor((at - start) / interval));
  return {
    next: (after) => timeAt(indexAt(after) + 1),
    last(after, until) {
      const last = timeAt(indexAt(until));
      return last > Math.max(after, start) ? last : undefined;
    },
  };
}

/** The six fields of AWS, with the largest value of each: what `3/5` goes up to. */
const FIELDS = [
  { name: 'minutes', largest: 59 },
  { name: 'hours', largest: 23 },
  { name: 'day of month', largest: 31 },
  { name: 'month', largest: 12 },
  { name: 'day of week', largest: 7 },
  { name: 'year', largest: 2199 },
] as const;

function compileCron(argument: string, zone: string): Recurrence {
  const fields = argument.trim().split(/\s+/);
  if (fields.length !== FIELDS.length) {
    const names = FIELDS.map(({ name }) => name).join(', ');
    throw new ScheduleExpressionError(`cron(${argument}): expected six fields: ${names}`);
  }
  if ((fields[2] === '?') === (fields[4] === '?')) {
    throw new ScheduleExpressionError(`cron(${argument}): either day of month or day of week must be ?, and not both`);
  }
  if (fields.some((field, index) => field === '?' && index !== 2 && index !== 4)) {
    throw new ScheduleExpressionError(`cron(${argument}): ? is for day of month or day of week`);
  }
  // The library takes 8 for Sunday, as it takes 7 where days count from 0.
  if (/(^|[,-])8/.test(fields[4] ?? '')) {
    throw new ScheduleExpressionError(`cron(${argument}): day of week: expected 1 (Sunday) to 7 or SUN to SAT`);
  }
  const pattern = fields.map((field, index) => mapped(field, index)).join(' ');
  const cron = made(`cron(${argument})`, () => {
    // Days of the week count from 1, Sunday, on AWS as in Quartz; seconds are ours.
    return new Cron(`0 ${pattern}`, { mode: '7-part', alternativeWeekdays: true, timezone: zone, paused: true });
  });
  return {
    next(after) {
      let next = cron.nextRun(new Date(after));
      // The library makes up for a time that does not exist; AWS does not.
      while (next !== null && !cron.match(next)) next = cron.nextRun(next);
      return next === null ? undefined : (next.getTime() as EpochMs);
    },
    last(after, until) {
      // It answers those before, by whole seconds.
      let [last] = cron.previousRuns(1, new Date(until + 1_000));
      while (last !== undefined && (last.getTime() > until || !cron.match(last))) [last] = cron.previousRuns(1, last);
      return last === undefined || last.getTime() <= after ? undefined : (last.getTime() as EpochMs);
    },
  };
}

/** What AWS allows and the library writes otherwise: steps from a number on, the last day of the week. */
function mapped(field: string, index: number): string {
  if (index === 4 && field === 'L') return '7';
  return field.replace(/(^|,)(\d+)\//g, `$1$2-${FIELDS[index]?.largest}/`);
}

function compileAt(argument: string, zone: string): Recurrence {
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$/.test(argument)) {
    throw new ScheduleExpressionError(`at(${argument}): expected a date and time such as 2027-01-31T03:00:00`);
  }
  const cron = made(`at(${argument})`, () => new Cron(argument, { timezone: zone, paused: true }));
  const next = (after: EpochMs) => (cron.nextRun(new Date(after))?.getTime() ?? undefined) as EpochMs | undefined;
  return {
    next,
    last(after, until) {
      const at = next(after);
      return at !== undefined && at <= until ? at : undefined;
    },
  };
}

function made(expression: string, make: () => Cron): Cron {
  try {
    const cron = make();
    // It looks at the zone no sooner.
    cron.nextRun();
    return cron;
  } catch (cause) {
    throw new ScheduleExpressionError(`${expression}: ${(cause as Error).message}`, { cause });
  }
}
