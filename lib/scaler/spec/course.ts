import type { EpochMs } from '../../time.ts';
import type { CronTimes } from './cron-times.ts';
import { rememberedTimes } from './remembered-times.ts';
import { boundaries, closingOf, type Target, type Timetable, type Transition, targetAt } from './target.ts';

/** A window that opens or closes. */
export interface WindowEvent {
  readonly window: 'schedule' | 'override';
  readonly name: string;
  readonly event: 'opens' | 'closes';
  /** Of a schedule; an override has its times in UTC. */
  readonly timezone?: string;
  /** Of a schedule that opens early: by how much. */
  readonly leadSeconds?: number;
}

/** A change of the target's size. */
export interface Change extends Transition {
  readonly from: Target;
  /** The windows that make the change, at least one: those of the old size that close, and those of the new one that open. */
  readonly windows: readonly WindowEvent[];
}

/** How the target of a pool goes on. */
export interface Course {
  readonly from: EpochMs;
  /** Up to when it is told, this time included: sooner than was asked for where that was too much to look at. */
  readonly until: EpochMs;
  /** Whether it is told up to less than was asked for. */
  readonly capped: boolean;
  /** The target at `from`. */
  readonly start: Target;
  /** After `from` and up to `until`, in order. */
  readonly changes: readonly Change[];
}

/**
 * Every change of the size that `spec` asks for, after `from` and up to `until`. `looks` bounds the work, in questions to
 * `times` of a quarter of a millisecond, about one for each start of a schedule: a schedule of every minute has ten thousand a
 * week. Where that is not enough, what was found until then is told.
 */
export function courseOf(spec: Timetable, from: EpochMs, until: EpochMs, times: CronTimes, looks: number): Course {
  const remembered = rememberedTimes(times);
  const start = targetAt(spec, from, remembered);
  const changes: Change[] = [];
  let present = start;
  let at = from;
  for (const boundary of boundaries(spec, from, remembered)) {
    if (boundary.at > until) break;
    at = boundary.at;
    const { target } = boundary;
    if (target.replicas !== present.replicas) {
      changes.push({ ...boundary, from: present, windows: windowsAt(spec, at, present, target, remembered) });
    }
    present = target;
    if (remembered.asked() >= looks) return { from, until: at, capped: at < until, start, changes };
  }
  return { from, until, capped: false, start, changes };
}

function windowsAt(spec: Timetable, at: EpochMs, from: Target, to: Target, times: CronTimes): WindowEvent[] {
  const before = (at - 1) as EpochMs;
  /** What a window that is open just before, or from then on, has to do with the change. */
  const eventOf = (window: Target['source'], replicas: number, was: boolean, is: boolean) => {
    const said = (target: Target) => target.source === window && target.replicas === replicas;
    if (was && !is && said(from)) return 'closes';
    return !was && is && said(to) ? 'opens' : undefined;
  };
  const overrides = spec.overrides.flatMap(({ name, start, end, replicas }): WindowEvent[] => {
    const isOpen = (now: EpochMs) => start <= now && now < end;
    const event = eventOf('override', replicas, isOpen(before), isOpen(at));
    return event === undefined ? [] : [{ window: 'override', name, event }];
  });
  const schedules = spec.schedules.flatMap((schedule): WindowEvent[] => {
    const { name, timezone, leadSeconds, replicas } = schedule;
    const isOpen = (now: EpochMs) => closingOf(schedule, now, times) !== undefined;
    const event = eventOf('schedule', replicas, isOpen(before), isOpen(at));
    if (event === undefined) return [];
    const early = event === 'opens' && leadSeconds > 0 ? { leadSeconds } : {};
    return [{ window: 'schedule', name, event, timezone, ...early }];
  });
  return [...overrides, ...schedules];
}
