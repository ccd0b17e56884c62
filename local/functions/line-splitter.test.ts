import { expect, test } from 'vitest';
import { LineSplitter } from './line-splitter.ts';

test.each([
  { what: 'lines in one chunk', chunks: ['one\ntwo\n'], lines: ['one', 'two'] },
  { what: 'a line over several chunks', chunks: ['o', 'n', 'e\n'], lines: ['one'] },
  { what: 'an empty line', chunks: ['\n'], lines: [''] },
  { what: 'a last line without an end', chunks: ['one\ntwo'], lines: ['one', 'two'] },
  { what: 'nothing', chunks: [], lines: [] },
])('$what', ({ chunks, lines }) => {
  const seen: string[] = [];
  const splitter = new LineSplitter((line) => seen.push(line));
  for (const chunk of chunks) splitter.write(Buffer.from(chunk));
  splitter.end();
  expect(seen).toEqual(lines);
});

test('a character whose bytes are in two chunks', () => {
  const seen: string[] = [];
  const splitter = new LineSplitter((line) => seen.push(line));
  const bytes = Buffer.from('ö\n');
  splitter.write(bytes.subarray(0, 1));
  splitter.write(bytes.subarray(1));
  expect(seen).toEqual(['ö']);
});
