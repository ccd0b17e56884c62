import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Message, ReceiveMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { EpochMs } from '../../lib/time.ts';
import { type Engine, type EngineOptions, startEngine } from '../engine.ts';
import { MovableClock } from '../functions/movable-clock.ts';
import type { LogLine } from '../log.ts';
import { testFifoQueue, testFunction, testStandardQueue, writeAssembly } from '../test-assembly.ts';

/** Prints its event and what time it is; fails if told to. */
const HANDLER = `
  export const handler = async (event) => {
    console.log(JSON.stringify({ event, now: new Date().toISOString() }));
    if (event.fail) throw new RangeError('told to');
  };`;

/** A Friday, noon. */
const START = Date.parse('2026-11-27T12:00:00Z') as EpochMs;

let directory: string;
let engine: Engine;
let sqs: SQSClient;
let log: LogLine[];
let clock: MovableClock;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'berth-schedule-'));
  log = [];
  clock = new MovableClock();
  clock.set(START);
});

afterEach(async () => {
  sqs.destroy();
  await engine.stop();
  rmSync(directory, { recursive: true });
});

function schedule(target: object, properties: object = {}) {
  return {
    Type: 'AWS::Scheduler::Schedule',
    Properties: {
      ScheduleExpression: 'rate(1 hour)',
      FlexibleTimeWindow: { Mode: 'OFF' },
      Target: { RoleArn: { 'Fn::GetAtt': ['Role', 'Arn'] }, ...target },
      ...properties,
    },
  };
}

const TO_FUNCTION = { Arn: { 'Fn::GetAtt': ['Worker', 'Arn'] } };
const toQueue = (name: string, more: object = {}) => ({ Arn: { 'Fn::GetAtt': [name, 'Arn'] }, ...more });

async function start(resources: Record<string, unknown>, options: EngineOptions = {}): Promise<void> {
  const assembly = writeAssembly(
    join(directory, 'assembly'),
    {
      Test: {
        Resources: {
          Role: { Type: 'AWS::IAM::Role', Properties: { AssumeRolePolicyDocument: {} } },
          Queue: testStandardQueue('queue'),
          Dead: testStandardQueue('dead'),
          Worker: testFunction('worker'),
          ...resources,
        },
      },
    },
    { worker: HANDLER },
  );
  const onLog = (line: LogLine) => log.push(line);
  engine = await startEngine({ assembly, schedules: true, functionClock: clock, onLog, ...options });
  sqs = new SQSClient({ endpoint: engine.endpoints.sqs });
}

/** Sets the clock and lets everything happen that is due then. */
async function moveTo(time: string): Promise<void> {
  clock.set(Date.parse(`${time}Z`) as EpochMs);
  await engine.eventSources.idle();
}

const got = () => log.filter(({ stream }) => stream === 'stdout').map(({ line }) => JSON.parse(line));
const problems = () =>
  log.filter(({ stream, requestId }) => stream === 'platform' && !requestId).map(({ line }) => line);

async function messages(name: string): Promise<Message[]> {
  const input = { QueueUrl: engine.queues.get(name)?.url, MaxNumberOfMessages: 10, VisibilityTimeout: 0 };
  const { Messages = [] } = await sqs.send(new ReceiveMessageCommand({ ...input, MessageAttributeNames: ['All'] }));
  return Messages;
}

describe('a schedule of a function', () => {
  test('invokes it at its times, by the clock that the function sees, with the event of the scheduler', async () => {
    await start({ Hourly: schedule(TO_FUNCTION, { Name: 'hourly' }) });
    await moveTo('2026-11-27T12:59:59');
    expect(got()).toEqual([]);
    await moveTo('2026-11-27T13:00:01');
    expect(got()).toEqual([
      {
        event: {
          version: '0',
          id: expect.stringMatching(/^[0-9a-f-]{36}$/),
          'detail-type': 'Scheduled Event',
          source: 'aws.scheduler',
          account: '000000000000',
          time: '2026-11-27T13:00:00Z',
          region: 'us-east-1',
          resources: ['arn:aws:scheduler:us-east-1:000000000000:schedule/default/hourly'],
          detail: '{}',
        },
        now: '2026-11-27T13:00:01.000Z',
      },
    ]);
    await moveTo('2026-11-27T13:30:00');
    expect(got()).toHaveLength(1);
    await moveTo('2026-11-27T14:00:00');
    expect(got()).toHaveLength(2);
    expect(engine.eventSources.all.map(({ source }) => source)).toEqual(['schedule hourly']);
    expect(engine.eventSources.counts('Worker')).toMatchObject({ PolledEventCount: 2, invocations: 2 });
  });

  test('makes up for the last alone of several times that have passed at once', async () => {
    await start({ Hourly: schedule(TO_FUNCTION) });
    await moveTo('2026-11-29T15:30:00');
    expect(got().map(({ event }) => event.time)).toEqual(['2026-11-29T15:00:00Z']);
  });

  test('goes by its zone', async () => {
    const nightly = { ScheduleExpression: 'cron(0 3 ? * SAT *)', ScheduleExpressionTimezone: 'Europe/Berlin' };
    await start({ Nightly: schedule(TO_FUNCTION, nightly) });
    await moveTo('2026-11-28T01:59:59');
    expect(got()).toEqual([]);
    await moveTo('2026-11-28T02:00:00');
    expect(got().map(({ event }) => event.time)).toEqual(['2026-11-28T02:00:00Z']);
  });

  const FAILING = { Once: schedule({ ...TO_FUNCTION, Input: '{"fail":true}' }) };
  const config = (properties: object) => ({
    Type: 'AWS::Lambda::EventInvokeConfig',
    Properties: { FunctionName: { Ref: 'Worker' }, Qualifier: '$LATEST', ...properties },
  });

  test('that fails is invoked twice more, as any asynchronous invocation', async () => {
    await start(FAILING);
    await moveTo('2026-11-27T13:00:00');
    expect(got().map(({ event }) => event)).toEqual(Array(3).fill({ fail: true }));
    expect(problems()).toEqual([
      'schedule Test-Once: the run of 2026-11-27T13:00:00.000Z is given up after 3 invocations',
    ]);
    expect(engine.eventSources.counts()).toMatchObject({ FailedInvokeEventCount: 3, DroppedEventCount: 1 });
  });

  test('is invoked once if Lambda is to try no more; its queue is told', async () => {
    const DestinationConfig = { OnFailure: { Destination: { 'Fn::GetAtt': ['Dead', 'Arn'] } } };
    await start({ ...FAILING, Config: config({ MaximumRetryAttempts: 0, DestinationConfig }) });
    await moveTo('2026-11-27T13:00:00');
    expect(got()).toHaveLength(1);
    expect(JSON.parse((await messages('dead'))[0]?.Body ?? '')).toMatchObject({
      requestContext: {
        functionArn: 'arn:aws:lambda:us-east-1:000000000000:function:Worker:$LATEST',
        condition: 'RetriesExhausted',
        approximateInvokeCount: 1,
      },
      requestPayload: { fail: true },
      responseContext: { functionError: 'Unhandled' },
      responsePayload: { errorType: 'RangeError', errorMessage: 'told to' },
    });
  });
});

describe('a schedule of a queue', () => {
  test('sends its input, with what the scheduler knows filled in', async () => {
    const attributes = ['scheduled-time', 'execution-id', 'attempt-number', 'schedule-arn'];
    const Input = JSON.stringify(attributes.map((name) => `<aws.scheduler.${name}>`));
    await start({ Sweep: schedule(toQueue('Queue', { Input }), { Name: 'sweep' }) });
    expect(engine.eventSources.all.map(({ source, functionName }) => [source, functionName])).toEqual([
      ['schedule sweep', 'queue'],
    ]);
    await moveTo('2026-11-27T13:00:00');
    const [message, ...none] = await messages('queue');
    expect(none).toEqual([]);
    expect(JSON.parse(message?.Body ?? '')).toEqual([
      '2026-11-27T13:00:00Z',
      expect.stringMatching(/^[0-9a-f-]{36}$/),
      '1',
      'arn:aws:scheduler:us-east-1:000000000000:schedule/default/sweep',
    ]);
  });

  test('that is FIFO names the group', async () => {
    const target = toQueue('Fifo', { Input: 'x', SqsParameters: { MessageGroupId: 'g' } });
    await start({
      Fifo: testFifoQueue('fifo.fifo', { ContentBasedDeduplication: true }),
      Sweep: schedule(target),
    });
    await moveTo('2026-11-27T13:00:00');
    expect((await messages('fifo.fifo')).map(({ Body }) => Body)).toEqual(['x']);
  });

  test.each([0, 2])(
    'that refuses the message is tried %s times more, then the dead-letter queue gets it',
    async (retries) => {
      // Without a group, which a FIFO queue asks for.
      const Input = 'attempt <aws.scheduler.attempt-number>';
      const RetryPolicy = { MaximumRetryAttempts: retries };
      const DeadLetterConfig = { Arn: { 'Fn::GetAtt': ['Dead', 'Arn'] } };
      await start({
        Fifo: testFifoQueue('fifo.fifo'),
        Sweep: schedule(toQueue('Fifo', { Input, RetryPolicy, DeadLetterConfig })),
      });
      await moveTo('2026-11-27T13:00:00');
      const [message] = await messages('dead');
      expect(message?.Body).toBe(`attempt ${retries + 1}`);
      expect(message?.MessageAttributes).toMatchObject({
        RETRY_ATTEMPTS: { StringValue: String(retries) },
        SCHEDULED_TIME: { StringValue: '2026-11-27T13:00:00.000Z' },
        TARGET_ARN: { StringValue: 'arn:aws:sqs:us-east-1:000000000000:fifo.fifo' },
        EXHAUSTED_RETRY_CONDITION: { StringValue: 'MaximumRetryAttempts' },
      });
      expect(engine.eventSources.counts()).toMatchObject({
        DroppedEventCount: 1,
        OnFailureDestinationDeliveredEventCount: 1,
      });
    },
  );
});

describe('a schedule does not run', () => {
  test('unless the engine is asked to, or while it is disabled', async () => {
    await start({ Hourly: schedule(TO_FUNCTION) }, { schedules: undefined });
    expect(engine.eventSources.all).toEqual([]);
    await engine.stop();
    await start({ Hourly: schedule(TO_FUNCTION, { State: 'DISABLED' }) });
    expect(engine.eventSources.all).toEqual([]);
  });

  test('while it is paused; times that pass meanwhile are gone', async () => {
    await start({ Hourly: schedule(TO_FUNCTION) }, { paused: ['Worker'] });
    await moveTo('2026-11-27T13:30:00');
    engine.eventSources.resume();
    await engine.eventSources.idle();
    expect(got()).toEqual([]);
    await moveTo('2026-11-27T14:00:00');
    expect(got()).toHaveLength(1);
    await engine.eventSources.pause();
    await moveTo('2026-11-27T15:00:00');
    expect(got()).toHaveLength(1);
  });

  test('a second time when the clock is set back, until its next time', async () => {
    await start({ Hourly: schedule(TO_FUNCTION) });
    await moveTo('2026-11-27T14:30:00');
    await moveTo('2026-11-27T14:10:00');
    await moveTo('2026-11-27T15:00:00');
    expect(got().map(({ event }) => event.time)).toEqual(['2026-11-27T14:00:00Z', '2026-11-27T15:00:00Z']);
  });
});
