import { describe, expect, it } from 'vitest';
import { discrepancies } from '../../test/support/audit.ts';
import { accountWith, taskOf } from '../../test/support/builders.ts';
import { decide, ending, placing } from '../../test/support/deciding.ts';
import { delivered } from '../../test/support/folding.ts';
import { poolOf } from '../../test/support/plans.ts';
import { runPlan, type Stage, stageOf } from '../../test/support/stages.ts';
import type { NodeId } from '../ids.ts';
import type { Task } from '../tasks/task.ts';
import { taskKeyOf } from './decide-part.ts';
import type { PlanInput } from './plan.ts';

/** Tasks that a plan has reserved whose message ended in the dead-letter queue, met by other plans of the pool. */

const WAS = taskOf('t1', { resources: { cpu: 4 } });
const { resources, ports, cores, devices, volumes, jobIteration, released, lastPlanId } = WAS;
const undo = { resources, ports, cores, devices, volumes, jobIteration, released, lastPlanId };
/** Its stop is reserved: it runs, and what it holds was given back. */
const STOPPED: Task = { ...WAS, released: true, lastPlanId: 'left' as never, undo };
/** Its update is reserved. */
const UPDATED: Task = { ...WAS, resources: { cpu: 6 }, lastPlanId: 'left' as never, undo };
/** It is reserved, and was not there before. */
const PENDING = taskOf(
  't1',
  { resources: { cpu: 4 } },
  { state: 'pending', planId: 'left' as never, lastPlanId: 'left' as never },
);

const RESERVED = [
  { what: 'a stop', task: STOPPED },
  { what: 'an update', task: UPDATED },
  { what: 'a new task', task: PENDING },
];

function stageWith(task: Task): Stage {
  const account = accountWith({ nodeId: 'n1', capacity: { cpu: 10 } }, task.released ? [] : [task]);
  const other = accountWith({ nodeId: 'n2', capacity: { cpu: 10 } });
  return stageOf(poolOf('prod', { index: 7 }), {
    accounts: new Map([account, other].map((each) => [each.nodeId, each])),
    tasks: new Map([[taskKeyOf(task), task]]),
  });
}

const taskIn = ({ facts }: Stage) => facts.tasks.get(taskKeyOf(WAS));

function problems({ facts }: Stage): string[] {
  const tasks = [...facts.tasks.values()].filter((task) => task !== 'missing');
  return [...facts.accounts.values()].flatMap((account) =>
    account === 'missing'
      ? []
      : discrepancies({ account, tasks: tasks.filter((task) => task.nodeId === account.nodeId && !task.released) }),
  );
}

describe.each(RESERVED)('$what that a plan left reserved', ({ task }) => {
  it('is not updated in place: what it holds may be given back though it runs', () => {
    const account = accountWith({ capacity: { cpu: 10 } });
    expect(
      decide({ placements: [placing('t1', { resources: { cpu: 5 } })] }, { account, tasks: [task] }),
    ).toMatchObject({ kind: 'rejected', code: 'task-conflict', message: expect.stringContaining('by plan left') });
  });

  it('can be stopped, and is stopped for good', () => {
    const on = stageWith(task);
    expect(runPlan(delivered('p1', { stops: [ending('t1')] }), on)).toMatchObject({ committed: { stops: 1 } });
    expect(taskIn(on)).toMatchObject({ state: task.state, desiredState: 'shutdown', released: true });
    expect(taskIn(on)).not.toHaveProperty('undo');
    expect(problems(on)).toEqual([]);
  });

  it('can be stopped by a plan in steps, and is never handed to an agent by it', () => {
    const on = stageWith(task);
    const plan = delivered('p1', {
      allAtOnce: true,
      stops: [ending('t1')],
      placements: [placing('t2', { slot: 2 }), placing('t3', { slot: 3, nodeId: 'n2' })],
    });
    expect(runPlan(plan, on, 8)).toMatchObject({ status: 'applied' });
    expect(taskIn(on)).toMatchObject({ state: task.state, desiredState: 'shutdown', released: true });
    expect(taskIn(on)).not.toHaveProperty('undo');
    expect(problems(on)).toEqual([]);
  });

  it('is what it was before both, if the plan in steps that was to stop it is not committed', () => {
    const on = stageWith(task);
    const plan = delivered('p1', {
      allAtOnce: true,
      stops: [ending('t1')],
      placements: [
        placing('t4', { slot: 4, nodeId: 'n2' }),
        placing('t2', { slot: 2, nodeId: 'n2', resources: { cpu: 1 } }),
        placing('t3', { slot: 3, nodeId: 'n3' }),
      ],
    });
    const n3 = accountWith({ nodeId: 'n3', capacity: { cpu: 10 } });
    on.facts.accounts.set(n3.nodeId, n3);
    let commits = 0;
    const result = runPlan(plan, on, 8, () => {
      // Somebody takes the last node down after the first step.
      if (commits++ > 0) return;
      on.facts.accounts.set('n3' as NodeId, { ...n3, status: 'down', version: n3.version + 1 });
    });
    expect(result).toMatchObject({ status: 'rejected', rejectedNodes: [{ code: 'node-down' }] });
    const before = task === PENDING ? PENDING : WAS;
    expect({ ...(taskIn(on) as Task), version: 0 }).toEqual({ ...before, version: 0 });
    expect(problems(on)).toEqual([]);
  });
});

describe('what a plan had given that it left in the middle', () => {
  const PORT = { ip: '10.0.0.1', value: 80 };
  const VOLUME = { source: 'v', mode: 'single-writer' } as const;
  type Orders = Pick<PlanInput, 'stops' | 'preemptions' | 'placements'>;
  const orders: Orders = { stops: [ending('t1')] };
  it.each([
    { what: 'a port', wants: { ports: [PORT] }, orders },
    { what: 'a core', wants: { cores: [0] }, orders },
    { what: 'a volume', wants: { volumes: [VOLUME] }, orders },
    {
      what: 'a volume that they share',
      wants: { volumes: [VOLUME] },
      others: { volumes: [{ ...VOLUME, mode: 'reader-only' as const }] },
      orders,
    },
    { what: 'a port of a preempted task', wants: { ports: [PORT] }, orders: { preemptions: [ending('t1')] } as Orders },
    {
      what: 'a port by an update in place',
      wants: { ports: [PORT] },
      orders: { placements: [placing('t1')] } as Orders,
    },
  ])('stays with those who have taken it since: $what', ({ wants, others = wants, orders }) => {
    const held = taskOf('t1', wants);
    const accounts = [accountWith({ nodeId: 'n1', capacity: {}, cores: [0] }, [held])];
    for (const nodeId of ['n2', 'n3']) accounts.push(accountWith({ nodeId, capacity: {} }));
    const on = stageOf(poolOf('prod', { index: 7 }), {
      accounts: new Map(accounts.map((account) => [account.nodeId, account])),
      tasks: new Map([[taskKeyOf(held), held]]),
    });
    const rest = [2, 3, 4].map((at) => placing(`t${at}`, { slot: at, nodeId: at < 4 ? 'n2' : 'n3' }));
    const left = delivered('left', { allAtOnce: true, ...orders, placements: [...(orders.placements ?? []), ...rest] });
    let commits = 0;
    const result = runPlan(left, on, 8, () => {
      if (commits++ > 0) return;
      // Its message has ended in the dead-letter queue. Others go on; then it is redriven.
      const taking = delivered('u', { placements: [placing('u1', { slot: 9, ...others })] });
      expect(runPlan(taking, on)).toMatchObject({ status: 'applied' });
      const n3 = on.facts.accounts.get('n3' as NodeId);
      if (n3 && n3 !== 'missing')
        on.facts.accounts.set('n3' as NodeId, { ...n3, status: 'down', version: n3.version + 1 });
    });
    expect(result).toMatchObject({ status: 'rejected', rejectedNodes: [{ nodeId: 'n3', code: 'node-down' }] });
    expect(taskIn(on)).toMatchObject(
      orders.placements ? { desiredState: 'running' } : { desiredState: 'shutdown', released: true },
    );
    expect(taskIn(on)).not.toHaveProperty('undo');
    expect(problems(on)).toEqual([]);
  });
});
