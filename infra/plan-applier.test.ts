import { beforeAll, expect, test } from 'vitest';
import { arn, functionParts, queueUrl, sqsArn, synthesized, tableArn } from '../test/support/synthesized.ts';

// Expectations are written out, not computed from lib/: a slip there must show here.

let applier: ReturnType<typeof functionParts>;
beforeAll(() => {
  applier = functionParts(synthesized().functions, 'PlanApplier');
});

test('function: runtime, limits, tracing, environment', () => {
  expect(applier.properties).toEqual({
    Description: 'Berth: applies the plans of the plan queue',
    Handler: 'index.handler',
    Runtime: 'nodejs24.x',
    Architectures: ['arm64'],
    MemorySize: 1024,
    Timeout: 30,
    TracingConfig: { Mode: 'Active' },
    Environment: {
      Variables: {
        BERTH_TABLE_NODES: 'Berth-Nodes',
        BERTH_TABLE_TASKS: 'Berth-Tasks',
        BERTH_TABLE_PLANS: 'Berth-Plans',
        BERTH_TABLE_REJECTIONS: 'Berth-Rejections',
        BERTH_TABLE_POOLS: 'Berth-Pools',
        BERTH_QUEUE_PLANS: queueUrl('Berth-plans.fifo'),
        BERTH_QUEUE_QUARANTINE: queueUrl('Berth-quarantine'),
        BERTH_EVENT_BUS: 'Berth',
        POWERTOOLS_SERVICE_NAME: 'plan-applier',
        POWERTOOLS_METRICS_NAMESPACE: 'Berth',
      },
    },
  });
  expect(applier.Role).toEqual({ 'Fn::GetAtt': [applier.roleId, 'Arn'] });
  expect(applier.LoggingConfig).toEqual({ LogGroup: { Ref: applier.logGroupId } });
  expect(applier.logGroup.Properties).toEqual({ RetentionInDays: 30 });
  expect(applier.logGroup.DeletionPolicy).toBe('Delete');
});

test('event source: batches of ten of the plan queue, partial failures reported, no window, no filter', () => {
  expect(applier.source.Properties).toEqual({
    EventSourceArn: sqsArn('Berth-plans.fifo'),
    FunctionName: { Ref: applier.functionId },
    BatchSize: 10,
    FunctionResponseTypes: ['ReportBatchItemFailures'],
    MetricsConfig: { Metrics: ['EventCount'] },
  });
});

test('role: exactly these permissions', () => {
  expect(applier.role.Properties).toEqual({
    Description: 'Berth: what the plan applier may do',
    AssumeRolePolicyDocument: {
      Version: '2012-10-17',
      Statement: [{ Effect: 'Allow', Action: 'sts:AssumeRole', Principal: { Service: 'lambda.amazonaws.com' } }],
    },
    Policies: [
      {
        PolicyName: 'plan-applier',
        PolicyDocument: {
          Version: '2012-10-17',
          Statement: [
            {
              Sid: 'Pools',
              Effect: 'Allow',
              Action: ['dynamodb:GetItem', 'dynamodb:UpdateItem'],
              Resource: tableArn('Berth-Pools'),
            },
            {
              Sid: 'Nodes',
              Effect: 'Allow',
              Action: ['dynamodb:BatchGetItem', 'dynamodb:PutItem', 'dynamodb:UpdateItem'],
              Resource: tableArn('Berth-Nodes'),
            },
            {
              Sid: 'Tasks',
              Effect: 'Allow',
              Action: ['dynamodb:BatchGetItem', 'dynamodb:DeleteItem', 'dynamodb:PutItem'],
              Resource: tableArn('Berth-Tasks'),
            },
            {
              Sid: 'Plans',
              Effect: 'Allow',
              Action: ['dynamodb:BatchGetItem', 'dynamodb:PutItem'],
              Resource: tableArn('Berth-Plans'),
            },
            {
              Sid: 'Rejections',
              Effect: 'Allow',
              Action: ['dynamodb:BatchGetItem', 'dynamodb:PutItem'],
              Resource: tableArn('Berth-Rejections'),
            },
            {
              Sid: 'ReceivePlans',
              Effect: 'Allow',
              Action: [
                'sqs:ChangeMessageVisibility',
                'sqs:DeleteMessage',
                'sqs:GetQueueAttributes',
                'sqs:ReceiveMessage',
              ],
              Resource: sqsArn('Berth-plans.fifo'),
            },
            { Sid: 'Quarantine', Effect: 'Allow', Action: 'sqs:SendMessage', Resource: sqsArn('Berth-quarantine') },
            {
              Sid: 'Events',
              Effect: 'Allow',
              Action: 'events:PutEvents',
              Resource: arn('events', 'event-bus/Berth'),
            },
            {
              Sid: 'Logs',
              Effect: 'Allow',
              Action: ['logs:CreateLogStream', 'logs:PutLogEvents'],
              Resource: { 'Fn::GetAtt': [applier.logGroupId, 'Arn'] },
            },
            {
              Sid: 'Traces',
              Effect: 'Allow',
              Action: ['xray:PutTelemetryRecords', 'xray:PutTraceSegments'],
              Resource: '*',
            },
          ],
        },
      },
    ],
  });
});
