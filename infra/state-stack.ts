import { CfnOutput, type CfnResource, Duration, RemovalPolicy, Stack } from 'aws-cdk-lib';
import * as dynamodb from 'aws-cdk-lib/aws-dynamodb';
import * as events from 'aws-cdk-lib/aws-events';
import * as sqs from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';
import { EVENT_BUS_ENV, QUEUE_ENV, TABLES, type TableDefinition, type TableName } from '../lib/store/tables.ts';
import { acknowledge } from './acknowledge.ts';
import {
  EVENT_BUS_ID,
  eventBusPhysicalName,
  QUEUE_IDS,
  type QueueName,
  queuePhysicalName,
  tablePhysicalName,
  tasksStreamExport,
} from './names.ts';
import type { Settings } from './rules.ts';

export interface StateStackProps {
  /** Begins the name of everything in the stack. */
  readonly prefix: string;
  readonly settings: Settings;
}

/**
 * Everything that must survive: the tables of `lib/store/tables.ts` and the queues. Nothing here is deleted with the
 * stack, and the stack itself refuses to be deleted. Other stacks refer to it by physical name (see
 * `docs/decisions/0003-stacks.md`), so a change of functions never touches it.
 */
export class StateStack extends Stack {
  constructor(scope: Construct, id: string, props: StateStackProps) {
    super(scope, id, {
      description: 'Berth: tables and queues. Kept when the stack is deleted.',
      terminationProtection: true,
    });
    for (const [name, definition] of Object.entries(TABLES) as [TableName, TableDefinition][]) {
      this.addTable(name, definition, props.prefix);
    }
    this.addQueues(props);
    this.addEventBus(props.prefix);
  }

  private addTable(name: TableName, definition: TableDefinition, prefix: string): void {
    const table = new dynamodb.Table(this, definition.id, {
      tableName: tablePhysicalName(prefix, name),
      partitionKey: stringKey(definition.partitionKey),
      ...(definition.sortKey === undefined ? {} : { sortKey: stringKey(definition.sortKey) }),
      ...(definition.ttl === undefined ? {} : { timeToLiveAttribute: definition.ttl }),
      ...(definition.stream === undefined ? {} : { stream: dynamodb.StreamViewType.NEW_AND_OLD_IMAGES }),
      billingMode: dynamodb.BillingMode.PAY_PER_REQUEST,
      // No `encryption`: at rest with the key that DynamoDB owns, without a fee and without a key that somebody could
      // disable under a running pool. To change it later replaces nothing.
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
      deletionProtection: true,
      removalPolicy: RemovalPolicy.RETAIN,
    });
    for (const index of definition.indexes) {
      table.addGlobalSecondaryIndex({
        indexName: index.name,
        partitionKey: stringKey(index.partitionKey),
        sortKey: stringKey(index.sortKey),
        projectionType: dynamodb.ProjectionType.KEYS_ONLY,
      });
    }
    pinLogicalId(table, definition.id);
    new CfnOutput(this, `${definition.id}TableName`, { description: definition.env, value: table.tableName });
    if (table.tableStreamArn !== undefined) {
      new CfnOutput(this, `${definition.id}StreamArn`, {
        description: 'The one thing here that cannot be told from its name',
        value: table.tableStreamArn,
        exportName: tasksStreamExport(prefix),
      });
    }
  }

  private addQueues({ prefix, settings: { queues, reaper, sweeper } }: StateStackProps): void {
    const dead = this.addQueue('plansDead', prefix, {
      ...HIGH_THROUGHPUT_FIFO,
      retentionPeriod: Duration.seconds(queues.deadLetterRetentionSeconds),
    });
    const plans = this.addQueue('plans', prefix, {
      ...HIGH_THROUGHPUT_FIFO,
      visibilityTimeout: Duration.seconds(queues.planVisibilitySeconds),
      retentionPeriod: Duration.seconds(queues.planRetentionSeconds),
      deadLetterQueue: { queue: dead, maxReceiveCount: queues.planMaxReceives },
    });
    const quarantine = this.addQueue('quarantine', prefix, {
      retentionPeriod: Duration.seconds(queues.quarantineRetentionSeconds),
    });
    acknowledge(quarantine, {
      id: 'AwsSolutions-SQS3',
      reason:
        'It is where unusable messages end, as a dead-letter queue is: people read it, nothing receives from it again and again.',
    });
    // Where both the stream of the tasks and the sweep queue leave what is given up.
    const failures = this.addQueue('reaperFailures', prefix, {
      retentionPeriod: Duration.seconds(reaper.failureRetentionSeconds),
    });
    const sweep = this.addQueue('sweep', prefix, {
      visibilityTimeout: Duration.seconds(sweeper.visibilitySeconds),
      retentionPeriod: Duration.seconds(sweeper.retentionSeconds),
      deadLetterQueue: { queue: failures, maxReceiveCount: sweeper.maxReceives },
    });
    new CfnOutput(this, 'SweepQueueUrl', { description: QUEUE_ENV.sweep, value: sweep.queueUrl });
    new CfnOutput(this, 'ReaperFailureQueueUrl', { description: QUEUE_ENV.reaperFailures, value: failures.queueUrl });
    new CfnOutput(this, 'PlanQueueUrl', { description: QUEUE_ENV.plans, value: plans.queueUrl });
    new CfnOutput(this, 'PlanDeadLetterQueueUrl', { description: QUEUE_ENV.plansDead, value: dead.queueUrl });
    new CfnOutput(this, 'QuarantineQueueUrl', { description: QUEUE_ENV.quarantine, value: quarantine.queueUrl });
  }

  /** Kept like the rest: users hang rules on it. */
  private addEventBus(prefix: string): void {
    const bus = new events.EventBus(this, EVENT_BUS_ID, { eventBusName: eventBusPhysicalName(prefix) });
    bus.applyRemovalPolicy(RemovalPolicy.RETAIN);
    pinLogicalId(bus, EVENT_BUS_ID);
    new CfnOutput(this, 'EventBusName', { description: EVENT_BUS_ENV, value: bus.eventBusName });
  }

  private addQueue(name: QueueName, prefix: string, props: sqs.QueueProps): sqs.Queue {
    const { logicalId } = QUEUE_IDS[name];
    const queue = new sqs.Queue(this, logicalId, {
      queueName: queuePhysicalName(prefix, name),
      encryption: sqs.QueueEncryption.SQS_MANAGED,
      enforceSSL: true,
      removalPolicy: RemovalPolicy.RETAIN,
      ...props,
    });
    pinLogicalId(queue, logicalId);
    // A queue that is kept must go on refusing plain HTTP.
    const policy = queue.node.findChild('Policy') as sqs.QueuePolicy;
    policy.applyRemovalPolicy(RemovalPolicy.RETAIN);
    pinLogicalId(policy, `${logicalId}Policy`);
    return queue;
  }
}

/**
 * Any other combination of the two silently gives the throughput of one partition. No deduplication by content: an
 * operator's "apply again" would be swallowed, so senders name the plan id.
 */
const HIGH_THROUGHPUT_FIFO = {
  fifo: true,
  contentBasedDeduplication: false,
  deduplicationScope: sqs.DeduplicationScope.MESSAGE_GROUP,
  fifoThroughputLimit: sqs.FifoThroughputLimit.PER_MESSAGE_GROUP_ID,
} as const satisfies sqs.QueueProps;

/** Every key of Berth is a text; the formats stand in `lib/store/keys.ts`. */
function stringKey(name: string): dynamodb.Attribute {
  return { name, type: dynamodb.AttributeType.STRING };
}

/** Fixes the logical id, so that moving or renaming a construct cannot replace what holds state. */
function pinLogicalId(construct: Construct, logicalId: string): void {
  (construct.node.defaultChild as CfnResource).overrideLogicalId(logicalId);
}
