import { Duration, Fn } from 'aws-cdk-lib';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import { SqsDlq } from 'aws-cdk-lib/aws-lambda-event-sources';
import { Construct } from 'constructs';
import { acknowledge } from './acknowledge.ts';
import { BerthFunction } from './berth-function.ts';
import { tablePhysicalName, tasksStreamExport } from './names.ts';
import type { Settings } from './rules.ts';
import { STREAM_FILTERS } from './stream-filters.ts';
import { taskReaperStatements } from './task-reaper-policy.ts';

interface TaskReaperProps {
  readonly prefix: string;
  readonly settings: Settings;
}

/** The task reaper: its function, and what of the tasks' stream concerns it as its source. */
export class TaskReaper extends Construct {
  readonly fn: lambda.Function;

  constructor(scope: Construct, id: string, { prefix, settings: { reaper } }: TaskReaperProps) {
    super(scope, id);
    const streamArn = Fn.importValue(tasksStreamExport(prefix));
    const made = new BerthFunction(this, 'Reaper', {
      prefix,
      name: 'task-reaper',
      description: 'Berth: keeps the history of the slots that change within their limit',
      memoryMiB: reaper.memoryMiB,
      timeoutSeconds: reaper.timeoutSeconds,
      tables: ['tasks', 'services', 'nodes', 'pools'],
      queues: [],
      statements: (resources) => taskReaperStatements(resources, streamArn),
    });
    const table = `table/${tablePhysicalName(prefix, 'tasks')}`;
    const streams = `arn:<AWS::Partition>:dynamodb:<AWS::Region>:<AWS::AccountId>:${table}/stream/*`;
    acknowledge(made.node.findChild('Role'), {
      id: `AwsSolutions-IAM5[Resource::${streams}]`,
      reason: 'Listing the streams of one table is about all of them.',
    });
    this.fn = made.fn;
    this.fn.addEventSourceMapping('Tasks', {
      eventSourceArn: streamArn,
      // What happens while the mapping is made is not to be missed; what is old costs a look.
      startingPosition: lambda.StartingPosition.TRIM_HORIZON,
      batchSize: reaper.batchSize,
      maxBatchingWindow: Duration.seconds(reaper.batchingWindowSeconds),
      parallelizationFactor: reaper.parallelizationFactor,
      retryAttempts: reaper.maxRetries,
      maxRecordAge: Duration.seconds(reaper.maxRecordAgeSeconds),
      bisectBatchOnError: true,
      reportBatchItemFailures: true,
      onFailure: new SqsDlq(made.queue('reaperFailures')),
      filters: STREAM_FILTERS.map((pattern) => ({ pattern: JSON.stringify(pattern) })),
      metricsConfig: { metrics: [lambda.MetricType.EVENT_COUNT] },
    });
  }
}
