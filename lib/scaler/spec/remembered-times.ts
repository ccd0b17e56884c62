import type { EpochMs } from '../../time.ts';
import type { CronTimes, ZonedCron } from './cron-times.ts';

/** Starts of one schedule: all that there are after `from` and up to `to`, in order. */
interface Known {
  from: number;
  to: number;
  readonly starts: EpochMs[];
}

export interface RememberedTimes extends CronTimes {
  /** How often the times that it stands on were asked for a start. */
  asked(): number;
}

/**
 * `times`, asked for each start of a schedule once: whoever goes through a week asks for the same starts at every boundary.
 * Made for one such walk, forwards: it forgets nothing. Schedules are told apart as objects.
 */
export function rememberedTimes(times: CronTimes): RememberedTimes {
  const known = new Map<ZonedCron, Known>();
  let asked = 0;
  const ask = (of: 'last' | 'next', schedule: ZonedCron, after: EpochMs, until: EpochMs) => {
    asked += 1;
    return of === 'last' ? times.last(schedule, after, until) : times.next(schedule, after);
  };
  /** Finds one start more. */
  const extend = (schedule: ZonedCron, of: Known) => {
    const next = ask('next', schedule, of.to as EpochMs, of.to as EpochMs);
    if (next !== undefined) of.starts.push(next);
    of.to = next ?? Number.POSITIVE_INFINITY;
  };

  return {
    asked: () => asked,
    hasZone: (zone) => times.hasZone(zone),

    last(schedule, after, until) {
      const of = known.get(schedule);
      if (of === undefined || until < of.from) {
        const last = ask('last', schedule, after, until);
        if (of === undefined) {
          const starts = last === undefined ? [] : [last];
          known.set(schedule, { from: last === undefined ? after : last - 1, to: until, starts });
        }
        return last;
      }
      while (of.to < until) extend(schedule, of);
      const last = of.starts.findLast((start) => start <= until);
      if (last !== undefined) return last > after ? last : undefined;
      if (after >= of.from) return undefined;
      const earlier = ask('last', schedule, after, of.from as EpochMs);
      if (earlier !== undefined) of.starts.unshift(earlier);
      of.from = earlier === undefined ? after : earlier - 1;
      return earlier;
    },

    next(schedule, after) {
      let of = known.get(schedule);
      if (of === undefined) {
        of = { from: after, to: after, starts: [] };
        known.set(schedule, of);
      }
      if (after < of.from) return ask('next', schedule, after, after);
      for (;;) {
        const at = of.starts.findLastIndex((start) => start <= after) + 1;
        const next = of.starts[at];
        if (next !== undefined || of.to === Number.POSITIVE_INFINITY) return next;
        extend(schedule, of);
      }
    },
  };
}
