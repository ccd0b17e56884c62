import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { testFunction, testStreamMapping, testTable, writeAssembly } from '../test-assembly.ts';
import { readCloudAssembly } from './cloud-assembly.ts';
import { declaredMappings } from './event-source-mappings.ts';
import { declaredFunctions } from './functions.ts';
import { Resources } from './scope.ts';
import { type StreamMapping, streamMapping } from './stream-mappings.ts';
import { declaredTables } from './tables.ts';

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'berth-template-'));
});

afterEach(() => rmSync(directory, { recursive: true }));

const STREAM = 'arn:aws:dynamodb:eu-central-1:123456789012:table/Things/stream/now';

/** As CDK writes it: the table in one stack, what reads it in another. */
function mappingOf(properties: Record<string, unknown>): StreamMapping | undefined {
  const name = 'State:ExportsOutputFnGetAttThingsStreamArn0A1B2C3D';
  const assembly = writeAssembly(
    directory,
    {
      Functions: {
        Resources: {
          Fn: testFunction('one'),
          Map: testStreamMapping('', 'Fn', { EventSourceArn: { 'Fn::ImportValue': name }, ...properties }),
        },
      },
      State: {
        Resources: { Things: testTable('Things') },
        Outputs: { Export: { Value: { 'Fn::GetAtt': ['Things', 'StreamArn'] }, Export: { Name: name } } },
      },
    },
    { one: '' },
  );
  const resources = new Resources(readCloudAssembly(assembly), { region: 'eu-central-1', account: '123456789012' });
  for (const { declared } of declaredTables(resources))
    resources.define(declared, { attributes: { StreamArn: STREAM } });
  declaredFunctions(resources);
  return declaredMappings(resources).map((mapping) => streamMapping(resources, mapping))[0];
}

describe('event source mappings of a stream', () => {
  test('say which stream and which function, with the defaults of Lambda', () => {
    expect(mappingOf({ FunctionResponseTypes: undefined })).toMatchObject({
      sourceArn: STREAM,
      functionName: 'Fn',
      enabled: true,
      startingPosition: 'TRIM_HORIZON',
      batchSize: 100,
      windowMs: 0,
      parallelizationFactor: 1,
      bisectOnError: false,
      maximumRetries: Number.POSITIVE_INFINITY,
      maximumAgeMs: Number.POSITIVE_INFINITY,
      reportBatchItemFailures: false,
      onFailureArn: undefined,
      filters: [],
    });
  });

  test('say how', () => {
    const mapping = mappingOf({
      StartingPosition: 'LATEST',
      BatchSize: 10_000,
      MaximumBatchingWindowInSeconds: 300,
      ParallelizationFactor: 10,
      BisectBatchOnFunctionError: true,
      MaximumRetryAttempts: 0,
      MaximumRecordAgeInSeconds: 60,
      DestinationConfig: { OnFailure: { Destination: 'arn:aws:sqs:eu-central-1:123456789012:failed' } },
      FilterCriteria: { Filters: [{ Pattern: '{"eventName":["INSERT"]}' }] },
      MetricsConfig: { Metrics: ['EventCount'] },
      Tags: [],
    });
    expect(mapping).toMatchObject({
      startingPosition: 'LATEST',
      batchSize: 10_000,
      windowMs: 300_000,
      parallelizationFactor: 10,
      bisectOnError: true,
      maximumRetries: 0,
      maximumAgeMs: 60_000,
      reportBatchItemFailures: true,
      onFailureArn: 'arn:aws:sqs:eu-central-1:123456789012:failed',
    });
    expect(mapping?.filters.map((passes) => passes({ eventName: 'INSERT' }))).toEqual([true]);
    expect(mappingOf({ MaximumRetryAttempts: -1, MaximumRecordAgeInSeconds: -1 })).toMatchObject({
      maximumRetries: Number.POSITIVE_INFINITY,
      maximumAgeMs: Number.POSITIVE_INFINITY,
    });
  });

  const whole = (range: string) => `expected a whole number from ${range}`;
  const filters = (...patterns: string[]) => ({
    FilterCriteria: { Filters: patterns.map((Pattern) => ({ Pattern })) },
  });

  test.each([
    [{ StartingPosition: undefined }, 'StartingPosition: expected LATEST or TRIM_HORIZON'],
    [{ StartingPosition: 'AT_TIMESTAMP' }, 'StartingPosition: expected LATEST or TRIM_HORIZON'],
    [{ BatchSize: 0 }, `BatchSize: ${whole('1 to 10000')}`],
    [{ BatchSize: 10_001 }, `BatchSize: ${whole('1 to 10000')}`],
    [{ MaximumBatchingWindowInSeconds: 301 }, `MaximumBatchingWindowInSeconds: ${whole('0 to 300')}`],
    [{ ParallelizationFactor: 11 }, `ParallelizationFactor: ${whole('1 to 10')}`],
    [{ MaximumRetryAttempts: -2 }, `MaximumRetryAttempts: ${whole('0 to 10000 or -1')}`],
    [{ MaximumRetryAttempts: 1.5 }, `MaximumRetryAttempts: ${whole('0 to 10000 or -1')}`],
    [{ MaximumRecordAgeInSeconds: 59 }, `MaximumRecordAgeInSeconds: ${whole('60 to 604800 or -1')}`],
    [{ FunctionResponseTypes: ['Other'] }, 'FunctionResponseTypes.0'],
    [{ TumblingWindowInSeconds: 5 }, 'TumblingWindowInSeconds is not supported by the local engine'],
    [{ DestinationConfig: { OnSuccess: {} } }, 'DestinationConfig.OnSuccess is not supported by the local engine'],
    [
      filters('{"a":["x"]}', '{"a":{"b":"x"}}'),
      'Functions/Map: FilterCriteria.Filters[1].Pattern: a.b: expected a list or an object, found "x"',
    ],
    [filters(...Array<string>(6).fill('{"a":["x"]}')), 'FilterCriteria.Filters: a mapping has at most 5 filters'],
  ])('with %j are refused', (properties, message) => {
    expect(() => mappingOf(properties)).toThrow(message);
  });
});
