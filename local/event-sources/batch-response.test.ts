import { describe, expect, test } from 'vitest';
import type { InvocationResult } from '../functions/execution-environment.ts';
import { batchOutcome } from './batch-response.ts';

const IDS = ['m1', 'm2', 'm3'];

const returned = (payload: string): InvocationResult => ({ status: 'returned', payload });
const threw: InvocationResult = {
  status: 'failed',
  error: { errorType: 'RangeError', errorMessage: 'no', trace: [] },
};

const failed = (result: InvocationResult, report = true) => [...batchOutcome(result, IDS, report).failed];

describe('with ReportBatchItemFailures', () => {
  // Source: Lambda developer guide, as in docs/platform.md, a2.
  test.each(['null', '{}', '{"batchItemFailures":[]}', '{"batchItemFailures":null}'])('%s is success', (payload) => {
    expect(failed(returned(payload))).toEqual([]);
  });

  test.each([
    { payload: '{"batchItemFailures":[{"itemIdentifier":"m2"}]}', expected: ['m2'] },
    { payload: '{"batchItemFailures":[{"itemIdentifier":"m3"},{"itemIdentifier":"m2"}]}', expected: ['m3', 'm2'] },
    { payload: '{"batchItemFailures":[{"itemIdentifier":"m2"},{"itemIdentifier":"m2"}]}', expected: ['m2'] },
    { payload: '{"batchItemFailures":[{"itemIdentifier":"m1"}],"other":1}', expected: ['m1'] },
  ])('of $payload those fail that are listed, and no others', ({ payload, expected }) => {
    expect(failed(returned(payload))).toEqual(expected);
  });

  test.each([
    { what: 'a text', payload: '"done"' },
    { what: 'an empty text', payload: '""' },
    { what: 'a number', payload: '0' },
    { what: 'a list', payload: '[]' },
    { what: 'another key', payload: '{"batchItemFailure":[]}' },
    { what: 'failures that are no list', payload: '{"batchItemFailures":{"itemIdentifier":"m1"}}' },
    { what: 'an id that is not of the batch', payload: '{"batchItemFailures":[{"itemIdentifier":"m4"}]}' },
    {
      what: 'a known and an unknown id',
      payload: '{"batchItemFailures":[{"itemIdentifier":"m1"},{"itemIdentifier":"x"}]}',
    },
    { what: 'an empty id', payload: '{"batchItemFailures":[{"itemIdentifier":""}]}' },
    { what: 'a null id', payload: '{"batchItemFailures":[{"itemIdentifier":null}]}' },
    { what: 'a wrong key', payload: '{"batchItemFailures":[{"messageId":"m1"}]}' },
    { what: 'a null failure', payload: '{"batchItemFailures":[null]}' },
  ])('$what fails all', ({ payload }) => {
    const outcome = batchOutcome(returned(payload), IDS, true);
    expect([...outcome.failed]).toEqual(IDS);
    expect(outcome.problem).toBeDefined();
  });

  test('an exception fails all', () => {
    expect(batchOutcome(threw, IDS, true)).toEqual({ failed: new Set(IDS), problem: 'RangeError: no' });
  });
});

describe('without ReportBatchItemFailures', () => {
  test('what the function says about failures is passed over: everything is deleted', () => {
    expect(failed(returned('{"batchItemFailures":[{"itemIdentifier":"m1"}]}'), false)).toEqual([]);
    expect(failed(returned('"done"'), false)).toEqual([]);
  });

  test('an exception fails all', () => {
    expect(failed(threw, false)).toEqual(IDS);
  });
});
