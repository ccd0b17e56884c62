import { Duration, RemovalPolicy, Stack } from 'aws-cdk-lib';
import * as iam from 'aws-cdk-lib/aws-iam';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import { NodejsFunction } from 'aws-cdk-lib/aws-lambda-nodejs';
import * as logs from 'aws-cdk-lib/aws-logs';
import * as sqs from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { EVENT_BUS_ENV, QUEUE_ENV, TABLES, type TableName } from '../lib/store/tables.ts';
import { acknowledge } from './acknowledge.ts';
import { BUNDLING, fromProjectRoot, PROJECT_ROOT } from './bundling.ts';
import { eventBusPhysicalName, type QueueName, queuePhysicalName, tablePhysicalName } from './names.ts';
import { type PlanApplierResources, planApplierStatements } from './plan-applier-policy.ts';
import type { Settings } from './rules.ts';

export interface PlanApplierProps {
  readonly prefix: string;
  readonly settings: Settings;
}

/** The tables whose names the handler finds in its environment. */
const APPLIER_TABLES = ['nodes', 'tasks', 'plans', 'rejections', 'pools'] as const satisfies readonly TableName[];

/** The plan applier: its function, its role with every permission written out, its logs, and the plan queue as its source. */
export class PlanApplier extends Construct {
  readonly fn: lambda.Function;

  constructor(scope: Construct, id: string, props: PlanApplierProps) {
    super(scope, id);
    const { prefix, settings } = props;
    const planQueue = this.queue('plans', prefix);
    const quarantine = this.queue('quarantine', prefix);
    const logGroup = new logs.LogGroup(this, 'Logs', {
      retention: logs.RetentionDays.ONE_MONTH,
      removalPolicy: RemovalPolicy.DESTROY,
    });
    this.fn = new NodejsFunction(this, 'Function', {
      description: 'Berth: applies the plans of the plan queue',
      entry: fromProjectRoot('functions/plan-applier/handler.ts'),
      handler: 'handler',
      projectRoot: PROJECT_ROOT,
      depsLockFilePath: fromProjectRoot('package-lock.json'),
      bundling: BUNDLING,
      runtime: lambda.Runtime.NODEJS_24_X,
      architecture: lambda.Architecture.ARM_64,
      memorySize: settings.applier.memoryMiB,
      timeout: Duration.seconds(settings.applier.timeoutSeconds),
      tracing: lambda.Tracing.ACTIVE,
      logGroup,
      role: this.role({
        tableArn: (table) => this.tableArn(prefix, table),
        planQueueArn: planQueue.queueArn,
        quarantineQueueArn: quarantine.queueArn,
        eventBusArn: Stack.of(this).formatArn({
          service: 'events',
          resource: 'event-bus',
          resourceName: eventBusPhysicalName(prefix),
        }),
        logGroupArn: logGroup.logGroupArn,
      }),
      environment: {
        ...Object.fromEntries(APPLIER_TABLES.map((table) => [TABLES[table].env, tablePhysicalName(prefix, table)])),
        [QUEUE_ENV.plans]: planQueue.queueUrl,
        [QUEUE_ENV.quarantine]: quarantine.queueUrl,
        [EVENT_BUS_ENV]: eventBusPhysicalName(prefix),
        POWERTOOLS_SERVICE_NAME: 'plan-applier',
        POWERTOOLS_METRICS_NAMESPACE: prefix,
      },
    });
    // No batching window: a FIFO queue takes none. No maximum concurrency: the groups of the queue are the limit.
    this.fn.addEventSourceMapping('Plans', {
      eventSourceArn: planQueue.queueArn,
      batchSize: settings.applier.batchSize,
      // Without it the failures that the handler reports are taken for success, and their messages are deleted.
      reportBatchItemFailures: true,
      metricsConfig: { metrics: [lambda.MetricType.EVENT_COUNT] },
    });
  }

  /** A queue of the state stack, by its name. */
  private queue(name: QueueName, prefix: string): sqs.IQueue {
    const arn = Stack.of(this).formatArn({ service: 'sqs', resource: queuePhysicalName(prefix, name) });
    return sqs.Queue.fromQueueArn(this, `${name}Queue`, arn);
  }

  private tableArn(prefix: string, table: TableName): string {
    const resourceName = tablePhysicalName(prefix, table);
    return Stack.of(this).formatArn({ service: 'dynamodb', resource: 'table', resourceName });
  }

  /**
   * The policies stand in the role itself, so that the event source mapping, whose creation checks them, cannot come
   * before them. `withoutPolicyUpdates`: CDK adds nothing of its own to what is written out.
   */
  private role(resources: PlanApplierResources): iam.IRole {
    const role = new iam.Role(this, 'Role', {
      description: 'Berth: what the plan applier may do',
      assumedBy: new iam.ServicePrincipal('lambda.amazonaws.com'),
      inlinePolicies: { PlanApplier: new iam.PolicyDocument({ statements: planApplierStatements(resources) }) },
    });
    acknowledge(role, {
      id: 'AwsSolutions-IAM5[Resource::*]',
      reason: 'X-Ray has no resources that its two write actions could be limited to.',
    });
    return role.withoutPolicyUpdates();
  }
}
