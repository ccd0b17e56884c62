import { type Interval, linear, type Scale } from './scale.ts';
import { type Attributes, element, escaped } from './svg.ts';

/** Pixels of the drawing's own coordinates; the page scales it to its width. */
const WIDTH = 960;
const HEIGHT = 290;
const MARGIN = { top: 28, right: 16, bottom: 46, left: 64 } as const;

export interface Tick {
  readonly at: number;
  readonly text: string;
}

export interface Axis {
  /** What it measures, with the unit. */
  readonly label: string;
  readonly domain: Interval;
  readonly ticks: readonly Tick[];
}

/** One thing that is drawn, by a name and a colour: `tone` is the class that the page's style gives a colour to. */
export interface Series {
  readonly name: string;
  readonly tone: string;
  /** What stands behind the name in the legend: `peak 93 %`. */
  readonly note?: string;
}

export interface ChartFrame {
  /** Unique on the page. */
  readonly id: string;
  /** What is to be seen, for who cannot see it. */
  readonly title: string;
  readonly description: string;
  readonly x: Axis;
  readonly y: Axis;
  readonly legend: readonly Series[];
  /** Pixels of the drawing's own coordinates. Default 290. */
  readonly height?: number;
}

/** The area that the axes enclose, and where a value lies in it. */
export interface Plot {
  readonly x: Scale;
  readonly y: Scale;
  readonly top: number;
  readonly bottom: number;
  readonly left: number;
  readonly right: number;
}

/** A chart: its legend, and below it axes and grid and between them what `draw` makes of the plot. */
export function chart(frame: ChartFrame, draw: (plot: Plot) => readonly string[]): string {
  const { id, height = HEIGHT } = frame;
  const [left, right, top, bottom] = [MARGIN.left, WIDTH - MARGIN.right, MARGIN.top, height - MARGIN.bottom];
  const plot: Plot = {
    x: linear(frame.x.domain, [left, right]),
    y: linear(frame.y.domain, [bottom, top]),
    left,
    right,
    top,
    bottom,
  };
  const drawing = element(
    'svg',
    { viewBox: `0 0 ${WIDTH} ${height}`, role: 'img', 'aria-labelledby': `${id}-title ${id}-desc`, class: 'chart' },
    element('title', { id: `${id}-title` }, escaped(frame.title)),
    element('desc', { id: `${id}-desc` }, escaped(frame.description)),
    ...yAxis(frame.y, plot),
    ...draw(plot),
    ...xAxis(frame.x, plot),
  );
  return legend(frame.legend) + drawing;
}

/** Text at a place, anchored at its start unless `anchor` says `middle` or `end`. */
export function label(x: number, y: number, text: string, attributes: Attributes = {}): string {
  return element('text', { x, y, ...attributes }, escaped(text));
}

function yAxis({ label: name, ticks }: Axis, { y, left, right, top }: Plot): string[] {
  const grid = ticks.flatMap(({ at, text }) => [
    element('line', { class: at === 0 ? 'base' : 'grid', x1: left, x2: right, y1: y(at), y2: y(at) }),
    label(left - 8, y(at) + 4, text, { 'text-anchor': 'end', class: 'tick' }),
  ]);
  return [...grid, label(2, top - 14, name, { class: 'unit' })];
}

function xAxis({ label: name, ticks }: Axis, { x, left, right, bottom }: Plot): string[] {
  const marks = ticks.flatMap(({ at, text }) => [
    element('line', { class: 'mark', x1: x(at), x2: x(at), y1: bottom, y2: bottom + 5 }),
    // In the middle it would be cut off at the edge of the drawing.
    x(at) < right
      ? label(x(at), bottom + 19, text, { 'text-anchor': 'middle', class: 'tick' })
      : label(WIDTH, bottom + 19, text, { 'text-anchor': 'end', class: 'tick' }),
  ]);
  return [...marks, label((left + right) / 2, bottom + 39, name, { 'text-anchor': 'middle', class: 'unit' })];
}

/** Names of what is drawn, each with its colour: a list beside the drawing, so that it wraps on a small screen. */
function legend(series: readonly Series[]): string {
  const entries = series.map(({ name, tone, note }) => {
    const more = note === undefined ? '' : element('small', {}, escaped(note));
    return element('li', {}, element('i', { class: `swatch ${tone}` }, ''), `${escaped(name)} `, more);
  });
  return element('ul', { class: 'legend' }, ...entries);
}
