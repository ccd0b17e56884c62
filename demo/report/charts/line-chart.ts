import { type ChartFrame, chart, label, type Plot, type Series } from './chart.ts';
import { hovers } from './hovers.ts';
import { element } from './svg.ts';

export interface LineChart extends Omit<ChartFrame, 'legend'> {
  readonly series: readonly (Series & {
    /** As many as there are places on the x axis; of fewer the line ends at the last. */
    readonly values: readonly number[];
    /** Whether the area below is filled. */
    readonly filled?: boolean;
  })[];
  /** Where the values lie on the x axis, ascending; each holds until the next. */
  readonly at: readonly number[];
  /** Values that something happens at, each a line from edge to edge. */
  readonly levels?: readonly { readonly value: number; readonly text: string }[];
  /** Moments at which something happened to a series, each a dot with a word beside it. */
  readonly marks?: readonly Mark[];
  /** What a pointer over the value at this place is told. */
  readonly tell: (index: number) => string;
}

interface Mark {
  readonly at: number;
  readonly value: number;
  readonly tone: string;
  readonly text: string;
}

/** Points closer than this, in pixels of the drawing, are drawn as one. */
const RESOLUTION = 0.5;

/** Values over time as lines of steps: what is allocated stays as it is until something happens. */
export function lineChart({ series, at, levels = [], marks = [], tell, ...frame }: LineChart): string {
  return chart({ ...frame, legend: series }, (plot) => [
    ...levels.flatMap(({ value, text }) => level(plot, value, text)),
    ...series.filter(({ filled }) => filled).map(({ tone, values }) => area(plot, at, values, tone)),
    ...series.map(({ tone, values }) => {
      return element('path', { class: `line ${tone}`, d: steps(plot, at, values) });
    }),
    ...marks.flatMap((mark) => dot(plot, mark)),
    ...hovers(plot, at, frame.x, tell),
  ]);
}

/** The path of one line. Of points in the same half pixel the largest is kept, so that no peak is lost. */
function steps({ x, y }: Plot, at: readonly number[], values: readonly number[]): string {
  const parts: string[] = [];
  let pending: { x: number; value: number } | undefined;
  const flush = () => {
    if (pending === undefined) return;
    const [px, py] = [round(pending.x), round(y(pending.value))];
    parts.push(parts.length === 0 ? `M${px} ${py}` : `H${px}V${py}`);
  };
  at.slice(0, values.length).forEach((time, index) => {
    const point = { x: x(time), value: values[index] ?? 0 };
    if (pending !== undefined && point.x - pending.x < RESOLUTION) {
      pending = { x: pending.x, value: Math.max(pending.value, point.value) };
    } else {
      flush();
      pending = point;
    }
  });
  flush();
  return parts.join('');
}

function area(plot: Plot, at: readonly number[], values: readonly number[], tone: string): string {
  const [first, last] = [round(plot.x(at[0] ?? 0)), round(plot.x(at.at(-1) ?? 0))];
  const base = round(plot.bottom);
  return element('path', {
    class: `area ${tone}`,
    d: `M${first} ${base}L${steps(plot, at, values).slice(1)}H${last}V${base}Z`,
  });
}

function level({ y, left, right }: Plot, value: number, text: string): string[] {
  return [
    element('line', { class: 'level', x1: left, x2: right, y1: y(value), y2: y(value) }),
    label(left + 6, y(value) - 6, text),
  ];
}

/** Beyond this part of the width the word stands at the left of its dot, or it would be cut off. */
const WORD_FITS = 0.88;

function dot({ x, y, left, right }: Plot, { at, value, tone, text }: Mark): string[] {
  const [cx, cy] = [x(at), y(value)];
  const fits = cx < left + (right - left) * WORD_FITS;
  const [from, anchor] = fits ? [cx + 7, 'start'] : [cx - 7, 'end'];
  return [
    element('circle', { class: `dot ${tone}`, cx, cy, r: 4.5 }),
    label(from, cy + 17, text, { 'text-anchor': anchor }),
  ];
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
