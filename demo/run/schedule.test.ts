import { expect, test } from 'vitest';
import type { WorkloadTask } from '../workload/workload.ts';
import { Schedule } from './schedule.ts';

function arriving(...times: number[]): WorkloadTask[] {
  return times.map((arrival, at) => ({
    name: `t${at}`,
    cpuMilli: 1,
    memoryMib: 1,
    gpus: 0,
    gpuMilli: 0,
    models: [],
    arrival,
    end: arrival + 1,
    outcome: 'complete',
  }));
}

/** Every step as [time, names of arrivals, ends]. */
function steps(schedule: Schedule<string>) {
  const all: [number, string[], string[]][] = [];
  for (let step = schedule.next(); step !== undefined; step = schedule.next()) {
    all.push([step.now, step.arrivals.map(({ name }) => name), [...step.ends]]);
  }
  return all;
}

test('the clock jumps over times in which nothing happens, and ends when nothing is to come', () => {
  const schedule = new Schedule<string>(arriving(5, 100, 101), { events: 10, seconds: 10 });
  expect(steps(schedule)).toEqual([
    [5, ['t0'], []],
    [101, ['t1', 't2'], []],
  ]);
  expect(schedule.now).toBe(101);
});

test('a step holds at most so many events and so many seconds', () => {
  const schedule = new Schedule<string>(arriving(1, 1, 1, 2, 9, 12), { events: 2, seconds: 8 });
  expect(steps(schedule).map(([now, arrivals]) => [now, arrivals.length])).toEqual([
    [1, 2],
    [2, 2],
    [12, 2],
  ]);
});

test('ends come at their time, in order, before arrivals of the same second; late ones in the next step', () => {
  const schedule = new Schedule<string>(arriving(1, 7, 20), { events: 2, seconds: 100 });
  schedule.endAt(7, 'second');
  schedule.endAt(3, 'first');
  schedule.endAt(7, 'third');
  expect(schedule.next()).toMatchObject({ now: 3, ends: ['first'] });
  schedule.endAt(2, 'late');
  expect(schedule.next()).toMatchObject({ now: 7, arrivals: [], ends: ['late', 'second'] });
  expect(schedule.next()).toMatchObject({ now: 7, arrivals: [{ name: 't1' }], ends: ['third'] });
  expect(schedule.next()).toMatchObject({ now: 20, ends: [] });
  expect(schedule.next()).toBeUndefined();
});
