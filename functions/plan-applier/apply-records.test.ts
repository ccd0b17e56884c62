import { describe, expect, it } from 'vitest';
import type { ApplyContext, PlanStore } from '../../lib/plans/apply.ts';
import { WindowCache } from '../../lib/plans/window-cache.ts';
import type { EpochMs } from '../../lib/time.ts';
import { errorNamed, scriptedStore } from '../../test/support/scripted-store.ts';
import { applyRecords, type Edges } from './apply-records.ts';
import { batchResponse, byGroup, type PlanRecord } from './records.ts';

const NOW = 1_800_000_000_000 as EpochMs;

function record(messageId: string, body: unknown, group = 'prod'): PlanRecord {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return { messageId, body: text, group, sentAt: NOW, source: 'queue', receiptHandle: `handle-${messageId}` };
}

const plan = (planId: string) => record(planId, { planId, pool: 'prod' });
const nonsense = (id: string) => record(id, 'no plan');

interface Seen {
  readonly told: string[][];
  readonly quarantined: string[];
  readonly again: [string[], number][];
  readonly failed: [string, string[]][];
}

async function apply(records: readonly PlanRecord[], store: PlanStore, fail: Partial<Edges> = {}, clock = () => NOW) {
  const seen: Seen = { told: [], quarantined: [], again: [], failed: [] };
  const ids = (of: readonly PlanRecord[]) => of.map(({ messageId }) => messageId);
  const edges: Edges = {
    quarantine: async ({ messageId }) => void seen.quarantined.push(messageId),
    decided: async (outcomes) => void seen.told.push(outcomes.map(({ result }) => result.planId)),
    again: async (of, seconds) => void seen.again.push([ids(of), seconds]),
    failed: (error, of) => void seen.failed.push([error.message, ids(of)]),
    ...fail,
  };
  const context: ApplyContext = {
    ...{ store, clock, deadline: (NOW + 1_000) as EpochMs, random: () => 0, sleep: async () => undefined },
    ...{ pools: new Map(), windows: new WindowCache() },
  };
  return { ...seen, left: ids(await applyRecords(records, context, edges)) };
}

describe('records of one pool', () => {
  it('are applied in one go, and told of', async () => {
    const store = scriptedStore();
    expect(await apply([plan('a'), plan('b')], store)).toMatchObject({ left: [], told: [['a', 'b']], failed: [] });
    expect(store.commits.map(({ results }) => results.map(({ result }) => result.planId))).toEqual([['a', 'b']]);
  });

  it('that are no plans go to quarantine in their turn, and do not hold up the rest', async () => {
    const order: string[] = [];
    const outcome = await apply([plan('a'), nonsense('x'), nonsense('y'), plan('b')], scriptedStore(), {
      quarantine: async ({ messageId }) => void order.push(`quarantine ${messageId}`),
      decided: async ([first]) => void order.push(`tell ${first?.result.planId}`),
    });
    expect(outcome.left).toEqual([]);
    expect(order).toEqual(['tell a', 'quarantine x', 'quarantine y', 'tell b']);
  });

  it('come again from the one that could not be quarantined on', async () => {
    const outcome = await apply([plan('a'), nonsense('x'), plan('b')], scriptedStore(), {
      quarantine: () => Promise.reject(new Error('no such queue')),
    });
    expect(outcome).toMatchObject({ left: ['x', 'b'], told: [['a']], failed: [['no such queue', ['x', 'b']]] });
  });

  it('come again from the first that failed on, what was decided before stands', async () => {
    const store = scriptedStore({ commit: [errorNamed('BugError')] });
    const outcome = await apply([nonsense('x'), plan('a'), plan('b')], store);
    expect(outcome).toMatchObject({ left: ['a', 'b'], quarantined: ['x'], told: [[]] });
  });

  it('of which one can never be committed: that one is quarantined, the others are applied', async () => {
    const never = errorNamed('PermanentError');
    // The group, then each alone: a passes, b never does, c passes.
    const store = scriptedStore({ commit: [never, { kind: 'committed' }, never, never] });
    const outcome = await apply([plan('a'), plan('b'), plan('c')], store);
    expect(outcome).toMatchObject({ left: [], quarantined: ['b'] });
    expect(outcome.told.flat()).toEqual(['a', 'c']);
  });

  it('come again at once if there was no time for them and something was committed, and else when they are visible', async () => {
    let reads = 0;
    const slow = () => (reads++ < 3 ? NOW : ((NOW + 2_000) as EpochMs));
    const large = { planId: 'large', pool: 'prod', placements: Array.from({ length: 200 }, (_, at) => placement(at)) };
    const progressed = await apply([record('large', large), plan('b')], scriptedStore(), {}, slow);
    expect(progressed).toMatchObject({ left: ['large', 'b'], again: [[['large', 'b'], 0]] });
    const late = await apply([plan('a'), plan('b')], scriptedStore(), {}, () => (NOW + 2_000) as EpochMs);
    expect(late).toMatchObject({ left: ['a', 'b'], again: [] });
  });

  it('come again soon if nobody could be told of them, with their results', async () => {
    const store = scriptedStore();
    const outcome = await apply([plan('a'), plan('b')], store, { decided: () => Promise.reject(new Error('no bus')) });
    expect(outcome).toMatchObject({ left: ['a', 'b'], again: [[['a', 'b'], 2]], failed: [['no bus', ['a', 'b']]] });
    expect(store.commits).toHaveLength(1);
  });
});

function placement(at: number) {
  return { taskId: `t${at}`, serviceId: 'web', slot: at, nodeId: `n${at}`, resources: { cpu: 1 } };
}

describe('a batch', () => {
  it('is taken apart by pool, in order', () => {
    const batch = [record('1', '', 'a'), record('2', '', 'b'), record('3', '', 'a')];
    expect(byGroup(batch).map((records) => records.map(({ messageId }) => messageId))).toEqual([['1', '3'], ['2']]);
  });

  it('is answered with what failed, by message id', () => {
    expect(batchResponse([plan('a')])).toEqual({ batchItemFailures: [{ itemIdentifier: 'a' }] });
    expect(batchResponse([])).toEqual({ batchItemFailures: [] });
  });
});
