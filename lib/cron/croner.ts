import { Cron } from 'croner';
import type { CronTimes, ZonedCron } from '../scaler/spec/cron-times.ts';
import type { EpochMs } from '../time.ts';

const DAY_MS = 24 * 3600 * 1000;
const MINUTE_MS = 60_000;

/** A local date and time, as the instant at which a clock in UTC shows it. */
type WallMs = number & { readonly __unit: 'wall-ms' };

/**
 * When schedules begin, by croner and the zones that Node.js has. The library goes through local times as if they were in
 * UTC; what instants they are is said here, since it skips times that do not exist, and takes both of those that come
 * twice, wherever an expression has a wildcard.
 */
export const cronTimes: CronTimes = {
  hasZone(zone) {
    // An offset such as +02:00 is accepted by Intl, and is no zone: it knows of no change.
    if (/^[+-]/.test(zone)) return false;
    try {
      return formatOf(zone) !== undefined;
    } catch {
      return false;
    }
  },

  last(schedule, after, until) {
    // Looking back from `until`, the library goes on for centuries where a schedule begins seldom, or never.
    const first = nextStart(schedule, after);
    if (first === undefined || first > until) return undefined;
    const { cron, timezone } = schedule;
    const pattern = patternOf(cron);
    const offsets = [offsetAt(until, timezone), offsetAt((until - DAY_MS) as EpochMs, timezone)];
    // In the hour that comes twice the clock shows less than it showed at instants that are past.
    let wall: WallMs | undefined = (until + Math.max(...offsets) + 1_000) as WallMs;
    const smallest = Math.min(...offsets);
    let best: EpochMs | undefined;
    for (;;) {
      wall = previous(pattern, wall);
      // No earlier local time is a later instant than this, whatever gap it is in.
      if (wall === undefined || wall - smallest <= (best ?? after)) return best;
      const start = instantOf(wall, timezone);
      if (start > after && start <= until && start > (best ?? after)) best = start;
    }
  },

  next: nextStart,
};

/** Between `from` and `at` nothing starts; `at` undefined: never again. */
interface Pause {
  readonly from: EpochMs;
  readonly at: EpochMs | undefined;
}

/**
 * The pause that was found last, by schedule. To find that 30 February does not come takes ten milliseconds, and to tell
 * when a target changes asks for it hundreds of times: what one object says must not take the time of all others.
 */
const PAUSES = new Map<string, Pause>();
const MOST_PAUSES = 5_000;

function nextStart(schedule: ZonedCron, after: EpochMs): EpochMs | undefined {
  const key = `${schedule.timezone} ${schedule.cron}`;
  const known = PAUSES.get(key);
  if (known && known.from <= after && (known.at === undefined || after < known.at)) return known.at;
  const at = searchNext(schedule, after);
  if (PAUSES.size >= MOST_PAUSES) PAUSES.clear();
  PAUSES.set(key, { from: after, at });
  return at;
}

function searchNext({ cron, timezone }: ZonedCron, after: EpochMs): EpochMs | undefined {
  const pattern = patternOf(cron);
  const offset = Math.min(offsetAt(after, timezone), offsetAt((after - DAY_MS) as EpochMs, timezone));
  let wall: WallMs | undefined = (after + offset - MINUTE_MS) as WallMs;
  let best: EpochMs | undefined;
  for (;;) {
    wall = following(pattern, wall);
    if (wall === undefined) return best;
    const start = instantOf(wall, timezone);
    if (start > after && (best === undefined || start < best)) best = start;
    // Local times in a gap are moved past later ones; behind one that exists, all are later than it.
    if (best !== undefined && start >= best && start + offsetAt(start, timezone) === wall) return best;
  }
}

function patternOf(cron: ZonedCron['cron']): Cron {
  // As the end of a range the library knows Sunday only as 7.
  const pattern = cron.trim().replace(/-SUN/gi, '-7');
  return new Cron(pattern, { mode: '5-part', timezone: 'UTC', paused: true });
}

/** The last before `wall`, by whole seconds. */
function previous(pattern: Cron, wall: WallMs): WallMs | undefined {
  return pattern.previousRuns(1, new Date(wall))[0]?.getTime() as WallMs | undefined;
}

function following(pattern: Cron, wall: WallMs): WallMs | undefined {
  return pattern.nextRun(new Date(wall))?.getTime() as WallMs | undefined;
}

/** The instant at which clocks in `zone` show `wall`: Temporal's "compatible", RFC 5545's rule. */
function instantOf(wall: WallMs, zone: string): EpochMs {
  const before = offsetAt((wall - DAY_MS) as EpochMs, zone);
  const after = offsetAt((wall + DAY_MS) as EpochMs, zone);
  const candidates = [wall - before, wall - after].sort((a, b) => a - b) as EpochMs[];
  const exact = candidates.find((instant) => instant + offsetAt(instant, zone) === wall);
  return exact ?? ((wall - before) as EpochMs);
}

/** Milliseconds by which clocks in `zone` are ahead of UTC at `instant`. */
function offsetAt(instant: EpochMs, zone: string): number {
  const parts = formatOf(zone).formatToParts(instant);
  const part = (type: Intl.DateTimeFormatPartTypes) => Number(parts.find((one) => one.type === type)?.value);
  const [month, day, hour] = [part('month') - 1, part('day'), part('hour')];
  const shown = Date.UTC(part('year'), month, day, hour, part('minute'), part('second'));
  return shown - Math.floor(instant / 1000) * 1000;
}

/** Making a format takes 50 microseconds, and a schedule asks for offsets a dozen times. */
const FORMATS = new Map<string, Intl.DateTimeFormat>();

function formatOf(timeZone: string): Intl.DateTimeFormat {
  const known = FORMATS.get(timeZone);
  if (known) return known;
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  FORMATS.set(timeZone, format);
  return format;
}
