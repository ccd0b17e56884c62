import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EngineWay } from '../../cases/engine-way.ts';
import { PURE_WAY } from '../../cases/pure-way.ts';
import { casesIn, verdictOf } from '../support/case-suite.ts';

/** A copy of the cases that come with the specification. */
const CASES = casesIn('node-scaler.json');

/** Cases of providers that Berth does not have. */
const NOT_PROVIDED: Readonly<Record<string, string>> = {
  'pa-06-gke-delete-two-zones': 'there is no provider gke: those that make calls are eks, asg and custom',
  'pa-07-aks-validate-autoscaler': 'there is no provider aks: those that make calls are eks, asg and custom',
};

const expected = (id: string): string[] => (id in NOT_PROVIDED ? [NOT_PROVIDED[id] as string] : []);

it('has each case once', () => {
  const ids = CASES.map(({ id }) => id);
  expect(ids.length).toBe(new Set(ids).size);
  expect(ids.length).toBeGreaterThanOrEqual(79);
});

describe('through the pure code', () => {
  it.each(CASES)('$id: $title', async (one) => {
    expect(await verdictOf(one, PURE_WAY)).toEqual(expected(one.id));
  });
});

describe('through the local engine', () => {
  let engine: EngineWay;
  beforeAll(async () => {
    engine = await EngineWay.start();
  });
  afterAll(() => engine.stop());

  it.each(CASES)('$id: $title', async (one) => {
    expect(await verdictOf(one, engine)).toEqual(expected(one.id));
  });
});
