import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { type AnyCase, readCaseFile } from '../../cases/case-file.ts';
import { judged } from '../../cases/judge.ts';
import { PURE_WAY } from '../../cases/pure-way.ts';
import { systemClock } from '../../lib/time.ts';

/** A copy of the cases that come with the specification. */
const CASES = readCaseFile(fileURLToPath(new URL('node-scaler.json', import.meta.url)));

const titled = CASES.map((one) => ({ ...one, title: String(one.content.description) }));

async function verdictOf(one: AnyCase): Promise<readonly string[]> {
  for await (const { problems } of judged(one, 0, [PURE_WAY], systemClock())) return problems;
  throw new Error(`case ${one.id} was not judged`);
}

it('has each case once', () => {
  const ids = CASES.map(({ id }) => id);
  expect(ids.length).toBe(new Set(ids).size);
  expect(ids.length).toBeGreaterThanOrEqual(79);
});

describe('through the pure code', () => {
  it.each(titled.filter(({ content }) => content.callLevel !== true))('$id: $title', async (one) => {
    expect(await verdictOf(one)).toEqual([]);
  });
});

describe('the calls of one provider, which the pure code knows nothing of', () => {
  it.each(titled.filter(({ content }) => content.callLevel === true))('$id is not covered', async (one) => {
    expect(await verdictOf(one)).toEqual(['not covered yet: the calls of one provider']);
  });
});
