import { describe, expect, it } from 'vitest';
import type { NodeId, PlanId } from '../ids.ts';
import { eventsOf } from './events.ts';
import type { PlanResult } from './result.ts';

const result: PlanResult = {
  planId: 'p1' as PlanId,
  pool: 'prod',
  status: 'applied',
  index: 8,
  refreshIndex: 0,
  committed: { placements: 1, stops: 0, preemptions: 0 },
  rejectedNodes: [],
  ineligibleNodes: [],
  alreadyGone: [],
  problems: [],
  receivedAt: '2026-03-01T12:00:00.000Z',
  appliedAt: '2026-03-01T12:00:01.000Z',
};
const refusals = (count: number) =>
  Array.from({ length: count }, (_, at) => ({ nodeId: `n${at}` as NodeId, code: 'cpu', message: 'x'.repeat(400) }));

describe('the events of a result', () => {
  it('are none if nothing was refused', () => {
    expect(eventsOf(result)).toEqual([]);
    expect(eventsOf({ ...result, status: 'invalid', problems: [{ path: '', message: 'x' }] })).toEqual([]);
  });

  it('say what was refused, and which nodes that made ineligible', () => {
    const rejectedNodes = refusals(2);
    const events = eventsOf({
      ...result,
      evalId: 'e1' as never,
      status: 'partial',
      refreshIndex: 8,
      rejectedNodes,
      ineligibleNodes: ['n1' as NodeId],
    });
    const { appliedAt } = result;
    expect(events).toEqual([
      {
        type: 'Plan Refused',
        detail: {
          planId: 'p1',
          pool: 'prod',
          evalId: 'e1',
          status: 'partial',
          index: 8,
          refreshIndex: 8,
          rejectedNodes,
          rejectedCount: 2,
          appliedAt,
        },
      },
      { type: 'Node Made Ineligible', detail: { pool: 'prod', nodeId: 'n1', planId: 'p1', index: 8, appliedAt } },
    ]);
  });

  it('fit a request to the event bus, ten of them, however many nodes refused', () => {
    const [refused] = eventsOf({ ...result, status: 'rejected', rejectedNodes: refusals(20_000) });
    expect(refused?.detail).toMatchObject({ rejectedCount: 20_000 });
    expect(10 * Buffer.byteLength(JSON.stringify(refused))).toBeLessThan(256 * 1024);
  });

  it('name the first nodes, up to a hundred', () => {
    const rejectedNodes = refusals(150).map((node) => ({ ...node, message: 'short' }));
    const [refused] = eventsOf({ ...result, status: 'rejected', rejectedNodes });
    expect(refused?.detail).toMatchObject({ rejectedNodes: rejectedNodes.slice(0, 100), rejectedCount: 150 });
  });
});
