import { Stack } from 'aws-cdk-lib';
import * as iam from 'aws-cdk-lib/aws-iam';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import * as scheduler from 'aws-cdk-lib/aws-scheduler';
import { Construct } from 'constructs';
import { BY_SERVICE_INDEX } from '../lib/store/tables.ts';
import { allow, BerthFunction } from './berth-function.ts';
import { tablePhysicalName } from './names.ts';
import type { Settings } from './rules.ts';
import { taskSweeperStatements } from './task-reaper-policy.ts';

interface TaskSweeperProps {
  readonly prefix: string;
  readonly settings: Settings;
}

/** The task sweeper, which looks at slots without a change of theirs: its function, the sweep queue as its source, its schedule. */
export class TaskSweeper extends Construct {
  readonly fn: lambda.Function;

  constructor(scope: Construct, id: string, { prefix, settings: { sweeper } }: TaskSweeperProps) {
    super(scope, id);
    const byServiceArn = Stack.of(this).formatArn({
      service: 'dynamodb',
      resource: 'table',
      resourceName: `${tablePhysicalName(prefix, 'tasks')}/index/${BY_SERVICE_INDEX}`,
    });
    const made = new BerthFunction(this, 'Sweeper', {
      prefix,
      name: 'task-sweeper',
      description: 'Berth: brings slots to their limit page by page, by schedule and on request',
      memoryMiB: sweeper.memoryMiB,
      timeoutSeconds: sweeper.timeoutSeconds,
      tables: ['tasks', 'services', 'nodes', 'pools'],
      queues: ['sweep', 'reaperFailures'],
      statements: (resources) => taskSweeperStatements(resources, byServiceArn),
    });
    this.fn = made.fn;
    this.fn.addEventSourceMapping('Pages', {
      eventSourceArn: made.queueArn('sweep'),
      // A page is a bounded piece of work by itself.
      batchSize: 1,
      maxConcurrency: sweeper.maxConcurrency,
      reportBatchItemFailures: true,
      metricsConfig: { metrics: [lambda.MetricType.EVENT_COUNT] },
    });
    this.addSchedule(made.queueArn('sweep'), sweeper);
  }

  /** Once a day the scheduler sends the first page of a sweep. Nothing runs for it but the sweeper. */
  private addSchedule(queueArn: string, sweeper: Settings['sweeper']): void {
    const role = new iam.Role(this, 'ScheduleRole', {
      description: 'Berth: what the schedule of the sweep may do',
      assumedBy: new iam.ServicePrincipal('scheduler.amazonaws.com', {
        conditions: { StringEquals: { 'aws:SourceAccount': Stack.of(this).account } },
      }),
      inlinePolicies: {
        Schedule: new iam.PolicyDocument({ statements: [allow('FirstPage', queueArn, ['sqs:SendMessage'])] }),
      },
    });
    new scheduler.CfnSchedule(this, 'DailySweep', {
      description: 'Berth: finds once a day what the stream of the tasks has lost',
      scheduleExpression: `cron(${sweeper.dailyMinute} ${sweeper.dailyHour} * * ? *)`,
      scheduleExpressionTimezone: 'UTC',
      flexibleTimeWindow: { mode: 'OFF' },
      target: {
        arn: queueArn,
        roleArn: role.roleArn,
        input: JSON.stringify({
          apiVersion: 'berth/v1',
          kind: 'SweepPage',
          sweepId: '<aws.scheduler.scheduled-time>',
          reason: 'schedule',
        }),
        retryPolicy: { maximumRetryAttempts: 10, maximumEventAgeInSeconds: 3600 },
      },
    });
  }
}
