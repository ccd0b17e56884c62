import { describe, expect, test } from 'vitest';
import { numbered, ON_FAILURE, PATIENT, StreamBed } from './stream-test-bed.ts';

const bed = StreamBed.use();

describe('a failure', () => {
  test('of one change: from it on all is invoked again, then it is given up with what is behind it', async () => {
    await bed.start({ mapping: { ...ON_FAILURE, MaximumRetryAttempts: 2 } });
    await bed.put('a/1', 'a/2 fail', 'a/3', 'a/4 fail');
    await bed.work();
    const rest = ['a/2 fail', 'a/3', 'a/4 fail'];
    expect(bed.got()).toEqual([['a/1', ...rest], rest, rest]);
    const [message, ...none] = await bed.failed();
    expect(none).toEqual([]);
    const streamArn = expect.stringMatching(/:table\/Things\/stream\//);
    expect(message).toEqual({
      requestContext: {
        requestId: expect.stringMatching(/^[0-9a-f-]{36}$/),
        functionArn: 'arn:aws:lambda:us-east-1:000000000000:function:Worker',
        condition: 'RetryAttemptsExhausted',
        approximateInvokeCount: 3,
      },
      responseContext: { statusCode: 200, executedVersion: '$LATEST' },
      version: '1.0',
      timestamp: new Date(bed.now).toISOString(),
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
    expect(bed.counts()).toEqual({
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
    await bed.start({ mapping: ON_FAILURE });
    await bed.put('a/1', 'a/2 once', 'a/3');
    await bed.work();
    expect(bed.got()).toEqual([
      ['a/1', 'a/2 once', 'a/3'],
      ['a/2 once', 'a/3'],
    ]);
    expect(await bed.failed()).toEqual([]);
    expect(bed.counts().DroppedEventCount).toBe(0);
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
    await bed.start({ mapping: { ...ON_FAILURE, MaximumRetryAttempts: 0 } });
    await bed.put('a/1', `a/2 ${does}`);
    await bed.work();
    expect(bed.got()).toEqual([['a/1', `a/2 ${does}`]]);
    expect(bed.problems()[0]).toMatch(`batch of 2 changes failed: ${problem}`);
    expect((await bed.failed())[0]).toMatchObject({
      responseContext: { statusCode: 200, executedVersion: '$LATEST', ...responseContext },
      DDBStreamBatchInfo: { startSequenceNumber: '1', endSequenceNumber: '2', batchSize: 2 },
    });
  });

  test('is looked for by halves, which takes no retries, until it is alone; all others get through', async () => {
    await bed.start({ mapping: { ...ON_FAILURE, BisectBatchOnFunctionError: true, MaximumRetryAttempts: 1 } });
    await bed.put(...numbered(4), 'a/5 throw', 'a/6', 'a/7');
    await bed.work();
    const [first, second] = [numbered(4), ['a/5 throw', 'a/6', 'a/7']];
    expect(bed.got()).toEqual([
      [...first, ...second],
      first,
      second,
      ['a/5 throw', 'a/6'],
      ['a/5 throw'],
      ['a/5 throw'],
      ['a/6'],
      ['a/7'],
    ]);
    expect((await bed.failed())[0]).toMatchObject({
      requestContext: { approximateInvokeCount: 5 },
      DDBStreamBatchInfo: { startSequenceNumber: '5', batchSize: 1 },
    });
  });

  test('of which is said where it is cuts the batch there', async () => {
    await bed.start({ mapping: { ...ON_FAILURE, BisectBatchOnFunctionError: true, MaximumRetryAttempts: 0 } });
    await bed.put('a/1', 'a/2', 'a/3 fail', 'a/4');
    await bed.work();
    expect(bed.got()).toEqual([['a/1', 'a/2', 'a/3 fail', 'a/4'], ['a/3 fail', 'a/4'], ['a/3 fail'], ['a/4']]);
    expect(await bed.failed()).toHaveLength(1);
  });

  test('holds up its own lane alone', async () => {
    await bed.start({ mapping: { ParallelizationFactor: 10, BatchSize: 1 } });
    await bed.put('a/1 throw', 'a/2', 'b/1', 'b/2');
    bed.engine.eventSources.resume();
    await expect.poll(() => bed.got().flat(), PATIENT).toContain('b/2');
    expect(bed.got().flat()).not.toContain('a/2');
  });

  test('without a limit goes on until the change is too old', async () => {
    await bed.start({ mapping: { ...ON_FAILURE, MaximumRecordAgeInSeconds: 3_600 } });
    await bed.put('a/1 throw');
    bed.engine.eventSources.resume();
    await expect.poll(() => bed.got().length, PATIENT).toBeGreaterThan(3);
    expect(await bed.failed()).toEqual([]);
    bed.passSeconds(3_700);
    await bed.engine.eventSources.idle();
    const [message] = await bed.failed();
    expect(message).toMatchObject({
      requestContext: { condition: 'RecordAgeExceeded', approximateInvokeCount: bed.counts().invocations },
      responseContext: { functionError: 'Unhandled' },
    });
    expect(bed.problems().at(-1)).toMatch(/1 changes are given up after \d+ invocations: RecordAgeExceeded/);
  });

  test('without a report of which changes failed is only an exception', async () => {
    await bed.start({ mapping: { FunctionResponseTypes: [] } });
    await bed.put('a/1 fail', 'a/2 nonsense');
    await bed.work();
    expect(bed.got()).toEqual([['a/1 fail', 'a/2 nonsense']]);
  });
});

test('changes that are too old before anything was invoked are given up, and the others are not', async () => {
  await bed.start({ mapping: { ...ON_FAILURE, MaximumRecordAgeInSeconds: 60 } });
  await bed.put('a/1', 'a/2');
  bed.passSeconds(86_400);
  await bed.work();
  expect(bed.got()).toEqual([]);
  const body = (await bed.failed())[0];
  expect(body).toMatchObject({
    requestContext: { condition: 'RecordAgeExceeded', approximateInvokeCount: 0 },
    DDBStreamBatchInfo: { batchSize: 2 },
  });
  expect(body).not.toHaveProperty('responseContext');
});
