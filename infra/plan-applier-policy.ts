import * as iam from 'aws-cdk-lib/aws-iam';
import type { TableName } from '../lib/store/tables.ts';

/** What the statements name. */
export interface PlanApplierResources {
  tableArn(table: TableName): string;
  readonly planQueueArn: string;
  readonly quarantineQueueArn: string;
  /** With `:*` at its end, as CloudFormation gives it: the streams of this one group. */
  readonly logGroupArn: string;
}

/**
 * Everything the plan applier may do. A transaction is authorized action by action, each by the permission of the plain
 * request (`PutItem`, `UpdateItem`), a condition check by `ConditionCheckItem`. Each statement has a Sid, which also
 * keeps CDK from merging it with another.
 */
export function planApplierStatements(resources: PlanApplierResources): iam.PolicyStatement[] {
  const { tableArn, planQueueArn, quarantineQueueArn, logGroupArn } = resources;
  return [
    allow('Pools', tableArn('pools'), ['dynamodb:GetItem', 'dynamodb:UpdateItem', 'dynamodb:ConditionCheckItem']),
    // Nodes are made by the client: an applier that could put one could bring back a node that was removed.
    allow('Nodes', tableArn('nodes'), [
      'dynamodb:GetItem',
      'dynamodb:BatchGetItem',
      'dynamodb:UpdateItem',
      'dynamodb:ConditionCheckItem',
    ]),
    allow('Tasks', tableArn('tasks'), [
      'dynamodb:GetItem',
      'dynamodb:BatchGetItem',
      'dynamodb:PutItem',
      'dynamodb:UpdateItem',
    ]),
    // A result is put once and never changed.
    allow('Plans', tableArn('plans'), ['dynamodb:GetItem', 'dynamodb:BatchGetItem', 'dynamodb:PutItem']),
    // What the event source mapping does in the function's name.
    allow('ReceivePlans', planQueueArn, [
      'sqs:ReceiveMessage',
      'sqs:DeleteMessage',
      'sqs:ChangeMessageVisibility',
      'sqs:GetQueueAttributes',
    ]),
    allow('Quarantine', quarantineQueueArn, ['sqs:SendMessage']),
    allow('Logs', logGroupArn, ['logs:CreateLogStream', 'logs:PutLogEvents']),
    allow('Traces', '*', ['xray:PutTraceSegments', 'xray:PutTelemetryRecords']),
  ];
}

function allow(sid: string, resource: string, actions: string[]): iam.PolicyStatement {
  return new iam.PolicyStatement({ sid, effect: iam.Effect.ALLOW, actions, resources: [resource] });
}
