import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AnyCase, readCaseFile } from '../../cases/case-file.ts';
import { EngineWay } from '../../cases/engine-way.ts';
import { judged, type Verdict } from '../../cases/judge.ts';
import type { Way } from '../../cases/outcome.ts';
import { PURE_WAY } from '../../cases/pure-way.ts';
import { systemClock } from '../../lib/time.ts';

/** `task-reaper.json` is a copy of the cases that come with the specification; the other file holds our own. */
const CASES = ['task-reaper.json', 'task-reaper-more.json'].flatMap((file) =>
  readCaseFile(fileURLToPath(new URL(file, import.meta.url))),
);

const numbered = CASES.map((one, at) => ({ ...one, at, title: String(one.content.description) }));

async function verdictOf(one: AnyCase, at: number, way: Way): Promise<Verdict['problems']> {
  for await (const { problems } of judged(one, at, [way], systemClock())) return problems;
  throw new Error(`case ${one.id} was not judged`);
}

it('has each case once', () => {
  const ids = CASES.map(({ id }) => id);
  expect(ids.length).toBe(new Set(ids).size);
  expect(ids.length).toBeGreaterThanOrEqual(200);
});

describe('through the pure code', () => {
  it.each(numbered)('$id: $title', async ({ at, ...one }) => {
    expect(await verdictOf(one, at, PURE_WAY)).toEqual([]);
  });
});

describe('through the local engine', () => {
  let engine: EngineWay;
  beforeAll(async () => {
    engine = await EngineWay.start();
  });
  afterAll(() => engine.stop());

  it.each(numbered)('$id: $title', async ({ at, ...one }) => {
    expect(await verdictOf(one, at, engine)).toEqual([]);
  });
});
