import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  GetQueueAttributesCommand,
  ReceiveMessageCommand,
  SendMessageBatchCommand,
  SendMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type EpochMs, systemClock } from '../../lib/time.ts';
import { type Engine, startEngine } from '../engine.ts';
import type { LogLine } from '../log.ts';
import { testFunction, testMapping, testStandardQueue, writeAssembly } from '../test-assembly.ts';

/** Prints the bodies of a batch as one line; fails those that say so. */
const HANDLER = `
  export const handler = async ({ Records }) => {
    console.log(JSON.stringify(Records.map(({ body }) => body)));
    const failures = Records.filter(({ body }) => body.includes('fail'));
    return { batchItemFailures: failures.map(({ messageId }) => ({ itemIdentifier: messageId })) };
  };`;

const PATIENT = { timeout: 30_000 };
const VISIBILITY_SECONDS = 60;

let directory: string;
let engine: Engine;
let sqs: SQSClient;
let log: LogLine[];
let now: EpochMs;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'berth-standard-'));
  log = [];
  now = systemClock();
});

afterEach(async () => {
  sqs.destroy();
  await engine.stop();
  rmSync(directory, { recursive: true });
});

async function start(mapping: Record<string, unknown>): Promise<void> {
  const RedrivePolicy = { deadLetterTargetArn: { 'Fn::GetAtt': ['Dead', 'Arn'] }, maxReceiveCount: 2 };
  const assembly = writeAssembly(
    join(directory, 'assembly'),
    {
      Test: {
        Resources: {
          Dead: testStandardQueue('dead'),
          Queue: testStandardQueue('queue', { VisibilityTimeout: VISIBILITY_SECONDS, RedrivePolicy }),
          Worker: testFunction('worker'),
          Mapping: testMapping('Queue', 'Worker', mapping),
        },
      },
    },
    { worker: HANDLER },
  );
  const onLog = (line: LogLine) => log.push(line);
  engine = await startEngine({ assembly, paused: 'all', clock: () => now, onLog });
  sqs = new SQSClient({ endpoint: engine.endpoints.sqs });
}

const url = (name = 'queue') => engine.queues.get(name)?.url;
const got = (): string[][] => log.filter(({ stream }) => stream === 'stdout').map(({ line }) => JSON.parse(line));
const pass = (seconds: number) => {
  now = (now + seconds * 1000) as EpochMs;
};

async function send(bodies: readonly string[], more: { DelaySeconds?: number; MessageGroupId?: string } = {}) {
  for (let index = 0; index < bodies.length; index += 10) {
    const Entries = bodies
      .slice(index, index + 10)
      .map((MessageBody, Id) => ({ Id: String(Id), MessageBody, ...more }));
    await sqs.send(new SendMessageBatchCommand({ QueueUrl: url(), Entries }));
  }
}

async function counts(): Promise<number[]> {
  const { Attributes = {} } = await sqs.send(
    new GetQueueAttributesCommand({ QueueUrl: url(), AttributeNames: ['All'] }),
  );
  const { ApproximateNumberOfMessages, ApproximateNumberOfMessagesNotVisible, ApproximateNumberOfMessagesDelayed } =
    Attributes;
  return [ApproximateNumberOfMessages, ApproximateNumberOfMessagesNotVisible, ApproximateNumberOfMessagesDelayed].map(
    Number,
  );
}

const numbered = (count: number) => Array.from({ length: count }, (_, index) => String(index));

test('one message at a time, each not before its delay is over', async () => {
  await start({ BatchSize: 1 });
  for (const DelaySeconds of [20, 0, 10]) {
    const input = { QueueUrl: url(), MessageBody: `after ${DelaySeconds}`, DelaySeconds };
    await sqs.send(new SendMessageCommand(input));
  }
  expect(await counts()).toEqual([1, 0, 2]);
  engine.eventSources.resume();
  await expect.poll(got, PATIENT).toEqual([['after 0']]);
  pass(10);
  await expect.poll(got, PATIENT).toEqual([['after 0'], ['after 10']]);
  await expect.poll(counts, PATIENT).toEqual([0, 0, 1]);
  pass(10);
  await engine.eventSources.idle();
  expect(got()).toEqual([['after 0'], ['after 10'], ['after 20']]);
});

test('more than ten messages make one batch when there is a window, and all of them are deleted', async () => {
  await start({ BatchSize: 100, MaximumBatchingWindowInSeconds: 300 });
  await send(numbered(110));
  engine.eventSources.resume();
  await expect.poll(() => got().map(({ length }) => length), PATIENT).toEqual([100]);
  await engine.eventSources.idle();
  expect(got().map(({ length }) => length)).toEqual([100, 10]);
  expect(got().flat().sort()).toEqual(numbered(110).sort());
  expect(await counts()).toEqual([0, 0, 0]);
  expect(engine.eventSources.counts()).toMatchObject({ PolledEventCount: 110, InvokedEventCount: 110, invocations: 2 });
});

test('a batch that is not full waits for its window, and then is delivered', async () => {
  await start({ BatchSize: 100, MaximumBatchingWindowInSeconds: 30 });
  await send(['early']);
  engine.eventSources.resume();
  await expect.poll(counts, PATIENT).toEqual([0, 1, 0]);
  await send(['late']);
  await expect.poll(counts, PATIENT).toEqual([0, 2, 0]);
  expect(got()).toEqual([]);
  pass(30);
  await expect.poll(got, PATIENT).toEqual([['early', 'late']]);
});

test('a pause delivers what was gathered', async () => {
  await start({ BatchSize: 100, MaximumBatchingWindowInSeconds: 30 });
  await send(['one']);
  engine.eventSources.resume();
  await expect.poll(counts, PATIENT).toEqual([0, 1, 0]);
  await engine.eventSources.pause();
  expect(got()).toEqual([['one']]);
});

test('what failed comes again alone, then is in the dead-letter queue; groups keep no order here', async () => {
  await start({ BatchSize: 10 });
  await send(['fail', 'one', 'two'], { MessageGroupId: 'tenant' });
  engine.eventSources.resume();
  await expect.poll(counts, PATIENT).toEqual([0, 1, 0]);
  await engine.eventSources.pause();
  pass(VISIBILITY_SECONDS);
  engine.eventSources.resume();
  await expect.poll(() => got().length, PATIENT).toBe(2);
  await engine.eventSources.pause();
  expect(got().map((bodies) => bodies.sort())).toEqual([['fail', 'one', 'two'], ['fail']]);
  pass(VISIBILITY_SECONDS);
  engine.eventSources.resume();
  await engine.eventSources.idle();
  const { Messages = [] } = await sqs.send(new ReceiveMessageCommand({ QueueUrl: url('dead') }));
  expect(Messages.map(({ Body }) => Body)).toEqual(['fail']);
  expect(engine.eventSources.counts().FailedInvokeEventCount).toBe(2);
});
