import * as iam from 'aws-cdk-lib/aws-iam';
import type { TableName } from '../lib/store/tables.ts';

/** What the statements name. */
export interface PlanApplierResources {
  tableArn(table: TableName): string;
  readonly planQueueArn: string;
  readonly quarantineQueueArn: string;
  readonly eventBusArn: string;
  /** With `:*` at its end, as CloudFormation gives it: the streams of this one group. */
  readonly logGroupArn: string;
}

/**
 * Everything the plan applier may do. A transaction is authorized action by action, each by the permission of the plain
 * request (`PutItem`, `UpdateItem`); that they suffice is tested against what the store sends. Each statement has a Sid, which also
 * keeps CDK from merging it with another.
 */
export function planApplierStatements(resources: PlanApplierResources): iam.PolicyStatement[] {
  const { tableArn, planQueueArn, quarantineQueueArn, eventBusArn, logGroupArn } = resources;
  return [
    allow('Pools', tableArn('pools'), ['dynamodb:GetItem', 'dynamodb:UpdateItem']),
    allow('Nodes', tableArn('nodes'), ['dynamodb:BatchGetItem', 'dynamodb:PutItem', 'dynamodb:UpdateItem']),
    // A task is deleted only when a plan of several transactions gives back what it had reserved.
    allow('Tasks', tableArn('tasks'), ['dynamodb:BatchGetItem', 'dynamodb:PutItem', 'dynamodb:DeleteItem']),
    // A result is put once and never changed; a redelivery finds it in the failed condition of that put. Read is only how
    // far a plan of several transactions has come.
    allow('Plans', tableArn('plans'), ['dynamodb:BatchGetItem', 'dynamodb:PutItem']),
    allow('Rejections', tableArn('rejections'), ['dynamodb:BatchGetItem', 'dynamodb:PutItem']),
    // What the event source mapping does in the function's name.
    allow('ReceivePlans', planQueueArn, [
      'sqs:ReceiveMessage',
      'sqs:DeleteMessage',
      'sqs:ChangeMessageVisibility',
      'sqs:GetQueueAttributes',
    ]),
    allow('Quarantine', quarantineQueueArn, ['sqs:SendMessage']),
    allow('Events', eventBusArn, ['events:PutEvents']),
    allow('Logs', logGroupArn, ['logs:CreateLogStream', 'logs:PutLogEvents']),
    allow('Traces', '*', ['xray:PutTraceSegments', 'xray:PutTelemetryRecords']),
  ];
}

function allow(sid: string, resource: string, actions: string[]): iam.PolicyStatement {
  return new iam.PolicyStatement({ sid, effect: iam.Effect.ALLOW, actions, resources: [resource] });
}
