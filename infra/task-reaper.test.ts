import { beforeAll, expect, test } from 'vitest';
import { functionParts, sqsArn, synthesized, tableArn } from '../test/support/synthesized.ts';

// Expectations are written out, not computed from lib/: a slip there must show here.

let reaper: ReturnType<typeof functionParts>;
beforeAll(() => {
  reaper = functionParts(synthesized().functions, 'TaskReaper');
});

const STREAM = { 'Fn::ImportValue': 'Berth-TasksStreamArn' };

test('function: runtime, limits, tracing, environment', () => {
  expect(reaper.properties).toEqual({
    Description: 'Berth: keeps the history of the slots that change within their limit',
    Handler: 'index.handler',
    Runtime: 'nodejs24.x',
    Architectures: ['arm64'],
    MemorySize: 512,
    Timeout: 60,
    TracingConfig: { Mode: 'Active' },
    Environment: {
      Variables: {
        BERTH_TABLE_TASKS: 'Berth-Tasks',
        BERTH_TABLE_SERVICES: 'Berth-Services',
        BERTH_TABLE_NODES: 'Berth-Nodes',
        BERTH_TABLE_POOLS: 'Berth-Pools',
        POWERTOOLS_SERVICE_NAME: 'task-reaper',
        POWERTOOLS_METRICS_NAMESPACE: 'Berth',
      },
    },
  });
  expect(reaper.Role).toEqual({ 'Fn::GetAtt': [reaper.roleId, 'Arn'] });
  expect(reaper.LoggingConfig).toEqual({ LogGroup: { Ref: reaper.logGroupId } });
  expect(reaper.logGroup.Properties).toEqual({ RetentionInDays: 30 });
  expect(reaper.logGroup.DeletionPolicy).toBe('Delete');
});

test('event source: the stream of the tasks, bounded in tries and age, bisected, and what is left told to the failure queue', () => {
  const { FilterCriteria: _written, ...properties } = reaper.source.Properties;
  expect(properties).toEqual({
    EventSourceArn: STREAM,
    FunctionName: { Ref: reaper.functionId },
    StartingPosition: 'TRIM_HORIZON',
    BatchSize: 100,
    MaximumBatchingWindowInSeconds: 2,
    ParallelizationFactor: 10,
    MaximumRetryAttempts: 20,
    MaximumRecordAgeInSeconds: 21_600,
    BisectBatchOnFunctionError: true,
    FunctionResponseTypes: ['ReportBatchItemFailures'],
    DestinationConfig: { OnFailure: { Destination: sqsArn('Berth-reaper-failures') } },
    MetricsConfig: { Metrics: ['EventCount'] },
  });
});

test('filters: tasks that became old or removable, whose end was dealt with, or that were written as ended; no delete', () => {
  const { Filters } = reaper.source.Properties.FilterCriteria as { Filters: { Pattern: string }[] };
  expect(Filters.map(({ Pattern }) => JSON.parse(Pattern))).toEqual([
    {
      eventName: ['MODIFY'],
      dynamodb: { NewImage: { phase: { S: ['old', 'removable'] } }, OldImage: { phase: { S: [{ exists: false }] } } },
    },
    {
      eventName: ['MODIFY'],
      dynamodb: { NewImage: { phase: { S: ['removable'] } }, OldImage: { phase: { S: ['old'] } } },
    },
    {
      eventName: ['MODIFY'],
      dynamodb: {
        NewImage: { phase: { S: ['old'] }, state: { S: ['complete', 'shutdown', 'failed', 'rejected', 'orphaned'] } },
        OldImage: { phase: { S: ['old'] }, state: { S: ['new', 'pending'] } },
      },
    },
    {
      eventName: ['MODIFY'],
      dynamodb: {
        NewImage: { phase: { S: ['old'] }, desiredState: { S: ['complete', 'shutdown'] } },
        OldImage: { phase: { S: ['old'] }, desiredState: { S: ['ready', 'running'] } },
      },
    },
    { eventName: ['INSERT'], dynamodb: { NewImage: { phase: { S: ['old', 'removable'] } } } },
  ]);
  // Lambda takes five, unless a quota is raised.
  expect(Filters.length).toBeLessThanOrEqual(5);
});

test('role: exactly these permissions', () => {
  expect(reaper.role.Properties).toEqual({
    Description: 'Berth: what the task reaper may do',
    AssumeRolePolicyDocument: {
      Version: '2012-10-17',
      Statement: [{ Effect: 'Allow', Action: 'sts:AssumeRole', Principal: { Service: 'lambda.amazonaws.com' } }],
    },
    Policies: [
      {
        PolicyName: 'task-reaper',
        PolicyDocument: {
          Version: '2012-10-17',
          Statement: [
            {
              Sid: 'Slots',
              Effect: 'Allow',
              Action: ['dynamodb:DeleteItem', 'dynamodb:PartiQLDelete', 'dynamodb:Query'],
              Resource: tableArn('Berth-Tasks'),
            },
            {
              Sid: 'Services',
              Effect: 'Allow',
              Action: 'dynamodb:BatchGetItem',
              Resource: tableArn('Berth-Services'),
            },
            {
              Sid: 'Nodes',
              Effect: 'Allow',
              Action: ['dynamodb:GetItem', 'dynamodb:PutItem', 'dynamodb:UpdateItem'],
              Resource: tableArn('Berth-Nodes'),
            },
            { Sid: 'Pools', Effect: 'Allow', Action: 'dynamodb:GetItem', Resource: tableArn('Berth-Pools') },
            {
              Sid: 'ReadStream',
              Effect: 'Allow',
              Action: ['dynamodb:DescribeStream', 'dynamodb:GetRecords', 'dynamodb:GetShardIterator'],
              Resource: STREAM,
            },
            {
              Sid: 'ListStreams',
              Effect: 'Allow',
              Action: 'dynamodb:ListStreams',
              Resource: tableArn('Berth-Tasks/stream/*'),
            },
            { Sid: 'Failures', Effect: 'Allow', Action: 'sqs:SendMessage', Resource: sqsArn('Berth-reaper-failures') },
            {
              Sid: 'Logs',
              Effect: 'Allow',
              Action: ['logs:CreateLogStream', 'logs:PutLogEvents'],
              Resource: { 'Fn::GetAtt': [reaper.logGroupId, 'Arn'] },
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
