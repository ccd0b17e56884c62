import Table from 'cli-table3';
import type { Line } from './table-line.ts';

/** A part of a summary's table: its title, and its lines. */
export type Part = readonly [title: string, lines: readonly Line[]];

/** A table of three columns for a terminal or a log, part by part. */
export function plainTable(parts: readonly Part[]): string[] {
  const table = new Table({
    chars: BARE,
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 2 },
    colAligns: ['left', 'right', 'left'],
  });
  for (const [title, lines] of parts) {
    if (table.length > 0) table.push(['', '', '']);
    table.push([title, '', '']);
    for (const [name, value, note = ''] of lines) table.push([`  ${name}`, value, note]);
  }
  return table
    .toString()
    .split('\n')
    .map((line) => line.trimEnd());
}

/** No lines: columns alone are enough for an eye, and for grep. */
const BARE = Object.fromEntries(
  [
    'top',
    'top-mid',
    'top-left',
    'top-right',
    'bottom',
    'bottom-mid',
    'bottom-left',
    'bottom-right',
    'left',
    'left-mid',
    'mid',
    'mid-mid',
    'right',
    'right-mid',
    'middle',
  ].map((edge) => [edge, '']),
);
