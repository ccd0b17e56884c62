import { describe, expect, test } from 'vitest';
import type { EpochMs } from '../../time.ts';
import type { Group } from '../observation.ts';
import type { Override, Schedule } from '../spec/spec.ts';
import { limitWarnings } from './limit-warnings.ts';

const NOW = Date.UTC(2027, 0, 1) as EpochMs;
const GROUP: Group = { steady: true, desired: 2, min: 2, max: 10, instances: new Map(), terminateSuspended: false };

function schedule(name: string, replicas: number): Schedule {
  return { name, replicas, timezone: 'UTC', cron: '0 17 * * FRI', durationMinutes: 60, leadSeconds: 0 };
}

function override(name: string, replicas: number, end: number = NOW + 1): Override {
  return { name, replicas, start: (NOW - 60_000) as EpochMs, end: end as EpochMs };
}

const spec = (replicas: number, schedules: Schedule[] = [], overrides: Override[] = []) => ({
  replicas,
  schedules,
  overrides,
});

describe('what lies outside the limits of the group is told before its time has come', () => {
  test('of what lies within them nothing is', () => {
    const within = spec(2, [schedule('evening', 10)], [override('launch', 5)]);
    expect(limitWarnings(within, GROUP, NOW)).toEqual([]);
  });

  test('above the maximum, with names, replicas and limit', () => {
    const above = spec(3, [schedule('evening', 12), schedule('noon', 4)], [override('launch', 40)]);
    expect(limitWarnings(above, GROUP, NOW)).toEqual([
      'more nodes are asked for than the group\'s maximum of 10: schedule "evening" (12), override "launch" (40). No more than 10 will be there: raise the maximum, or ask for fewer',
    ]);
  });

  test('below the minimum, and on both sides', () => {
    const both = spec(0, [schedule('evening', 11)]);
    expect(limitWarnings(both, GROUP, NOW)).toEqual([
      expect.stringContaining('maximum of 10: schedule "evening" (11).'),
      "fewer nodes are asked for than the group's minimum of 2: replicas (0). No fewer than 2 will be there: lower the minimum, or ask for more",
    ]);
  });

  test('of many windows a few by name, in one sentence', () => {
    const windows = Array.from({ length: 50 }, (_, at) => schedule(`w${at}`, 11 + at));
    const [told = '', ...more] = limitWarnings(spec(2, windows), GROUP, NOW);
    expect(more).toEqual([]);
    expect(told).toContain('schedule "w4" (15) and 45 more.');
    expect(told.length).toBeLessThan(400);
  });

  test('not of an override that is over, to the millisecond', () => {
    const told = (end: number) => limitWarnings(spec(2, [], [override('launch', 40, end)]), GROUP, NOW);
    expect(told(NOW)).toEqual([]);
    expect(told(NOW + 1)).toHaveLength(1);
  });

  test('not where there are no limits, or EKS has not said them yet', () => {
    const above = spec(50, [schedule('evening', 60)]);
    expect(limitWarnings(above, undefined, NOW)).toEqual([]);
    expect(limitWarnings(above, { ...GROUP, steady: false, min: 0, max: 0 }, NOW)).toEqual([]);
    expect(limitWarnings(above, { ...GROUP, steady: false }, NOW)).toHaveLength(1);
  });
});
