import { describe, expect, it } from 'vitest';
import type { PlanResult } from '../lib/client/index.ts';
import { expectStatuses, requestsOf } from './bed.ts';

const results = (...statuses: PlanResult['status'][]) => statuses.map((status) => ({ status }) as PlanResult);

describe('expectStatuses', () => {
  it('lets the statuses pass that a bench is about, in any order', () => {
    expectStatuses(results('partial', 'applied', 'applied'), { applied: 2, partial: 1 });
  });

  it.each<[PlanResult['status'][], Record<string, number>]>([
    [['applied', 'rejected'], { applied: 2 }],
    [['applied'], { applied: 2 }],
    [[], { applied: 1 }],
  ])('refuses %j for %j: it would measure something else', (statuses, expected) => {
    expect(() => expectStatuses(results(...statuses), expected)).toThrow(/measured something else/);
  });
});

describe('requestsOf', () => {
  it('counts the requests of every operation, those that failed among them', () => {
    const usage = { requests: 0, items: 0, readUnits: 0, writeUnits: 0, failed: {} };
    expect(
      requestsOf({
        GetItem: { ...usage, requests: 2 },
        TransactWriteItems: { ...usage, requests: 3, failed: { TransactionCanceledException: 1 } },
      }),
    ).toBe(5);
    expect(requestsOf({})).toBe(0);
  });
});
