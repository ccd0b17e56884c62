import { type ChartFrame, chart, type Plot, type Series } from './chart.ts';
import { element, escaped } from './svg.ts';

export interface BarChart extends Omit<ChartFrame, 'legend'> {
  readonly series: readonly Series[];
  readonly bars: readonly Bar[];
}

export interface Bar {
  /** Ends of the bar on the x axis. */
  readonly from: number;
  readonly to: number;
  /** One value for each series, stacked in their order from below. */
  readonly values: readonly number[];
  /** What a pointer over the bar is told. */
  readonly tell: string;
}

/** Pixels between two bars. */
const GAP = 2;
/** Pixels between two parts of one bar. */
const SEAM = 1;

/** Stacked bars: how much of each series falls into each span of the x axis. */
export function barChart({ series, bars, ...frame }: BarChart): string {
  return chart({ ...frame, legend: series }, (plot) => bars.flatMap((bar) => stack(plot, bar, series)));
}

function stack({ x, y, top, bottom }: Plot, { from, to, values, tell }: Bar, series: readonly Series[]): string[] {
  const left = x(from) + GAP / 2;
  const width = Math.max(1, x(to) - x(from) - GAP);
  let below = 0;
  const parts = series.flatMap(({ tone }, at) => {
    const value = values[at] ?? 0;
    const [low, high] = [y(below), y(below + value)];
    below += value;
    return value > 0
      ? [element('rect', { class: `bar ${tone}`, x: left, y: high, width, height: Math.max(0.5, low - high - SEAM) })]
      : [];
  });
  const title = element('title', {}, escaped(tell));
  return [
    ...parts,
    element('rect', { class: 'hover', x: x(from), y: top, width: x(to) - x(from), height: bottom - top }, title),
  ];
}
