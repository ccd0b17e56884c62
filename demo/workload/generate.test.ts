import { expect, test } from 'vitest';
import { nodeSpecSchema } from '../../lib/nodes/node.ts';
import { placementSchema } from '../../lib/plans/plan.ts';
import { emptyView } from '../testing/views.ts';
import { bestFit } from '../worker/best-fit.ts';
import { nodeSpecOf, takenBy } from './berth-terms.ts';
import { GENERATED_NODES, GENERATED_TASKS, generateWorkload } from './generate.ts';
import { findUnplaceable } from './unplaceable.ts';
import { isShare } from './workload.ts';

const SEEDS = [1, 2, 7, 123_456];

test('is the same for the same seed, and another for another', () => {
  expect(generateWorkload(5)).toEqual(generateWorkload(5));
  expect(generateWorkload(5).tasks).not.toEqual(generateWorkload(6).tasks);
});

test.each(SEEDS)('seed %i: as many nodes and tasks as said, each with a name of its own, tasks by arrival', (seed) => {
  const { nodes, tasks } = generateWorkload(seed);
  expect(new Set(nodes.map(({ name }) => name)).size).toBe(GENERATED_NODES);
  expect(new Set(tasks.map(({ name }) => name)).size).toBe(GENERATED_TASKS);
  expect(tasks.every((task, at) => task.arrival >= (tasks[at - 1]?.arrival ?? 0) && task.end > task.arrival)).toBe(
    true,
  );
});

test.each(SEEDS)('seed %i: the mix of openb', (seed) => {
  const { nodes, tasks } = generateWorkload(seed);
  const some = (part: number) => part > 0.02;
  expect(new Set(nodes.map(({ model }) => model)).size).toBeGreaterThan(4);
  const kinds = [
    tasks.filter(({ gpus }) => gpus === 0),
    tasks.filter(isShare),
    tasks.filter((task) => task.gpus === 1 && !isShare(task)),
    tasks.filter(({ gpus }) => gpus > 1),
    tasks.filter(({ models }) => models.length > 0),
    tasks.filter(({ outcome }) => outcome === 'failed'),
  ];
  expect(kinds.every(({ length }) => some(length / tasks.length))).toBe(true);
  expect(kinds.reduce((sum, { length }, kind) => (kind < 4 ? sum + length : sum), 0)).toBe(tasks.length);
});

test.each(SEEDS)('seed %i: a few tasks fit no empty node, for more than one reason', (seed) => {
  const { nodes, tasks } = generateWorkload(seed);
  const unplaceable = findUnplaceable(tasks, nodes);
  expect(unplaceable.length).toBeGreaterThanOrEqual(4);
  expect(unplaceable.length).toBeLessThan(20);
  expect(new Set(unplaceable.map(({ reason }) => reason)).size).toBeGreaterThan(2);
});

test.each(SEEDS)('seed %i: the cluster is full at times: not all that runs at once at the height fits', (seed) => {
  const { nodes, tasks } = generateWorkload(seed);
  const unplaceable = new Set(findUnplaceable(tasks, nodes).map(({ task }) => task));
  const running = (at: number) => tasks.filter((task) => !unplaceable.has(task) && task.arrival <= at && at < task.end);
  const busiest = Array.from({ length: 24 }, (_, hour) => running((2 * 24 + 6 + hour) * 3_600));
  const waiting = busiest.map((atOnce) => bestFit(emptyView(nodes), atOnce, { fraction: () => 0 }).waiting.length);
  expect(Math.max(...waiting)).toBeGreaterThan(0);
  expect(Math.min(...waiting)).toBeLessThan(20);
});

test('Berth takes its nodes and its placements', () => {
  const { nodes, tasks } = generateWorkload(3);
  for (const node of nodes) expect(nodeSpecSchema.safeParse(nodeSpecOf(node, 'demo')).success).toBe(true);
  for (const task of tasks) {
    const gpus = Array.from({ length: task.gpus }, (_, gpu) => gpu);
    const placement = { taskId: task.name, serviceId: 's', slot: 0, nodeId: 'n', ...takenBy(task, gpus) };
    expect(placementSchema.safeParse(placement).success).toBe(true);
  }
});
