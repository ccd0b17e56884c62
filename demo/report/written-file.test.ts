import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { jsonText, writeAsked } from './written-file.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'berth-demo-files-'));
});
afterAll(() => rm(folder, { recursive: true }));

async function said(file: string | undefined, quiet: boolean): Promise<string | undefined> {
  const output = new PassThrough();
  await writeAsked({ output, quiet }, 'summary', file, () => jsonText({ a: 1 }));
  return output.read()?.toString();
}

test('says of a file that was asked for where it is, in full', async () => {
  const file = join(folder, 'told.json');
  expect(await said(relative(process.cwd(), file), false)).toBe(`summary written to ${file}\n`);
  expect(await readFile(file, 'utf8')).toBe('{\n  "a": 1\n}\n');
});

test('says nothing where the summary alone is asked for, or no file', async () => {
  const file = join(folder, 'quiet.json');
  expect(await said(file, true)).toBeUndefined();
  expect(await readFile(file, 'utf8')).toBe('{\n  "a": 1\n}\n');
  expect(await said(undefined, false)).toBeUndefined();
});
