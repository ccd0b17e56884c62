import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EngineWay } from '../../cases/engine-way.ts';
import { PURE_WAY } from '../../cases/pure-way.ts';
import { casesIn, verdictOf } from '../support/case-suite.ts';

/** `node-scaler.json` is a copy of the cases that come with the specification; the other file holds our own. */
const CASES = casesIn('node-scaler.json', 'node-scaler-more.json');

/** Cases of providers that Berth does not have. */
const NOT_PROVIDED: Readonly<Record<string, string>> = {
  'pa-06-gke-delete-two-zones': 'there is no provider gke: those that make calls are eks, asg and custom',
  'pa-07-aks-validate-autoscaler': 'there is no provider aks: those that make calls are eks, asg and custom',
};

const expected = (id: string): string[] => (id in NOT_PROVIDED ? [NOT_PROVIDED[id] as string] : []);

it('has each case once', () => {
  const ids = CASES.map(({ id }) => id);
  expect(ids.length).toBe(new Set(ids).size);
  expect(ids.length).toBeGreaterThanOrEqual(150);
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

  it('says of a case that does not hold what came instead', async () => {
    const one = CASES.find(({ id }) => id === 'down-21-settles');
    if (one === undefined) throw new Error('the case is gone');
    const [first, ...others] = one.content.steps as readonly { readonly expect: object }[];
    const wrong = {
      nodesDeleted: ['n2'],
      errors: ['409'],
      increaseBy: 1,
      status: { conditions: { AtTarget: 'Paused' } },
    };
    const steps = [{ ...first, expect: { ...first?.expect, ...wrong } }, ...others];
    const expected = { ...one, content: { ...one.content, steps } };
    expect(await verdictOf(expected, engine)).toEqual([
      'tick 0: expected nodesDeleted [n2], came []',
      'tick 0: expected errors [409], came []',
      'tick 0: expected increaseBy 1, came 0',
      'tick 0: expected condition AtTarget Paused, came ScalingDown',
    ]);
  });
});
