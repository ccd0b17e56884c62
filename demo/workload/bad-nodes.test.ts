import { expect, test } from 'vitest';
import { emptyView } from '../testing/views.ts';
import { bestFit } from '../worker/best-fit.ts';
import { badNodesFor, nodeSpecsOf, renamed, TASKS_PER_BAD_NODE, withBadNodes } from './bad-nodes.ts';
import { generateWorkload } from './generate.ts';
import { BadInputError } from './problems.ts';
import { findUnplaceable } from './unplaceable.ts';

const PLAIN = generateWorkload(1);

test('a worker that sees an empty machine puts all of its tasks on the bad node, wherever it begins to look', () => {
  const badNodes = badNodesFor(PLAIN, 3);
  const view = emptyView(withBadNodes(PLAIN, badNodes).nodes);
  for (const { node, good, tasks } of badNodes) {
    for (const fraction of [0, 0.3, 0.999]) {
      const { decisions } = bestFit(view, tasks, { fraction: () => fraction, candidates: 8 });
      expect(decisions.map(({ nodeId }) => nodeId)).toEqual(Array(TASKS_PER_BAD_NODE).fill(node.name));
    }
    const without = view.filter(({ nodeId }) => nodeId !== node.name);
    const { decisions } = bestFit(without, tasks, { fraction: () => 0, candidates: 8 });
    expect(decisions.map(({ nodeId }) => nodeId)).toEqual(Array(TASKS_PER_BAD_NODE).fill(good.name));
  }
});

test('no other task of the built-in workload fits a bad node: it could go elsewhere and would show no loop', () => {
  const nodes = badNodesFor(PLAIN, 3).flatMap(({ node }) => [node]);
  expect(findUnplaceable(PLAIN.tasks, nodes)).toHaveLength(PLAIN.tasks.length);
});

test('their tasks arrive one node’s after the other’s, in order among the others', () => {
  const badNodes = badNodesFor(PLAIN, 3);
  const { tasks, nodes, source } = withBadNodes(PLAIN, badNodes);
  expect([nodes.length, tasks.length, source]).toEqual([206, 2_012, 'built-in workload, seed 1, and 3 bad nodes']);
  expect(tasks.map(({ arrival }) => arrival)).toEqual(tasks.map(({ arrival }) => arrival).toSorted((a, b) => a - b));
  const places = badNodes.map((bad) => tasks.findIndex(({ name }) => name === bad.tasks[0]?.name));
  places.forEach((place, at) => {
    expect(Math.abs(place - (tasks.length * (at + 1)) / 4)).toBeLessThan(20);
  });
});

test('without any, the workload is the one that it was', () => {
  expect(withBadNodes(PLAIN, badNodesFor(PLAIN, 0))).toBe(PLAIN);
});

test('a workload without tasks, or of one second, has tasks for them that live a minute', () => {
  const [bad] = badNodesFor({ ...PLAIN, tasks: [] }, 1);
  expect(bad?.tasks.map(({ arrival, end }) => [arrival, end])).toEqual(Array(TASKS_PER_BAD_NODE).fill([0, 60]));
});

test('the applier is told what the workers do not look at: no task may be on a bad node', () => {
  const badNodes = badNodesFor(PLAIN, 2);
  const specs = nodeSpecsOf(withBadNodes(PLAIN, badNodes).nodes, badNodes, 'p');
  const limited = specs.filter(({ maxTasks }) => maxTasks !== undefined);
  expect(limited.map(({ nodeId, maxTasks }) => [nodeId, maxTasks])).toEqual([
    ['bad-node-1', 0],
    ['bad-node-2', 0],
  ]);
});

test('in another pool they have other names and are the same', () => {
  const [bad] = badNodesFor(PLAIN, 1);
  if (bad === undefined) throw new Error('one bad node is expected');
  const other = renamed(bad, 'u-');
  expect([other.node.name, other.good.name, other.tasks[0]?.name]).toEqual([
    'u-bad-node-1',
    'u-spare-node-1',
    'u-bad-node-1-task-1',
  ]);
  expect({ ...other.node, name: '' }).toEqual({ ...bad.node, name: '' });
});

test.each([
  ['node', { nodes: [{ name: 'spare-node-1', cpuMilli: 1, memoryMib: 1, gpus: 0, model: '' }] }, 'spare-node-1'],
  ['task', { tasks: PLAIN.tasks.map((task) => ({ ...task, name: 'bad-node-1-task-4' })) }, 'bad-node-1-task-4'],
])('a %s of such a name in the files is told', (_, change, name) => {
  const workload = { ...PLAIN, source: 'nodes.csv, tasks.csv', ...change };
  const added = () => withBadNodes(workload, badNodesFor(workload, 1));
  expect(added).toThrow(BadInputError);
  expect(added).toThrow(`--bad-nodes adds one named ${name}, and nodes.csv, tasks.csv has it already: rename that`);
});
