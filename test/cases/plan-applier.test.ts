import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AnyCase, readCaseFile } from '../../cases/case-file.ts';
import { EngineWay } from '../../cases/engine-way.ts';
import { judged, type Verdict } from '../../cases/judge.ts';
import type { Way } from '../../cases/outcome.ts';
import { PURE_WAY } from '../../cases/pure-way.ts';
import { systemClock } from '../../lib/time.ts';

/** `plan-applier.json` is a copy of the cases that come with the specification; the other file holds our own. */
const CASES = ['plan-applier.json', 'plan-applier-more.json'].flatMap((file) =>
  readCaseFile(fileURLToPath(new URL(file, import.meta.url))),
);

/** Cases that do not hold, by way, and why. What is mended must leave this list: a case that stands in it and passes is red. */
const BROKEN = {
  'MP-04': 'once the holder of a port is gone, a task that claimed it past the holder does not hold it',
};
const FAILING: Readonly<Record<'pure' | 'engine', Readonly<Record<string, string>>>> = {
  pure: BROKEN,
  engine: BROKEN,
};

const numbered = CASES.map((one, at) => ({ ...one, at, title: String(one.content.description) }));
const holding = (way: 'pure' | 'engine') => numbered.filter(({ id }) => FAILING[way][id] === undefined);

async function verdictOf(one: AnyCase, at: number, way: Way): Promise<Verdict['problems']> {
  for await (const { problems } of judged(one, at, [way], systemClock())) return problems;
  throw new Error(`case ${one.id} was not judged`);
}

/** Those of the list that fail. */
async function failingOnes(way: Way, listed: Readonly<Record<string, string>>) {
  const failing: string[] = [];
  for (const { at, ...one } of numbered) {
    if (listed[one.id] !== undefined && (await verdictOf(one, at, way)).length > 0) failing.push(one.id);
  }
  return failing.sort();
}

it('has each case once, and none in the list that is in no file', () => {
  const ids = CASES.map(({ id }) => id);
  expect(ids.length).toBe(new Set(ids).size);
  expect(ids.length).toBeGreaterThanOrEqual(190);
  expect(Object.keys(BROKEN).filter((id) => !ids.includes(id))).toEqual([]);
});

describe('through the pure code', () => {
  it.each(holding('pure'))('$id: $title', async ({ at, ...one }) => {
    expect(await verdictOf(one, at, PURE_WAY)).toEqual([]);
  });

  it('fails where the list says so', async () => {
    expect(await failingOnes(PURE_WAY, FAILING.pure)).toEqual(Object.keys(FAILING.pure).sort());
  });
});

describe('through the local engine', () => {
  let engine: EngineWay;
  beforeAll(async () => {
    engine = await EngineWay.start();
  });
  afterAll(() => engine.stop());

  it.each(holding('engine'))('$id: $title', async ({ at, ...one }) => {
    expect(await verdictOf(one, at, engine)).toEqual([]);
  });

  it('fails where the list says so', async () => {
    expect(await failingOnes(engine, FAILING.engine)).toEqual(Object.keys(FAILING.engine).sort());
  });
});
