import { beforeAll, describe, expect, test } from 'vitest';
import { synthesized, type TemplateJson } from '../test/support/synthesized.ts';

// Expectations are written out, not computed from lib/: a slip there must show here.

let state: TemplateJson;
beforeAll(() => {
  ({ state } = synthesized());
});

test('holds these resources under these logical ids: a change of one would replace what it holds', () => {
  expect(Object.fromEntries(Object.entries(state.Resources).map(([id, { Type }]) => [id, Type]))).toEqual({
    Nodes: 'AWS::DynamoDB::Table',
    Tasks: 'AWS::DynamoDB::Table',
    Plans: 'AWS::DynamoDB::Table',
    Rejections: 'AWS::DynamoDB::Table',
    Pools: 'AWS::DynamoDB::Table',
    Services: 'AWS::DynamoDB::Table',
    Scaler: 'AWS::DynamoDB::Table',
    PlanQueue: 'AWS::SQS::Queue',
    PlanQueuePolicy: 'AWS::SQS::QueuePolicy',
    PlanDeadLetterQueue: 'AWS::SQS::Queue',
    PlanDeadLetterQueuePolicy: 'AWS::SQS::QueuePolicy',
    EventBus: 'AWS::Events::EventBus',
    QuarantineQueue: 'AWS::SQS::Queue',
    QuarantineQueuePolicy: 'AWS::SQS::QueuePolicy',
    SweepQueue: 'AWS::SQS::Queue',
    SweepQueuePolicy: 'AWS::SQS::QueuePolicy',
    ReaperFailureQueue: 'AWS::SQS::Queue',
    ReaperFailureQueuePolicy: 'AWS::SQS::QueuePolicy',
  });
});

test('keeps everything when it is deleted, and when an update would replace it', () => {
  for (const [id, resource] of Object.entries(state.Resources)) {
    expect([id, resource.DeletionPolicy, resource.UpdateReplacePolicy]).toEqual([id, 'Retain', 'Retain']);
  }
});

describe('tables', () => {
  const TABLES = [
    { id: 'Nodes', keys: ['poolShard', 'nodeId'] },
    { id: 'Tasks', keys: ['slotKey', 'taskId'] },
    { id: 'Plans', keys: ['planId'], ttl: 'expiresAt' },
    { id: 'Rejections', keys: ['pool', 'nodeId'], ttl: 'expiresAt' },
    { id: 'Pools', keys: ['pool'] },
    { id: 'Services', keys: ['serviceId'], ttl: 'expiresAt' },
    { id: 'Scaler', keys: ['pool'], ttl: 'expiresAt' },
  ];

  test.each(TABLES)('table $id: keys, expiry, recovery, protection, billing', ({ id, keys, ttl }) => {
    expect(state.Resources[id]?.Properties).toEqual({
      TableName: `Berth-${id}`,
      KeySchema: keySchema(keys),
      AttributeDefinitions: (id === 'Tasks' ? [...keys, 'poolNode', 'serviceId'] : keys).map((name) => ({
        AttributeName: name,
        AttributeType: 'S',
      })),
      BillingMode: 'PAY_PER_REQUEST',
      PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
      DeletionProtectionEnabled: true,
      ...(ttl === undefined ? {} : { TimeToLiveSpecification: { AttributeName: ttl, Enabled: true } }),
      ...(id === 'Tasks'
        ? {
            StreamSpecification: { StreamViewType: 'NEW_AND_OLD_IMAGES' },
            GlobalSecondaryIndexes: [
              {
                IndexName: 'by-node',
                KeySchema: keySchema(['poolNode', 'taskId']),
                Projection: { ProjectionType: 'KEYS_ONLY' },
              },
              {
                IndexName: 'by-service',
                KeySchema: keySchema(['serviceId', 'taskId']),
                Projection: { ProjectionType: 'KEYS_ONLY' },
              },
            ],
          }
        : {}),
    });
  });
});

describe('queues', () => {
  test('plan queue: FIFO in high-throughput mode, six time-outs of visibility, a day of retention, fifteen receives', () => {
    expect(state.Resources.PlanQueue?.Properties).toEqual({
      QueueName: 'Berth-plans.fifo',
      FifoQueue: true,
      ContentBasedDeduplication: false,
      DeduplicationScope: 'messageGroup',
      FifoThroughputLimit: 'perMessageGroupId',
      VisibilityTimeout: 180,
      MessageRetentionPeriod: 86_400,
      RedrivePolicy: { deadLetterTargetArn: { 'Fn::GetAtt': ['PlanDeadLetterQueue', 'Arn'] }, maxReceiveCount: 15 },
      SqsManagedSseEnabled: true,
    });
  });

  test('dead-letter queue: FIFO as its source, 14 days', () => {
    expect(state.Resources.PlanDeadLetterQueue?.Properties).toEqual({
      QueueName: 'Berth-plans-dead.fifo',
      FifoQueue: true,
      ContentBasedDeduplication: false,
      DeduplicationScope: 'messageGroup',
      FifoThroughputLimit: 'perMessageGroupId',
      MessageRetentionPeriod: 1_209_600,
      SqsManagedSseEnabled: true,
    });
  });

  test('quarantine queue: standard, 14 days', () => {
    expect(state.Resources.QuarantineQueue?.Properties).toEqual({
      QueueName: 'Berth-quarantine',
      MessageRetentionPeriod: 1_209_600,
      SqsManagedSseEnabled: true,
    });
  });

  test('sweep queue: standard, six time-outs of visibility, eight receives, then the failure queue', () => {
    expect(state.Resources.SweepQueue?.Properties).toEqual({
      QueueName: 'Berth-sweep',
      VisibilityTimeout: 360,
      MessageRetentionPeriod: 345_600,
      RedrivePolicy: { deadLetterTargetArn: { 'Fn::GetAtt': ['ReaperFailureQueue', 'Arn'] }, maxReceiveCount: 8 },
      SqsManagedSseEnabled: true,
    });
  });

  test('failure queue of reaper and sweeper: standard, as the sweep queue is, 14 days', () => {
    expect(state.Resources.ReaperFailureQueue?.Properties).toEqual({
      QueueName: 'Berth-reaper-failures',
      MessageRetentionPeriod: 1_209_600,
      SqsManagedSseEnabled: true,
    });
  });

  const QUEUES = ['PlanQueue', 'PlanDeadLetterQueue', 'QuarantineQueue', 'SweepQueue', 'ReaperFailureQueue'];

  test.each(QUEUES)('%s refuses plain HTTP', (queue) => {
    expect(state.Resources[`${queue}Policy`]?.Properties).toEqual({
      Queues: [{ Ref: queue }],
      PolicyDocument: {
        Version: '2012-10-17',
        Statement: [
          {
            Effect: 'Deny',
            Principal: { AWS: '*' },
            Action: 'sqs:*',
            Resource: { 'Fn::GetAtt': [queue, 'Arn'] },
            Condition: { Bool: { 'aws:SecureTransport': 'false' } },
          },
        ],
      },
    });
  });
});

test('tells in outputs what no name tells, and what workers and agents are configured with', () => {
  expect(state.Outputs).toEqual({
    NodesTableName: { Description: 'BERTH_TABLE_NODES', Value: { Ref: 'Nodes' } },
    TasksTableName: { Description: 'BERTH_TABLE_TASKS', Value: { Ref: 'Tasks' } },
    PlansTableName: { Description: 'BERTH_TABLE_PLANS', Value: { Ref: 'Plans' } },
    RejectionsTableName: { Description: 'BERTH_TABLE_REJECTIONS', Value: { Ref: 'Rejections' } },
    PoolsTableName: { Description: 'BERTH_TABLE_POOLS', Value: { Ref: 'Pools' } },
    ServicesTableName: { Description: 'BERTH_TABLE_SERVICES', Value: { Ref: 'Services' } },
    ScalerTableName: { Description: 'BERTH_TABLE_SCALER', Value: { Ref: 'Scaler' } },
    PlanQueueUrl: { Description: 'BERTH_QUEUE_PLANS', Value: { Ref: 'PlanQueue' } },
    PlanDeadLetterQueueUrl: { Description: 'BERTH_QUEUE_PLANS_DEAD', Value: { Ref: 'PlanDeadLetterQueue' } },
    QuarantineQueueUrl: { Description: 'BERTH_QUEUE_QUARANTINE', Value: { Ref: 'QuarantineQueue' } },
    SweepQueueUrl: { Description: 'BERTH_QUEUE_SWEEP', Value: { Ref: 'SweepQueue' } },
    ReaperFailureQueueUrl: { Description: 'BERTH_QUEUE_REAPER_FAILURES', Value: { Ref: 'ReaperFailureQueue' } },
    EventBusName: { Description: 'BERTH_EVENT_BUS', Value: { Ref: 'EventBus' } },
    // The one export.
    TasksStreamArn: {
      Description: expect.any(String),
      Value: { 'Fn::GetAtt': ['Tasks', 'StreamArn'] },
      Export: { Name: 'Berth-TasksStreamArn' },
    },
  });
});

function keySchema(names: readonly string[]): unknown {
  return names.map((name, position) => ({ AttributeName: name, KeyType: position === 0 ? 'HASH' : 'RANGE' }));
}
