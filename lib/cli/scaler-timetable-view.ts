import type { Change, Course, WindowEvent } from '../scaler/spec/course.ts';
import type { Target } from '../scaler/spec/target.ts';
import { type EpochMs, isoTime } from '../time.ts';
import type { PoolTimetable } from './scaler-timetable.ts';
import { lineOf } from './scaler-view.ts';
import { counted, table } from './table.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 1440 * MINUTE_MS;

/** Changes that are shown of a pool; of a schedule of every other minute there are ten thousand a week. */
const MOST_CHANGES = 60;
/** Windows that are named of one change. */
const MOST_WINDOWS = 3;
/** Characters of a bar. */
const BAR_WIDTH = 84;

/** The pools, each with its bar and its changes; `none` where there is none. */
export function timetablesText(pools: readonly PoolTimetable[], none = 'no GameServerNode'): string {
  return pools.length === 0 ? none : pools.map(timetableText).join('\n\n');
}

function timetableText({ object, state, problems, course, paused, windows }: PoolTimetable): string {
  if (course === undefined) {
    return [`${object}: ${state}`, ...problems.map((problem) => lineOf(`${object}: ${problemText(problem)}`))].join(
      '\n',
    );
  }
  const held = paused ? ', and paused: nothing is done' : '';
  if (windows === 0) return `${object}: always ${course.start.replicas}${held}`;
  const span = spanText(course);
  if (course.changes.length === 0) {
    return `${object}: ${targetText(course.start)}, no change ${span}${held}${cappedText(course)}`;
  }
  const now = `${object}: ${targetText(course.start)}, ${counted(course.changes.length, 'change')} ${span}${held}`;
  return [`${now}${cappedText(course)}`, ...barLines(course), changesText(course.changes)].join('\n');
}

/** `spec.replicas: expected …`. */
export function problemText({ path, message }: { readonly path: string; readonly message: string }): string {
  return path === '' ? message : `${path}: ${message}`;
}

function targetText({ replicas, source }: Target): string {
  return source === 'base' ? `${replicas}` : `${replicas} (${source})`;
}

function spanText({ from, until, capped }: Course): string {
  const days = Math.round((until - from) / DAY_MS);
  return capped ? `until ${isoTime(until)}` : `in ${counted(days, 'day')}`;
}

function cappedText({ capped }: Course): string {
  return capped ? '; capped there, since its schedules begin so often: by itself a pool is looked at for longer' : '';
}

function changesText(changes: readonly Change[]): string {
  const rows = changes
    .slice(0, MOST_CHANGES)
    .map(({ at, from, target, windows }) => [
      isoTime(at),
      [...new Set(windows.map(({ timezone }) => localTime(at, timezone ?? 'UTC')))].slice(0, MOST_WINDOWS).join(', '),
      { number: `${from.replicas} -> ${target.replicas}` },
      windowsText(windows),
    ]);
  const left = changes.length - rows.length;
  const more = left === 0 ? [] : [`and ${counted(left, 'change')} more: ask for fewer --days, or for --json`];
  return [table(['utc', 'there', 'target', 'why'], rows, ''), ...more].join('\n');
}

function windowsText(windows: readonly WindowEvent[]): string {
  const named = windows.slice(0, MOST_WINDOWS).map(({ window, name, event, leadSeconds }) => {
    return `${window} ${name} ${event}${leadSeconds === undefined ? '' : ` ${leadSeconds} s early`}`;
  });
  const left = windows.length - named.length;
  return [...named, ...(left === 0 ? [] : [`${left} more`])].join(', ');
}

/** `Fri 2026-12-04 16:55 +01:00 Europe/Berlin`. */
function localTime(at: EpochMs, timeZone: string): string {
  const parts = new Intl.DateTimeFormat('en-GB', {
    timeZone,
    ...{ weekday: 'short', year: 'numeric', month: '2-digit', day: '2-digit' },
    ...{ hour: '2-digit', minute: '2-digit', hourCycle: 'h23', timeZoneName: 'longOffset' },
  }).formatToParts(at);
  const part = (type: Intl.DateTimeFormatPartTypes) => parts.find((one) => one.type === type)?.value ?? '';
  const offset = part('timeZoneName').replace('GMT', '') || '+00:00';
  const [day, time] = [[part('year'), part('month'), part('day')].join('-'), `${part('hour')}:${part('minute')}`];
  return `${part('weekday')} ${day} ${time} ${offset} ${timeZone}`;
}

/** Lengths of what one character of a bar stands for, minutes. */
const CELLS = [15, 30, 60, 120, 240, 360, 720, 1440, 2880, 7200, 10_080];
const LEVELS = '▁▂▃▄▅▆▇█';

/** A line of days, a line of how high the target is, and what a character of them is. */
function barLines(course: Course): string[] {
  const { from, until, capped } = course;
  const minutes =
    CELLS.find((cell) => Math.ceil((until - from) / (cell * MINUTE_MS)) <= BAR_WIDTH) ?? CELLS.at(-1) ?? 1;
  const cell = minutes * MINUTE_MS;
  const count = Math.min(BAR_WIDTH, Math.max(1, Math.ceil((until - from) / cell)));
  const values = highest(course, count, cell);
  const top = Math.max(...values);
  const bar = values.map((value) =>
    value === 0 ? '_' : (LEVELS[Math.ceil((value / top) * LEVELS.length) - 1] ?? '?'),
  );
  const unit = minutes < 60 ? `${minutes} min` : minutes < 1440 ? `${minutes / 60} h` : `${minutes / 1440} d`;
  return [
    daysLine(from, count, cell),
    `${bar.join('')}${capped ? '?' : ''}`,
    `a character is ${unit}, as high as the largest target in it; the highest is ${top}, _ is 0; days begin at midnight UTC`,
  ];
}

/** The largest target within each of `count` stretches of `cell` milliseconds: a short window is to be seen as well. */
function highest({ from, start, changes }: Course, count: number, cell: number): number[] {
  const values: number[] = [];
  let present = start.replicas;
  let at = 0;
  for (let index = 0; index < count; index++) {
    const [begin, end] = [from + index * cell, from + (index + 1) * cell];
    let top = 0;
    // What a change at the very beginning ends was there for no time of this stretch.
    if (changes[at]?.at !== begin) top = present;
    for (let change = changes[at]; change !== undefined && change.at < end; change = changes[at]) {
      present = change.target.replicas;
      top = Math.max(top, present);
      at += 1;
    }
    values.push(top);
  }
  return values;
}

/** Where days begin, by the names of weekdays, or by dates where there are more than two weeks; as many as have room. */
function daysLine(from: EpochMs, count: number, cell: number): string {
  const long = count * cell > 15 * DAY_MS;
  let line = '';
  for (let day = Math.ceil(from / DAY_MS) * DAY_MS; day < from + count * cell; day += DAY_MS) {
    const at = Math.floor((day - from) / cell);
    const date = new Date(day);
    const label = long ? `|${date.toISOString().slice(5, 10)}` : `|${date.toUTCString().slice(0, 3)}`;
    if (at < line.length + (line === '' ? 0 : 1) || at + label.length > count) continue;
    line = line.padEnd(at) + label;
  }
  return line;
}
