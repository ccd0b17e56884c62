import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { CsvError, parse } from 'csv-parse';
import { clip, shown } from '../../lib/schema.ts';
import type { ProblemList } from './problems.ts';

/** Bytes of the longest line: more is no table, and would be held in memory whole. */
const MAX_LINE_BYTES = 64 * 1024;

/** One row of a table: the text of each column that was asked for, and a way to say what is wrong with it. */
export interface Row<Column extends string> {
  readonly line: number;
  text(column: Column): string;
  /** Notes a problem with the text of `column`. */
  problem(column: Column, expected: string): void;
}

export interface TableSpec<Column extends string> {
  readonly file: string;
  /** Columns that must be there, in any order; others are passed over. */
  readonly columns: readonly Column[];
  /** What a row is called in messages: `node`. */
  readonly what: string;
  readonly maxRows: number;
}

/**
 * Reads a CSV file row by row, its first line the names of its columns, and hands each row to `onRow`. What is wrong goes
 * to `problems`; nothing is thrown for a bad file.
 */
export async function readTable<Column extends string>(
  spec: TableSpec<Column>,
  problems: ProblemList,
  onRow: (row: Row<Column>) => void,
): Promise<void> {
  const { file } = spec;
  const unreadable = await whyUnreadable(file);
  if (unreadable !== undefined) {
    problems.add({ file, message: unreadable });
    return;
  }
  try {
    await readRows(spec, problems, onRow);
  } catch (error) {
    if (error instanceof CsvError) problems.add(csvProblem(file, error));
    else
      problems.add({ file, message: `it cannot be read: ${(error as NodeJS.ErrnoException).code ?? String(error)}` });
  }
}

async function whyUnreadable(file: string): Promise<string | undefined> {
  try {
    const found = await stat(file);
    return found.isDirectory() ? 'a file is expected, this is a directory' : undefined;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' ? 'there is no such file' : `it cannot be read: ${code ?? String(error)}`;
  }
}

async function readRows<Column extends string>(
  { file, columns, what, maxRows }: TableSpec<Column>,
  problems: ProblemList,
  onRow: (row: Row<Column>) => void,
): Promise<void> {
  const parser = parse({
    bom: true,
    info: true,
    relax_column_count: true,
    skip_empty_lines: true,
    trim: true,
    max_record_size: MAX_LINE_BYTES,
  });
  const input = createReadStream(file);
  input.on('error', (error) => parser.destroy(error));
  let positions: ReadonlyMap<Column, number> | undefined;
  let width = 0;
  let rows = 0;
  try {
    for await (const { record, info } of input.pipe(parser) as AsyncIterable<CsvRow>) {
      if (positions === undefined) {
        positions = columnPositions(file, info.lines, record, columns, problems);
        if (positions === undefined) return;
        width = record.length;
      } else if (record.length !== width) {
        const message = `expected ${width} fields, as in the header, found ${record.length}`;
        problems.add({ file, line: info.lines, message });
      } else if (rows >= maxRows) {
        problems.add({
          file,
          line: info.lines,
          message: `at most ${maxRows} ${what}s can be replayed, and there are more`,
        });
        return;
      } else {
        onRow(rowOf(file, info.lines, record, positions, problems));
      }
      if (positions !== undefined && info.records > 1) rows += 1;
    }
  } finally {
    input.destroy();
  }
  if (positions === undefined)
    problems.add({ file, message: `it is empty; expected a header with the columns ${columns.join(', ')}` });
  else if (rows === 0) problems.add({ file, message: `it holds no row; expected at least one ${what}` });
}

interface CsvRow {
  readonly record: readonly string[];
  readonly info: { readonly lines: number; readonly records: number };
}

/** Where each column stands; undefined if the header is of no use, since every row would then be a problem. */
function columnPositions<Column extends string>(
  file: string,
  line: number,
  header: readonly string[],
  columns: readonly Column[],
  problems: ProblemList,
): ReadonlyMap<Column, number> | undefined {
  const before = problems.total;
  const positions = new Map<Column, number>();
  for (const column of columns) {
    const at = header.indexOf(column);
    if (at === -1) {
      const found = clip(header.map((name) => clip(name, 40)).join(', '), 200);
      problems.add({ file, line, column, message: `this column is missing; the header has ${found}` });
    } else if (header.indexOf(column, at + 1) !== -1) {
      problems.add({ file, line, column, message: 'this column stands in the header twice' });
    } else {
      positions.set(column, at);
    }
  }
  return problems.total === before ? positions : undefined;
}

function rowOf<Column extends string>(
  file: string,
  line: number,
  record: readonly string[],
  positions: ReadonlyMap<Column, number>,
  problems: ProblemList,
): Row<Column> {
  const text = (column: Column) => record[positions.get(column) ?? -1] ?? '';
  return {
    line,
    text,
    problem(column, expected) {
      const found = text(column) === '' ? 'nothing' : shown(text(column));
      problems.add({ file, line, column, message: `expected ${expected}, found ${found}` });
    },
  };
}

function csvProblem(file: string, error: CsvError) {
  const { code, lines } = error as CsvError & { lines?: number };
  const line = typeof lines === 'number' ? { line: lines } : {};
  if (code === 'CSV_MAX_RECORD_SIZE') {
    return { file, ...line, message: `a line of at most ${MAX_LINE_BYTES} bytes is expected; is it a CSV file?` };
  }
  return { file, ...line, message: `it is not CSV from here on: ${clip(error.message, 200)}` };
}
