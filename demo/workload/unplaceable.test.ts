import { expect, test } from 'vitest';
import { findUnplaceable } from './unplaceable.ts';
import type { TaskNeed, WorkloadNode, WorkloadTask } from './workload.ts';

const NODES: readonly WorkloadNode[] = [
  { name: 'plain', cpuMilli: 96_000, memoryMib: 400_000, gpus: 0, model: '' },
  { name: 't4', cpuMilli: 64_000, memoryMib: 200_000, gpus: 2, model: 'T4' },
  { name: 'g2', cpuMilli: 32_000, memoryMib: 100_000, gpus: 8, model: 'G2' },
  { name: 'g2-large', cpuMilli: 16_000, memoryMib: 800_000, gpus: 8, model: 'G2' },
];

function task(need: Partial<TaskNeed>): WorkloadTask {
  const nothing: TaskNeed = { cpuMilli: 0, memoryMib: 0, gpus: 0, gpuMilli: 0, models: [] };
  return { name: 't', ...nothing, gpuMilli: need.gpus ? 1000 : 0, ...need, arrival: 0, end: 1, outcome: 'complete' };
}

test.each([
  ['cpu of the largest node', { cpuMilli: 96_000 }],
  ['all of a node', { cpuMilli: 32_000, memoryMib: 100_000, gpus: 8, models: ['G2'] }],
  ['one of two models', { gpus: 8, models: ['T4', 'G2'] }],
  ['a share', { gpus: 1, gpuMilli: 10, models: ['T4'] }],
])('%s fits', (_, need) => {
  expect(findUnplaceable([task(need)], NODES)).toEqual([]);
});

test.each([
  [{ gpus: 1, models: ['H100'] }, 'needs a GPU of model H100, no node has it'],
  [{ gpus: 1, models: ['H100', 'H200'] }, 'needs a GPU of model H100 or H200, no node has it'],
  [{ gpus: 9 }, 'needs 9 GPUs, the largest GPU node has 8'],
  [{ gpus: 4, models: ['T4'] }, 'needs 4 GPUs, the largest node with T4 has 2'],
  [{ cpuMilli: 96_001 }, 'needs 96.001 cores, the largest node has 96'],
  [{ cpuMilli: 96_000, gpus: 1 }, 'needs 96 cores, the largest GPU node has 64'],
  [{ cpuMilli: 64_000, gpus: 8 }, 'needs 64 cores, the largest node with 8 GPUs has 32'],
  [{ cpuMilli: 64_000, gpus: 8, models: ['G2'] }, 'needs 64 cores, the largest node with 8 GPUs of G2 has 32'],
  [{ memoryMib: 900_000 }, 'needs 900,000 MiB of memory, the largest node has 800,000'],
  [
    { cpuMilli: 32_000, memoryMib: 800_000, gpus: 8 },
    'needs 32 cores, 800,000 MiB and 8 GPUs at once, no node with 8 GPUs has all',
  ],
  [{ cpuMilli: 96_000, memoryMib: 800_000 }, 'needs 96 cores, 800,000 MiB and no GPU at once, no node has all'],
])('%j: %s', (need, reason) => {
  const unplaceable = task(need);
  expect(findUnplaceable([unplaceable], NODES)).toEqual([{ task: unplaceable, reason }]);
});

test('a cluster without GPUs', () => {
  expect(findUnplaceable([task({ gpus: 1 })], NODES.slice(0, 1))[0]?.reason).toBe('needs a GPU, no node has one');
});
