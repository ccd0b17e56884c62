import { describe, expect, it } from 'vitest';
import { accountWith, NOW, placementOf, taskOf } from '../../test/support/builders.ts';
import { decide, ending, placing, planOf } from '../../test/support/deciding.ts';
import { ELIGIBILITIES, NODE_STATUSES } from '../nodes/node.ts';
import { partsOf } from './decide-part.ts';

const spec = { capacity: { cpu: 10, memory: 10 }, maxTasks: 10 };
const account = accountWith(spec);

const code = (...args: Parameters<typeof decide>) => {
  const outcome = decide(...args);
  return outcome.kind === 'rejected' ? outcome.code : outcome.kind;
};

describe('the parts of a plan', () => {
  it('are its nodes, in the order of their ids, each with all that the plan wants of it', () => {
    const plan = planOf({
      placements: [
        placing('t1', { nodeId: 'n2' }),
        placing('t2', { nodeId: 'n10' }),
        placing('t3', { nodeId: 'n2', slot: 2 }),
      ],
      stops: [ending('t4', { nodeId: 'n1' }), ending('t5', { nodeId: 'n2' })],
      preemptions: [ending('t6', { nodeId: '__proto__' })],
    });
    expect(
      partsOf(plan).map(({ nodeId, ...lists }) => [
        nodeId,
        ...Object.values(lists).map((list) => list.map(({ taskId }) => taskId)),
      ]),
    ).toEqual([
      ['__proto__', [], [], ['t6']],
      ['n1', [], ['t4'], []],
      ['n10', ['t2'], [], []],
      ['n2', ['t1', 't3'], ['t5'], []],
    ]);
  });
});

describe('a part that only stops or preempts', () => {
  const entries = { stops: [ending('t1')], preemptions: [ending('t2', { slot: 2 })] };
  const tasks = [taskOf('t1'), taskOf('t2', { slot: 2 })];

  it.each([
    ['not read', undefined],
    ['gone', 'missing' as const],
    ['down', accountWith({ status: 'down' })],
    ['ineligible and draining', accountWith({ eligibility: 'ineligible', drain: true })],
  ])('is accepted on a node that is %s', (_how, node) => {
    expect(decide(entries, { ...(node ? { account: node } : {}), tasks })).toMatchObject({
      kind: 'accepted',
      effect: { demand: 'there', stopped: ['t1'], preempted: ['t2'] },
    });
  });

  it('needs the tasks, since what they give back stands there, and not the node', () => {
    const keys = { tasks: ['web#1 t1', 'web#2 t2'], account: false };
    expect(decide(entries, { missing: [] })).toEqual({ kind: 'needs', ...keys });
    expect(decide(entries, { missing: ['t1'], account: 'missing' })).toEqual({
      kind: 'needs',
      ...keys,
      tasks: ['web#2 t2'],
    });
  });
});

describe('a placement', () => {
  const entries = { placements: [placing('t1')] };

  it('is refused by a node that is not in the pool, which says nothing of a node', () => {
    expect(decide(entries, { account: 'missing' })).toEqual({
      kind: 'rejected',
      code: 'node-not-found',
      message: 'node n1 is not in this pool',
      counts: false,
    });
  });

  it.each(
    NODE_STATUSES.flatMap((status) =>
      ELIGIBILITIES.flatMap((eligibility) =>
        [false, true].map((drain) => [status, eligibility, drain ? 'draining' : 'not draining'] as const),
      ),
    ),
  )('on a node that is %s, %s and %s', (status, eligibility, drain) => {
    const node = accountWith({ ...spec, status, eligibility, drain: drain === 'draining' });
    const counts = eligibility === 'eligible';
    const refusal = (text: string, message: string) => ({
      kind: 'rejected',
      code: text,
      message: `node n1 ${message}`,
      counts,
    });
    const expected = {
      initializing: refusal('node-not-ready', 'is initializing'),
      disconnected: refusal('node-disconnected', 'is disconnected'),
      down: refusal('node-down', 'is down'),
      ready:
        drain === 'draining'
          ? refusal('node-ineligible', 'is draining')
          : counts
            ? { kind: 'accepted' }
            : refusal('node-ineligible', 'is not eligible'),
    }[status];
    expect(decide(entries, { account: node })).toMatchObject(expected);
  });

  it('makes a task, assigned and wanted to run', () => {
    const plan = { placements: [placing('t1', { resources: { cpu: 3 }, jobIteration: 2 })] };
    const outcome = decide(plan, { account });
    expect(outcome).toMatchObject({
      kind: 'accepted',
      effect: { demand: 'schedulable', placed: ['t1'], stopped: [], preempted: [], alreadyGone: [] },
    });
    expect(outcome.kind === 'accepted' && outcome.effect.tasks).toEqual([
      {
        ...placementOf('t1', { resources: { cpu: 3 }, jobIteration: 2 }),
        slotKey: 'web#1',
        pool: 'prod',
        version: 1,
        state: 'assigned',
        desiredState: 'running',
        released: false,
        appliedAt: NOW,
        stateTimes: { assigned: NOW },
        desiredAt: NOW,
        createdAt: NOW,
        planId: 'plan-1',
        lastPlanId: 'plan-1',
        priority: 50,
      },
    ]);
  });

  it('of a global service belongs to the slot of its node', () => {
    const { slot: _slot, ...global } = placing('t1');
    const outcome = decide({ placements: [global] }, { account });
    expect(outcome.kind === 'accepted' && outcome.effect.tasks[0]?.slotKey).toBe('web@n1');
  });

  it('is refused for what does not fit, with the code and the words of the first rule', () => {
    expect(decide({ placements: [placing('t1', { resources: { cpu: 11, memory: 11 } })] }, { account })).toEqual({
      kind: 'rejected',
      code: 'cpu',
      message: '11 of cpu asked for, 10 of 10 free',
      counts: true,
    });
  });

  it('may have what the plan itself stops and preempts on the node', () => {
    const held = [taskOf('h1', { slot: 7, resources: { cpu: 6 } }), taskOf('h2', { slot: 8, resources: { cpu: 4 } })];
    const full = accountWith(spec, held);
    const plan = {
      placements: [placing('t1', { resources: { cpu: 10 } })],
      stops: [ending('h1', { slot: 7 })],
      preemptions: [ending('h2', { slot: 8 })],
    };
    expect(code(plan, { account: full, tasks: held })).toBe('accepted');
    expect(code({ ...plan, preemptions: [] }, { account: full, tasks: held })).toBe('cpu');
  });

  it('is refused with everything that the plan wants of its node', () => {
    const held = taskOf('h1', { slot: 7 });
    const plan = { placements: [placing('t1', { resources: { cpu: 11 } })], stops: [ending('h1', { slot: 7 })] };
    expect(decide(plan, { account, tasks: [held] })).toMatchObject({ kind: 'rejected', code: 'cpu' });
  });
});

describe('a task that exists already', () => {
  const entries = { placements: [placing('t1')] };
  const conflict = (message: string) => ({ kind: 'rejected', code: 'task-conflict', message, counts: true });

  it.each(['complete', 'shutdown', 'failed', 'rejected', 'orphaned'] as const)('is never run again: %s', (state) => {
    expect(decide(entries, { account, tasks: [taskOf('t1', {}, { state })] })).toEqual(
      conflict(`task t1 is ${state}; a task is never run again, place a new one`),
    );
  });

  it.each(['shutdown', 'remove'] as const)('is not brought back once it is to %s', (desiredState) => {
    expect(decide(entries, { account, tasks: [taskOf('t1', {}, { desiredState })] })).toEqual(
      conflict('task t1 is stopped; a task is never run again, place a new one'),
    );
  });

  it('never moves to another node', () => {
    expect(decide(entries, { account, tasks: [taskOf('t1', { nodeId: 'n2' })] })).toEqual(
      conflict('task t1 lives on node n2; a task never moves, place a new one'),
    );
  });

  it('never moves to another pool', () => {
    expect(decide(entries, { account, tasks: [taskOf('t1', {}, { pool: 'test' as never })] })).toEqual(
      conflict('task t1 exists already in pool test'),
    );
  });

  it('is a conflict before the node is ineligible or full, and after it is down', () => {
    const tasks = [taskOf('t1', {}, { state: 'failed' })];
    expect(code(entries, { account: accountWith({ eligibility: 'ineligible', maxTasks: 0 }), tasks })).toBe(
      'task-conflict',
    );
    expect(code(entries, { account: accountWith({ status: 'down' }), tasks })).toBe('node-down');
    expect(code(entries, { account: 'missing', tasks })).toBe('node-not-found');
  });

  it('is no refusal before the node was looked at, whose refusal comes first', () => {
    expect(decide(entries, { tasks: [taskOf('t1', {}, { state: 'failed' })] })).toEqual({
      kind: 'needs',
      tasks: [],
      account: true,
    });
  });
});

describe('what was not looked at', () => {
  const entries = { placements: [placing('t1', { resources: { cpu: 1 } })] };

  it('is taken to be as the part needs it, and named, for conditions to prove', () => {
    const presumed = { tasks: ['web#1 t1'], account: true };
    expect(decide(entries, { missing: [] })).toMatchObject({
      kind: 'accepted',
      effect: { demand: 'schedulable', presumed },
    });
    expect(decide(entries, { missing: [], account })).toMatchObject({
      kind: 'accepted',
      effect: { presumed: { ...presumed, account: false } },
    });
    expect(decide(entries, { account })).toMatchObject({ effect: { presumed: { tasks: [], account: false } } });
  });

  it.each([
    ['ineligible', accountWith({ ...spec, eligibility: 'ineligible' })],
    ['full', accountWith({ maxTasks: 10 })],
  ])('may be a task that is updated in place, which a node that is %s does not refuse', (_how, node) => {
    expect(decide(entries, { missing: [], account: node })).toEqual({
      kind: 'needs',
      tasks: ['web#1 t1'],
      account: false,
    });
    const there = taskOf('t1', { resources: { cpu: 1 } });
    expect(code(entries, { missing: [], account: node, tasks: [there] })).toBe('accepted');
    expect(code(entries, { account: node })).not.toBe('accepted');
  });

  it.each([
    ['gone', 'missing' as const, 'node-not-found'],
    ['down', accountWith({ status: 'down' }), 'node-down'],
  ])('makes no difference to a node that is %s', (_how, node, refusal) => {
    expect(code(entries, { missing: [], account: node })).toBe(refusal);
  });
});
