import { describe, expect, it } from 'vitest';
import { accountWith, NOW, taskOf } from '../../test/support/builders.ts';
import { ending, placing } from '../../test/support/deciding.ts';
import { delivered, factsOf, folded, type KnownFacts } from '../../test/support/folding.ts';
import type { Account } from '../nodes/account.ts';
import { foldPlans } from './fold.ts';

const spec = { capacity: { cpu: 10 }, maxTasks: 10 };
const node = (nodeId: string, more: Parameters<typeof accountWith>[0] = {}): Account =>
  accountWith({ ...spec, nodeId, ...more });
const cpu = (amount: number, nodeId = 'n1') => ({ nodeId, resources: { cpu: amount } });
const place = (planId: string, taskId: string, wants: object = {}, more: object = {}) =>
  delivered(planId, { placements: [placing(taskId, wants)], ...more });
const fresh = (...tasks: string[]) => tasks.map((task) => placing(task));

const results = (...args: Parameters<typeof folded>) => folded(...args).decided.map(({ result }) => result);

describe('the plans of a batch', () => {
  it('see what the ones before them did', () => {
    const batch = [
      place('p1', 't1', cpu(6)),
      place('p2', 't2', { ...cpu(6), slot: 2 }),
      delivered('p3', { stops: [ending('t1')] }),
      place('p4', 't3', { ...cpu(6), slot: 3 }),
      place('p5', 't3', { ...cpu(7), slot: 3 }),
    ];
    const facts = factsOf({
      accounts: [node('n1')],
      noTasks: [placing('t1'), placing('t2', { slot: 2 }), placing('t3', { slot: 3 })],
      noWindows: ['n1'],
    });
    const { decided, commit } = folded(batch, facts);
    expect(decided.map(({ result }) => result.status)).toEqual([
      'applied',
      'rejected',
      'applied',
      'applied',
      'applied',
    ]);
    expect(decided.map(({ result }) => result.index)).toEqual([8, 8, 8, 8, 8]);
    expect(commit.nodes.get('n1' as never)).toMatchObject({
      kind: 'known',
      image: { free: { cpu: 3, 'max-tasks': 9 }, version: 2, index: 8 },
    });
    expect(
      [...commit.tasks].map(([key, { before, image }]) => [
        key,
        before,
        image?.version,
        image?.desiredState,
        image?.lastPlanId,
      ]),
    ).toEqual([
      ['web#1 t1', 0, NOW, 'shutdown', 'p3'],
      ['web#3 t3', 0, NOW, 'running', 'p5'],
    ]);
  });

  it('add up to one write of a node that nobody has read', () => {
    const { commit } = folded([place('p1', 't1', cpu(6)), place('p2', 't2', { ...cpu(3), slot: 2 })], factsOf());
    expect(commit.nodes.get('n1' as never)).toMatchObject({
      kind: 'blind',
      change: {
        demand: 'schedulable',
        need: new Map([
          ['cpu', 9],
          ['max-tasks', 2],
        ]),
      },
    });
  });

  it('do not see what a plan that was refused at once would have done', () => {
    const facts = factsOf({
      accounts: [node('n1'), node('n2')],
      noTasks: [...fresh('t1', 't2'), placing('t3', { slot: 3 })],
      noWindows: ['n2'],
    });
    const allAtOnce = delivered('p1', {
      allAtOnce: true,
      placements: [placing('t1', cpu(10)), placing('t2', cpu(11, 'n2'))],
    });
    const { decided, commit } = folded([allAtOnce, place('p2', 't3', { ...cpu(10), slot: 3 })], facts);
    expect(decided[0]?.result).toMatchObject({
      status: 'rejected',
      committed: { placements: 0 },
      alreadyGone: [],
      rejectedNodes: [{ nodeId: 'n2' }],
    });
    expect(decided[1]?.result.status).toBe('applied');
    expect([...commit.tasks.keys()]).toEqual(['web#3 t3']);
    expect([...commit.nodes.keys()]).toEqual(['n1']);
  });

  it('count each task from the version that is stored', () => {
    const t1 = { ...taskOf('t1', { resources: { cpu: 1 } }), version: 41 };
    const facts = factsOf({ accounts: [accountWith(spec, [t1])], tasks: [t1] });
    const batch = [place('p1', 't1', cpu(2)), place('p2', 't1', cpu(3)), delivered('p3', { stops: [ending('t1')] })];
    const { commit } = folded(batch, facts);
    expect(commit.tasks.get('web#1 t1' as never)).toMatchObject({
      before: 41,
      image: { version: 42, resources: { cpu: 3 }, released: true },
    });
    expect(commit.nodes.get('n1' as never)).toMatchObject({
      image: { free: { cpu: 10, 'max-tasks': 10 }, version: 2 },
    });
  });

  it('do not write a node from which they take nothing', () => {
    const t1 = taskOf('t1', {}, { desiredState: 'shutdown', released: true });
    const remove = delivered('p1', { stops: [ending('t1', { desiredState: 'remove' })] });
    const { commit } = folded([remove], factsOf({ tasks: [t1] }));
    expect(commit.nodes.size).toBe(0);
    expect(commit.tasks.size).toBe(1);
  });

  it('leave what was known as it was', () => {
    const facts = factsOf({ accounts: [node('n1')], noTasks: fresh('t1'), noWindows: ['n1'] });
    const copy = structuredClone(facts);
    folded([place('p1', 't1', cpu(6)), place('p2', 't1', cpu(11))], facts);
    expect(facts).toEqual(copy);
  });
});

describe('one transaction', () => {
  // Each plan: its result, a node, a task. Besides, the pool and its list of changes.
  const batch = Array.from({ length: 60 }, (_, at) => place(`p${at}`, `t${at}`, { nodeId: `n${at}`, slot: at }));

  it('holds as many plans as it has actions for', () => {
    const { decided, commit } = folded(batch, factsOf());
    expect(decided).toHaveLength(32);
    expect(2 + commit.results.length + commit.nodes.size + commit.tasks.size).toBe(98);
    expect(decided.map(({ result }) => result.planId)).toEqual(batch.slice(0, 32).map(({ planId }) => planId));
  });

  it.each([
    [8, 2],
    [10, 2],
    [11, 3],
  ])('of %d actions holds %d plans', (allowance, count) => {
    expect(folded(batch, factsOf(), allowance).decided).toHaveLength(count);
  });

  it('counts a node once, however many plans have a part in it', () => {
    const same = Array.from({ length: 60 }, (_, at) => place(`p${at}`, `t${at}`, { slot: at }));
    expect(folded(same, factsOf()).decided).toHaveLength(48);
  });

  it('holds no more bytes than the platform takes', () => {
    const task = (number: number) => {
      const ports = Array.from({ length: 64 }, (_, at) => ({
        ip: 'a',
        value: number * 64 + at,
        label: '€'.repeat(63),
      }));
      return placing(`t${number}`, { slot: number, nodeId: `n${number % 4}`, ports });
    };
    const large = Array.from({ length: 8 }, (_, at) =>
      delivered(`p${at}`, { placements: Array.from({ length: 20 }, (_each, slot) => task(at * 20 + slot)) }),
    );
    const { decided, commit } = folded(
      large,
      factsOf({ accounts: [0, 1, 2, 3].map((at) => node(`n${at}`, { maxTasks: 1000 })) }),
      1000,
    );
    expect(decided.length).toBeGreaterThan(0);
    expect(decided.length).toBeLessThan(8);
    const bytes = [...commit.tasks.values()].reduce(
      (sum, { image }) => sum + Buffer.byteLength(JSON.stringify(image)),
      0,
    );
    expect(bytes).toBeLessThan(4 * 1024 * 1024);
  });
});

describe('what must be read', () => {
  const needs = (batch: Parameters<typeof foldPlans>[0], known: KnownFacts = {}) => {
    const fold = foldPlans(batch, factsOf(known), NOW);
    if (fold.kind !== 'needs') throw new Error(fold.kind);
    return Object.fromEntries(
      Object.entries(fold.needs).flatMap(([what, set]) => (set.size > 0 ? [[what, [...set].sort()]] : [])),
    );
  };

  it('is nothing for plans that only place', () => {
    expect(foldPlans([place('p1', 't1', cpu(1))], factsOf(), NOW).kind).toBe('group');
  });

  it('is asked for once, for the whole batch', () => {
    const batch = [
      delivered('p1', { stops: [ending('t1')] }),
      place('p2', 't2', { slot: 2 }),
      delivered('p3', { preemptions: [ending('t3', { slot: 3 })] }),
      place('p4', 't4', { slot: 4, nodeId: 'n4', cores: Array.from({ length: 21 }, (_, core) => core) }),
    ];
    expect(needs(batch)).toEqual({ tasks: ['web#1 t1', 'web#3 t3'], accounts: ['n4'] });
  });

  it('is the task that a node is about to refuse, which may be there, and its refusals', () => {
    expect(needs([place('p1', 't1', cpu(11))], { accounts: [node('n1')] })).toEqual({
      tasks: ['web#1 t1'],
      windows: ['n1'],
    });
  });

  it('is every node of an all-at-once plan that one of them refuses, so that its worker learns of all', () => {
    const plan = delivered('p1', { allAtOnce: true, placements: [placing('t1', cpu(1)), placing('t2', cpu(1, 'n2'))] });
    expect(needs([plan], { noNodes: ['n2'] })).toEqual({ tasks: ['web#1 t1'], accounts: ['n1'] });
    const facts = factsOf({
      accounts: [node('n1', { capacity: {} })],
      noNodes: ['n2'],
      noTasks: fresh('t1'),
      noWindows: ['n1'],
    });
    expect(results([plan], facts)[0]?.rejectedNodes.map(({ nodeId }) => nodeId)).toEqual(['n1', 'n2']);
  });
});
