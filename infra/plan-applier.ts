import { Stack } from 'aws-cdk-lib';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import { EVENT_BUS_ENV } from '../lib/store/tables.ts';
import { BerthFunction } from './berth-function.ts';
import { eventBusPhysicalName } from './names.ts';
import { planApplierStatements } from './plan-applier-policy.ts';
import type { Settings } from './rules.ts';

interface PlanApplierProps {
  readonly prefix: string;
  readonly settings: Settings;
}

/** The plan applier: its function, and the plan queue as its source. */
export class PlanApplier extends Construct {
  readonly fn: lambda.Function;

  constructor(scope: Construct, id: string, { prefix, settings: { applier } }: PlanApplierProps) {
    super(scope, id);
    const eventBusArn = Stack.of(this).formatArn({
      service: 'events',
      resource: 'event-bus',
      resourceName: eventBusPhysicalName(prefix),
    });
    const made = new BerthFunction(this, 'Applier', {
      prefix,
      name: 'plan-applier',
      description: 'Berth: applies the plans of the plan queue',
      memoryMiB: applier.memoryMiB,
      timeoutSeconds: applier.timeoutSeconds,
      tables: ['nodes', 'tasks', 'plans', 'rejections', 'pools'],
      queues: ['plans', 'quarantine'],
      environment: { [EVENT_BUS_ENV]: eventBusPhysicalName(prefix) },
      statements: (resources) => planApplierStatements(resources, eventBusArn),
    });
    this.fn = made.fn;
    // No batching window: a FIFO queue takes none. No maximum concurrency: the groups of the queue are the limit.
    this.fn.addEventSourceMapping('Plans', {
      eventSourceArn: made.queueArn('plans'),
      batchSize: applier.batchSize,
      // Without it the failures that the handler reports are taken for success, and their messages are deleted.
      reportBatchItemFailures: true,
      metricsConfig: { metrics: [lambda.MetricType.EVENT_COUNT] },
    });
  }
}
