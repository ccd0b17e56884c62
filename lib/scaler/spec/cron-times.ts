import type { EpochMs } from '../../time.ts';

/**
 * When schedules begin: what the pure code must be told of cron and time zones, neither of which it may take from a
 * library or from the machine. A start is the local time that a five-field expression names, as an instant: a local
 * time that does not exist is moved forward by the gap, of one that comes twice the first counts.
 */
export interface CronTimes {
  /** Whether `zone` is a time zone that is known here, such as `Europe/Berlin`. */
  hasZone(zone: string): boolean;
  /** The last start after `after` and up to `until`, if there is any. */
  last(schedule: ZonedCron, after: EpochMs, until: EpochMs): EpochMs | undefined;
  /** The first start after `after`; undefined: never again. */
  next(schedule: ZonedCron, after: EpochMs): EpochMs | undefined;
}

export interface ZonedCron {
  /** Five fields, checked by `cronProblem`. */
  readonly cron: string;
  readonly timezone: string;
}
