import Table from 'cli-table3';
import { type Figure, type FigureStatus, statusOf } from './figure.ts';

const MARKS: Readonly<Record<FigureStatus, string>> = {
  unbounded: '',
  held: 'held',
  slow: 'slower here',
  broken: 'BROKEN',
};

/** The figures beside their bounds, to be read by people. */
export function table(figures: readonly Figure[]): string {
  const rows = new Table({
    head: ['bench', 'figure', 'measured', 'at most', ''],
    colAligns: ['left', 'left', 'right', 'right', 'left'],
    style: { head: [], border: [], compact: true },
  });
  for (const figure of figures) {
    const { bench, what, value, unit, atMost } = figure;
    rows.push([
      bench,
      what,
      `${shown(value)} ${unit}`.trimEnd(),
      atMost === undefined ? '' : shown(atMost),
      MARKS[statusOf(figure)],
    ]);
  }
  return rows.toString();
}

/** Three digits that count; more would be noise. */
function shown(value: number): string {
  if (Number.isInteger(value)) return value.toLocaleString('en');
  return Number(value.toPrecision(3)).toLocaleString('en', { maximumFractionDigits: 6 });
}
