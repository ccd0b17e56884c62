import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DeleteItemCommand, DynamoDBClient, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { type Message, ReceiveMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { marshall } from '@aws-sdk/util-dynamodb';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type EpochMs, systemClock } from '../../lib/time.ts';
import { type Engine, type EngineOptions, startEngine } from '../engine.ts';
import { MovableClock } from '../functions/movable-clock.ts';
import type { LogLine } from '../log.ts';
import { testFunction, testStreamMapping, testTable, writeAssembly } from '../test-assembly.ts';

/**
 * The function under all of these: it prints the `id` of each change, `p/s` with what the item is told to do behind it,
 * as one line, then does that: `fail` fails that change, `throw` all, `meet` waits for another invocation that does.
 */
const HANDLER = `
  const idOf = ({ dynamodb: { Keys, NewImage, OldImage } }) =>
    [Keys.p.S + '/' + Keys.s.S, (NewImage ?? OldImage).does?.S].filter(Boolean).join(' ');
  export const handler = async ({ Records }) => {
    console.log(JSON.stringify(Records.map(idOf)));
    const told = (what) => Records.filter((record) => record.dynamodb.NewImage?.does?.S === what);
    if (told('throw').length > 0) throw new RangeError('told to');
    if (told('once').length > 0 && !globalThis.failed) {
      globalThis.failed = true;
      return { batchItemFailures: [{ itemIdentifier: told('once')[0].dynamodb.SequenceNumber }] };
    }
    if (told('nonsense').length > 0) return { batchItemFailures: [{ itemIdentifier: 'nobody' }] };
    if (told('wait').length > 0) await new Promise((resolve) => {
      const go = new BroadcastChannel('go');
      go.onmessage = () => { go.close(); resolve(); };
    });
    const failures = told('fail').toReversed();
    return { batchItemFailures: failures.map(({ dynamodb }) => ({ itemIdentifier: dynamodb.SequenceNumber })) };
  };`;

/** Prints each record as it is. */
const SHOW =
  'export const handler = async ({ Records }) => { for (const one of Records) console.log(JSON.stringify(one)); };';

let directory: string;
let engine: Engine;
let dynamodb: DynamoDBClient;
let sqs: SQSClient;
let log: LogLine[];
let now: EpochMs;

const PATIENT = { timeout: 30_000 };

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'berth-stream-'));
  log = [];
  now = systemClock();
});

afterEach(async () => {
  await stop();
  rmSync(directory, { recursive: true });
});

interface Setup extends EngineOptions {
  readonly handler?: string;
  readonly mapping?: Record<string, unknown>;
  readonly table?: Record<string, unknown>;
}

/** An engine with one table, a queue for what is given up, and the function; paused, so that a test can write first. */
async function start({ handler = HANDLER, mapping, table, ...options }: Setup = {}): Promise<void> {
  const assembly = writeAssembly(
    join(directory, 'assembly'),
    {
      Test: {
        Resources: {
          Things: testTable('Things', table),
          Failed: { Type: 'AWS::SQS::Queue', Properties: { QueueName: 'failed' } },
          Worker: testFunction('worker'),
          Mapping: testStreamMapping('Things', 'Worker', mapping),
        },
      },
    },
    { worker: handler },
  );
  const onLog = (line: LogLine) => log.push(line);
  engine = await startEngine({ assembly, paused: 'all', clock: () => now, onLog, ...options });
  dynamodb = new DynamoDBClient({ endpoint: engine.endpoints.dynamodb });
  sqs = new SQSClient({ endpoint: engine.endpoints.sqs });
}

async function stop(): Promise<void> {
  dynamodb.destroy();
  sqs.destroy();
  await engine.stop();
}

/** `a/1 fail` is the item with the keys a and 1 that tells the function to fail it. */
async function put(...items: string[]): Promise<void> {
  for (const item of items) {
    const [key = '', does] = item.split(' ');
    const [p, s] = key.split('/');
    const Item = marshall({ p, s, does }, { removeUndefinedValues: true });
    await dynamodb.send(new PutItemCommand({ TableName: 'Things', Item }));
  }
}

async function work(): Promise<void> {
  engine.eventSources.resume();
  await engine.eventSources.idle();
}

/** What each invocation got. */
const got = () => log.filter(({ stream }) => stream === 'stdout').map(({ line }) => JSON.parse(line));
const problems = () =>
  log.filter(({ stream, requestId }) => stream === 'platform' && !requestId).map(({ line }) => line);
const counts = () => engine.eventSources.counts('Worker');

async function failed(): Promise<Message[]> {
  const input = { QueueUrl: engine.queues.get('failed')?.url, MaxNumberOfMessages: 10 };
  return (await sqs.send(new ReceiveMessageCommand(input))).Messages ?? [];
}

/** Lets those go that were told to wait. */
function go(): void {
  const channel = new BroadcastChannel('go');
  channel.postMessage('go');
  channel.close();
}

const ON_FAILURE = { DestinationConfig: { OnFailure: { Destination: { 'Fn::GetAtt': ['Failed', 'Arn'] } } } };
const numbered = (count: number, p = 'a') => Array.from({ length: count }, (_, index) => `${p}/${index + 1}`);

describe('a change', () => {
  test('looks as Lambda shows it: attributes in DynamoDB JSON, times in seconds', async () => {
    await start({ handler: SHOW });
    const Key = marshall({ p: 'a', s: '1' });
    const Item = {
      ...Key,
      ...marshall({ n: 1.5, b: Buffer.from('xy'), l: [Buffer.from('z'), null], m: { set: new Set(['q']) } }),
    };
    await dynamodb.send(new PutItemCommand({ TableName: 'Things', Item }));
    await dynamodb.send(new DeleteItemCommand({ TableName: 'Things', Key }));
    await work();
    const NewImage = {
      ...Key,
      n: { N: '1.5' },
      b: { B: 'eHk=' },
      l: { L: [{ B: 'eg==' }, { NULL: true }] },
      m: { M: { set: { SS: ['q'] } } },
    };
    const [inserted, removed] = got();
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
    expect(Math.abs(inserted.dynamodb.ApproximateCreationDateTime * 1000 - now)).toBeLessThan(600_000);
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
    await start({ mapping: { FilterCriteria: { Filters: [pattern('x'), pattern({ prefix: 'y' })] } } });
    await put('a/1', 'a/2 n', 'a/3 z');
    await work();
    expect(got()).toEqual([]);
    expect(engine.functions.get('Worker')?.statistics.invocations).toBe(0);
    expect(counts()).toMatchObject({
      PolledEventCount: 3,
      FilteredOutEventCount: 3,
      InvokedEventCount: 0,
      invocations: 0,
    });
    await engine.eventSources.pause();
    await put('a/4 x', 'a/5', 'a/6 yy');
    await work();
    expect(got()).toEqual([['a/4 x', 'a/6 yy']]);
    expect(counts()).toMatchObject({
      PolledEventCount: 6,
      FilteredOutEventCount: 4,
      InvokedEventCount: 2,
      invocations: 1,
    });
  });

  test('by TTL is marked as the service’s own, and one by somebody else is not', async () => {
    const clock = new MovableClock();
    await start({ handler: SHOW, functionClock: clock });
    const at = Math.floor(now / 1000);
    const item = (s: string, expiresAt: number) =>
      dynamodb.send(new PutItemCommand({ TableName: 'Things', Item: marshall({ p: 'a', s, expiresAt }) }));
    await Promise.all([
      item('soon', at + 3_600),
      item('late', at + 90_000),
      item('mine', at + 3_600),
      item('ancient', 1),
    ]);
    expect(await engine.expire()).toBe(0);
    await dynamodb.send(new DeleteItemCommand({ TableName: 'Things', Key: marshall({ p: 'a', s: 'mine' }) }));
    await item('mine', at + 3_600);
    clock.set((now + 86_400_000) as EpochMs);
    expect(await engine.expire()).toBe(2);
    await work();
    const removed = got().filter(({ eventName }) => eventName === 'REMOVE');
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
    await start({ mapping: { BatchSize: 3 } });
    await put(...numbered(7));
    await work();
    expect(got()).toEqual([['a/1', 'a/2', 'a/3'], ['a/4', 'a/5', 'a/6'], ['a/7']]);
  });

  test('hold no more than an invocation carries', async () => {
    const handler = 'export const handler = async ({ Records }) => { console.log(Records.length); };';
    await start({ handler });
    const large = 'x'.repeat(380_000);
    for (let s = 1; s <= 20; s += 1) {
      await dynamodb.send(new PutItemCommand({ TableName: 'Things', Item: marshall({ p: 'a', s: String(s), large }) }));
    }
    await work();
    // Of 20 changes of some 380 kB each, 16 are less than 6 MiB.
    expect(got()).toEqual([16, 4]);
  });

  test('end their window when the time has come, and when somebody waits for the source to be idle', async () => {
    await start({ mapping: { MaximumBatchingWindowInSeconds: 300 } });
    engine.eventSources.resume();
    await put('a/1');
    await expect.poll(() => counts().PolledEventCount, PATIENT).toBe(1);
    expect(got()).toEqual([]);
    now = (now + 300_000) as EpochMs;
    await expect.poll(got, PATIENT).toEqual([['a/1']]);
    await put('a/2');
    await engine.eventSources.idle();
    expect(got()).toEqual([['a/1'], ['a/2']]);
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
    await start({ handler: MEETING, mapping: { ParallelizationFactor: 10, BatchSize: 1 } });
    // In lanes of their own.
    await put('a/1', 'b/1');
    await work();
    expect(problems()).toEqual([]);
  });

  test('of one partition key never do, and keep its order in all lanes', async () => {
    await start({ mapping: { ParallelizationFactor: 10, BatchSize: 2 } });
    const keys = Array.from('abcdefghijkl');
    for (let s = 1; s <= 5; s += 1) await put(...keys.map((p) => `${p}/${s}${s === 2 ? ' once' : ''}`));
    await work();
    for (const p of keys) {
      const firsts = new Set(
        got()
          .flat()
          .map((id) => id.split(' ')[0])
          .filter((id) => id.startsWith(p)),
      );
      expect([...firsts]).toEqual(numbered(5, p));
    }
    expect(counts().PolledEventCount).toBe(60);
  });

  test('of one lane never do: one ends before the next begins', async () => {
    await start({ mapping: { BatchSize: 1 }, maxConcurrency: 8 });
    await put('a/1 wait', 'b/1');
    engine.eventSources.resume();
    await expect.poll(got, PATIENT).toHaveLength(1);
    await expect.poll(() => counts().PolledEventCount, PATIENT).toBe(2);
    expect(engine.functions.get('Worker')?.statistics.running).toBe(1);
    go();
    await engine.eventSources.idle();
    expect(got()).toEqual([['a/1 wait'], ['b/1']]);
  });
});

describe('a failure', () => {
  test('of one change: from it on all is invoked again, then it is given up with what is behind it', async () => {
    await start({ mapping: { ...ON_FAILURE, MaximumRetryAttempts: 2 } });
    await put('a/1', 'a/2 fail', 'a/3', 'a/4 fail');
    await work();
    const rest = ['a/2 fail', 'a/3', 'a/4 fail'];
    expect(got()).toEqual([['a/1', ...rest], rest, rest]);
    const [message, ...none] = await failed();
    expect(none).toEqual([]);
    const streamArn = expect.stringMatching(/:table\/Things\/stream\//);
    expect(JSON.parse(message?.Body ?? '')).toEqual({
      requestContext: {
        requestId: expect.stringMatching(/^[0-9a-f-]{36}$/),
        functionArn: 'arn:aws:lambda:us-east-1:000000000000:function:Worker',
        condition: 'RetryAttemptsExhausted',
        approximateInvokeCount: 3,
      },
      responseContext: { statusCode: 200, executedVersion: '$LATEST' },
      version: '1.0',
      timestamp: new Date(now).toISOString(),
      DDBStreamBatchInfo: {
        shardId: expect.stringMatching(/^shardId-/),
        startSequenceNumber: '2',
        endSequenceNumber: '4',
        approximateArrivalOfFirstRecord: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
        approximateArrivalOfLastRecord: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
        batchSize: 3,
        streamArn,
      },
    });
    expect(counts()).toEqual({
      PolledEventCount: 4,
      FilteredOutEventCount: 0,
      InvokedEventCount: 10,
      FailedInvokeEventCount: 9,
      DroppedEventCount: 3,
      OnFailureDestinationDeliveredEventCount: 3,
      invocations: 3,
    });
  });

  test('is over once it succeeds', async () => {
    await start({ mapping: ON_FAILURE });
    await put('a/1', 'a/2 once', 'a/3');
    await work();
    expect(got()).toEqual([
      ['a/1', 'a/2 once', 'a/3'],
      ['a/2 once', 'a/3'],
    ]);
    expect(await failed()).toEqual([]);
    expect(counts().DroppedEventCount).toBe(0);
  });

  test.each([
    {
      what: 'an exception',
      does: 'throw',
      problem: 'RangeError: told to',
      responseContext: { functionError: 'Unhandled' },
    },
    {
      what: 'an answer that is not understood',
      does: 'nonsense',
      problem: 'batchItemFailures has',
      responseContext: {},
    },
  ])('by $what is one of the whole batch', async ({ does, problem, responseContext }) => {
    await start({ mapping: { ...ON_FAILURE, MaximumRetryAttempts: 0 } });
    await put('a/1', `a/2 ${does}`);
    await work();
    expect(got()).toEqual([['a/1', `a/2 ${does}`]]);
    expect(problems()[0]).toMatch(`batch of 2 changes failed: ${problem}`);
    expect(JSON.parse((await failed())[0]?.Body ?? '')).toMatchObject({
      responseContext: { statusCode: 200, executedVersion: '$LATEST', ...responseContext },
      DDBStreamBatchInfo: { startSequenceNumber: '1', endSequenceNumber: '2', batchSize: 2 },
    });
  });

  test('is looked for by halves, which takes no retries, until it is alone; all others get through', async () => {
    await start({ mapping: { ...ON_FAILURE, BisectBatchOnFunctionError: true, MaximumRetryAttempts: 1 } });
    await put(...numbered(4), 'a/5 throw', 'a/6', 'a/7');
    await work();
    const [first, second] = [numbered(4), ['a/5 throw', 'a/6', 'a/7']];
    expect(got()).toEqual([
      [...first, ...second],
      first,
      second,
      ['a/5 throw', 'a/6'],
      ['a/5 throw'],
      ['a/5 throw'],
      ['a/6'],
      ['a/7'],
    ]);
    expect(JSON.parse((await failed())[0]?.Body ?? '')).toMatchObject({
      requestContext: { approximateInvokeCount: 5 },
      DDBStreamBatchInfo: { startSequenceNumber: '5', batchSize: 1 },
    });
  });

  test('of which is said where it is cuts the batch there', async () => {
    await start({ mapping: { ...ON_FAILURE, BisectBatchOnFunctionError: true, MaximumRetryAttempts: 0 } });
    await put('a/1', 'a/2', 'a/3 fail', 'a/4');
    await work();
    expect(got()).toEqual([['a/1', 'a/2', 'a/3 fail', 'a/4'], ['a/3 fail', 'a/4'], ['a/3 fail'], ['a/4']]);
    expect(await failed()).toHaveLength(1);
  });

  test('holds up its own lane alone', async () => {
    await start({ mapping: { ParallelizationFactor: 10, BatchSize: 1 } });
    await put('a/1 throw', 'a/2', 'b/1', 'b/2');
    engine.eventSources.resume();
    await expect.poll(() => got().flat(), PATIENT).toContain('b/2');
    expect(got().flat()).not.toContain('a/2');
  });

  test('without a limit goes on until the change is too old', async () => {
    await start({ mapping: { ...ON_FAILURE, MaximumRecordAgeInSeconds: 3_600 } });
    await put('a/1 throw');
    engine.eventSources.resume();
    await expect.poll(() => got().length, PATIENT).toBeGreaterThan(3);
    expect(await failed()).toEqual([]);
    now = (now + 3_700_000) as EpochMs;
    await engine.eventSources.idle();
    const [message] = await failed();
    expect(JSON.parse(message?.Body ?? '')).toMatchObject({
      requestContext: { condition: 'RecordAgeExceeded', approximateInvokeCount: counts().invocations },
      responseContext: { functionError: 'Unhandled' },
    });
    expect(problems().at(-1)).toMatch(/1 changes are given up after \d+ invocations: RecordAgeExceeded/);
  });

  test('without a report of which changes failed is only an exception', async () => {
    await start({ mapping: { FunctionResponseTypes: [] } });
    await put('a/1 fail', 'a/2 nonsense');
    await work();
    expect(got()).toEqual([['a/1 fail', 'a/2 nonsense']]);
  });
});

test('changes that are too old before anything was invoked are given up, and the others are not', async () => {
  await start({ mapping: { ...ON_FAILURE, MaximumRecordAgeInSeconds: 60 } });
  await put('a/1', 'a/2');
  now = (now + 86_400_000) as EpochMs;
  await work();
  expect(got()).toEqual([]);
  const body = JSON.parse((await failed())[0]?.Body ?? '');
  expect(body).toMatchObject({
    requestContext: { condition: 'RecordAgeExceeded', approximateInvokeCount: 0 },
    DDBStreamBatchInfo: { batchSize: 2 },
  });
  expect(body).not.toHaveProperty('responseContext');
});

describe('pausing', () => {
  test('waits for what runs, then invokes nothing; resuming goes on', async () => {
    await start({ mapping: { BatchSize: 1 } });
    await put('a/1 wait', 'a/2');
    engine.eventSources.resume();
    await expect.poll(got, PATIENT).toHaveLength(1);
    let ended = false;
    const paused = engine.eventSources.pause('Worker').then(() => {
      ended = true;
    });
    // As far as anything can be known not to happen.
    await put('a/3');
    expect(ended).toBe(false);
    go();
    await paused;
    expect(got()).toHaveLength(1);
    await work();
    expect(got()).toEqual([['a/1 wait'], ['a/2'], ['a/3']]);
  });

  test('does not wait for a change that fails again and again', async () => {
    await start();
    await put('a/1 throw');
    engine.eventSources.resume();
    await expect.poll(() => got().length, PATIENT).toBeGreaterThan(1);
    await engine.eventSources.pause();
    const { length } = got();
    await put('a/2');
    expect(got()).toHaveLength(length);
  });

  test('makes idle wait until somebody resumes, unless there is nothing', async () => {
    await start();
    await engine.eventSources.idle();
    await put('a/1');
    let idle = false;
    const waiting = engine.eventSources.idle().then(() => {
      idle = true;
    });
    await put('a/2');
    expect(idle).toBe(false);
    engine.eventSources.resume();
    await waiting;
    expect(got().flat()).toEqual(['a/1', 'a/2']);
  });
});

describe('a starting position', () => {
  test('LATEST begins with the engine: what was written before is not read', async () => {
    await start();
    await put('a/before');
    const second = await startEngine({
      assembly: writeAssembly(
        join(directory, 'second'),
        {
          Test: {
            Resources: {
              Things: testTable('Things'),
              Other: testFunction('other'),
              Mapping: testStreamMapping('Things', 'Other', { StartingPosition: 'LATEST' }),
            },
          },
        },
        { other: HANDLER },
      ),
      dynamodbEndpoint: engine.endpoints.dynamodb,
      onLog: (line) => log.push(line),
    });
    try {
      await put('a/after');
      await second.eventSources.idle();
      expect(got()).toEqual([['a/after']]);
    } finally {
      await second.stop();
    }
  });

  test.each(['LATEST', 'TRIM_HORIZON'])(
    '%s with a data directory goes on where the last run stopped',
    async (StartingPosition) => {
      const setup = { dataDir: join(directory, 'data'), mapping: { StartingPosition, BatchSize: 1 } };
      await start(setup);
      await put('a/1');
      await work();
      await engine.eventSources.pause();
      await put('a/2');
      await stop();
      await start(setup);
      await put('a/3');
      await work();
      expect(got()).toEqual([['a/1'], ['a/2'], ['a/3']]);
    },
  );

  test('is not moved by what did not end: an invocation that was cut off is made again', async () => {
    const setup = {
      dataDir: join(directory, 'data'),
      graceMs: 100,
      mapping: { ...ON_FAILURE, MaximumRetryAttempts: 0 },
    };
    await start(setup);
    await put('a/1 wait');
    engine.eventSources.resume();
    await expect.poll(got, PATIENT).toHaveLength(1);
    await stop();
    log = [];
    await start({ ...setup, handler: HANDLER.replace('wait', 'never') });
    await work();
    expect(got()).toEqual([['a/1 wait']]);
    expect(await failed()).toEqual([]);
  });
});

test('on request batches are delivered once more, behind later ones, and that is all that changes', async () => {
  await start({ redeliverEvery: 2, mapping: { BatchSize: 1 } });
  await put(...numbered(5), 'a/6 once');
  await work();
  const firsts = [...new Set(got().flat())];
  expect(firsts).toEqual([...numbered(5), 'a/6 once']);
  const [third, again] = [got().findIndex(([id]) => id === 'a/3'), got().findLastIndex(([id]) => id === 'a/2')];
  expect(again).toBeGreaterThan(third);
  expect(got().filter(([id]) => id === 'a/4')).toHaveLength(2);
  expect(got().filter(([id]) => id === 'a/1')).toHaveLength(1);
});

test('polling counts as nobody’s requests', async () => {
  await start();
  await put('a/1');
  await work();
  expect(engine.meter.read().Worker).toEqual({});
  expect(Object.keys(engine.meter.read().client ?? {})).toEqual(['PutItem']);
});
