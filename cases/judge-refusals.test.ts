import { describe, expect, it } from 'vitest';
import { CONTENT, type Content, problemsOf } from '../test/support/judged-case.ts';
import type { Way } from './outcome.ts';
import { PURE_WAY } from './pure-way.ts';

describe('refusals of a case of kind plan', () => {
  const big = (planId: string) => ({ ...CONTENT.plans[0], planId, stops: [], preemptions: [] });
  const refused = {
    status: 'rejected',
    rejectedNodes: [
      { nodeId: 'n1', code: 'cpu' },
      { nodeId: 'n2', code: 'cpu' },
    ],
  };
  const twice = (perPlan: readonly Content[], scores: Content, tracker: Content = { threshold: 2 }): Content => ({
    ...CONTENT,
    tracker,
    plans: [big('p1'), big('p2')],
    expect: { perPlan, scores },
  });

  it('are counted with the tracker of the case', async () => {
    const marked = { ...refused, ineligibleNodes: ['n1', 'n2'] };
    expect(await problemsOf(twice([{ ...refused, ineligibleNodes: [] }, marked], {}))).toEqual([]);
  });

  it('are counted with the default tracker where the case has none of its own', async () => {
    expect(await problemsOf(twice([refused, refused], { n1: 2, n2: 2 }, {}))).toEqual([]);
  });

  it('that are not as expected do not hold', async () => {
    const problems = await problemsOf(
      twice([refused, { ...refused, ineligibleNodes: ['n1'] }], { n1: 1, n3: 2 }, { threshold: 3 }),
    );
    expect(problems).toEqual([
      'plan p2: expected ineligibleNodes [n1], came []',
      'node n1: expected score 1, came 2',
      'node n3: expected score 2, came 0',
      'node n2: expected score 0, came 2',
    ]);
  });
});

describe('a case of kind window', () => {
  const window = (timeline: readonly Content[], tracker: Content = { threshold: 2, windowSeconds: 10 }) =>
    problemsOf({ tracker, timeline }, PURE_WAY, 'window');
  const reject = (t: number, more: Content = {}) => ({ type: 'reject', t, nodeId: 'n', ...more });

  it('holds when each event comes as expected', async () => {
    expect(
      await window([
        reject(0, { marks: false, score: 1 }),
        { type: 'score', t: 10, nodeId: 'n', score: 1 },
        { type: 'score', t: 10.001, nodeId: 'n', score: 0 },
        reject(5, { marks: true, score: 0 }),
        reject(6, { marks: false, score: 0 }),
        { type: 'enable', t: 7, nodeId: 'n' },
        reject(8, { count: 4, everySeconds: 20, marks: 0, score: 1 }),
        reject(68, { count: 2, everySeconds: 1, marks: 1, score: 0 }),
      ]),
    ).toEqual([]);
  });

  it('says which event did not', async () => {
    expect(await window([reject(0, { marks: true, score: 2 }), reject(1, { count: 1, marks: 0 })])).toEqual([
      'timeline[0] (reject n at 0 s): expected marks true, came false',
      'timeline[0] (reject n at 0 s): expected score 2, came 1',
      'timeline[1] (reject n at 1 s): expected marks 0, came 1',
    ]);
  });

  it.each([
    ['an event that is none', [{ type: 'drain', t: 0, nodeId: 'n' }], {}],
    ['an expectation that nobody looks at', [reject(0, { cost: 1 })], {}],
    ['settings that are nonsense', [], { threshold: 0 }],
  ])('that has %s is refused', async (_what, timeline, tracker) => {
    expect((await window(timeline, tracker))[0]).toMatch(
      /^not a case of kind window: (timeline\[0\]|tracker\.threshold)/,
    );
  });

  it('does not hold if it could not be run', async () => {
    const broken: Way = { ...PURE_WAY, window: () => Promise.reject(new Error('the disk is full')) };
    expect(await problemsOf({ timeline: [] }, broken, 'window')).toEqual(['it could not be run: the disk is full']);
  });
});
