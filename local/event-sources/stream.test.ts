import { DeleteItemCommand, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { marshall } from '@aws-sdk/util-dynamodb';
import { describe, expect, test } from 'vitest';
import type { EpochMs } from '../../lib/time.ts';
import { MovableClock } from '../functions/movable-clock.ts';
import { go, numbered, PATIENT, StreamBed } from './stream-test-bed.ts';

const bed = StreamBed.use();

/** Prints each record as it is. */
const SHOW =
  'export const handler = async ({ Records }) => { for (const one of Records) console.log(JSON.stringify(one)); };';

describe('a change', () => {
  test('looks as Lambda shows it: attributes in DynamoDB JSON, times in seconds', async () => {
    await bed.start({ handler: SHOW });
    const Key = marshall({ p: 'a', s: '1' });
    const Item = {
      ...Key,
      ...marshall({ n: 1.5, b: Buffer.from('xy'), l: [Buffer.from('z'), null], m: { set: new Set(['q']) } }),
    };
    await bed.dynamodb.send(new PutItemCommand({ TableName: 'Things', Item }));
    await bed.dynamodb.send(new DeleteItemCommand({ TableName: 'Things', Key }));
    await bed.work();
    const NewImage = {
      ...Key,
      n: { N: '1.5' },
      b: { B: 'eHk=' },
      l: { L: [{ B: 'eg==' }, { NULL: true }] },
      m: { M: { set: { SS: ['q'] } } },
    };
    const [inserted, removed] = bed.got();
    expect(inserted).toEqual({
      eventID: expect.stringMatching(/^[0-9a-f]{32}$/),
      eventName: 'INSERT',
      eventVersion: '1.1',
      eventSource: 'aws:dynamodb',
      awsRegion: 'us-east-1',
      dynamodb: {
        ApproximateCreationDateTime: expect.any(Number),
        Keys: Key,
        NewImage,
        SequenceNumber: '1',
        SizeBytes: expect.any(Number),
        StreamViewType: 'NEW_AND_OLD_IMAGES',
      },
      eventSourceARN: expect.stringMatching(/:table\/Things\/stream\//),
    });
    expect(Math.abs(inserted.dynamodb.ApproximateCreationDateTime * 1000 - bed.now)).toBeLessThan(600_000);
    expect(removed).toMatchObject({
      eventName: 'REMOVE',
      dynamodb: { Keys: Key, OldImage: NewImage, SequenceNumber: '2' },
    });
    expect(removed.dynamodb).not.toHaveProperty('NewImage');
    expect(removed).not.toHaveProperty('userIdentity');
    expect(removed.eventID).not.toBe(inserted.eventID);
  });

  test('that no filter takes invokes nothing, and is counted', async () => {
    const pattern = (value: unknown) => ({
      Pattern: JSON.stringify({ dynamodb: { NewImage: { does: { S: [value] } } } }),
    });
    await bed.start({ mapping: { FilterCriteria: { Filters: [pattern('x'), pattern({ prefix: 'y' })] } } });
    await bed.put('a/1', 'a/2 n', 'a/3 z');
    await bed.work();
    expect(bed.got()).toEqual([]);
    expect(bed.engine.functions.get('Worker')?.statistics.invocations).toBe(0);
    expect(bed.counts()).toMatchObject({
      PolledEventCount: 3,
      FilteredOutEventCount: 3,
      InvokedEventCount: 0,
      invocations: 0,
    });
    await bed.engine.eventSources.pause();
    await bed.put('a/4 x', 'a/5', 'a/6 yy');
    await bed.work();
    expect(bed.got()).toEqual([['a/4 x', 'a/6 yy']]);
    expect(bed.counts()).toMatchObject({
      PolledEventCount: 6,
      FilteredOutEventCount: 4,
      InvokedEventCount: 2,
      invocations: 1,
    });
  });

  test('by TTL is marked as the service’s own, and one by somebody else is not', async () => {
    const clock = new MovableClock();
    await bed.start({ handler: SHOW, functionClock: clock });
    const at = Math.floor(bed.now / 1000);
    const item = (s: string, expiresAt: number) =>
      bed.dynamodb.send(new PutItemCommand({ TableName: 'Things', Item: marshall({ p: 'a', s, expiresAt }) }));
    await Promise.all([
      item('soon', at + 3_600),
      item('late', at + 90_000),
      item('mine', at + 3_600),
      item('ancient', 1),
    ]);
    expect(await bed.engine.expire()).toBe(0);
    await bed.dynamodb.send(new DeleteItemCommand({ TableName: 'Things', Key: marshall({ p: 'a', s: 'mine' }) }));
    await item('mine', at + 3_600);
    clock.set((bed.now + 86_400_000) as EpochMs);
    expect(await bed.engine.expire()).toBe(2);
    await bed.work();
    const removed = bed.got().filter(({ eventName }) => eventName === 'REMOVE');
    const [byUser, ...byTtl] = removed.map((record) => [record.dynamodb.Keys.s.S, record.userIdentity]);
    expect(byUser).toEqual(['mine', undefined]);
    const identity = { type: 'Service', principalId: 'dynamodb.amazonaws.com' };
    expect(byTtl.sort()).toEqual([
      ['mine', identity],
      ['soon', identity],
    ]);
  });
});

describe('batches', () => {
  test('hold what there is, up to the size of the mapping, in order', async () => {
    await bed.start({ mapping: { BatchSize: 3 } });
    await bed.put(...numbered(7));
    await bed.work();
    expect(bed.got()).toEqual([['a/1', 'a/2', 'a/3'], ['a/4', 'a/5', 'a/6'], ['a/7']]);
  });

  test('hold no more than an invocation carries', async () => {
    const handler = 'export const handler = async ({ Records }) => { console.log(Records.length); };';
    await bed.start({ handler });
    const large = 'x'.repeat(380_000);
    for (let s = 1; s <= 20; s += 1) {
      await bed.dynamodb.send(
        new PutItemCommand({ TableName: 'Things', Item: marshall({ p: 'a', s: String(s), large }) }),
      );
    }
    await bed.work();
    // Of 20 changes of some 380 kB each, 16 are less than 6 MiB.
    expect(bed.got()).toEqual([16, 4]);
  });

  test('end their window when the time has come, and when somebody waits for the source to be idle', async () => {
    await bed.start({ mapping: { MaximumBatchingWindowInSeconds: 300 } });
    bed.engine.eventSources.resume();
    await bed.put('a/1');
    await expect.poll(() => bed.counts().PolledEventCount, PATIENT).toBe(1);
    expect(bed.got()).toEqual([]);
    bed.passSeconds(300);
    await expect.poll(() => bed.got(), PATIENT).toEqual([['a/1']]);
    await bed.put('a/2');
    await bed.engine.eventSources.idle();
    expect(bed.got()).toEqual([['a/1'], ['a/2']]);
  });

  // Each says hello until another answers: alone, it would wait until its time-out.
  const MEETING = `
    export const handler = ({ Records: [{ dynamodb: { Keys } }] }) => new Promise((resolve) => {
      const channel = new BroadcastChannel('meeting');
      const hello = setInterval(() => channel.postMessage(Keys.p.S), 2);
      channel.onmessage = ({ data }) => {
        if (data === Keys.p.S) return;
        channel.postMessage(Keys.p.S);
        clearInterval(hello);
        channel.close();
        resolve();
      };
    });`;

  test('of different lanes run side by side', async () => {
    await bed.start({ handler: MEETING, mapping: { ParallelizationFactor: 10, BatchSize: 1 } });
    // In lanes of their own.
    await bed.put('a/1', 'b/1');
    await bed.work();
    expect(bed.problems()).toEqual([]);
  });

  test('of one partition key never do, and keep its order in all lanes', async () => {
    await bed.start({ mapping: { ParallelizationFactor: 10, BatchSize: 2 } });
    const keys = Array.from('abcdefghijkl');
    for (let s = 1; s <= 5; s += 1) await bed.put(...keys.map((p) => `${p}/${s}${s === 2 ? ' once' : ''}`));
    await bed.work();
    for (const p of keys) {
      const firsts = new Set(
        bed
          .got()
          .flat()
          .map((id) => id.split(' ')[0])
          .filter((id) => id.startsWith(p)),
      );
      expect([...firsts]).toEqual(numbered(5, p));
    }
    expect(bed.counts().PolledEventCount).toBe(60);
  });

  test('of one lane never do: one ends before the next begins', async () => {
    await bed.start({ mapping: { BatchSize: 1 }, maxConcurrency: 8 });
    await bed.put('a/1 wait', 'b/1');
    bed.engine.eventSources.resume();
    await expect.poll(() => bed.got(), PATIENT).toHaveLength(1);
    await expect.poll(() => bed.counts().PolledEventCount, PATIENT).toBe(2);
    expect(bed.engine.functions.get('Worker')?.statistics.running).toBe(1);
    go();
    await bed.engine.eventSources.idle();
    expect(bed.got()).toEqual([['a/1 wait'], ['b/1']]);
  });
});

test('on request batches are delivered once more, behind later ones, and that is all that changes', async () => {
  await bed.start({ redeliverEvery: 2, mapping: { BatchSize: 1 } });
  await bed.put(...numbered(5), 'a/6 once');
  await bed.work();
  const firsts = [...new Set(bed.got().flat())];
  expect(firsts).toEqual([...numbered(5), 'a/6 once']);
  const [third, again] = [bed.got().findIndex(([id]) => id === 'a/3'), bed.got().findLastIndex(([id]) => id === 'a/2')];
  expect(again).toBeGreaterThan(third);
  expect(bed.got().filter(([id]) => id === 'a/4')).toHaveLength(2);
  expect(bed.got().filter(([id]) => id === 'a/1')).toHaveLength(1);
});

test('polling counts as nobody’s requests', async () => {
  await bed.start();
  await bed.put('a/1');
  await bed.work();
  expect(bed.engine.meter.read().Worker).toEqual({});
  expect(Object.keys(bed.engine.meter.read().client ?? {})).toEqual(['PutItem']);
});
