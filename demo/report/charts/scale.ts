/** Maps a number of a domain onto a range, as `scale(domain min) = range min`. */
export type Scale = (value: number) => number;

export type Interval = readonly [min: number, max: number];

export function linear([min, max]: Interval, [from, to]: Interval): Scale {
  const span = max - min;
  return (value) => (span === 0 ? from : from + ((value - min) / span) * (to - from));
}

/** A round number, 1, 2 or 5 times a power of ten, of which about `count` make up `span`; 1 if there is no span. */
export function roundStep(span: number, count: number): number {
  if (!(span > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(span / count));
  const factor = [1, 2, 5, 10].find((candidate) => candidate * power * count >= span * 0.999) ?? 10;
  return factor * power;
}

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const TIME_STEPS = [
  1,
  2,
  5,
  10,
  15,
  30,
  MINUTE,
  2 * MINUTE,
  5 * MINUTE,
  10 * MINUTE,
  15 * MINUTE,
  30 * MINUTE,
  HOUR,
  3 * HOUR,
  6 * HOUR,
  12 * HOUR,
  DAY,
];

/** A step of seconds that a clock or a calendar has, of which at most about `count` make up `span` seconds. */
export function timeStep(span: number, count: number): number {
  const step = TIME_STEPS.find((candidate) => candidate * count >= span);
  return step ?? Math.max(1, Math.ceil(roundStep(span / DAY, count))) * DAY;
}

/** The multiples of `step` in the interval, both ends included. */
export function multiples([min, max]: Interval, step: number): number[] {
  const first = Math.ceil(min / step - 1e-9);
  const last = Math.floor(max / step + 1e-9);
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, at) => (first + at) * step);
}

/** The least multiple of `step` that is not below `value`, and at least one step. */
export function roundUp(value: number, step: number): number {
  return Math.max(1, Math.ceil(value / step - 1e-9)) * step;
}
