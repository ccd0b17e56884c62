import { expect, test } from 'vitest';
import { chooseGpus, type NodeFacts, take, viewOf } from './view.ts';

const GPUS = { 'gpu-milli/0': 1_000, 'gpu-milli/1': 1_000, 'gpu-milli/2': 1_000 };
const NODE: NodeFacts = {
  nodeId: 'n',
  schedulable: true,
  capacity: { cpu: 8_000, memory: 100, ...GPUS },
  free: { cpu: 3_000, memory: 60, ...GPUS, 'gpu-milli/1': 400 },
  claims: new Map([
    ['device/gpu/0', '!free'],
    ['device/gpu/1', '!free'],
    ['device/gpu/2', '!free'],
  ]),
  withdrawn: new Set(),
  labels: { model: 'T4' },
};
const NOTHING = { cpuMilli: 0, memoryMib: 0, gpus: 0, gpuMilli: 0, models: [] };

test('a view holds what is free', () => {
  expect(viewOf([NODE])).toEqual([
    {
      nodeId: 'n',
      model: 'T4',
      cpuMilli: 3_000,
      memoryMib: 60,
      gpus: [1_000, 400, 1_000],
      totals: { freeMilli: 2_400, whole: 2, shared: 1, largest: 1_000, largestShared: 400 },
    },
  ]);
});

test('a node that takes no placements is not in it', () => {
  expect(viewOf([{ ...NODE, schedulable: false }])).toEqual([]);
});

test('a GPU that is held whole, unhealthy or gone has no room, whatever its resource says', () => {
  const held = new Map([...NODE.claims, ['device/gpu/0', 'some-task']]);
  expect(viewOf([{ ...NODE, claims: held }])[0]?.gpus).toEqual([0, 400, 1_000]);
  expect(viewOf([{ ...NODE, withdrawn: new Set(['device/gpu/2']) }])[0]?.gpus).toEqual([1_000, 400, 0]);
  expect(viewOf([{ ...NODE, claims: new Map() }])[0]?.gpus).toEqual([0, 0, 0]);
});

test('a share gets the GPU with the least room that is enough, whole GPUs are the first that are whole', () => {
  const [room] = viewOf([{ ...NODE, free: { ...NODE.free, 'gpu-milli/0': 700 } }]);
  if (room === undefined) throw new Error('the node is not in the view');
  expect(chooseGpus(room, { ...NOTHING, gpus: 1, gpuMilli: 300 })).toEqual([1]);
  expect(chooseGpus(room, { ...NOTHING, gpus: 1, gpuMilli: 500 })).toEqual([0]);
  expect(chooseGpus(room, { ...NOTHING, gpus: 1, gpuMilli: 1_000 })).toEqual([2]);
});

test('taking leaves the node as it was and answers with what it is then', () => {
  const [room] = viewOf([NODE]);
  if (room === undefined) throw new Error('the node is not in the view');
  const after = take(room, { ...NOTHING, cpuMilli: 1_000, memoryMib: 10, gpus: 2, gpuMilli: 1_000 }, [0, 2]);
  expect(after).toMatchObject({
    cpuMilli: 2_000,
    memoryMib: 50,
    gpus: [0, 400, 0],
    totals: { whole: 0, freeMilli: 400 },
  });
  expect(room.gpus).toEqual([1_000, 400, 1_000]);
});
