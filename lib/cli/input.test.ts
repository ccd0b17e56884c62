import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readDocuments } from './input.ts';
import type { Io } from './io.ts';

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'berth-input-'));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const io = (input: readonly (string | Uint8Array)[]): Io => ({
  out: () => undefined,
  err: () => undefined,
  input: (async function* () {
    yield* input;
  })(),
  env: {},
});

const read = (input: string | readonly (string | Uint8Array)[], each = 1000) =>
  readDocuments('-', io(typeof input === 'string' ? [input] : input), { what: 'a plan', each });

describe('an input of documents', () => {
  it.each([
    ['one object', '{"a":1}', [{ where: 'standard input', value: { a: 1 } }]],
    ['one object over several lines', '{\n"a":\n1}\n', [{ where: 'standard input', value: { a: 1 } }]],
    [
      'a list',
      '[{"a":1},\n{"a":2}]',
      [
        { where: 'standard input[0]', value: { a: 1 } },
        { where: 'standard input[1]', value: { a: 2 } },
      ],
    ],
    [
      'one a line, with empty lines',
      '{"a":1}\n\n{"a":2}\r\n',
      [
        { where: 'standard input:1', value: { a: 1 } },
        { where: 'standard input:3', value: { a: 2 } },
      ],
    ],
  ])('may be %s', async (_name, text, documents) => {
    expect(await read(text)).toEqual(documents);
  });

  it('is put together from pieces, whatever is cut', async () => {
    const bytes = Buffer.from('{"a":"ü"}');
    expect(await read([bytes.subarray(0, 7), bytes.subarray(7)])).toMatchObject([{ value: { a: 'ü' } }]);
  });

  it.each([
    ['nothing', ' \n', 'standard input is empty; expected a plan as JSON'],
    ['an empty list', '[]', 'standard input is an empty list; expected a plan as JSON'],
    ['no JSON', '{"a":', /^standard input is not JSON: .*; expected a plan as JSON, a list of them, or one a line$/],
    ['a broken line', '{"a":1}\n{"a":\n', /^standard input:2 is not JSON: /],
    ['a broken object over several lines', '{\n"a":\n1', /^standard input is not JSON: /],
  ])('must not be %s', async (_name, text, message) => {
    await expect(read(text)).rejects.toThrow(message);
  });

  it('holds no document that is too long', async () => {
    await expect(read(`{"a":"x"}\n{"a":"${'x'.repeat(30)}"}`, 20)).rejects.toThrow(
      'standard input:2 is 38 bytes as JSON; a plan has at most 20: split it',
    );
  });

  it('ends before it fills the memory', async () => {
    const chunk = Buffer.alloc(1024 * 1024, ' ');
    let chunks = 0;
    const endless = (async function* () {
      for (;;) {
        chunks++;
        yield chunk;
      }
    })();
    const limits = { what: 'a plan', each: 10 };
    await expect(readDocuments('-', { ...io([]), input: endless }, limits)).rejects.toThrow(
      'standard input is longer than 67108864 bytes; split it',
    );
    expect(chunks).toBeLessThan(70);
  });

  it('may be a file, which must be there', async () => {
    const file = join(directory, 'plans.jsonl');
    writeFileSync(file, '{"a":1}\n{"a":2}\n');
    const limits = { what: 'a plan', each: 10 };
    expect(await readDocuments(file, io([]), limits)).toMatchObject([{ where: `${file}:1` }, { where: `${file}:2` }]);
    await expect(readDocuments(join(directory, 'none'), io([]), limits)).rejects.toThrow(
      /^cannot read .*none: there is no such file; name a file, or - for standard input$/,
    );
    await expect(readDocuments(directory, io([]), limits)).rejects.toThrow('it is a directory');
  });
});
