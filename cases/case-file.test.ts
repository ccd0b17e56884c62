import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CaseFileError, casesOf, readCaseFile } from './case-file.ts';

describe('readCaseFile', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'berth-cases-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('reads the cases of a file, with the kind that each has', () => {
    const file = join(folder, 'cases.json');
    writeFileSync(file, '[{"id": "A", "kind": "plan", "more": 1}, {"id": "B"}]');
    expect(readCaseFile(file)).toEqual([
      { id: 'A', kind: 'plan', content: { id: 'A', kind: 'plan', more: 1 } },
      { id: 'B', kind: undefined, content: { id: 'B' } },
    ]);
  });

  it('names a file that is not there', () => {
    const file = join(folder, 'none.json');
    expect(() => readCaseFile(file)).toThrow(new CaseFileError(`${file}: there is no such file`));
  });

  it('names what is no file', () => {
    expect(() => readCaseFile(folder)).toThrow(`${folder}: EISDIR`);
  });
});

describe('casesOf', () => {
  it.each([
    ['', /^f\.json: not JSON: /],
    ['[{"id": "A"}', /^f\.json: not JSON: /],
    ['{"cases": []}', /^f\.json: expected a JSON array of cases, got an object$/],
    ['[{"id": "A"}, 7]', /^f\.json: \[1\]: expected a case, an object with an id, got 7$/],
    ['[{"kind": "plan"}]', /^f\.json: \[0\]\.id: expected a text that names the case, got nothing$/],
    ['[{"id": ""}]', /^f\.json: \[0\]\.id: /],
  ])('says where %s is no list of cases', (text, message) => {
    expect(() => casesOf(text, 'f.json')).toThrow(CaseFileError);
    expect(() => casesOf(text, 'f.json')).toThrow(message);
  });
});
