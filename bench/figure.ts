/** Something that was measured. */
export interface Figure {
  readonly bench: string;
  readonly what: string;
  readonly value: number;
  readonly unit: string;
  /** What it may be at the most, if there is a bound (docs: architecture, "Numbers to hold"). */
  readonly atMost?: number;
  /**
   * `count`: the same on every machine, so that a bound that is broken is a fault. `clock`: depends on the machine and on
   * what else it does, so that one is only marked.
   */
  readonly kind: 'count' | 'clock';
}

/** `broken`: past a bound that every machine can hold. `slow`: past one that a busy machine may miss. */
export type FigureStatus = 'unbounded' | 'held' | 'slow' | 'broken';

export function statusOf({ value, atMost, kind }: Figure): FigureStatus {
  if (atMost === undefined) return 'unbounded';
  // What could not be measured (NaN) holds nothing.
  if (value <= atMost) return 'held';
  return kind === 'clock' ? 'slow' : 'broken';
}

/** The middle of `values`; NaN of none. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const [below, above] = sorted.length % 2 === 1 ? [middle, middle] : [middle - 1, middle];
  return ((sorted[below] ?? Number.NaN) + (sorted[above] ?? Number.NaN)) / 2;
}
