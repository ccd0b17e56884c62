import { describe, expect, it } from 'vitest';
import { accountWith, NOW, placementOf, taskOf } from '../../test/support/builders.ts';
import { ending, placing } from '../../test/support/deciding.ts';
import { delivered } from '../../test/support/folding.ts';
import { poolOf } from '../../test/support/plans.ts';
import { runPlan, type Stage, stageOf } from '../../test/support/stages.ts';
import type { NodeId } from '../ids.ts';
import type { Account } from '../nodes/account.ts';
import type { Task } from '../tasks/task.ts';
import { type EpochMs, isoTime } from '../time.ts';
import { taskKeyOf } from './decide-part.ts';
import { foldPlans } from './fold.ts';

function stage(accounts: readonly Account[], tasks: readonly Task[] = [], settings = {}): Stage {
  return stageOf(poolOf('prod', { index: 7, settings }), {
    accounts: new Map(accounts.map((account) => [account.nodeId, account])),
    tasks: new Map(tasks.map((task) => [taskKeyOf(task), task])),
  });
}

const node = (
  nodeId: string,
  more: Parameters<typeof accountWith>[0] = {},
  tasks: Parameters<typeof accountWith>[1] = [],
) => accountWith({ nodeId, capacity: { cpu: 10 }, ...more }, tasks);
const place = (count: number, nodeOf: (at: number) => string, cpu = 1) =>
  Array.from({ length: count }, (_, at) => placing(`t${at}`, { slot: at, nodeId: nodeOf(at), resources: { cpu } }));
const phases = ({ commits }: Stage) =>
  commits.map(({ progress, results }) => progress?.phase ?? results[0]?.result.status);
const tasksOf = ({ facts }: Stage) => [...facts.tasks.values()].filter((task) => task !== 'missing');

describe('a plan past one transaction', () => {
  it('is committed node by node, each whole', () => {
    const on = stage(['n0', 'n1', 'n2', 'n3'].map((name) => node(name)));
    const plan = delivered('p1', { placements: place(8, (at) => `n${at % 4}`) });
    expect(runPlan(plan, on, 12)).toMatchObject({ status: 'applied', committed: { placements: 8 }, index: 9 });
    expect(on.commits.map(({ nodes, tasks }) => [[...nodes.keys()], tasks.size])).toEqual([
      [['n0', 'n1', 'n2'], 6],
      [['n3'], 2],
    ]);
    expect(phases(on)).toEqual(['deciding', 'applied']);
  });

  it('takes one transaction after all, if everything fits it', () => {
    const names = Array.from({ length: 30 }, (_, at) => `n${at}`);
    const on = stage(names.map((name) => node(name)));
    expect(runPlan(delivered('p1', { placements: place(30, (at) => `n${at}`) }), on)).toMatchObject({
      status: 'applied',
    });
    expect(on.commits).toHaveLength(1);
  });

  it('goes on with the nodes that do not refuse, and counts those that do', () => {
    const on = stage([node('n0'), node('n1', { capacity: {} }), node('n2', { status: 'down' }), node('n3')]);
    const result = runPlan(delivered('p1', { placements: place(8, (at) => `n${at % 4}`) }), on, 9);
    expect(result).toMatchObject({
      status: 'partial',
      committed: { placements: 4 },
      rejectedNodes: [{ code: 'cpu' }, { code: 'node-down' }],
    });
    expect(result.refreshIndex).toBe(result.index);
    expect([...on.facts.windows].flatMap(([name, window]) => (window === 'missing' ? [] : [name]))).toEqual([
      'n1',
      'n2',
    ]);
  });

  it('is not expired once it is begun', () => {
    const on = stage(['n0', 'n1', 'n2', 'n3'].map((name) => node(name)));
    const plan = delivered('p1', { notAfter: isoTime(NOW), placements: place(8, (at) => `n${at % 4}`) });
    const late = (NOW + 1) as EpochMs;
    expect(foldPlans([plan], { ...on.facts, progress: new Map([['p1' as never, 'none']]) }, late, 12)).toMatchObject({
      decided: [{ result: { status: 'expired' } }],
    });
    const { facts } = on;
    const begun = () =>
      runPlan(plan, on, 12, () => {
        throw new Error('crash');
      });
    expect(begun).toThrow('crash');
    expect(foldPlans([plan], facts, late, 12)).toMatchObject({
      kind: 'group',
      decided: [{ result: { status: 'applied' } }],
    });
  });
});

describe('a node past one transaction', () => {
  const plan = delivered('p1', { placements: place(6, () => 'n1') });

  it('is reserved in steps, and committed with one write', () => {
    const on = stage([node('n1')]);
    expect(runPlan(plan, on, 9)).toMatchObject({ status: 'applied', committed: { placements: 6 } });
    expect(phases(on)).toEqual(['reserving', 'finishing', 'applied']);
  });

  it('has no task that an agent would take before that write', () => {
    const on = stage([node('n1')]);
    const states: string[][] = [];
    runPlan(plan, on, 9, () => states.push(tasksOf(on).map(({ state }) => state)));
    expect(
      states
        .slice(0, 2)
        .flat()
        .every((state) => state === 'pending'),
    ).toBe(true);
    expect(states.at(-1)).toEqual(Array(6).fill('assigned'));
  });

  it('gives everything back if it does not fit any more when it is reserved, and is refused', () => {
    const on = stage([node('n1')]);
    const { facts } = on;
    let commits = 0;
    const result = runPlan(plan, on, 9, () => {
      const account = facts.accounts.get('n1' as NodeId);
      // Somebody lowers the capacity after the first step.
      if (commits++ === 0 && account !== undefined && account !== 'missing') {
        facts.accounts.set('n1' as NodeId, {
          ...account,
          capacity: { cpu: 5 },
          free: { ...account.free, cpu: 0 },
          version: account.version + 1,
        });
      }
    });
    expect(result).toMatchObject({
      status: 'rejected',
      committed: { placements: 0 },
      rejectedNodes: [{ nodeId: 'n1', code: 'cpu' }],
    });
    expect(phases(on)).toEqual(['reserving', 'undoing', 'deciding', 'rejected']);
    expect(tasksOf(on)).toEqual([]);
    expect(facts.accounts.get('n1' as NodeId)).toMatchObject({ free: { cpu: 5, 'max-tasks': 1_000_000_000 } });
  });

  it('is not begun if it does not fit as it is', () => {
    const on = stage([node('n1', { capacity: { cpu: 5 } })]);
    runPlan(plan, on, 9);
    expect(phases(on)).toEqual(['rejected']);
  });
});

describe('a plan at once', () => {
  const names = ['n0', 'n1', 'n2', 'n3'];

  it('reserves all of its nodes before it commits any', () => {
    const on = stage(names.map((name) => node(name)));
    const states: string[][] = [];
    const plan = delivered('p1', { allAtOnce: true, placements: place(8, (at) => `n${at % 4}`) });
    expect(runPlan(plan, on, 12, () => states.push([...new Set(tasksOf(on).map(({ state }) => state))]))).toMatchObject(
      { status: 'applied', committed: { placements: 8 } },
    );
    const written = phases(on).indexOf('finishing');
    expect(written).toBeGreaterThan(0);
    for (const kinds of states.slice(0, written + 1)) expect(kinds).toEqual(['pending']);
  });

  it('reserves nothing if a node refuses it, and names every one that does', () => {
    const on = stage([node('n0'), node('n1', { capacity: {} }), node('n2'), node('n3', { drain: true })]);
    const result = runPlan(delivered('p1', { allAtOnce: true, placements: place(8, (at) => `n${at % 4}`) }), on, 9);
    expect(result).toMatchObject({ status: 'rejected', committed: { placements: 0 } });
    expect(result.rejectedNodes.map(({ nodeId, code }) => [nodeId, code])).toEqual([
      ['n1', 'cpu'],
      ['n3', 'node-ineligible'],
    ]);
    expect(tasksOf(on)).toEqual([]);
    for (const { nodes } of on.commits) expect(nodes.size).toBe(0);
  });

  it('lets updates in place give back before others take, whatever their order', () => {
    const wide = { slot: 1, resources: { cpu: 10 }, ports: [{ ip: 'a', value: 80 }] };
    const held = taskOf('t1', wide);
    const on = stage([node('n1', {}, [placementOf('t1', wide)])], [held]);
    const plan = delivered('p1', {
      allAtOnce: true,
      placements: [
        placing('t2', { slot: 2, resources: { cpu: 5 }, ports: [{ ip: 'a', value: 80 }] }),
        placing('t1', { slot: 1, resources: { cpu: 5 }, ports: [{ ip: 'a', value: 81 }] }),
      ],
    });
    expect(runPlan(plan, on, 8)).toMatchObject({ status: 'applied', committed: { placements: 2 } });
    const account = on.facts.accounts.get('n1' as NodeId);
    expect(account).toMatchObject({
      free: { cpu: 0 },
      claims: new Map([
        ['port/a/81', 't1'],
        ['port/a/80', 't2'],
      ]),
    });
    expect(on.facts.tasks.get('web#1 t1' as never)).toMatchObject({ resources: { cpu: 5 }, state: 'running' });
  });

  it('leaves tasks that it would have changed as they were, if it is not committed', () => {
    const tasks = [
      taskOf('h1', { slot: 1, nodeId: 'n0', resources: { cpu: 4 } }),
      taskOf('h2', {
        slot: 2,
        nodeId: 'n0',
        resources: { cpu: 4 },
        ports: [{ ip: 'a', value: 1, ignoreCollision: true }],
      }),
      taskOf('h3', { slot: 3, nodeId: 'n0' }),
    ];
    const on = stage([node('n0', {}, tasks), node('n1')], tasks);
    const before = structuredClone(on.facts);
    const plan = delivered('p1', {
      allAtOnce: true,
      placements: [
        placing('h2', { slot: 2, nodeId: 'n0', resources: { cpu: 9 }, jobIteration: 5 }),
        placing('t1', { slot: 9, nodeId: 'n1', resources: { cpu: 1 } }),
      ],
      stops: [ending('h1', { nodeId: 'n0', desiredState: 'remove' })],
      preemptions: [ending('h3', { slot: 3, nodeId: 'n0', preemptedBy: 't1' })],
    });
    const result = runPlan(plan, on, 8, ({ progress }) => {
      const n1 = on.facts.accounts.get('n1' as NodeId);
      if (progress?.phase === 'reserving' && n1 && n1 !== 'missing')
        on.facts.accounts.set('n1' as NodeId, { ...n1, status: 'down' });
    });
    expect(phases(on)).toContain('undoing');
    expect(result).toMatchObject({ status: 'rejected', rejectedNodes: [{ nodeId: 'n1', code: 'node-down' }] });
    const apart = (task: Task | 'missing' | undefined) => (task && task !== 'missing' ? { ...task, version: 0 } : task);
    for (const [key, task] of before.tasks) expect(apart(on.facts.tasks.get(key))).toEqual(apart(task));
    const free = (account: Account | 'missing' | undefined) =>
      account && account !== 'missing' && [account.free, account.claims];
    expect(free(on.facts.accounts.get('n0' as NodeId))).toEqual(free(before.accounts.get('n0' as NodeId)));
  });

  it('stops a task for good that ended while it was reserved, and gives nothing back twice', () => {
    const task = taskOf('h1', { slot: 1, nodeId: 'n0', resources: { cpu: 4 } });
    const on = stage([node('n0', {}, [task]), node('n1')], [task], { stopRelease: 'terminal' });
    const plan = delivered('p1', {
      allAtOnce: true,
      placements: [placing('t1', { slot: 9, nodeId: 'n1' })],
      stops: [ending('h1', { nodeId: 'n0' })],
    });
    const key = taskKeyOf(task);
    const result = runPlan(plan, on, 8, ({ progress }) => {
      const reserved = on.facts.tasks.get(key);
      if (progress?.phase !== 'finishing' || !reserved || reserved === 'missing' || reserved.state !== 'running')
        return;
      on.facts.tasks.set(key, { ...reserved, state: 'failed', released: true, version: reserved.version + 1 });
    });
    expect(result.status).toBe('applied');
    expect(on.facts.tasks.get(key)).toMatchObject({ state: 'failed', desiredState: 'shutdown', released: true });
    expect(on.facts.tasks.get(key)).not.toHaveProperty('undo');
  });
});
