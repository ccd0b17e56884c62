import type * as iam from 'aws-cdk-lib/aws-iam';
import { allow, allowReceiving, type FunctionResources } from './berth-function.ts';

type Resources = Pick<FunctionResources, 'tableArn' | 'queueArn'>;

/** What bringing slots to their limit takes, whoever asks for it. Deletes of a batch are PartiQL's. */
function slotStatements({ tableArn }: Resources): iam.PolicyStatement[] {
  return [
    allow('Slots', tableArn('tasks'), ['dynamodb:Query', 'dynamodb:PartiQLDelete', 'dynamodb:DeleteItem']),
    allow('Services', tableArn('services'), ['dynamodb:BatchGetItem']),
    // A task that is deleted gives back what it holds, where nobody did.
    allow('Nodes', tableArn('nodes'), ['dynamodb:GetItem', 'dynamodb:PutItem', 'dynamodb:UpdateItem']),
    allow('Pools', tableArn('pools'), ['dynamodb:GetItem']),
  ];
}

/** Everything the task reaper may do, logs and traces aside. `streamArn`: of the tasks' stream. */
export function taskReaperStatements(resources: Resources, streamArn: string): iam.PolicyStatement[] {
  const { tableArn, queueArn } = resources;
  return [
    ...slotStatements(resources),
    allow('ReadStream', streamArn, ['dynamodb:DescribeStream', 'dynamodb:GetRecords', 'dynamodb:GetShardIterator']),
    // Lambda asks for it when the event source mapping is made. It tells names and times of streams of this one table.
    allow('ListStreams', `${tableArn('tasks')}/stream/*`, ['dynamodb:ListStreams']),
    allow('Failures', queueArn('reaperFailures'), ['sqs:SendMessage']),
  ];
}

/** Everything the task sweeper may do, logs and traces aside. `byServiceArn`: of the index of tasks by service. */
export function taskSweeperStatements(resources: Resources, byServiceArn: string): iam.PolicyStatement[] {
  const { tableArn, queueArn } = resources;
  return [
    ...slotStatements(resources),
    allow('Pages', tableArn('tasks'), ['dynamodb:Scan', 'dynamodb:UpdateItem']),
    allow('SlotsOfService', byServiceArn, ['dynamodb:Query']),
    allow('Sweeps', tableArn('services'), ['dynamodb:GetItem', 'dynamodb:PutItem']),
    allowReceiving('ReceivePages', queueArn('sweep')),
    allow('NextPage', queueArn('sweep'), ['sqs:SendMessage']),
    allow('Failures', queueArn('reaperFailures'), ['sqs:SendMessage']),
  ];
}
