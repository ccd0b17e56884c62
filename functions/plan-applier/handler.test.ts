import { PutItemCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { marshall } from '../../lib/store/dynamo.ts';
import {
  type ApplierBed,
  planOn as plan,
  recordOf as record,
  startApplierBed,
} from '../../test/support/applier-bed.ts';
import type { BerthBed } from '../../test/support/berth-bed.ts';
import { keepOutput } from '../../test/support/output.ts';

let applier: ApplierBed;
let bed: BerthBed;
beforeAll(async () => {
  applier = await startApplierBed();
  ({ bed } = applier);
});
afterAll(() => applier.stop());
// Lines and metrics would only hide what the tests say.
beforeEach(() => void keepOutput());

const statusOf = async ({ planId }: { planId: string }) => (await bed.berth.result(planId))?.status;

describe('the plan applier', () => {
  it('applies the plans of several pools that come in one batch, each pool in its order', async () => {
    const [a, b] = [await applier.newPool(), await applier.newPool()];
    const list = [plan(a, 6), plan(b, 10), plan(a, 6), plan(a, 4), plan(b, 1)];
    expect(await applier.invoke(list.map((each) => record(each.pool, each)))).toEqual({ batchItemFailures: [] });
    expect(await Promise.all(list.map(statusOf))).toEqual(['applied', 'applied', 'rejected', 'applied', 'rejected']);
  });

  it('returns the first that failed and every later one of its pool, and no other pool', async () => {
    const [sound, broken] = [await applier.newPool(), await applier.newPool()];
    // What stands there now is no pool: its plans wait for an operator.
    const item = marshall({ pool: broken, index: 'seven' });
    await bed.database.client.send(new PutItemCommand({ TableName: bed.database.tables.pools, Item: item }));
    const list = [plan(sound, 1), plan(broken, 1), plan(sound, 1), plan(broken, 1)];
    const records = list.map((each) => record(each.pool, each));
    const answer = await applier.invoke(records);
    expect(answer).toEqual({
      batchItemFailures: [{ itemIdentifier: records[1]?.messageId }, { itemIdentifier: records[3]?.messageId }],
    });
    expect(await Promise.all(list.map(statusOf))).toEqual(['applied', undefined, 'applied', undefined]);
  });

  it('puts what is no plan into quarantine as it came, with the reason and where it came from, and goes on', async () => {
    const pool = await applier.newPool();
    const list = [plan(pool, 1), plan(pool, 1)];
    const nonsense = record(pool, 'no plan at all');
    const records = [record(pool, list[0]), nonsense, record(pool, list[1])];
    expect(await applier.invoke(records)).toEqual({ batchItemFailures: [] });
    expect(await Promise.all(list.map(statusOf))).toEqual(['applied', 'applied']);
    const { messageId, eventSourceARN: source } = nonsense;
    const origin = {
      body: 'no plan at all',
      reason: expect.stringMatching(/not JSON/),
      messageId,
      group: pool,
      source,
    };
    expect(await applier.quarantined()).toEqual([expect.objectContaining(origin)]);
  });

  it('answers a plan that is wrong, that came too late or whose pool is not there, and commits nothing', async () => {
    const pool = await applier.newPool();
    const wrong = { ...plan(pool, 1), placements: [{ taskId: 't' }] };
    const late = { ...plan(pool, 1), notAfter: '2020-01-01T00:00:00Z' };
    const nowhere = plan('nowhere', 1);
    const astray = plan('another', 1);
    const records = [record(pool, wrong), record(pool, late), record('nowhere', nowhere), record(pool, astray)];
    expect(await applier.invoke(records)).toEqual({ batchItemFailures: [] });
    expect(await Promise.all([wrong, late, nowhere, astray].map(statusOf))).toEqual([
      'invalid',
      'expired',
      'invalid',
      'invalid',
    ]);
    expect((await bed.berth.snapshot(pool)).nodes[0]?.free.cpu).toBe(10);
  });

  it('finds the stored result of a batch that is delivered again, and tells of it once more', async () => {
    const pool = await applier.newPool();
    const list = [plan(pool, 8), plan(pool, 8)];
    const records = list.map((each) => record(pool, each));
    await applier.invoke(records);
    const first = await Promise.all(list.map(({ planId }) => bed.berth.result(planId)));
    const told = applier.events.length;
    expect(await applier.invoke(records)).toEqual({ batchItemFailures: [] });
    expect(await Promise.all(list.map(({ planId }) => bed.berth.result(planId)))).toEqual(first);
    expect((await bed.berth.snapshot(pool)).nodes[0]?.free.cpu).toBe(2);
    expect(applier.events.slice(told).map(({ detail }) => (detail as { planId: string }).planId)).toEqual([
      list[1]?.planId,
    ]);
  });

  it('sees settings that were changed since the last batch', async () => {
    const pool = await applier.newPool();
    const first = plan(pool, 10);
    await applier.invoke([record(pool, first)]);
    await bed.berth.registerPool({ pool, settings: { stopRelease: 'terminal' } });
    const stop = { planId: `${pool}-stop`, pool, stops: first.placements.map(({ resources: _of, ...ref }) => ref) };
    await applier.invoke([record(pool, stop)]);
    expect(await statusOf(stop)).toBe('applied');
    expect((await bed.berth.snapshot(pool)).nodes[0]?.free.cpu).toBe(0);
  });

  it('goes by what is there, if another applier has moved the pool on since its last batch', async () => {
    const pool = await applier.newPool();
    await applier.invoke([record(pool, plan(pool, 2))]);
    await bed.berth.push(plan(pool, 3));
    await bed.applyWaiting();
    await bed.database.client.send(
      new UpdateItemCommand({
        TableName: bed.database.tables.pools,
        Key: marshall({ pool }),
        UpdateExpression: 'SET #index = #index + :more',
        ExpressionAttributeNames: { '#index': 'index' },
        ExpressionAttributeValues: marshall({ ':more': 100 }),
      }),
    );
    const last = plan(pool, 5);
    expect(await applier.invoke([record(pool, last)])).toEqual({ batchItemFailures: [] });
    expect((await bed.berth.result(last.planId))?.index).toBeGreaterThan(100);
    expect((await bed.berth.snapshot(pool)).nodes[0]?.free.cpu).toBe(0);
  });

  it('takes no plan up for which there is no time', async () => {
    const pool = await applier.newPool();
    const list = [plan(pool, 1), plan(pool, 1)];
    const records = list.map((each) => record(pool, each));
    // Less than it keeps in reserve.
    const { batchItemFailures } = await applier.invoke(records, 4_000);
    expect(batchItemFailures.map(({ itemIdentifier }) => itemIdentifier)).toEqual(
      records.map(({ messageId }) => messageId),
    );
    expect(await Promise.all(list.map(statusOf))).toEqual([undefined, undefined]);
  });
});
