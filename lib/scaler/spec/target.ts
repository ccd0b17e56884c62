import { SCALER } from '../../settings.ts';
import type { EpochMs } from '../../time.ts';
import type { CronTimes } from './cron-times.ts';
import type { GameServerNodeSpec, Schedule } from './spec.ts';

/** How many nodes a pool is to have, and what says so. */
export interface Target {
  readonly replicas: number;
  readonly source: 'base' | 'schedule' | 'override';
}

/** What a target is made of. */
export type Timetable = Pick<GameServerNodeSpec, 'replicas' | 'schedules' | 'overrides'>;

/**
 * What `spec` asks for at `now`: the largest of the overrides in force, else the largest of the windows that are open,
 * else `spec.replicas`. A function of these alone, so that missed ticks, restarts and edits need no memory.
 */
export function targetAt(spec: Timetable, now: EpochMs, times: CronTimes): Target {
  const overrides = spec.overrides.filter(({ start, end }) => start <= now && now < end);
  if (overrides.length > 0) return { replicas: largest(overrides), source: 'override' };
  const open = spec.schedules.filter((schedule) => closingOf(schedule, now, times) !== undefined);
  if (open.length > 0) return { replicas: largest(open), source: 'schedule' };
  return { replicas: spec.replicas, source: 'base' };
}

function largest(windows: readonly { readonly replicas: number }[]): number {
  return Math.max(...windows.map(({ replicas }) => replicas));
}

/** When the window of `schedule` that is open at `now` closes; undefined: none is open. The lead opens it sooner; the end does not move. */
export function closingOf(schedule: Schedule, now: EpochMs, times: CronTimes): EpochMs | undefined {
  const duration = schedule.durationMinutes * 60_000;
  const from = (now - duration) as EpochMs;
  const start = times.last(schedule, from, (now + schedule.leadSeconds * 1000) as EpochMs);
  return start === undefined ? undefined : ((start + duration) as EpochMs);
}

/** When the target is next another one, and what it is then. */
export interface Transition {
  readonly at: EpochMs;
  readonly target: Target;
}

/** The first change of the target after `now`; undefined: none, or none within the boundaries that are looked at. */
export function nextTransition(spec: Timetable, now: EpochMs, times: CronTimes): Transition | undefined {
  const present = targetAt(spec, now, times);
  let left = Math.ceil(SCALER.previewLooks / Math.max(1, spec.schedules.length));
  for (const boundary of boundaries(spec, now, times)) {
    if (boundary.target.replicas !== present.replicas) return boundary;
    left -= 1;
    if (left === 0) return undefined;
  }
  return undefined;
}

/**
 * Every time after `now` at which anything opens or closes, in order, with the target from then on, changed or not. Without
 * an end where a schedule has none: whoever asks says when it is enough.
 */
export function* boundaries(spec: Timetable, now: EpochMs, times: CronTimes): Generator<Transition, undefined> {
  let at = nextBoundary(spec, now, times);
  while (at !== undefined) {
    yield { at, target: targetAt(spec, at, times) };
    at = nextBoundary(spec, at, times);
  }
}

/** The first time after `at` at which anything opens or closes. */
function nextBoundary({ schedules, overrides }: Timetable, at: EpochMs, times: CronTimes): EpochMs | undefined {
  const boundaries: EpochMs[] = overrides.flatMap(({ start, end }) => [start, end]);
  for (const schedule of schedules) {
    const lead = schedule.leadSeconds * 1000;
    const start = times.next(schedule, (at + lead) as EpochMs);
    if (start !== undefined) boundaries.push((start - lead) as EpochMs);
    const closing = closingOf(schedule, at, times);
    if (closing !== undefined) boundaries.push(closing);
  }
  const later = boundaries.filter((boundary) => boundary > at);
  return later.length === 0 ? undefined : (Math.min(...later) as EpochMs);
}

/** What a provider's limits make of a target. */
export interface Clamped {
  readonly replicas: number;
  /** Which limit it was brought to, if it was. */
  readonly clamped?: 'BelowProviderMinimum' | 'AboveProviderMaximum';
}

/** `replicas` within `min` and `max`. The limits are followed and told, never changed, and never a reason to do nothing. */
export function clamp(replicas: number, limits: { readonly min: number; readonly max: number } | undefined): Clamped {
  if (limits === undefined) return { replicas };
  if (replicas < limits.min) return { replicas: limits.min, clamped: 'BelowProviderMinimum' };
  if (replicas > limits.max) return { replicas: limits.max, clamped: 'AboveProviderMaximum' };
  return { replicas };
}
