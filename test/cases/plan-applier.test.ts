import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EngineWay } from '../../cases/engine-way.ts';
import { PURE_WAY } from '../../cases/pure-way.ts';
import { casesIn, verdictOf } from '../support/case-suite.ts';

/** `plan-applier.json` is a copy of the cases that come with the specification; the other file holds our own. */
const CASES = casesIn('plan-applier.json', 'plan-applier-more.json');

it('has each case once', () => {
  const ids = CASES.map(({ id }) => id);
  expect(ids.length).toBe(new Set(ids).size);
  expect(ids.length).toBeGreaterThanOrEqual(190);
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
