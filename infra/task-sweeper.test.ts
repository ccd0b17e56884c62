import { beforeAll, expect, test } from 'vitest';
import {
  byType,
  functionParts,
  queueUrl,
  sqsArn,
  synthesized,
  type TemplateJson,
  tableArn,
} from '../test/support/synthesized.ts';

// Expectations are written out, not computed from lib/: a slip there must show here.

let functions: TemplateJson;
let sweeper: ReturnType<typeof functionParts>;
beforeAll(() => {
  ({ functions } = synthesized());
  sweeper = functionParts(functions, 'TaskSweeper');
});

test('function: runtime, limits, tracing, environment', () => {
  expect(sweeper.properties).toEqual({
    Description: 'Berth: brings slots to their limit page by page, by schedule and on request',
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
        BERTH_QUEUE_SWEEP: queueUrl('Berth-sweep'),
        BERTH_QUEUE_REAPER_FAILURES: queueUrl('Berth-reaper-failures'),
        POWERTOOLS_SERVICE_NAME: 'task-sweeper',
        POWERTOOLS_METRICS_NAMESPACE: 'Berth',
      },
    },
  });
  expect(sweeper.Role).toEqual({ 'Fn::GetAtt': [sweeper.roleId, 'Arn'] });
  expect(sweeper.LoggingConfig).toEqual({ LogGroup: { Ref: sweeper.logGroupId } });
  expect(sweeper.logGroup.Properties).toEqual({ RetentionInDays: 30 });
  expect(sweeper.logGroup.DeletionPolicy).toBe('Delete');
});

test('event source: the sweep queue, a page at a time, two of all sweeps at once, partial failures reported', () => {
  expect(sweeper.source.Properties).toEqual({
    EventSourceArn: sqsArn('Berth-sweep'),
    FunctionName: { Ref: sweeper.functionId },
    BatchSize: 1,
    ScalingConfig: { MaximumConcurrency: 2 },
    FunctionResponseTypes: ['ReportBatchItemFailures'],
    MetricsConfig: { Metrics: ['EventCount'] },
  });
});

test('role: exactly these permissions', () => {
  expect(sweeper.role.Properties).toEqual({
    Description: 'Berth: what the task sweeper may do',
    AssumeRolePolicyDocument: {
      Version: '2012-10-17',
      Statement: [{ Effect: 'Allow', Action: 'sts:AssumeRole', Principal: { Service: 'lambda.amazonaws.com' } }],
    },
    Policies: [
      {
        PolicyName: 'task-sweeper',
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
              Sid: 'Pages',
              Effect: 'Allow',
              Action: ['dynamodb:Scan', 'dynamodb:UpdateItem'],
              Resource: tableArn('Berth-Tasks'),
            },
            {
              Sid: 'SlotsOfService',
              Effect: 'Allow',
              Action: 'dynamodb:Query',
              Resource: tableArn('Berth-Tasks/index/by-service'),
            },
            {
              Sid: 'Sweeps',
              Effect: 'Allow',
              Action: ['dynamodb:GetItem', 'dynamodb:PutItem'],
              Resource: tableArn('Berth-Services'),
            },
            {
              Sid: 'ReceivePages',
              Effect: 'Allow',
              Action: [
                'sqs:ChangeMessageVisibility',
                'sqs:DeleteMessage',
                'sqs:GetQueueAttributes',
                'sqs:ReceiveMessage',
              ],
              Resource: sqsArn('Berth-sweep'),
            },
            { Sid: 'NextPage', Effect: 'Allow', Action: 'sqs:SendMessage', Resource: sqsArn('Berth-sweep') },
            { Sid: 'Failures', Effect: 'Allow', Action: 'sqs:SendMessage', Resource: sqsArn('Berth-reaper-failures') },
            {
              Sid: 'Logs',
              Effect: 'Allow',
              Action: ['logs:CreateLogStream', 'logs:PutLogEvents'],
              Resource: { 'Fn::GetAtt': [sweeper.logGroupId, 'Arn'] },
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

test('schedule: once a day the first page of a sweep is sent, under an id that is its time', () => {
  const [[, schedule] = [], ...more] = byType(functions, 'AWS::Scheduler::Schedule');
  expect(more).toEqual([]);
  const { Target, ...properties } = (schedule?.Properties ?? {}) as { Target: { Input: string } };
  expect(properties).toEqual({
    Description: 'Berth: finds once a day what the stream of the tasks has lost',
    ScheduleExpression: 'cron(17 3 * * ? *)',
    ScheduleExpressionTimezone: 'UTC',
    FlexibleTimeWindow: { Mode: 'OFF' },
  });
  const { Input, ...target } = Target;
  const [scheduleRoleId] = scheduleRole();
  expect(target).toEqual({
    Arn: sqsArn('Berth-sweep'),
    RoleArn: { 'Fn::GetAtt': [scheduleRoleId, 'Arn'] },
    RetryPolicy: { MaximumRetryAttempts: 10, MaximumEventAgeInSeconds: 3600 },
  });
  expect(JSON.parse(Input)).toEqual({
    apiVersion: 'berth/v1',
    kind: 'SweepPage',
    sweepId: '<aws.scheduler.scheduled-time>',
    reason: 'schedule',
  });
});

test("the schedule's role: it may send to the sweep queue, and schedules of other accounts may not borrow it", () => {
  const [, role] = scheduleRole();
  expect(role.Properties).toEqual({
    Description: 'Berth: what the schedule of the sweep may do',
    AssumeRolePolicyDocument: {
      Version: '2012-10-17',
      Statement: [
        {
          Effect: 'Allow',
          Action: 'sts:AssumeRole',
          Principal: { Service: 'scheduler.amazonaws.com' },
          Condition: { StringEquals: { 'aws:SourceAccount': { Ref: 'AWS::AccountId' } } },
        },
      ],
    },
    Policies: [
      {
        PolicyName: 'Schedule',
        PolicyDocument: {
          Version: '2012-10-17',
          Statement: [
            { Sid: 'FirstPage', Effect: 'Allow', Action: 'sqs:SendMessage', Resource: sqsArn('Berth-sweep') },
          ],
        },
      },
    ],
  });
});

function scheduleRole() {
  const [found, ...more] = byType(functions, 'AWS::IAM::Role').filter(([id]) =>
    id.startsWith('TaskSweeperScheduleRole'),
  );
  expect(more).toEqual([]);
  return found as NonNullable<typeof found>;
}
