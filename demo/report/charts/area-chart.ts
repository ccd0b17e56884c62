import { type ChartFrame, chart, label, type Plot, type Series } from './chart.ts';
import { hovers } from './hovers.ts';
import { element, escaped } from './svg.ts';

export interface AreaChart extends Omit<ChartFrame, 'legend'> {
  /** Stacked from below in their order; each has a value for every place on the x axis. */
  readonly series: readonly (Series & { readonly values: readonly number[] })[];
  /** Lines over the areas, not stacked. */
  readonly lines?: readonly (Series & { readonly values: readonly number[] })[];
  /** Where the values lie on the x axis, ascending; each holds until the next. */
  readonly at: readonly number[];
  /** Moments at which something happened: a line from top to bottom with a sign, and what a pointer over it is told. */
  readonly events?: readonly { readonly at: number; readonly sign: string; readonly tell: string }[];
  /** What a pointer over the values at this place is told. */
  readonly tell: (index: number) => string;
}

/** Amounts that make up a whole, over time: areas of steps, one on the other. */
export function areaChart({ series, lines = [], at, events = [], tell, ...frame }: AreaChart): string {
  const legend = [...series, ...lines];
  return chart({ ...frame, legend }, (plot) => {
    let below: readonly number[] = at.map(() => 0);
    const areas = series.map(({ tone, values }) => {
      const above = below.map((value, index) => value + (values[index] ?? 0));
      const drawn = element('path', { class: `stack ${tone}`, d: band(plot, at, below, above) });
      below = above;
      return drawn;
    });
    const over = lines.map(({ tone, values }) =>
      element('path', { class: `line ${tone}`, d: `M${steps(plot, at, values).join('L')}` }),
    );
    return [...areas, ...over, ...hovers(plot, at, frame.x, tell), ...signs(plot, events)];
  });
}

/** Between two lines of steps; there is nothing where they meet. */
function band(plot: Plot, at: readonly number[], below: readonly number[], above: readonly number[]): string {
  const forth = steps(plot, at, above);
  const back = steps(plot, at, below).reverse();
  return `M${[...forth, ...back].join('L')}Z`;
}

/** The corners of a line of steps: a value holds until the next place, the last until the edge. */
function steps({ x, y, right }: Plot, at: readonly number[], values: readonly number[]): string[] {
  const corners: string[] = [];
  let last: number | undefined;
  at.forEach((time, index) => {
    const value = values[index] ?? 0;
    if (value === last) return;
    if (last !== undefined) corners.push(point(x(time), y(last)));
    corners.push(point(x(time), y(value)));
    last = value;
  });
  if (last !== undefined) corners.push(point(right, y(last)));
  return corners;
}

const SIGN_RADIUS = 8.5;
/** Signs in pixels closer than this go into another row. */
const SIGN_ROOM = 19;

function signs({ x, top, bottom }: Plot, events: NonNullable<AreaChart['events']>): string[] {
  const ends: number[] = [];
  return events.flatMap(({ at, sign, tell }) => {
    const cx = x(at);
    const free = ends.findIndex((end) => cx - end >= SIGN_ROOM);
    const row = free === -1 ? ends.length : free;
    ends[row] = cx;
    const cy = top + SIGN_RADIUS + row * SIGN_ROOM;
    const title = element('title', {}, escaped(tell));
    const parts = [
      element('circle', { class: 'sign', cx, cy, r: SIGN_RADIUS }),
      label(cx, cy + 4, sign, { 'text-anchor': 'middle', class: 'sign-text' }),
    ];
    return [
      element('line', { class: 'event', x1: cx, x2: cx, y1: cy + SIGN_RADIUS, y2: bottom }),
      element('g', {}, title, ...parts),
    ];
  });
}

function point(x: number, y: number): string {
  return `${Math.round(x * 10) / 10} ${Math.round(y * 10) / 10}`;
}
