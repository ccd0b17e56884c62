import { PutItemCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BerthBed, startBerthBed } from '../../test/support/berth-bed.ts';
import { progressOf } from '../../test/support/commits.ts';
import { faultsInTurn } from '../../test/support/faults.ts';
import { faultyBerth } from '../../test/support/faulty-berth.ts';
import { InvalidInputError } from '../schema.ts';
import { marshall } from '../store/dynamo.ts';
import { progressItem } from '../store/records.ts';
import { PlanTimeoutError } from './results.ts';

let bed: BerthBed;
beforeAll(async () => {
  bed = await startBerthBed();
  await bed.berth.registerPool({ pool: 'prod', shards: 1 });
});
afterAll(() => bed.stop());

let plans = 0;
/** A plan that is on the queue. */
async function pushed(): Promise<string> {
  const planId = `plan-${plans++}`;
  await bed.berth.push({ planId, pool: 'prod' });
  return planId;
}

describe('the result of a plan', () => {
  it('is not there before it is decided, and stays afterwards', async () => {
    const planId = await pushed();
    expect(await bed.berth.result(planId)).toBeUndefined();
    await bed.applyWaiting();
    const result = await bed.berth.result(planId);
    expect(result).toMatchObject({ planId, status: 'applied' });
    expect(await bed.berth.result(planId)).toEqual(result);
  });

  it('is found although the database left it out at first', async () => {
    const planId = await pushed();
    await bed.applyWaiting();
    const { berth } = faultyBerth(bed, faultsInTurn(['nothing-processed', 'throttled', 'partly-throttled']));
    expect(await berth.result(planId)).toMatchObject({ planId });
  });

  it('of a plan that is under way is not there', async () => {
    const item = marshall(progressItem(progressOf('under-way', 3)));
    await bed.database.client.send(new PutItemCommand({ TableName: bed.database.tables.plans, Item: item }));
    expect(await bed.berth.result('under-way')).toBeUndefined();
  });

  it('is asked for by an id, before anything is sent', async () => {
    const { berth, requests } = faultyBerth(bed);
    await expect(berth.result('no id')).rejects.toBeInstanceOf(InvalidInputError);
    await expect(berth.waitForResult('')).rejects.toBeInstanceOf(InvalidInputError);
    expect(requests).toEqual([]);
  });
});

describe('waiting for results', () => {
  it('takes one look for all who wait, however many they are', async () => {
    const ids = await Promise.all(Array.from({ length: 20 }, pushed));
    const { berth, requests } = faultyBerth(bed);
    const waiting = Promise.all(ids.map((id) => berth.waitForResult(id)));
    await bed.applyWaiting();
    const results = await waiting;
    expect(results.map(({ planId }) => planId)).toEqual(ids);
    // Once all are there it takes one look; while they are applied some more.
    const before = requests.length;
    await Promise.all(ids.map((id) => berth.waitForResult(id)));
    expect(requests.length - before).toBeLessThanOrEqual(2);
  });

  it('goes on while the database is throttled and away', async () => {
    const planId = await pushed();
    await bed.applyWaiting();
    const faults = ['nothing-processed', 'throttled', 'server-error', 'lost-before', 'lost-after'] as const;
    const { berth } = faultyBerth(bed, faultsInTurn(faults));
    expect(await berth.waitForResult(planId)).toMatchObject({ planId });
  });

  it('ends for one whose time is over, and for no other', async () => {
    const planId = await pushed();
    const late = bed.berth.waitForResult('never', { timeoutMs: 1 });
    const waiting = bed.berth.waitForResult(planId);
    await expect(late).rejects.toBeInstanceOf(PlanTimeoutError);
    await bed.applyWaiting();
    expect(await waiting).toMatchObject({ planId });
  });

  it('ends for one whose signal says so, and for no other', async () => {
    const planId = await pushed();
    const controller = new AbortController();
    const stopped = bed.berth.waitForResult(planId, { signal: controller.signal });
    const waiting = bed.berth.waitForResult(planId);
    controller.abort(new Error('enough'));
    await expect(stopped).rejects.toThrow('enough');
    await bed.applyWaiting();
    expect(await waiting).toMatchObject({ planId });
  });
});
