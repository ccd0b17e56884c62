import { beforeEach, describe, expect, test } from 'vitest';
import type { PlanResult } from '../../lib/plans/result.ts';
import type { EndRecord, PlannedPlacement, PlanRecord, RegisteredNode, StoredNode, StoredTask } from './history.ts';
import { checkInOrder } from './in-order.ts';
import { checkOnce, checkWhole } from './once-and-whole.ts';
import { checkNoOvercommitEver } from './overcommit-ever.ts';
import { checkNoOvercommitNow } from './overcommit-now.ts';

/**
 * A good history of two nodes and four plans and the state that it leaves, each of which a test below breaks in one place:
 * a check that cannot fail proves nothing.
 */
let nodes: RegisteredNode[];
let plans: PlanRecord[];
let ends: EndRecord[];
let stored: StoredNode[];
let tasks: StoredTask[];
let results: Map<string, PlanResult>;

function placement(taskId: string, nodeId: string, gpu?: number): PlannedPlacement {
  const gpus = gpu === undefined ? {} : { [`gpu-milli/${gpu}`]: 1_000 };
  return { taskId, nodeId, resources: { cpu: 600, ...gpus }, devices: gpu === undefined ? [] : [`gpu/${gpu}`] };
}

function answer(planId: string, index: number, placements: number, refused: readonly string[] = []): PlanResult {
  const result = {
    planId,
    pool: 'p',
    status: refused.length === 0 ? 'applied' : placements === 0 ? 'rejected' : 'partial',
    index,
    refreshIndex: refused.length === 0 ? 0 : index,
    committed: { placements, stops: 0, preemptions: 0 },
    rejectedNodes: refused.map((nodeId) => ({ nodeId, code: 'cpu', message: 'short' })),
    ineligibleNodes: [],
    alreadyGone: [],
    problems: [],
    receivedAt: '2026-01-01T00:00:00.000Z',
    appliedAt: '2026-01-01T00:00:00.000Z',
  };
  return result as unknown as PlanResult;
}

function plan(pushedAt: number, answeredAt: number, result: PlanResult, placements: PlannedPlacement[]): PlanRecord {
  return { planId: result.planId, pool: 'p', placements, pushedAt, answer: result, answeredAt };
}

beforeEach(() => {
  const capacity = { cpu: 1_200, 'gpu-milli/0': 1_000, 'gpu-milli/1': 1_000 };
  nodes = ['n1', 'n2'].map((nodeId) => ({ nodeId, pool: 'p', capacity, devices: ['gpu/0', 'gpu/1'] }));
  plans = [
    plan(1, 4, answer('a', 1, 3), [placement('t1', 'n1', 0), placement('t2', 'n1', 1), placement('t3', 'n2', 0)]),
    plan(2, 5, answer('b', 2, 1, ['n1']), [placement('t4', 'n1'), placement('t5', 'n2', 1)]),
    plan(8, 9, answer('c', 3, 1), [placement('t6', 'n1', 0)]),
    plan(10, 12, answer('d', 4, 0, ['n1']), [placement('t7', 'n1', 1), placement('t8', 'n1')]),
  ];
  ends = [{ taskId: 't1', sentAt: 6, outcome: 'applied' }];
  const task = (of: PlannedPlacement, planId: string, state = 'running'): StoredTask => ({
    ...of,
    planId,
    state,
    released: state === 'complete',
  });
  tasks = [
    task(placement('t1', 'n1', 0), 'a', 'complete'),
    task(placement('t2', 'n1', 1), 'a'),
    task(placement('t3', 'n2', 0), 'a'),
    task(placement('t5', 'n2', 1), 'b'),
    task(placement('t6', 'n1', 0), 'c'),
  ];
  const full = { cpu: 0, 'gpu-milli/0': 0, 'gpu-milli/1': 0, 'max-tasks': 98 };
  const holders = (first: string, second: string) =>
    new Map([
      ['device/gpu/0', first],
      ['device/gpu/1', second],
    ]);
  stored = [
    { nodeId: 'n1', capacity: { ...capacity, 'max-tasks': 100 }, free: full, claims: holders('t6', 't2') },
    { nodeId: 'n2', capacity: { ...capacity, 'max-tasks': 100 }, free: full, claims: holders('t3', 't5') },
  ];
  results = new Map(plans.map(({ planId, answer: result }) => [planId, structuredClone(result as PlanResult)]));
});

const now = () => checkNoOvercommitNow(nodes, stored, tasks);
const ever = () => checkNoOvercommitEver({ nodes, plans, ends });
const once = () => checkOnce({ nodes, plans, ends }, { nodes: stored, tasks, results });
const whole = () => checkWhole({ nodes, plans, ends }, { nodes: stored, tasks, results });
const order = () => checkInOrder({ nodes, plans, ends });
const said = (finding: { violations: readonly { where: string; message: string }[] }) =>
  finding.violations.map(({ where, message }) => `${where}: ${message}`);

/** Puts `change` over the entry of `list` that has this id. */
function change<T extends object>(list: T[], key: keyof T, id: string, by: Partial<T>): void {
  const at = list.findIndex((entry) => entry[key] === id);
  list[at] = { ...(list[at] as T), ...by };
}

test('a good history passes, and everything in it was looked at', () => {
  expect([now(), ever(), once(), whole(), order()]).toEqual([
    { checked: 7, violations: [] },
    { checked: 6, violations: [] },
    { checked: 9, violations: [] },
    { checked: 6, violations: [] },
    { checked: 4, violations: [] },
  ]);
});

describe('1, no overcommit, at one moment', () => {
  test('free does not match what is used', () => {
    change(stored, 'nodeId', 'n1', { free: { ...stored[0]?.free, cpu: 1, 'max-tasks': 97 } });
    expect(said(now())).toEqual(['n1: cpu: 1 free and 1200 used of 1200', 'n1: it counts 3 tasks and has 2']);
  });

  test('more is used than there is', () => {
    change(stored, 'nodeId', 'n1', { free: { ...stored[0]?.free, cpu: -600, 'max-tasks': 97 } });
    tasks.push({ ...placement('t9', 'n1'), planId: 'a', state: 'running', released: false });
    expect(said(now())).toEqual(['n1: cpu is overcommitted: -600 free']);
  });

  test('another capacity than was registered, a node that is gone, a task on an unknown node', () => {
    const capacity = { ...stored[0]?.capacity, cpu: 1_300 };
    change(stored, 'nodeId', 'n1', { capacity });
    stored.pop();
    tasks.push({ ...placement('t9', 'n9'), planId: 'a', state: 'running', released: false });
    expect(said(now())).toEqual([
      't9: it is on node n9, which nobody registered',
      'n1: capacity of cpu is 1300, registered were 1200',
      'n2: it was registered and is not there',
    ]);
  });

  test('a resource that the node has not', () => {
    change(tasks, 'taskId', 't6', { resources: { ...placement('t6', 'n1', 0).resources, 'gpu-milli/7': 1 } });
    expect(said(now())).toEqual(['n1: t6 uses gpu-milli/7, which the node has not']);
  });

  test('a claim whose holder is another, is gone, or that nobody asked for', () => {
    const claims = new Map([
      ['device/gpu/0', 't1'],
      ['port/*/80', 't2'],
    ]);
    change(stored, 'nodeId', 'n1', { claims });
    expect(said(now())).toEqual([
      'n1: device/gpu/0 is t1, expected t6',
      'n1: device/gpu/1 is not there, expected t2',
      'n1: a claim port/*/80 that no task asked for',
    ]);
  });

  test('two holders of one device, and a device that the node has not', () => {
    change(tasks, 'taskId', 't6', { devices: ['gpu/1', 'gpu/5'] });
    expect(said(now())).toContain('n1: device/gpu/1 is held by t2 and by t6');
    expect(said(now())).toContain('n1: t6 holds device/gpu/5, which the node has not');
  });

  test('a task that ended and gave nothing back, and one that runs and gave back', () => {
    change(tasks, 'taskId', 't1', { released: false });
    change(tasks, 'taskId', 't2', { released: true });
    expect(said(now()).slice(0, 2)).toEqual([
      't1: it is complete, and its resources were not given back',
      't2: it is running, and its resources were given back already',
    ]);
  });
});

describe('1, no overcommit, at any time', () => {
  test('a pool that begins to commit when another is done takes none of its ends for earlier than they were', () => {
    ends.push({ taskId: 't5', sentAt: 13, outcome: 'applied' });
    plans.push(plan(14, 15, answer('e', 5, 1), [placement('t9', 'n2', 1)]), {
      ...plan(20, 21, answer('late', 1, 0), []),
      pool: 'other',
    });
    expect(ever()).toEqual({ checked: 8, violations: [] });
  });

  test('a plan that was committed before the room was there', () => {
    ends = [];
    expect(said(ever())).toEqual([
      'n1: plan c, task t6: cpu is overcommitted by 600',
      'n1: plan c, task t6: gpu-milli/0 is overcommitted by 1000',
      'n1: plan c, task t6: device gpu/0 is held by t1',
    ]);
  });

  test('room that came too late: the end was reported after the answer', () => {
    change(ends, 'taskId', 't1', { sentAt: 10 });
    expect(said(ever())).toHaveLength(3);
  });

  test('room that came too late: the answer came later than that of a later commit', () => {
    change(ends, 'taskId', 't1', { sentAt: 10 });
    change(plans, 'planId', 'c', { answeredAt: 20 });
    expect(said(ever())).toEqual([]);
    change(plans, 'planId', 'd', { pushedAt: 7, answeredAt: 8 });
    expect(said(ever())).toHaveLength(3);
  });

  test('an end that changed nothing gives nothing back', () => {
    change(ends, 'taskId', 't1', { outcome: 'unchanged' });
    expect(said(ever())).toHaveLength(3);
  });

  test('a task gives back once', () => {
    ends.push({ taskId: 't1', sentAt: 7, outcome: 'applied' });
    change(plans, 'planId', 'c', { placements: [placement('t6', 'n1', 0), placement('t9', 'n1')] });
    expect(said(ever())).toEqual(['n1: plan c, task t9: cpu is overcommitted by 600']);
  });
});

describe('2, once', () => {
  test('no stored result, and none that the worker was told', () => {
    results.delete('a');
    plans.push({ planId: 'e', pool: 'p', placements: [], pushedAt: 30 });
    expect(said(once())).toEqual([
      'a: it was pushed and has no stored result',
      'e: it was pushed and has no stored result',
      'e: its worker was never told a result',
    ]);
  });

  test('another result than the worker was told', () => {
    results.set('d', answer('d', 5, 0, ['n1']));
    expect(said(once())).toEqual(['d: its stored result is another than its worker was told']);
  });

  test('a result that counts wrong', () => {
    change(plans, 'planId', 'a', { answer: answer('a', 1, 2) });
    results.set('a', answer('a', 1, 2));
    expect(said(once())).toEqual(['a: its result counts 2 placements, its refused nodes leave 3']);
  });

  test('a committed placement that is not there, is there twice, or is another', () => {
    const [, t2, t3] = tasks;
    tasks = tasks.filter((task) => task !== t2);
    tasks.push({ ...(t3 as StoredTask) });
    change(tasks, 'taskId', 't6', { resources: { cpu: 1 } });
    expect(said(once())).toEqual([
      't2: plan a committed it once, and it exists 0 times',
      't3: plan a committed it once, and it exists 2 times',
      't6: it is not what plan c asked for',
    ]);
  });

  test('a refused placement that exists, and a task of nobody', () => {
    tasks.push({ ...placement('t4', 'n1'), planId: 'b', state: 'running', released: false });
    tasks.push({ ...placement('t9', 'n1'), planId: 'z', state: 'running', released: false });
    expect(said(once())).toEqual([
      't4: it exists by plan b, whose result does not say so',
      't9: it exists by plan z, whose result does not say so',
    ]);
  });

  test('a task that two plans committed', () => {
    change(plans, 'planId', 'c', { placements: [placement('t2', 'n1', 1)] });
    expect(said(once())).toContain('t2: it was committed by plan a and again by plan c');
  });
});

test('3, whole: one of two placements on a node exists', () => {
  tasks = tasks.filter(({ taskId }) => taskId !== 't2');
  expect(said(whole())).toEqual(['a: 1 of its 2 placements on node n1 exist']);
});

describe('4, in order', () => {
  test('a later plan with an earlier index', () => {
    change(plans, 'planId', 'c', { answer: answer('c', 1, 1) });
    expect(said(order())).toEqual(['c: it has index 1, plan b, which was on the queue before, has 2']);
  });

  test('plans that were under way at once may come in any order, unless the queue is known to have had one first', () => {
    change(plans, 'planId', 'a', { answer: answer('a', 2, 3) });
    change(plans, 'planId', 'b', { answer: answer('b', 1, 1, ['n1']) });
    expect(said(order())).toEqual([]);
    change(plans, 'planId', 'a', { queuedAt: 1.5 });
    expect(said(order())).toEqual(['b: it has index 1, plan a, which was on the queue before, has 2']);
  });

  test('plans of one commit have the same index; pools do not wait for each other', () => {
    change(plans, 'planId', 'c', { answer: answer('c', 2, 1) });
    change(plans, 'planId', 'd', { pool: 'q', answer: answer('d', 1, 0, ['n1']) });
    expect(said(order())).toEqual([]);
  });
});
