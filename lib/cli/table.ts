import Table from 'cli-table3';
import { oneLine } from '../schema.ts';
import { type EpochMs, isoTime } from '../time.ts';

const PLAIN = {
  chars: {
    ...{ top: '', 'top-mid': '', 'top-left': '', 'top-right': '' },
    ...{ bottom: '', 'bottom-mid': '', 'bottom-left': '', 'bottom-right': '' },
    ...{ left: '', 'left-mid': '', mid: '', 'mid-mid': '', right: '', 'right-mid': '', middle: '  ' },
  },
  // No colours: what is read by a person today is cut apart by a script tomorrow.
  style: { 'padding-left': 0, 'padding-right': 0, head: [], border: [] },
};

export type Cell = string | number;
/** A text that stands among numbers: `8 (schedule)`. */
export interface NumberText {
  readonly number: string;
}

/** Rows under a head, aligned, columns of numbers to the right, whatever number is not there. Without rows `none` alone. */
export function table(
  head: readonly string[],
  rows: readonly (readonly (Cell | NumberText)[])[],
  none: string,
): string {
  if (rows.length === 0) return none;
  const numbers = head.map((_, at) => {
    const cells = rows.map((row) => row[at]).filter((cell) => cell !== '-' && cell !== '');
    return cells.length > 0 && cells.every((cell) => typeof cell !== 'string');
  });
  const aligns = numbers.map((all): 'left' | 'right' => (all ? 'right' : 'left'));
  const whole = new Table({ ...PLAIN, head: head.map((name) => name.toUpperCase()), colAligns: aligns });
  for (const row of rows) whole.push(row.map((cell) => shownCell(typeof cell === 'object' ? cell.number : cell)));
  return trimmed(whole.toString());
}

/** Names and values, one a line. What is undefined is left out. */
export function fields(pairs: readonly (readonly [name: string, value: Cell | undefined])[]): string {
  const whole = new Table(PLAIN);
  for (const [name, value] of pairs) if (value !== undefined) whole.push([name, shownCell(value)]);
  return trimmed(whole.toString());
}

/** Characters of a cell: a table with one of a megabyte would have every row as wide. */
const CELL_LENGTH = 1_000;

/** A row is a line, whatever a name holds: others would be taken for rows of their own. */
function shownCell(cell: Cell): Cell {
  return typeof cell === 'string' ? oneLine(cell, CELL_LENGTH) : cell;
}

function trimmed(text: string): string {
  return text
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n');
}

/** A time, or `-` for none. */
export function time(at: EpochMs | undefined): string {
  return at === undefined ? '-' : isoTime(at);
}

/** `1 task`, `3 tasks`. */
export function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}

/** `value` as JSON; maps as objects, sets as lists. */
export function json(value: unknown): string {
  const plain = (_name: string, inner: unknown) => {
    if (inner instanceof Map) return Object.fromEntries(inner);
    return inner instanceof Set ? [...inner] : inner;
  };
  return JSON.stringify(value, plain, 2);
}
