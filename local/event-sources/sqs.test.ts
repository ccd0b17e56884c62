import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  GetQueueAttributesCommand,
  type Message,
  ReceiveMessageCommand,
  SendMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type EpochMs, systemClock } from '../../lib/time.ts';
import { type Engine, type EngineOptions, startEngine } from '../engine.ts';
import type { LogLine } from '../log.ts';
import { testFifoQueue, testFunction, testMapping, writeAssembly } from '../test-assembly.ts';

/**
 * The function under all of these: it prints what it got as one line, `{"got":[body, receives]...}`, then does what the
 * bodies tell it. `fail` fails that message each time; the others do what they say when they are received first.
 */
const HANDLER = `
  export const handler = async ({ Records }) => {
    console.log(JSON.stringify({ got: Records.map(({ body, attributes }) => [body, Number(attributes.ApproximateReceiveCount)]) }));
    const first = (what) => Records.some(({ body, attributes }) => body.includes(what) && attributes.ApproximateReceiveCount === '1');
    if (first('throw')) throw new RangeError('told to');
    if (first('exit')) process.exit(1);
    if (first('hang')) await new Promise((resolve) => setTimeout(resolve, 1e6));
    if (first('slow')) await new Promise((resolve) => {
      const go = new BroadcastChannel('go');
      go.onmessage = () => { go.close(); resolve(); };
    });
    if (first('nonsense')) return { batchItemFailures: [{ itemIdentifier: 'nobody' }] };
    const failures = Records.filter(({ body }) => body.includes('fail'));
    return { batchItemFailures: failures.map(({ messageId }) => ({ itemIdentifier: messageId })) };
  };`;

let directory: string;
let engine: Engine;
let sqs: SQSClient;
let log: LogLine[];
let now: EpochMs;

/** That of the plan queue. */
const VISIBILITY_SECONDS = 180;
const PATIENT = { timeout: 30_000 };
const passVisibility = () => {
  now = (now + VISIBILITY_SECONDS * 1000) as EpochMs;
};

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'berth-source-'));
  log = [];
  now = systemClock();
});

afterEach(async () => {
  sqs.destroy();
  await engine.stop();
  rmSync(directory, { recursive: true });
});

interface Setup extends EngineOptions {
  readonly handler?: string;
  readonly fn?: Record<string, unknown>;
  readonly mapping?: Record<string, unknown>;
  readonly maxReceiveCount?: number;
}

/** An engine with one queue, its dead-letter queue, and the function on it; paused, so that a test can fill the queue first. */
async function start({ handler = HANDLER, fn, mapping, maxReceiveCount = 3, ...options }: Setup = {}): Promise<void> {
  const redrive = { deadLetterTargetArn: { 'Fn::GetAtt': ['Dead', 'Arn'] }, maxReceiveCount };
  const assembly = writeAssembly(
    join(directory, 'assembly'),
    {
      Test: {
        Resources: {
          Dead: testFifoQueue('dead.fifo'),
          Queue: testFifoQueue('queue.fifo', { VisibilityTimeout: VISIBILITY_SECONDS, RedrivePolicy: redrive }),
          Worker: testFunction('worker', fn),
          Mapping: testMapping('Queue', 'Worker', mapping),
        },
      },
    },
    { worker: handler },
  );
  const onLog = (line: LogLine) => log.push(line);
  engine = await startEngine({ assembly, paused: 'all', clock: () => now, onLog, ...options });
  sqs = new SQSClient({ endpoint: engine.endpoints.sqs });
}

const url = (name: string) => engine.queues.get(name)?.url;

/** `a:text` is a message of the group `a`. */
async function send(...bodies: string[]): Promise<void> {
  for (const [index, body] of bodies.entries()) {
    await sqs.send(
      new SendMessageCommand({
        QueueUrl: url('queue.fifo'),
        MessageBody: body,
        MessageGroupId: body.split(':')[0],
        MessageDeduplicationId: String(index),
      }),
    );
  }
}

async function counts(): Promise<{ visible: number; inFlight: number }> {
  const { Attributes = {} } = await sqs.send(
    new GetQueueAttributesCommand({ QueueUrl: url('queue.fifo'), AttributeNames: ['All'] }),
  );
  const { ApproximateNumberOfMessages, ApproximateNumberOfMessagesNotVisible } = Attributes;
  return { visible: Number(ApproximateNumberOfMessages), inFlight: Number(ApproximateNumberOfMessagesNotVisible) };
}

/**
 * Lets the function work until the queue is empty. Time passes only while nothing runs, so that however slow the machine
 * is, no visibility time-out runs out in the middle of an invocation.
 */
async function work(): Promise<void> {
  for (let left = await counts(); left.visible + left.inFlight > 0; left = await counts()) {
    engine.eventSources.resume();
    await expect
      .poll(async () => {
        const { visible, inFlight } = await counts();
        return visible === 0 || inFlight > 0;
      }, PATIENT)
      .toBe(true);
    await engine.eventSources.pause();
    passVisibility();
  }
}

/** What each invocation got: bodies and how often each had been received. */
const got = () => log.filter(({ stream }) => stream === 'stdout').map(({ line }) => JSON.parse(line).got);
const problems = () => log.filter(({ stream }) => stream === 'platform').map(({ line }) => line);

async function deadLetters(): Promise<Message[]> {
  const input = { QueueUrl: url('dead.fifo'), MaxNumberOfMessages: 10, MessageSystemAttributeNames: ['All' as const] };
  return (await sqs.send(new ReceiveMessageCommand(input))).Messages ?? [];
}

describe('batches', () => {
  test('hold up to ten messages, of one group first, and what succeeded is deleted', async () => {
    await start();
    await send(...Array.from({ length: 12 }, (_, index) => `a:${index}`), 'b:0');
    await work();
    const sizes = got().map((batch) => batch.length);
    expect(sizes[0]).toBe(10);
    expect(sizes.reduce((sum, size) => sum + size)).toBe(13);
    expect(
      got()
        .flat()
        .filter(([body]) => body.startsWith('a'))
        .map(([body]) => body),
    ).toEqual(Array.from({ length: 12 }, (_, index) => `a:${index}`));
    expect(await deadLetters()).toEqual([]);
  });

  test('hold no more than the mapping says', async () => {
    await start({ mapping: { BatchSize: 2 } });
    await send('a:1', 'a:2', 'a:3', 'a:4', 'a:5');
    await work();
    expect(got().map((batch) => batch.length)).toEqual([2, 2, 1]);
  });

  test('are split where they are too large for one invocation, the group in order; a failure stops the rest of its group', async () => {
    const handler = HANDLER.replace('[body, ', '[body.trim(), ');
    await start({ handler });
    // As JSON twice as long: of nine such, seven are less than 6 MiB.
    const large = '\n'.repeat(400_000);
    await send(...Array.from({ length: 9 }, (_, index) => `a:${index === 1 ? 'fail' : index}${large}`));
    engine.eventSources.resume();
    await expect.poll(got, PATIENT).toHaveLength(1);
    await engine.eventSources.pause();
    const bodies = got().map((batch) => batch.map(([body]: [string]) => body));
    expect(bodies).toEqual([['a:0', 'a:fail', 'a:2', 'a:3', 'a:4', 'a:5', 'a:6']]);
    // 7 and 8 were received too, and are left for after the one that failed.
    expect(await counts()).toEqual({ visible: 0, inFlight: 3 });
  });

  // A rendezvous of two invocations: alone, each would wait until its time-out.
  const MEETING = `
    export const handler = ({ Records }) => new Promise((resolve) => {
      const channel = new BroadcastChannel('meeting');
      const [{ body }] = Records;
      const hello = setInterval(() => channel.postMessage(body), 2);
      channel.onmessage = ({ data }) => {
        if (data === body) return;
        channel.postMessage(body);
        clearInterval(hello);
        channel.close();
        resolve();
      };
    });`;

  test('of different groups run side by side', async () => {
    await start({ handler: MEETING, mapping: { BatchSize: 1 } });
    await send('a:1', 'b:1');
    await work();
    expect(problems()).toEqual([]);
  });

  test('of one group never do, and never more at once than the mapping allows', async () => {
    // Ends after the other has had time to begin, if it were let.
    const handler = `
      let channel = new BroadcastChannel('running');
      export const handler = async ({ Records }) => {
        let others = 0;
        channel.onmessage = () => { others += 1; };
        for (let index = 0; index < 10; index += 1) {
          channel.postMessage(Records[0].body);
          await new Promise((resolve) => setTimeout(resolve, 5));
        }
        channel.onmessage = null;
        console.log(JSON.stringify({ got: [others] }));
      };`;
    await start({ handler, mapping: { BatchSize: 1 } });
    await send('a:1', 'a:2', 'a:3', 'a:4');
    await work();
    expect(got()).toEqual([[0], [0], [0], [0]]);
  });
});

describe('failures', () => {
  test('that are listed come again after the visibility time-out, in order, until the dead-letter queue takes them', async () => {
    await start({ maxReceiveCount: 2 });
    await send('a:1', 'a:fail', 'a:2', 'b:1');
    await work();
    expect(got()).toEqual([
      [
        ['a:1', 1],
        ['a:fail', 1],
        ['a:2', 1],
        ['b:1', 1],
      ],
      [['a:fail', 2]],
    ]);
    expect(problems()).toEqual([]);
    expect((await deadLetters())[0]).toMatchObject({
      Body: 'a:fail',
      Attributes: {
        MessageGroupId: 'a',
        DeadLetterQueueSourceArn: 'arn:aws:sqs:us-east-1:000000000000:queue.fifo',
      },
    });
  });

  test.each([
    { what: 'an exception', body: 'a:throw', problem: 'RangeError: told to' },
    { what: 'a crash', body: 'a:exit', problem: 'Runtime.ExitError: exited with status 1' },
    { what: 'a time-out', body: 'a:hang', problem: 'Sandbox.Timedout: Task timed out after 3.00 seconds' },
    {
      what: 'an answer that is not understood',
      body: 'a:nonsense',
      problem: 'batchItemFailures has {"itemIdentifier":"nobody"}',
    },
  ])('of the whole batch by $what: all of it comes again', async ({ body, problem }) => {
    await start({ fn: { Timeout: 3 } });
    await send('a:1', body, 'b:1');
    await work();
    expect(got()).toEqual([
      [
        ['a:1', 1],
        [body, 1],
        ['b:1', 1],
      ],
      [
        ['a:1', 2],
        [body, 2],
        ['b:1', 2],
      ],
    ]);
    expect(problems()).toContainEqual(expect.stringContaining(`3 messages will be delivered again: ${problem}`));
    expect(await deadLetters()).toEqual([]);
  });

  test('by an end in the middle: the batch comes again', async () => {
    await start();
    await send('a:hang');
    engine.eventSources.resume();
    await expect.poll(got, PATIENT).toHaveLength(1);
    await engine.functions.get('Worker')?.killAll();
    await engine.eventSources.pause();
    passVisibility();
    await work();
    expect(got()).toEqual([[['a:hang', 1]], [['a:hang', 2]]]);
  });

  test('leave the rest of their group waiting, and other groups not', async () => {
    await start();
    await send('a:fail');
    engine.eventSources.resume();
    await expect.poll(got, PATIENT).toHaveLength(1);
    await engine.eventSources.pause();
    await send('skipped', 'a:later', 'b:now');
    engine.eventSources.resume();
    await expect
      .poll(
        () =>
          got()
            .flat()
            .map(([body]) => body),
        { timeout: 30_000 },
      )
      .toContain('b:now');
    await engine.eventSources.pause();
    expect(
      got()
        .flat()
        .map(([body]) => body),
    ).not.toContain('a:later');
  });

  test('are deletions, if the mapping does not report failures', async () => {
    await start({ mapping: { FunctionResponseTypes: [] } });
    await send('a:fail');
    await work();
    expect(got()).toEqual([[['a:fail', 1]]]);
    expect(await deadLetters()).toEqual([]);
  });

  test('to finish within the visibility time-out are told: the message could not be deleted, and comes again', async () => {
    await start();
    await send('a:slow');
    engine.eventSources.resume();
    await expect.poll(got, PATIENT).toHaveLength(1);
    const paused = engine.eventSources.pause();
    passVisibility();
    const go = new BroadcastChannel('go');
    go.postMessage('go');
    await paused;
    go.close();
    await work();
    expect(got()).toEqual([[['a:slow', 1]], [['a:slow', 2]]]);
    expect(problems()).toEqual([expect.stringMatching(/could not be deleted and comes again: .*handle has expired/)]);
  });
});

describe('pausing', () => {
  test('waits for what runs, then takes nothing; resuming goes on', async () => {
    await start();
    await send('a:1');
    await work();
    await engine.eventSources.pause('Worker');
    await send('skipped', 'a:2');
    expect(engine.functions.get('Worker')?.statistics.invocations).toBe(1);
    await work();
    expect(
      got()
        .flat()
        .map(([body]) => body),
    ).toEqual(expect.arrayContaining(['a:1', 'a:2']));
  });

  test('of a function that has no source is an error that names those that have', async () => {
    await start();
    await expect(engine.eventSources.pause('Other')).rejects.toThrow(
      'no event source of a function Other; there are those of: Worker',
    );
  });
});
