import { describe, expect, it } from 'vitest';
import { accountWith, NOW, taskOf } from '../../test/support/builders.ts';
import { ending, placing } from '../../test/support/deciding.ts';
import { delivered, factsOf, folded } from '../../test/support/folding.ts';
import { deliveryOf, poolOf, SENT_AT } from '../../test/support/plans.ts';
import type { Account } from '../nodes/account.ts';
import type { EpochMs } from '../time.ts';
import { isoTime } from '../time.ts';
import { foldPlans } from './fold.ts';

const spec = { capacity: { cpu: 10 }, maxTasks: 10 };
const node = (nodeId: string, more: Parameters<typeof accountWith>[0] = {}): Account =>
  accountWith({ ...spec, nodeId, ...more });
const cpu = (amount: number, nodeId = 'n1') => ({ nodeId, resources: { cpu: amount } });
const place = (planId: string, taskId: string, wants: object = {}, more: object = {}) =>
  delivered(planId, { placements: [placing(taskId, wants)], ...more });
const fresh = (...tasks: string[]) => tasks.map((task) => placing(task));

const results = (...args: Parameters<typeof folded>) => folded(...args).decided.map(({ result }) => result);
const statuses = (...args: Parameters<typeof folded>) => results(...args).map(({ status }) => status);

describe('a result', () => {
  it('of a plan that was applied says what was committed, when and as of which index', () => {
    const delivery = delivered('p1', {
      evalId: 'e1',
      placements: [placing('t1', cpu(1)), placing('t2', { ...cpu(1), slot: 2 })],
      stops: [ending('t3', { slot: 3 })],
      preemptions: [ending('t4', { slot: 4 }), ending('gone', { slot: 5 })],
    });
    const known = {
      tasks: [taskOf('t3', { slot: 3 }), taskOf('t4', { slot: 4 })],
      noTasks: [ending('gone', { slot: 5 })],
    };
    expect(results([delivery], factsOf(known))).toEqual([
      {
        planId: 'p1',
        pool: 'prod',
        evalId: 'e1',
        status: 'applied',
        index: 8,
        refreshIndex: 0,
        committed: { placements: 2, stops: 1, preemptions: 1 },
        rejectedNodes: [],
        ineligibleNodes: [],
        alreadyGone: ['gone'],
        problems: [],
        receivedAt: isoTime(SENT_AT),
        appliedAt: isoTime(NOW),
      },
    ]);
  });

  it('of a plan that some nodes refused names them, and the index to look at', () => {
    const delivery = delivered('p1', {
      placements: [placing('t1', cpu(1)), placing('t2', cpu(11, 'n2')), placing('t3', cpu(1, 'n3'))],
    });
    const facts = factsOf({
      accounts: [node('n1'), node('n2')],
      noNodes: ['n3'],
      noTasks: fresh('t1', 't2'),
      noWindows: ['n2'],
    });
    expect(results([delivery], facts)).toMatchObject([
      {
        status: 'partial',
        index: 8,
        refreshIndex: 8,
        committed: { placements: 1 },
        rejectedNodes: [
          { nodeId: 'n2', code: 'cpu', message: '11 of cpu asked for, 10 of 10 free' },
          { nodeId: 'n3', code: 'node-not-found', message: 'node n3 is not in this pool' },
        ],
      },
    ]);
  });

  it('of a plan that all nodes refused has an index to look at, and writes nothing but itself and what it counted', () => {
    const facts = factsOf({ accounts: [node('n1')], noTasks: fresh('t1'), noWindows: ['n1'] });
    const { decided, commit } = folded([place('p1', 't1', cpu(11))], facts);
    expect(decided[0]?.result).toMatchObject({ status: 'rejected', refreshIndex: 8, committed: { placements: 0 } });
    expect([commit.nodes.size, commit.tasks.size, commit.windows.size]).toEqual([0, 0, 1]);
  });

  it('of a plan of nothing is applied', () => {
    expect(results([delivered('p1', {})], factsOf())).toMatchObject([{ status: 'applied', refreshIndex: 0 }]);
  });

  it('is bounded, whatever the messages of its nodes', () => {
    const volumes = [{ source: '😀'.repeat(128), mode: 'single-writer' as const }];
    const held = taskOf('h'.repeat(128), { slot: 9, volumes });
    const facts = factsOf({ accounts: [accountWith(spec, [held])], noTasks: fresh('t1'), noWindows: ['n1'] });
    const message = results([place('p1', 't1', { volumes })], facts)[0]?.rejectedNodes[0]?.message;
    expect(message).toHaveLength(400);
    expect(message).toMatch(/^volume .* is held by task h+…$/u);
  });
});

describe('a plan that nothing is decided about', () => {
  it('is expired after its time, not at it', () => {
    const until = (ms: number) => place('p1', 't1', {}, { notAfter: isoTime((NOW + ms) as EpochMs) });
    expect(statuses([until(0)], factsOf())).toEqual(['applied']);
    const { decided, commit } = folded([until(-1)], factsOf());
    expect(decided[0]?.result).toMatchObject({
      status: 'expired',
      refreshIndex: 0,
      committed: { placements: 0 },
      rejectedNodes: [],
    });
    expect([commit.nodes.size, commit.tasks.size, commit.windows.size]).toEqual([0, 0, 0]);
  });

  it('understands times of other zones', () => {
    const notAfter = new Date(NOW + 3_600_000).toISOString().replace('Z', '+02:00');
    expect(statuses([place('p1', 't1', {}, { notAfter })], factsOf())).toEqual(['expired']);
  });

  it('is invalid with all of its problems', () => {
    const wrong = deliveryOf({ planId: 'p1', pool: 'prod', more: 1, less: 2 });
    expect(results([wrong], factsOf())).toMatchObject([
      { status: 'invalid', index: 8, refreshIndex: 0, problems: [{ path: 'more' }, { path: 'less' }] },
    ]);
  });

  it('is invalid in a pool that is not there, whatever else is wrong with it', () => {
    const problem = {
      path: 'pool',
      message: 'pool-not-found: there is no pool prod; make it first, or correct the message group',
    };
    const facts = factsOf({ pool: 'missing' });
    const { decided, commit } = folded([place('p1', 't1'), deliveryOf({ planId: 'p2', pool: 'prod', more: 1 })], facts);
    expect(decided.map(({ result }) => result)).toMatchObject([
      { status: 'invalid', index: 0, problems: [problem] },
      { status: 'invalid', index: 0, problems: [problem, { path: 'more' }] },
    ]);
    expect(commit.pool).toBeUndefined();
    expect(commit.results).toHaveLength(2);
  });
});

describe('a plan that was delivered before', () => {
  const first = place('p1', 't1');
  const stored = () => {
    const [one] = folded([first], factsOf()).commit.results;
    if (!one) throw new Error('no result');
    return one;
  };

  it('has the result that is stored, and writes nothing', () => {
    const { decided, commit } = folded([first], factsOf({ results: [stored()] }));
    expect(decided).toEqual([{ delivery: first, result: stored().result, stored: true, differs: false }]);
    expect(commit).toMatchObject({ results: [], nodes: new Map(), tasks: new Map() });
  });

  it('is told from another plan of its id, whose result is the first one all the same', () => {
    const other = place('p1', 't2');
    expect(folded([other], factsOf({ results: [stored()] })).decided).toMatchObject([
      { stored: true, differs: true, result: { planId: 'p1' } },
    ]);
  });

  it('takes effect once in one batch', () => {
    const { decided, commit } = folded([first, first, place('p1', 't2'), place('p2', 't2', { slot: 2 })], factsOf());
    expect(decided.map(({ stored: was, differs }) => [was, differs])).toEqual([
      [false, false],
      [true, false],
      [true, true],
      [false, false],
    ]);
    expect(commit.results.map(({ result }) => result.planId)).toEqual(['p1', 'p2']);
    expect([...commit.tasks.keys()]).toEqual(['web#1 t1', 'web#2 t2']);
  });
});

describe('a plan id that is in use', () => {
  it('stops another message of that id, which could not get a result', () => {
    const facts = factsOf({ pool: poolOf('prod', { index: 7 }) });
    const tally = { placements: 0, stops: 0, preemptions: 0, rejected: [], ineligible: [], alreadyGone: [] };
    facts.progress.set('p1' as never, {
      planId: 'p1' as never,
      fingerprint: 'of another',
      version: 1,
      phase: 'deciding',
      from: 0,
      to: 0,
      step: 0,
      index: 7,
      beside: false,
      tally,
      pending: tally,
    });
    for (const message of [place('p1', 't1'), deliveryOf({ planId: 'p1', pool: 'prod', more: 1 })]) {
      expect(foldPlans([message], facts, NOW)).toMatchObject({
        kind: 'stuck',
        reason: /another plan of the id p1 is under way/,
      });
      expect(statuses([place('p0', 't0'), message], facts)).toEqual(['applied']);
    }
  });
});
