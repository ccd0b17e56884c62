import { describe, expect, it } from 'vitest';
import { accountWith, NOW, type placementOf, taskOf } from '../../test/support/builders.ts';
import { decide, ending, placing } from '../../test/support/deciding.ts';
import { exchanged } from '../nodes/account.ts';
import { holdingOf } from '../tasks/holding.ts';
import type { Task } from '../tasks/task.ts';
import type { EpochMs } from '../time.ts';
import type { PartEffect } from './decide-part.ts';

type Wants = NonNullable<Parameters<typeof placementOf>[1]>;

const spec = { capacity: { cpu: 10, memory: 10 }, cores: [0, 1], devices: [{ id: 'gpu' }], maxTasks: 2 };

function effectOf(...args: Parameters<typeof decide>): PartEffect {
  const outcome = decide(...args);
  if (outcome.kind !== 'accepted') throw new Error(JSON.stringify(outcome));
  return outcome.effect;
}

describe('an update in place', () => {
  const update = (
    before: Wants,
    after: Wants,
    more: Parameters<typeof accountWith>[0] = {},
    others: readonly Task[] = [],
  ) => {
    const task = taskOf('t1', before);
    const account = accountWith({ ...spec, ...more }, [task, ...others]);
    return {
      task,
      account,
      outcome: decide({ placements: [placing('t1', after as object)] }, { account, tasks: [task, ...others] }),
    };
  };
  const code = (...args: Parameters<typeof update>) => {
    const { outcome } = update(...args);
    return outcome.kind === 'rejected' ? outcome.code : outcome.kind;
  };

  it('changes what the task wants, and nothing of its life', () => {
    const { task, outcome } = update({ resources: { cpu: 4 } }, { resources: { cpu: 6 }, jobIteration: 3 });
    expect(outcome).toMatchObject({ kind: 'accepted', effect: { demand: 'ready', placed: ['t1'] } });
    expect(outcome.kind === 'accepted' && outcome.effect.tasks).toEqual([
      { ...task, resources: { cpu: 6 }, jobIteration: 3, version: task.version + 1, lastPlanId: 'plan-1' },
    ]);
  });

  it.each([
    ['ineligible', { eligibility: 'ineligible' as const }],
    ['draining', { drain: true }],
  ])('is not refused by a node that is %s', (_how, more) => {
    expect(code({}, { resources: { cpu: 1 } }, more)).toBe('accepted');
  });

  it('is refused by a node that is not ready', () => {
    expect(code({}, {}, { status: 'disconnected' })).toBe('node-disconnected');
  });

  it('is asked for eligibility as soon as one new task is placed with it', () => {
    const task = taskOf('t1');
    const entries = { placements: [placing('t1'), placing('t2', { slot: 2 })] };
    const known = { account: accountWith({ ...spec, eligibility: 'ineligible' }, [task]), tasks: [task] };
    expect(decide(entries, known)).toMatchObject({ kind: 'rejected', code: 'node-ineligible', counts: false });
  });

  it('must fit with what it adds, and with no more', () => {
    const others = [taskOf('h1', { slot: 7, resources: { cpu: 4 } })];
    expect(code({ resources: { cpu: 4 } }, { resources: { cpu: 6 } }, {}, others)).toBe('accepted');
    expect(code({ resources: { cpu: 4 } }, { resources: { cpu: 7 } }, {}, others)).toBe('cpu');
  });

  it('takes no second place among the tasks of its node', () => {
    expect(code({}, { resources: { cpu: 1 } }, { maxTasks: 1 })).toBe('accepted');
  });

  it('passes on a node that holds too much already, if it adds nothing of it', () => {
    const task = taskOf('t1', { resources: { cpu: 8 }, devices: ['gpu'] });
    const account = {
      ...accountWith({ ...spec, devices: [{ id: 'gpu', healthy: false }] }, [task]),
      free: { cpu: -3, memory: 1 },
    };
    const to = (after: Wants) =>
      decide({ placements: [placing('t1', { devices: ['gpu'], ...(after as object) })] }, { account, tasks: [task] });
    expect(to({ resources: { cpu: 8, memory: 1 } }).kind).toBe('accepted');
    expect(to({ resources: { cpu: 7 } }).kind).toBe('accepted');
    expect(to({ resources: { cpu: 9 } })).toMatchObject({ code: 'cpu' });
  });

  it('gives back what it does not want any more, so that another of the same plan may have it', () => {
    const task = taskOf('t1', { resources: { cpu: 10 }, cores: [0] });
    const entries = {
      placements: [
        placing('t2', { slot: 2, resources: { cpu: 4 }, cores: [0] }),
        placing('t1', { resources: { cpu: 6 } }),
      ],
    };
    expect(decide(entries, { account: accountWith(spec, [task]), tasks: [task] }).kind).toBe('accepted');
  });

  it.each([
    [
      'a port whose collision it ignores from then on',
      { ports: [{ ip: 'a', value: 80 }] },
      { ports: [{ ip: 'a', value: 80, ignoreCollision: true }] },
    ],
    [
      'a port whose collision it does not ignore any more',
      { ports: [{ ip: 'a', value: 80, ignoreCollision: true }] },
      { ports: [{ ip: 'a', value: 80 }] },
    ],
    [
      'a port of which it gives up one of two claims',
      {
        ports: [
          { ip: 'a', value: 80 },
          { ip: 'a', value: 80, ignoreCollision: true },
        ],
      },
      { ports: [{ ip: 'a', value: 80, ignoreCollision: true }] },
    ],
    [
      'a volume that it shared',
      { volumes: [{ source: 'v', mode: 'multi-writer' as const }] },
      { volumes: [{ source: 'v', mode: 'single-writer' as const }] },
    ],
    [
      'a volume that it had alone',
      { volumes: [{ source: 'v', mode: 'single-writer' as const }] },
      { volumes: [{ source: 'v', mode: 'reader-only' as const }] },
    ],
    ['everything', { resources: { cpu: 3 }, cores: [0], devices: ['gpu'] }, { resources: { memory: 3 }, cores: [1] }],
    ['nothing new', { resources: { cpu: 3 }, cores: [0] }, { resources: { cpu: 3 }, cores: [0] }],
  ])('leaves the node as if the task had always wanted it: %s', (_what, before, after) => {
    const { account, outcome } = update(before, after);
    if (outcome.kind !== 'accepted') throw new Error(JSON.stringify(outcome));
    const [image] = outcome.effect.tasks;
    expect(exchanged(account, outcome.effect.exchange)).toEqual(accountWith(spec, [taskOf('t1', after)]));
    expect(
      exchanged(exchanged(account, outcome.effect.exchange), { gives: [holdingOf(image as Task)], takes: [] }),
    ).toEqual(accountWith(spec));
  });
});

describe.each(['stops', 'preemptions'] as const)('one of the %s', (list) => {
  const counted = list === 'stops' ? 'stopped' : 'preempted';
  const effect = (task: Task | undefined, known: Partial<Parameters<typeof decide>[1]> = {}, more = {}) =>
    effectOf({ [list]: [ending('t1', more)] }, { tasks: task ? [task] : [], ...known });
  const nothing = { exchange: { gives: [], takes: [] }, stopped: [], preempted: [] };

  it('gives back what the task holds, and has it shut down', () => {
    const task = taskOf('t1', { resources: { cpu: 4 } });
    expect(effect(task)).toMatchObject({
      exchange: { gives: [holdingOf(task)], takes: [] },
      [counted]: ['t1'],
      alreadyGone: [],
    });
    expect(effect(task).tasks).toEqual([
      {
        ...task,
        version: task.version + 1,
        desiredState: 'shutdown',
        desiredAt: NOW,
        released: true,
        lastPlanId: 'plan-1',
      },
    ]);
  });

  it('leaves what the task holds until its end is reported, if the pool is set so', () => {
    const task = taskOf('t1', { resources: { cpu: 4 } });
    const held = effect(task, { stopRelease: 'terminal' });
    expect(held).toMatchObject({ exchange: { gives: [], takes: [] }, [counted]: ['t1'] });
    expect(held.tasks).toMatchObject([{ desiredState: 'shutdown', released: false }]);
  });

  it('of a task that is gone is satisfied', () => {
    expect(effect(undefined)).toMatchObject({ ...nothing, tasks: [], alreadyGone: ['t1'] });
  });

  it.each([
    ['on another node', taskOf('t1', { nodeId: 'n2' })],
    ['in another pool', taskOf('t1', {}, { pool: 'test' as never })],
  ])('of a task that lives %s is of one that is gone from here', (_where, task) => {
    expect(effect(task)).toMatchObject({ ...nothing, tasks: [], alreadyGone: ['t1'] });
  });

  it.each(['complete', 'shutdown', 'failed', 'rejected', 'orphaned'] as const)(
    'of a task that is %s is satisfied, and is told that its end was dealt with',
    (state) => {
      const task = taskOf('t1', {}, { state, released: true });
      expect(effect(task)).toMatchObject({ ...nothing, alreadyGone: [] });
      expect(effect(task).tasks).toMatchObject([{ state, desiredState: 'shutdown', released: true }]);
    },
  );

  it('of a task that was stopped before changes nothing', () => {
    const task = taskOf('t1', {}, { desiredState: 'shutdown', released: true });
    expect(effect(task)).toMatchObject({ ...nothing, tasks: [], alreadyGone: [] });
  });

  it('of a task that was stopped, but not released, gives back what it holds', () => {
    const desiredAt = (NOW - 5) as EpochMs;
    const task = taskOf('t1', { resources: { cpu: 4 } }, { desiredState: 'shutdown', desiredAt });
    expect(effect(task)).toMatchObject({
      exchange: { gives: [holdingOf(task)] },
      tasks: [{ released: true, desiredState: 'shutdown', desiredAt }],
    });
  });

  it('never moves the desired state down', () => {
    const task = taskOf('t1', {}, { desiredState: 'remove', desiredAt: NOW });
    expect(effect(task).tasks).toMatchObject([{ desiredState: 'remove', desiredAt: NOW }]);
  });
});

describe('a stop', () => {
  it('may have the task removed as soon as it has ended, even if it was stopped before', () => {
    const remove = { stops: [ending('t1', { desiredState: 'remove' as const })] };
    expect(effectOf(remove, { tasks: [taskOf('t1')] }).tasks).toMatchObject([{ desiredState: 'remove' }]);
    const stopped = taskOf('t1', {}, { desiredState: 'shutdown', released: true });
    expect(effectOf(remove, { tasks: [stopped] })).toMatchObject({
      stopped: ['t1'],
      exchange: { gives: [] },
      tasks: [{ desiredState: 'remove' }],
    });
  });
});

describe('a preemption', () => {
  it('says for whom', () => {
    const entries = { preemptions: [ending('t1', { preemptedBy: 't9' })] };
    expect(effectOf(entries, { tasks: [taskOf('t1')] }).tasks).toMatchObject([
      { preemptedBy: 't9', desiredState: 'shutdown' },
    ]);
  });
});
