import { describe, expect, test } from 'vitest';
import type { PlanResult } from '../../lib/client/index.ts';
import { FakeCluster } from '../testing/fake-cluster.ts';
import { nodeSpecOf } from '../workload/berth-terms.ts';
import { generateWorkload } from '../workload/generate.ts';
import { findUnplaceable } from '../workload/unplaceable.ts';
import type { WorkloadNode, WorkloadTask } from '../workload/workload.ts';
import { auditAtEnd } from './audit.ts';
import { recording } from './recording.ts';
import { type ReplayOptions, replay } from './replay.ts';

const NODE: WorkloadNode = { name: 'n', cpuMilli: 1_000, memoryMib: 1_000, gpus: 0, model: '' };

function task(name: string, arrival: number, end: number, cpuMilli = 1_000): WorkloadTask {
  return { name, cpuMilli, memoryMib: 1, gpus: 0, gpuMilli: 0, models: [], arrival, end, outcome: 'complete' };
}

async function run(nodes: readonly WorkloadNode[], tasks: readonly WorkloadTask[], more: Partial<ReplayOptions> = {}) {
  const fake = new FakeCluster();
  const { cluster, history } = recording(fake.asCluster());
  await cluster.registerPool({ pool: 'p' });
  await cluster.registerNodes(nodes.map((node) => nodeSpecOf(node, 'p')));
  const outcome = await replay({
    cluster,
    pool: 'p',
    tasks,
    workers: 4,
    seed: 1,
    limits: { events: 20, seconds: 3_600 },
    reportRunning: true,
    clock: () => 0,
    signal: new AbortController().signal,
    ...more,
  });
  return { fake, outcome, findings: await auditAtEnd(cluster, history, ['p']) };
}

describe('the built-in workload', () => {
  const { nodes, tasks } = generateWorkload(1);
  const unplaceable = new Set(findUnplaceable(tasks, nodes).map((found) => found.task));
  const placeable = tasks.filter((it) => !unplaceable.has(it));

  test('every task is placed and ended as the workload says; workers collide, wait and plan again; nothing is broken', async () => {
    const { fake, outcome, findings } = await run(nodes, placeable);
    expect(outcome.placed).toBe(placeable.length);
    const failed = placeable.filter((it) => it.outcome === 'failed').length;
    expect(outcome.ended).toEqual({ complete: placeable.length - failed, failed });
    expect(outcome.waited).toBeGreaterThan(20);
    expect(outcome.plans.some(({ result }) => result.status === 'partial')).toBe(true);
    expect(outcome.allocations.at(-1)).toMatchObject({
      running: 0,
      waiting: 0,
      cpuMilli: 0,
      memoryMib: 0,
      gpuMilli: 0,
    });
    for (const finding of Object.values(findings)) {
      expect(finding.violations).toEqual([]);
      expect(finding.checked).toBeGreaterThan(100);
    }
    for (const plan of fake.decided) expect(plan.placements.length).toBeLessThanOrEqual(16);
    const reported = (wanted: string) => fake.reports.filter(({ state }) => state === wanted).length;
    expect([reported('running'), reported('failed')]).toEqual([placeable.length, failed]);
  });

  test('no allocation is above what the nodes have', async () => {
    const { outcome } = await run(nodes, placeable, { reportRunning: false });
    const most = (of: (node: WorkloadNode) => number) => nodes.reduce((sum, node) => sum + of(node), 0);
    for (const { cpuMilli, gpuMilli } of outcome.allocations) {
      expect(cpuMilli).toBeLessThanOrEqual(most((node) => node.cpuMilli));
      expect(gpuMilli).toBeLessThanOrEqual(most((node) => node.gpus) * 1_000);
    }
    expect(Math.max(...outcome.allocations.map(({ gpuMilli }) => gpuMilli))).toBeGreaterThan(
      most((node) => node.gpus) * 800,
    );
  });
});

test('a task that waits for room runs as long as it would have, and ends as much later', async () => {
  const tasks = [task('first', 0, 100), task('second', 10, 60), task('third', 20, 25)];
  const { outcome } = await run([NODE], tasks, { workers: 1, limits: { events: 1, seconds: 1 } });
  // second: placed at 100 instead of 10, so that it ends at 150; third: at 150 instead of 20, ends at 155.
  expect(outcome.allocations.map(({ at, running, waiting }) => [at, running, waiting])).toEqual([
    [0, 1, 0],
    [10, 1, 1],
    [20, 1, 2],
    [100, 1, 1],
    [150, 1, 0],
    [155, 0, 0],
  ]);
  expect(outcome.waited).toBe(2);
});

describe('workers that collide: each takes eight tasks, and there is room for eight on the node that both find best', () => {
  const tasks = Array.from({ length: 16 }, (_, at) => task(`t${at}`, 0, 10, 125));

  test('one gets it, the other waits until it is given back', async () => {
    const { fake, outcome } = await run([NODE], tasks, { workers: 2 });
    expect([...fake.results.values()].map(({ status }) => status)).toEqual(['applied', 'rejected', 'applied']);
    expect(outcome).toMatchObject({ placed: 16, waited: 8 });
  });

  test('the other looks again, and plans what was refused again in a plan of another id', async () => {
    const { fake, outcome } = await run([NODE, { ...NODE, name: 'm', cpuMilli: 5_000 }], tasks, { workers: 2 });
    const [, refused, again] = fake.decided;
    expect([...fake.results.values()].map(({ status }) => status)).toEqual(['applied', 'rejected', 'applied']);
    expect(again?.placements.map(({ taskId }) => taskId)).toEqual(refused?.placements.map(({ taskId }) => taskId));
    expect(again?.placements.every(({ nodeId }) => nodeId === 'm')).toBe(true);
    expect(again?.snapshotIndex).toBeGreaterThanOrEqual(2);
    expect(new Set(fake.decided.map(({ planId }) => planId)).size).toBe(3);
    expect(outcome.waited).toBe(0);
  });
});

test('at half of the tasks everything stands still for a look', async () => {
  const looks: number[] = [];
  const fake = new FakeCluster();
  const { nodes, tasks } = {
    nodes: [NODE],
    tasks: Array.from({ length: 10 }, (_, at) => task(`t${at}`, at, at + 3, 100)),
  };
  const cluster = fake.asCluster();
  await cluster.registerNodes(nodes.map((node) => nodeSpecOf(node, 'p')));
  const atHalf = async () => void looks.push(fake.stored.size);
  const limits = { events: 1, seconds: 1 };
  const options = { pool: 'p', workers: 2, seed: 1, reportRunning: false, clock: () => 0 };
  await replay({ ...options, cluster, tasks, limits, signal: new AbortController().signal, atHalf });
  expect(looks).toEqual([5]);
});

describe('what ends it', () => {
  test('a signal, with its reason', async () => {
    const controller = new AbortController();
    const reason = new Error('stopped by the user');
    const onProgress = () => controller.abort(reason);
    await expect(
      run([NODE], [task('a', 0, 10), task('b', 5, 10)], { signal: controller.signal, onProgress }),
    ).rejects.toBe(reason);
  });

  test('a result that no plan of the demo can have', async () => {
    const fake = new FakeCluster();
    fake.faults.result = (result) =>
      ({ ...result, status: 'invalid', problems: [{ path: 'pool', message: 'wrong' }] }) as PlanResult;
    const cluster = fake.asCluster();
    await cluster.registerNodes([nodeSpecOf(NODE, 'p')]);
    const limits = { events: 1, seconds: 1 };
    const options = { pool: 'p', workers: 1, seed: 1, reportRunning: false, clock: () => 0 };
    const ended = replay({
      ...options,
      cluster,
      tasks: [task('a', 0, 1)],
      limits,
      signal: new AbortController().signal,
    });
    await expect(ended).rejects.toThrow('plan p-worker-0-1 is invalid, which was not expected: pool: wrong');
  });
});

test('an end that gives nothing back is found', async () => {
  const fake = new FakeCluster();
  fake.faults.keepsResources = (taskId) => taskId === 'a';
  const { cluster, history } = recording(fake.asCluster());
  await cluster.registerNodes([nodeSpecOf({ ...NODE, cpuMilli: 9_000 }, 'p')]);
  const options = {
    pool: 'p',
    workers: 1,
    seed: 1,
    reportRunning: false,
    clock: () => 0,
    limits: { events: 9, seconds: 9 },
  };
  await replay({
    ...options,
    cluster,
    tasks: [task('a', 0, 1), task('b', 0, 1)],
    signal: new AbortController().signal,
  });
  const findings = await auditAtEnd(cluster, history, ['p']);
  expect(findings[1].violations).toContainEqual({
    invariant: 1,
    where: 'a',
    message: 'it is complete, and its resources were not given back',
  });
});
