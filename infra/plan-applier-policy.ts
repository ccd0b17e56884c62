import type * as iam from 'aws-cdk-lib/aws-iam';
import { allow, allowReceiving, type FunctionResources } from './berth-function.ts';

/**
 * Everything the plan applier may do, logs and traces aside. A transaction is authorized action by action, each by the
 * permission of the plain request (`PutItem`, `UpdateItem`); that they suffice is tested against what the store sends.
 */
export function planApplierStatements(
  { tableArn, queueArn }: Pick<FunctionResources, 'tableArn' | 'queueArn'>,
  eventBusArn: string,
): iam.PolicyStatement[] {
  return [
    allow('Pools', tableArn('pools'), ['dynamodb:GetItem', 'dynamodb:UpdateItem']),
    allow('Nodes', tableArn('nodes'), ['dynamodb:BatchGetItem', 'dynamodb:PutItem', 'dynamodb:UpdateItem']),
    // A task is deleted only when a plan of several transactions gives back what it had reserved.
    allow('Tasks', tableArn('tasks'), ['dynamodb:BatchGetItem', 'dynamodb:PutItem', 'dynamodb:DeleteItem']),
    // A result is put once and never changed; a redelivery finds it in the failed condition of that put. Read is only how
    // far a plan of several transactions has come.
    allow('Plans', tableArn('plans'), ['dynamodb:BatchGetItem', 'dynamodb:PutItem']),
    allow('Rejections', tableArn('rejections'), ['dynamodb:BatchGetItem', 'dynamodb:PutItem']),
    allowReceiving('ReceivePlans', queueArn('plans')),
    allow('Quarantine', queueArn('quarantine'), ['sqs:SendMessage']),
    allow('Events', eventBusArn, ['events:PutEvents']),
  ];
}
