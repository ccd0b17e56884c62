import { describe, expect, test } from 'vitest';
import type { MeterReading } from '../../local/dynamodb/usage.ts';
import { checkInOrder } from '../invariants/in-order.ts';
import { FakeCluster, type FakeFaults } from '../testing/fake-cluster.ts';
import { recording } from './recording.ts';
import { measureUncontended } from './uncontended.ts';

/** A meter that counts, for every ten plans that were decided, what `perBatch` says. */
function meterOf(fake: FakeCluster, perBatch: { requests: number; writeUnits: number; reads?: number }) {
  return (): MeterReading => {
    const batches = fake.decided.length / 10;
    const of = (requests: number, writeUnits: number) => ({ requests, items: 0, readUnits: 0, writeUnits, failed: {} });
    return {
      PlanApplier: {
        TransactWriteItems: of(perBatch.requests * batches, perBatch.writeUnits * batches),
        BatchGetItem: of((perBatch.reads ?? 0) * batches, 0),
      },
      client: { GetItem: of(1_000, 1_000) },
    };
  };
}

async function measure(perBatch: { requests: number; writeUnits: number; reads?: number }, faults: FakeFaults = {}) {
  const fake = new FakeCluster();
  Object.assign(fake.faults, faults);
  const { cluster, history } = recording(fake.asCluster());
  const calls: string[] = [];
  const delivery = {
    pause: async () => void calls.push(`pause at ${fake.decided.length}`),
    resume: () => void calls.push(`resume at ${fake.decided.length}`),
    idle: async () => void calls.push('idle'),
  };
  const readMeter = meterOf(fake, perBatch);
  const signal = new AbortController().signal;
  const figures = await measureUncontended({ cluster, pool: 'u', readMeter, applier: 'PlanApplier', delivery, signal });
  return { fake, history, calls, figures };
}

test('measures full batches of plans of five placements on nodes of their own, the first batch left out', async () => {
  const { fake, history, calls, figures } = await measure({ requests: 2, writeUnits: 325 });
  expect(figures).toEqual({
    plans: 50,
    placements: 250,
    requestsPerPlan: 0.2,
    reads: 0,
    writeUnitsPerPlacement: 6.5,
    withinBounds: true,
  });
  expect(calls).toEqual(['pause at 0', 'resume at 10', 'idle', 'pause at 10', 'resume at 60', 'idle']);
  for (let batch = 0; batch < 60; batch += 10) {
    const nodes = fake.decided
      .slice(batch, batch + 10)
      .flatMap(({ placements }) => placements.map(({ nodeId }) => nodeId));
    expect(new Set(nodes).size).toBe(50);
  }
  expect(checkInOrder(history)).toEqual({ checked: 60, violations: [] });
  expect(history.plans.every(({ queuedAt, pushedAt }) => (queuedAt ?? 0) > pushedAt)).toBe(true);
});

describe('says when a bound is broken', () => {
  test.each([
    ['requests', { requests: 3, writeUnits: 325 }],
    ['write units', { requests: 2, writeUnits: 351 }],
    ['reads', { requests: 1, writeUnits: 325, reads: 1 }],
    ['a meter that counts nothing', { requests: 0, writeUnits: 0 }],
  ])('%s', async (_, perBatch) => {
    expect((await measure(perBatch)).figures.withinBounds).toBe(false);
  });

  test('a plan that was not applied', async () => {
    const result: FakeFaults['result'] = (it) => (it.planId === 'u-plan-30' ? { ...it, status: 'partial' } : it);
    expect((await measure({ requests: 2, writeUnits: 325 }, { result })).figures.withinBounds).toBe(false);
  });
});
