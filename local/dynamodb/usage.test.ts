import { describe, expect, test } from 'vitest';
import { NO_USAGE, totalUsage, usageBetween, usageOf } from './usage.ts';

describe('items of a request', () => {
  test.each([
    { operation: 'PutItem', request: { Item: {} }, items: 1 },
    { operation: 'UpdateItem', request: { Key: {} }, items: 1 },
    { operation: 'TransactWriteItems', request: { TransactItems: [{}, {}, {}] }, items: 3 },
    { operation: 'BatchGetItem', request: { RequestItems: { a: { Keys: [{}, {}] }, b: { Keys: [{}] } } }, items: 3 },
    { operation: 'BatchWriteItem', request: { RequestItems: { a: [{}, {}], b: [{}] } }, items: 3 },
    { operation: 'Query', request: { TableName: 'a' }, answer: { Count: 2, ScannedCount: 5 }, items: 5 },
    { operation: 'DescribeTable', request: { TableName: 'a' }, items: 0 },
    { operation: 'Nonsense', request: undefined, items: 0 },
  ])('$operation: $items', ({ operation, request, answer = {}, items }) => {
    expect(usageOf(operation, 200, request, answer).items).toBe(items);
  });
});

describe('capacity', () => {
  const consumed = [
    {
      TableName: 'a',
      CapacityUnits: 4,
      Table: { CapacityUnits: 2 },
      GlobalSecondaryIndexes: { i: { CapacityUnits: 2 } },
    },
    { TableName: 'b', CapacityUnits: 1.5 },
  ];

  test.each([
    { operation: 'TransactWriteItems', expected: { readUnits: 0, writeUnits: 5.5 } },
    { operation: 'BatchGetItem', expected: { readUnits: 5.5, writeUnits: 0 } },
  ])('$operation: that of all tables with their indexes', ({ operation, expected }) => {
    expect(usageOf(operation, 200, {}, { ConsumedCapacity: consumed })).toMatchObject(expected);
  });

  test('of a single table', () => {
    expect(usageOf('GetItem', 200, {}, { ConsumedCapacity: { CapacityUnits: 0.5 } }).readUnits).toBe(0.5);
  });
});

test.each([
  {
    answer: { __type: 'com.amazonaws.dynamodb.v20120810#TransactionCanceledException' },
    error: 'TransactionCanceledException',
  },
  { answer: { __type: 'ValidationException' }, error: 'ValidationException' },
  { answer: undefined, error: 'status 400' },
])('a request that fails is counted by its error: $error', ({ answer, error }) => {
  expect(usageOf('TransactWriteItems', 400, { TransactItems: [{}, {}] }, answer)).toEqual({
    ...NO_USAGE,
    requests: 1,
    items: 2,
    failed: { [error]: 1 },
  });
});

describe('readings', () => {
  const one = { ...NO_USAGE, requests: 1, items: 2, writeUnits: 3, failed: { Wrong: 1 } };
  const three = { ...NO_USAGE, requests: 3, items: 6, writeUnits: 9, failed: { Wrong: 1, Other: 2 } };

  test('between two of them: the difference, also of what was not there before', () => {
    expect(usageBetween({ A: { PutItem: one } }, { A: { PutItem: three, GetItem: one }, B: { Query: one } })).toEqual({
      A: { PutItem: { ...NO_USAGE, requests: 2, items: 4, writeUnits: 6, failed: { Other: 2 } }, GetItem: one },
      B: { Query: one },
    });
  });

  test('in all: the sum over the operations', () => {
    expect(totalUsage({ PutItem: one, GetItem: three })).toEqual({
      ...NO_USAGE,
      requests: 4,
      items: 8,
      writeUnits: 12,
      failed: { Wrong: 2, Other: 2 },
    });
    expect(totalUsage(undefined)).toEqual(NO_USAGE);
  });
});
