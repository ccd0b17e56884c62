import { beforeEach, expect, test } from 'vitest';
import type { PlanResult } from '../../lib/client/index.ts';
import { FakeCluster } from '../testing/fake-cluster.ts';
import { nodeSpecOf } from '../workload/berth-terms.ts';
import { seededRandom } from '../workload/random.ts';
import type { WorkloadTask } from '../workload/workload.ts';
import { PendingQueue, type PendingTask, Slots } from './pending.ts';
import { PoolWatch } from './watch.ts';
import { Worker } from './worker.ts';

/** A pool of one node with room for three tasks. */
let fake: FakeCluster;
let watch: PoolWatch;
let results: PlanResult[];
let slots: Slots;

beforeEach(async () => {
  fake = new FakeCluster();
  watch = new PoolWatch(fake.asCluster(), 'p');
  results = [];
  slots = new Slots();
  await fake.registerPool({ pool: 'p' });
  await fake.registerNodes([nodeSpecOf({ name: 'n', cpuMilli: 3_000, memoryMib: 100, gpus: 0, model: '' }, 'p')]);
});

function task(name: string): PendingTask {
  const need = { cpuMilli: 1_000, memoryMib: 1, gpus: 0, gpuMilli: 0, models: [] };
  const workloadTask: WorkloadTask = { name, ...need, arrival: 0, end: 1, outcome: 'complete' };
  return slots.offer(workloadTask, 0);
}

function worker(name: string, queue: PendingQueue): Worker {
  return new Worker({
    name,
    pool: 'p',
    cluster: fake.asCluster(),
    random: seededRandom(1),
    queue,
    watch,
    onResult: (result) => void results.push(result),
    signal: new AbortController().signal,
  });
}

/** A queue that keeps what is refused out of the way of the worker that it came from. */
class ForOthers extends PendingQueue {
  readonly kept: PendingTask[] = [];

  override refused(tasks: readonly PendingTask[], refreshIndex: number): void {
    this.kept.push(...tasks.map((kept) => ({ ...kept, refreshIndex })));
  }
}

/** Has another worker, of whom nobody here knows, fill the node. */
async function fillNode(tasks: number): Promise<void> {
  const placements = Array.from({ length: tasks }, (_, at) => ({
    taskId: `other-${at}`,
    serviceId: 'other',
    slot: at,
    nodeId: 'n',
    resources: { cpu: 1_000 },
  }));
  await fake.push({ planId: 'other', pool: 'p', placements });
}

test('what was refused is not taken to be on the node afterwards', async () => {
  const queue = new ForOthers(1);
  const first = worker('w', queue);
  queue.add([task('seen')]);
  await first.drain();
  await fillNode(1);
  queue.add([task('a'), task('b')]);
  await first.drain();
  expect(results.map(({ status }) => status)).toEqual(['applied', 'rejected']);
  const { refreshIndex } = results[1] as PlanResult;
  expect(queue.kept.map((kept) => [kept.name, kept.refreshIndex])).toEqual([
    ['a', refreshIndex],
    ['b', refreshIndex],
  ]);
  queue.add([task('c')]);
  await first.drain();
  expect(results.at(-1)?.status).toBe('applied');
  expect(queue.waiting).toEqual([]);
});

test('who takes what another worker was refused looks at the pool at that index first', async () => {
  const queue = new PendingQueue(1);
  const second = worker('w', queue);
  queue.add([task('seen')]);
  await second.drain();
  await fillNode(2);
  const index = fake.results.get('other')?.index ?? 0;
  queue.refused([task('refused')], index);
  await second.drain();
  // It sees that the node is full, and pushes no plan that could only be refused.
  expect(results).toHaveLength(1);
  expect(queue.waiting.map(({ name }) => name)).toEqual(['refused']);
});

test('a view that others have asked for is not taken if it is from before what this worker has placed', async () => {
  const queue = new PendingQueue(1);
  const first = worker('w', queue);
  const placeOne = async (name: string) => {
    queue.add([task(name)]);
    await first.drain();
  };
  await placeOne('a');
  // Read before b is committed, and there for all to see only afterwards.
  const late = watch.sight(1);
  await placeOne('b');
  expect((await late).index).toBe(1);
  await placeOne('c');
  await placeOne('d');
  expect(results.map(({ status }) => status)).toEqual(['applied', 'applied', 'applied']);
  expect(queue.waiting.map(({ name }) => name)).toEqual(['d']);
});
