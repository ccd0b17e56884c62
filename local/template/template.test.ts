import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type TestTemplate, testFifoQueue, testFunction, testMapping, writeAssembly } from '../test-assembly.ts';
import { readCloudAssembly } from './cloud-assembly.ts';
import { defineEventBuses } from './event-buses.ts';
import { declaredMappings, sqsMapping } from './event-source-mappings.ts';
import { declaredFunctions } from './functions.ts';
import { checkTypes } from './known-types.ts';
import { declaredQueues } from './queues.ts';
import { Resources } from './scope.ts';
import { declaredTables } from './tables.ts';

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'berth-template-'));
});

afterEach(() => rmSync(directory, { recursive: true }));

function resourcesOf(stacks: Record<string, TestTemplate>, bundles = {}): Resources {
  const assembly = writeAssembly(directory, stacks, bundles);
  return new Resources(readCloudAssembly(assembly), { region: 'eu-central-1', account: '123456789012' });
}

const one = (Type: string, Properties: Record<string, unknown>, more = {}) =>
  resourcesOf({ S: { Resources: { Thing0A1B2C3D: { Type, Properties, ...more } } } });

describe('tables', () => {
  const KEYS = {
    KeySchema: [
      { AttributeName: 'pool', KeyType: 'HASH' },
      { AttributeName: 'id', KeyType: 'RANGE' },
    ],
    AttributeDefinitions: [
      { AttributeName: 'pool', AttributeType: 'S' },
      { AttributeName: 'id', AttributeType: 'S' },
    ],
  };

  test.each(['AWS::DynamoDB::Table', 'AWS::DynamoDB::GlobalTable'])(
    '%s: keys, indexes, stream and expiry, whatever else is set',
    (type) => {
      const index = { IndexName: 'by-id', KeySchema: [KEYS.KeySchema[1]], Projection: { ProjectionType: 'KEYS_ONLY' } };
      const resources = one(type, {
        TableName: 'Berth-Things',
        ...KEYS,
        BillingMode: 'PAY_PER_REQUEST',
        GlobalSecondaryIndexes: [{ ...index, ContributorInsightsSpecification: { Enabled: true } }],
        StreamSpecification: { StreamViewType: 'NEW_AND_OLD_IMAGES' },
        TimeToLiveSpecification: { AttributeName: 'expiresAt', Enabled: true },
        PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
        DeletionProtectionEnabled: true,
      });
      expect(declaredTables(resources)).toMatchObject([
        {
          name: 'Berth-Things',
          create: {
            TableName: 'Berth-Things',
            BillingMode: 'PAY_PER_REQUEST',
            ...KEYS,
            GlobalSecondaryIndexes: [index],
            StreamSpecification: { StreamEnabled: true, StreamViewType: 'NEW_AND_OLD_IMAGES' },
          },
          ttlAttribute: 'expiresAt',
        },
      ]);
    },
  );

  test('without a name get one from stack and logical id', () => {
    expect(declaredTables(one('AWS::DynamoDB::Table', KEYS))[0]?.name).toBe('S-Thing');
  });

  test('with a property that the engine does not know are refused', () => {
    expect(() => declaredTables(one('AWS::DynamoDB::Table', { ...KEYS, ImportSourceSpecification: {} }))).toThrow(
      'S/Thing0A1B2C3D (AWS::DynamoDB::Table): ImportSourceSpecification is not supported by the local engine',
    );
  });
});

describe('queues', () => {
  const redriveTo = (queue: string) => ({
    RedrivePolicy: { deadLetterTargetArn: { 'Fn::GetAtt': [queue, 'Arn'] }, maxReceiveCount: 5 },
  });

  test('have their attributes as SQS takes them, and come after their dead-letter queues', () => {
    const resources = resourcesOf({
      S: {
        Resources: {
          Plans: testFifoQueue('plans.fifo', {
            VisibilityTimeout: 180,
            SqsManagedSseEnabled: true,
            ...redriveTo('Dead'),
          }),
          Dead: testFifoQueue('dead.fifo'),
          Quarantine: { Type: 'AWS::SQS::Queue', Properties: { QueueName: 'quarantine', FifoQueue: false } },
          NamelessABCDEF01: { Type: 'AWS::SQS::Queue', Properties: { FifoQueue: true } },
        },
      },
    });
    const FIFO = { FifoQueue: 'true', DeduplicationScope: 'messageGroup', FifoThroughputLimit: 'perMessageGroupId' };
    const policy = { deadLetterTargetArn: 'arn:aws:sqs:eu-central-1:123456789012:dead.fifo', maxReceiveCount: 5 };
    expect(declaredQueues(resources)).toMatchObject([
      { name: 'dead.fifo', attributes: FIFO },
      { name: 'plans.fifo', attributes: { ...FIFO, VisibilityTimeout: '180', RedrivePolicy: JSON.stringify(policy) } },
      { name: 'quarantine', attributes: {} },
      { name: 'S-Nameless.fifo', attributes: { FifoQueue: 'true' } },
    ]);
  });

  test('take another visibility time-out, all of them', () => {
    const resources = resourcesOf({
      S: { Resources: { A: testFifoQueue('a.fifo', { VisibilityTimeout: 180 }), B: testFifoQueue('b.fifo') } },
    });
    expect(declaredQueues(resources, 2).map(({ attributes }) => attributes.VisibilityTimeout)).toEqual(['2', '2']);
  });
});

describe('functions', () => {
  test('have a name, a bundle, limits, and their environment with what it refers to in another stack', () => {
    const resources = resourcesOf(
      {
        State: {
          Resources: { Plans: testFifoQueue('plans.fifo') },
          Outputs: { Exported: { Value: { 'Fn::GetAtt': ['Plans', 'Arn'] }, Export: { Name: 'State:Plans' } } },
        },
        Functions: {
          Parameters: { Stage: { Type: 'String', Default: 'test' } },
          Resources: {
            PlanApplierFunctionD55A3700: testFunction('applier', {
              Timeout: 30,
              MemorySize: 1024,
              Role: { 'Fn::GetAtt': ['Role', 'Arn'] },
              Environment: {
                Variables: {
                  QUEUE: { 'Fn::ImportValue': 'State:Plans' },
                  STAGE: { Ref: 'Stage' },
                  WHERE: { 'Fn::Sub': `\${AWS::Partition}/\${AWS::AccountId}/\${AWS::StackName}` },
                },
              },
            }),
            Function: testFunction('applier', { FunctionName: 'named', ReservedConcurrentExecutions: 1 }),
          },
        },
      },
      { applier: '' },
    );
    declaredQueues(resources);
    expect(declaredFunctions(resources)).toEqual([
      {
        name: 'PlanApplier',
        functionName: 'PlanApplierFunctionD55A3700',
        arn: 'arn:aws:lambda:eu-central-1:123456789012:function:PlanApplierFunctionD55A3700',
        handler: 'index.handler',
        bundle: join(directory, 'asset.applier', 'index.mjs'),
        timeoutMs: 30_000,
        memoryMiB: 1024,
        environment: {
          QUEUE: 'arn:aws:sqs:eu-central-1:123456789012:plans.fifo',
          STAGE: 'test',
          WHERE: 'aws/123456789012/Functions',
        },
        reservedConcurrency: undefined,
      },
      expect.objectContaining({ name: 'Function', functionName: 'named', memoryMiB: 128, reservedConcurrency: 1 }),
    ]);
  });

  test.each([
    { what: 'another runtime', properties: { Runtime: 'python3.13' }, message: 'Runtime: expected a Node.js runtime' },
    { what: 'layers', properties: { Layers: ['x'] }, message: 'Layers is not supported by the local engine' },
    {
      what: 'a VPC',
      properties: { VpcConfig: { SubnetIds: ['subnet-0a1b2c3d'], SecurityGroupIds: [] } },
      message: 'VpcConfig is not supported by the local engine',
    },
    {
      what: 'a bundle that is not there',
      properties: { Code: { S3Bucket: 'b', S3Key: 'x.zip' } },
      message: 'has no bundle index.mjs',
    },
    {
      what: 'a time-out that is no number',
      properties: { Timeout: 'x' },
      message: 'Timeout: Invalid input: expected number',
    },
  ])('with $what are refused', ({ properties, message }) => {
    const resources = resourcesOf({ S: { Resources: { Thing: testFunction('one', properties) } } }, { one: '' });
    expect(() => declaredFunctions(resources)).toThrow(message);
  });
});

describe('event source mappings of a queue', () => {
  const mappingOf = (properties: Record<string, unknown>, queue: unknown = testFifoQueue('q.fifo')) => {
    const resources = resourcesOf(
      {
        S: {
          Resources: {
            Queue: queue,
            Fn: testFunction('one'),
            Map: testMapping('Queue', 'Fn', properties),
          },
        },
      },
      { one: '' },
    );
    declaredQueues(resources);
    declaredFunctions(resources);
    return declaredMappings(resources).map((mapping) => sqsMapping(resources, mapping))[0];
  };

  test('say which queue, which function, and how', () => {
    expect(
      mappingOf({ ScalingConfig: { MaximumConcurrency: 2 }, MetricsConfig: { Metrics: ['EventCount'] } }),
    ).toMatchObject({
      sourceArn: 'arn:aws:sqs:eu-central-1:123456789012:q.fifo',
      functionName: 'Fn',
      enabled: true,
      batchSize: 10,
      reportBatchItemFailures: true,
      maximumConcurrency: 2,
    });
    expect(mappingOf({ FunctionResponseTypes: undefined, Enabled: false })).toMatchObject({
      enabled: false,
      reportBatchItemFailures: false,
      maximumConcurrency: undefined,
    });
  });

  test('of a standard queue may gather messages', () => {
    const standard = { Type: 'AWS::SQS::Queue', Properties: { QueueName: 'q' } };
    const mapping = mappingOf({ BatchSize: 10_000, MaximumBatchingWindowInSeconds: 300 }, standard);
    expect(mapping).toMatchObject({ batchSize: 10_000, windowMs: 300_000 });
    expect(() => mappingOf({ BatchSize: 11 }, standard)).toThrow('BatchSize is 11; of a FIFO queue, and without a');
    const late = { MaximumBatchingWindowInSeconds: 301 };
    expect(() => mappingOf(late, standard)).toThrow('expected a whole number from 0 to 300');
  });

  test.each([
    { properties: { FilterCriteria: { Filters: [] } }, message: 'FilterCriteria is not supported by the local engine' },
    {
      properties: { MaximumBatchingWindowInSeconds: 5 },
      message: 'MaximumBatchingWindowInSeconds is 5; a FIFO queue has none',
    },
    { properties: { BatchSize: 11 }, message: 'BatchSize is 11; of a FIFO queue' },
    { properties: { BatchSize: 0 }, message: 'BatchSize: expected a whole number from 1 to 10000' },
    {
      properties: { ScalingConfig: { MaximumConcurrency: 1 } },
      message: 'ScalingConfig.MaximumConcurrency: expected a whole number from 2 to 1000',
    },
    { properties: { FunctionResponseTypes: ['Other'] }, message: 'FunctionResponseTypes.0' },
  ])('with $properties are refused', ({ properties, message }) => {
    expect(() => mappingOf(properties)).toThrow(message);
  });
});

test('event buses are known by their names', () => {
  const resources = resourcesOf({
    S: {
      Resources: { Bus: { Type: 'AWS::Events::EventBus', Properties: { Name: 'Berth', Tags: [] } } },
      Outputs: {
        Name: { Value: { Ref: 'Bus' }, Description: 'NAME' },
        Arn: { Value: { 'Fn::GetAtt': ['Bus', 'Arn'] }, Description: 'ARN' },
      },
    },
  });
  defineEventBuses(resources);
  expect(resources.environmentOutputs()).toEqual({
    NAME: 'Berth',
    ARN: 'arn:aws:events:eu-central-1:123456789012:event-bus/Berth',
  });
});

describe('a template', () => {
  test('with a resource that would be missing here is refused', () => {
    const resources = one('AWS::Kinesis::Stream', {});
    expect(() => checkTypes(resources.stacks)).toThrow(
      'S/Thing0A1B2C3D: the local engine has nothing for the type AWS::Kinesis::Stream',
    );
  });

  test('with permissions, logs and alarms is taken', () => {
    checkTypes(one('AWS::IAM::Policy', {}).stacks);
  });

  test('with a condition on something that is used is refused', () => {
    const resources = one('AWS::SQS::Queue', {}, { Condition: 'IsProduction' });
    expect(() => declaredQueues(resources)).toThrow('it has Condition IsProduction');
  });

  test('tells clients the outputs whose descriptions are names of variables, and looks at no other', () => {
    const resources = resourcesOf({
      S: {
        Resources: { Queue: testFifoQueue('q.fifo') },
        Outputs: {
          A: { Value: { 'Fn::GetAtt': ['Queue', 'QueueName'] }, Description: 'BERTH_QUEUE' },
          B: { Value: { Ref: 'Nothing' }, Description: 'For people' },
          C: { Value: { Ref: 'Nothing' } },
        },
      },
    });
    declaredQueues(resources);
    expect(resources.environmentOutputs()).toEqual({ BERTH_QUEUE: 'q.fifo' });
  });
});

describe('a cloud assembly', () => {
  test('that is not there is an error that names what is missing', () => {
    expect(() => readCloudAssembly(join(directory, 'none'))).toThrow(
      `${join(directory, 'none', 'manifest.json')} does not exist; expected a cloud assembly`,
    );
  });

  test('that is damaged is an error that names the file', () => {
    writeAssembly(directory, { S: {} });
    writeFileSync(join(directory, 'S.template.json'), '{');
    expect(() => readCloudAssembly(directory)).toThrow(`${join(directory, 'S.template.json')} is not what`);
  });
});
