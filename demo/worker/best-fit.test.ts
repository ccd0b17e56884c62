import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { emptyView } from '../testing/views.ts';
import { takenBy } from '../workload/berth-terms.ts';
import type { TaskNeed, WorkloadNode } from '../workload/workload.ts';
import { bestFit } from './best-fit.ts';
import type { View } from './view.ts';

const first = { fraction: () => 0 };

function node(name: string, more: Partial<WorkloadNode> = {}): WorkloadNode {
  return { name, cpuMilli: 32_000, memoryMib: 64_000, gpus: 0, model: '', ...more };
}

function need(more: Partial<TaskNeed> = {}): TaskNeed {
  return { cpuMilli: 1_000, memoryMib: 1_000, gpus: 0, gpuMilli: 0, models: [], ...more };
}

const whole = (gpus: number, more: Partial<TaskNeed> = {}) => need({ gpus, gpuMilli: 1_000, ...more });
const share = (gpuMilli: number, more: Partial<TaskNeed> = {}) => need({ gpus: 1, gpuMilli, ...more });

function placed(view: View, tasks: readonly TaskNeed[]) {
  return bestFit(view, tasks, first).decisions.map(({ nodeId, gpus }) => [nodeId, ...gpus]);
}

describe('where a task goes', () => {
  test('to the node of which the least is left', () => {
    const view = emptyView([
      node('large'),
      node('small', { cpuMilli: 2_000, memoryMib: 4_000 }),
      node('middle', { cpuMilli: 8_000 }),
    ]);
    expect(placed(view, [need(), need({ cpuMilli: 2_000 })])).toEqual([['small'], ['middle']]);
  });

  test('without a GPU to a node without GPUs', () => {
    const view = emptyView([node('gpu', { gpus: 2, model: 'T4' }), node('plain')]);
    expect(placed(view, [need()])).toEqual([['plain']]);
  });

  test('an exact fit fits, and then nothing more', () => {
    const view = emptyView([node('one', { cpuMilli: 1_000, memoryMib: 1_000, gpus: 1 })]);
    const { decisions, waiting } = bestFit(view, [whole(1), need({ cpuMilli: 1, memoryMib: 0 })], first);
    expect(decisions).toHaveLength(1);
    expect(waiting).toEqual([need({ cpuMilli: 1, memoryMib: 0 })]);
  });

  test('only to a node with one of its models', () => {
    const view = emptyView([node('a', { gpus: 1, model: 'T4' }), node('b', { gpus: 8, model: 'G2' })]);
    expect(placed(view, [share(500, { models: ['V100', 'G2'] })])).toEqual([['b', 0]]);
    expect(bestFit(view, [share(500, { models: ['V100'] })], first).waiting).toHaveLength(1);
  });
});

describe('GPUs', () => {
  test('a share goes to the shared GPU that it fills best, and opens a whole one last', () => {
    const view = emptyView([node('n', { gpus: 3 })]);
    expect(placed(view, [share(700), share(500), share(300), share(400), share(200)])).toEqual([
      ['n', 0],
      ['n', 1],
      ['n', 0],
      ['n', 1],
      ['n', 2],
    ]);
  });

  test('a share prefers a node with a shared GPU to one that is fuller', () => {
    const shared = emptyView([
      node('a', { gpus: 8, model: 'G2' }),
      node('b', { gpus: 1, cpuMilli: 2_000, model: 'T4' }),
    ]);
    const { view } = bestFit(shared, [share(500, { models: ['G2'] })], first);
    expect(placed(view, [share(400)])).toEqual([['a', 0]]);
  });

  test('whole GPUs are taken where GPUs are whole', () => {
    const empty = emptyView([node('a', { gpus: 4, model: 'A' }), node('b', { gpus: 4, model: 'B' })]);
    const { view } = bestFit(empty, [share(500, { models: ['A'] })], first);
    expect(placed(view, [whole(2)])).toEqual([['b', 0, 1]]);
  });

  test('shares and whole GPUs never meet', () => {
    const { decisions, waiting } = bestFit(
      emptyView([node('n', { gpus: 2 })]),
      [share(100), whole(2), whole(1), share(950)],
      first,
    );
    expect(decisions.map(({ gpus }) => gpus)).toEqual([[0], [1]]);
    expect(waiting).toEqual([whole(2), share(950)]);
  });
});

test('of equals the first from where the search begins is taken', () => {
  const view = emptyView([node('a'), node('b'), node('c'), node('large', { cpuMilli: 64_000 })]);
  const chosen = (fraction: number) => bestFit(view, [need()], { fraction: () => fraction }).decisions[0]?.nodeId;
  expect([chosen(0), chosen(0.25), chosen(0.5), chosen(0.75)]).toEqual(['a', 'b', 'c', 'a']);
});

test('as many nodes that fit are compared as it says, and no more', () => {
  const view = emptyView([
    node('a'),
    node('tiny', { cpuMilli: 10 }),
    node('b', { cpuMilli: 9_000 }),
    node('c', { cpuMilli: 2_000 }),
  ]);
  const chosen = (candidates: number) => bestFit(view, [need()], { ...first, candidates }).decisions[0]?.nodeId;
  expect([chosen(1), chosen(2), chosen(3)]).toEqual(['a', 'b', 'c']);
});

test('the view it was given stays as it was', () => {
  const view = emptyView([node('n', { gpus: 2 })]);
  const before = structuredClone(view);
  bestFit(view, [whole(1), share(5), need()], first);
  expect(view).toEqual(before);
});

const anyNode = fc.record({
  cpuMilli: fc.nat(20),
  memoryMib: fc.nat(20),
  gpus: fc.nat(4),
  model: fc.constantFrom('', 'A', 'B'),
});
const anyTask = fc
  .record({
    cpuMilli: fc.nat(8),
    memoryMib: fc.nat(8),
    gpus: fc.nat(3),
    milli: fc.integer({ min: 1, max: 1_000 }),
    models: fc.constantFrom([], ['A'], ['A', 'B']),
  })
  .map(
    ({ milli, ...task }): TaskNeed => ({ ...task, gpuMilli: task.gpus === 0 ? 0 : task.gpus === 1 ? milli : 1_000 }),
  );

test('whatever the nodes and tasks: no node gets more than it has, and who waits fits nowhere', () => {
  fc.assert(
    fc.property(
      fc.array(anyNode, { maxLength: 6 }),
      fc.array(anyTask, { maxLength: 30 }),
      fc.double({ min: 0, max: 0.999, noNaN: true }),
      (kinds, tasks, fraction) => {
        const nodes = kinds.map((kind, at) => ({ name: `n${at}`, ...kind }));
        const { decisions, waiting } = bestFit(emptyView(nodes), tasks, {
          fraction: () => fraction,
          candidates: 1 + Math.floor(fraction * 4),
        });
        expect(decisions.length + waiting.length).toBe(tasks.length);
        const used = new Map(nodes.map(({ name }) => [name, {} as Record<string, number>]));
        for (const { task, nodeId, gpus } of decisions) {
          const of = used.get(nodeId) ?? {};
          const { resources = {}, devices = [] } = takenBy(task, gpus);
          expect(new Set(gpus).size).toBe(task.gpus);
          for (const [name, amount] of Object.entries(resources)) of[name] = (of[name] ?? 0) + amount;
          for (const device of devices) of[device] = (of[device] ?? 0) + 1;
        }
        for (const { name, cpuMilli, memoryMib, gpus } of nodes) {
          const { cpu = 0, memory = 0, ...others } = used.get(name) ?? {};
          expect(cpu).toBeLessThanOrEqual(cpuMilli);
          expect(memory).toBeLessThanOrEqual(memoryMib);
          for (const [resource, amount] of Object.entries(others)) {
            expect(Number(resource.split('/')[1])).toBeLessThan(gpus);
            expect(amount).toBeLessThanOrEqual(resource.startsWith('gpu-milli/') ? 1_000 : 1);
          }
        }
      },
    ),
  );
});
