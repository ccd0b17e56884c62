import { type Axis, type ChartFrame, chart, type Plot, type Series } from './chart.ts';
import { element, escaped } from './svg.ts';

export interface LineChart extends Omit<ChartFrame, 'legend'> {
  readonly series: readonly (Series & {
    readonly values: readonly number[] /** Whether the area below is filled. */;
    readonly filled?: boolean;
  })[];
  /** Where the values lie on the x axis, ascending; each holds until the next. */
  readonly at: readonly number[];
  /** What a pointer over the value at this place is told. */
  readonly tell: (index: number) => string;
}

/** Points closer than this, in pixels of the drawing, are drawn as one. */
const RESOLUTION = 0.5;

/** Values over time as lines of steps: what is allocated stays as it is until something happens. */
export function lineChart({ series, at, tell, ...frame }: LineChart): string {
  return chart({ ...frame, legend: series }, (plot) => [
    ...series.filter(({ filled }) => filled).map(({ tone, values }) => area(plot, at, values, tone)),
    ...series.map(({ tone, values }) => {
      return element('path', { class: `line ${tone}`, d: steps(plot, at, values) });
    }),
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
  at.forEach((time, index) => {
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

/** Invisible strips, each with what it stands for: browsers show it beside the pointer, without a script. */
function hovers(
  { x, top, bottom, right }: Plot,
  at: readonly number[],
  { domain }: Axis,
  tell: (index: number) => string,
): string[] {
  const strips: string[] = [];
  let from = x(domain[0]);
  at.forEach((_, index) => {
    const next = at[index + 1];
    const to = next === undefined ? right : x(next);
    if (to - from < 3 && next !== undefined) return;
    const title = element('title', {}, escaped(tell(index)));
    strips.push(
      element('rect', { class: 'hover', x: from, y: top, width: Math.max(0, to - from), height: bottom - top }, title),
    );
    from = to;
  });
  return strips;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
