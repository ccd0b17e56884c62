import { cronTimes } from '../cron/croner.ts';
import { judge } from '../scaler/dry-run.ts';
import { type Course, courseOf } from '../scaler/spec/course.ts';
import { readSpec } from '../scaler/spec/spec.ts';
import type { TickObject } from '../scaler/tick.ts';
import type { Problem } from '../schema.ts';
import { SCALER } from '../settings.ts';
import { type EpochMs, isoTime } from '../time.ts';

const DAY_MS = 24 * 3600 * 1000;

/** A pool, and how its target goes on. */
export interface PoolTimetable {
  /** Name of the GameServerNode. */
  readonly object: string;
  /** `Accepted`, or why it is acted on in no way. */
  readonly state: string;
  readonly problems: readonly Problem[];
  readonly well: boolean;
  /** Of one that is not acted on there is none. */
  readonly course?: Course;
  readonly paused?: boolean;
  /** How many it has, past ones included: what has none never changes. */
  readonly windows?: number;
}

/**
 * Of each of `objects`, which are all of a cluster or of a file, whether it is valid and how its target goes on for `days`
 * after `now`; by name. `shown`: which are told.
 */
export async function timetablesOf(
  objects: readonly TickObject[],
  { now, days, shown }: { readonly now: EpochMs; readonly days: number; readonly shown: (object: string) => boolean },
): Promise<PoolTimetable[]> {
  const specs = new Map(objects.map(({ name, spec }) => [name, spec]));
  const outcomes = (await judge(objects, cronTimes)).filter(({ name }) => shown(name));
  const { timetableLooks, leastTimetableLooks } = SCALER;
  const looks = Math.max(leastTimetableLooks, Math.floor(timetableLooks / Math.max(1, outcomes.length)));
  const until = (now + days * DAY_MS) as EpochMs;
  const timetables = outcomes.map(({ name, status, problems }): PoolTimetable => {
    const state = status.conditions.find(({ type }) => type === 'Valid')?.reason ?? '';
    const read = readSpec(specs.get(name), cronTimes);
    if (problems.length > 0 || 'problems' in read) return { object: name, state, problems, well: false };
    const { spec } = read;
    return {
      ...{ object: name, state, problems, well: true },
      ...{ paused: spec.paused, windows: spec.schedules.length + spec.overrides.length },
      course: courseOf(spec, now, until, cronTimes, looks),
    };
  });
  return timetables.sort((a, b) => (a.object < b.object ? -1 : 1));
}

/** A timetable as JSON has it: times as a user sees them. */
export function timetableJson({ windows: _, course, ...rest }: PoolTimetable): object {
  if (course === undefined) return rest;
  const changes = course.changes.map(({ at, from, target, windows }) => ({
    at: isoTime(at),
    from,
    to: target,
    windows,
  }));
  const [from, until] = [isoTime(course.from), isoTime(course.until)];
  return { ...rest, course: { from, until, capped: course.capped, start: course.start, changes } };
}
