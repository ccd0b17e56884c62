import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EngineWay } from '../../cases/engine-way.ts';
import { PURE_WAY } from '../../cases/pure-way.ts';
import { casesIn, verdictOf } from '../support/case-suite.ts';

/** `task-reaper.json` is a copy of the cases that come with the specification; the other file holds our own. */
const CASES = casesIn('task-reaper.json', 'task-reaper-more.json');

it('has each case once', () => {
  const ids = CASES.map(({ id }) => id);
  expect(ids.length).toBe(new Set(ids).size);
  expect(ids.length).toBeGreaterThanOrEqual(200);
});

describe('through the pure code', () => {
  it.each(CASES)('$id: $title', async (one) => {
    expect(await verdictOf(one, PURE_WAY)).toEqual([]);
  });
});

describe('through the local engine', () => {
  let engine: EngineWay;
  beforeAll(async () => {
    engine = await EngineWay.start();
  });
  afterAll(() => engine.stop());

  it.each(CASES)('$id: $title', async (one) => {
    expect(await verdictOf(one, engine)).toEqual([]);
  });
});
