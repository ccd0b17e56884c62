import { isId } from '../../lib/ids.ts';
import { BOUNDS } from '../../lib/settings.ts';
import type { Row } from './table.ts';

/** Largest amount of cpu or memory of one row: sums over all nodes of a workload stay exact. */
export const MAX_AMOUNT = 100_000_000_000;

/** Largest time in seconds since the start of the trace: 30,000 years, and still exact in thousandths. */
const MAX_SECONDS = 1_000_000_000_000;

/** A whole number from `min` to `max`, also as `12000.0`, which some exports write; undefined and a problem otherwise. */
export function wholeNumber<C extends string>(row: Row<C>, column: C, max: number, min = 0): number | undefined {
  const text = row.text(column);
  const value = /^\d+(\.0*)?$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  row.problem(column, `a whole number from ${min} to ${max}`);
  return undefined;
}

/** Seconds since the start of the trace; undefined and a problem otherwise. */
export function seconds<C extends string>(row: Row<C>, column: C): number | undefined {
  const text = row.text(column);
  const value = /^\d+(\.\d*)?$/.test(text) ? Number(text) : Number.NaN;
  if (value <= MAX_SECONDS) return value;
  row.problem(column, `seconds since the start of the trace, from 0 to ${MAX_SECONDS}`);
  return undefined;
}

/** A name that Berth takes as an id and that no row before had; undefined and a problem otherwise. */
export function uniqueName<C extends string>(row: Row<C>, column: C, seen: Map<string, number>): string | undefined {
  const name = row.text(column);
  const before = seen.get(name);
  if (!isId(name)) {
    row.problem(
      column,
      `a name of 1 to ${BOUNDS.idLength} letters, digits and _ . : / + = , ~ -, not beginning with a sign`,
    );
  } else if (before !== undefined) {
    row.problem(column, `a name that is not on line ${before} already`);
  } else {
    seen.set(name, row.line);
    return name;
  }
  return undefined;
}
