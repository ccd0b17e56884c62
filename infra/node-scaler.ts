import { CfnOutput, Duration, Stack } from 'aws-cdk-lib';
import * as iam from 'aws-cdk-lib/aws-iam';
import type * as lambda from 'aws-cdk-lib/aws-lambda';
import * as scheduler from 'aws-cdk-lib/aws-scheduler';
import { Construct } from 'constructs';
import { CLUSTERS_ENV } from '../lib/store/tables.ts';
import { acknowledge } from './acknowledge.ts';
import { allow, BerthFunction } from './berth-function.ts';
import { nodeScalerStatements, wildcards } from './node-scaler-policy.ts';
import type { Settings } from './rules.ts';
import type { ClusterSettings } from './scaler-context.ts';
import type { VpcSettings } from './vpc-settings.ts';

interface NodeScalerProps {
  readonly prefix: string;
  readonly settings: Settings;
  readonly clusters: readonly ClusterSettings[];
  readonly vpc: VpcSettings | undefined;
}

/** The node scaler: its function, and the schedule that invokes it. */
export class NodeScaler extends Construct {
  readonly fn: lambda.Function;

  constructor(scope: Construct, id: string, { prefix, settings: { scaler }, clusters, vpc }: NodeScalerProps) {
    super(scope, id);
    const { partition, account } = Stack.of(this);
    const json = JSON.stringify(clusters);
    const made = new BerthFunction(this, 'Scaler', {
      prefix,
      name: 'node-scaler',
      description: 'Berth: brings the pools of game server nodes to their targets',
      memoryMiB: scaler.memoryMiB,
      timeoutSeconds: scaler.timeoutSeconds,
      tables: ['scaler', 'nodes', 'tasks', 'pools', 'rejections'],
      queues: [],
      environment: { [CLUSTERS_ENV]: json },
      vpc,
      statements: (resources) => nodeScalerStatements(resources, { partition, account }, clusters),
    });
    this.fn = made.fn;
    for (const arn of wildcards({ partition: '<AWS::Partition>', account: '<AWS::AccountId>' }, clusters)) {
      acknowledge(made.node.findChild('Role'), {
        id: `AwsSolutions-IAM5[Resource::${arn}]`,
        reason: 'Ids of groups are made with them; their names, or the tag of their cluster, are what limits this.',
      });
    }
    // The next tick is the retry. No reserved concurrency: a lease keeps runs apart, and an account that is new has none to
    // reserve; what is throttled would be invoked late and find its tick past.
    this.fn.configureAsyncInvoke({
      retryAttempts: 0,
      maxEventAge: Duration.seconds(scaler.maxTickAgeSeconds),
    });
    this.addSchedule(scaler);
    const role = new CfnOutput(this, 'RoleArn', {
      description: "What an access entry of each cluster names that is not reached by another account's role",
      value: (made.node.findChild('Role') as iam.Role).roleArn,
    });
    // As the documents call them, without what CDK adds.
    role.overrideLogicalId('NodeScalerRoleArn');
    new CfnOutput(this, 'Clusters', { description: CLUSTERS_ENV, value: json }).overrideLogicalId('Clusters');
  }

  private addSchedule(scaler: Settings['scaler']): void {
    const role = new iam.Role(this, 'ScheduleRole', {
      description: 'Berth: what the schedule of the node scaler may do',
      assumedBy: new iam.ServicePrincipal('scheduler.amazonaws.com', {
        conditions: { StringEquals: { 'aws:SourceAccount': Stack.of(this).account } },
      }),
      inlinePolicies: {
        Schedule: new iam.PolicyDocument({
          statements: [allow('Tick', this.fn.functionArn, ['lambda:InvokeFunction'])],
        }),
      },
    });
    const minutes = scaler.tickSeconds / 60;
    new scheduler.CfnSchedule(this, 'Ticks', {
      description: 'Berth: a tick of the node scaler',
      scheduleExpression: `rate(${minutes} ${minutes === 1 ? 'minute' : 'minutes'})`,
      flexibleTimeWindow: { mode: 'OFF' },
      target: {
        arn: this.fn.functionArn,
        roleArn: role.roleArn,
        input: JSON.stringify({
          apiVersion: 'berth/v1',
          kind: 'ScalerTick',
          scheduledTime: '<aws.scheduler.scheduled-time>',
        }),
        retryPolicy: { maximumRetryAttempts: 0, maximumEventAgeInSeconds: scaler.maxTickAgeSeconds },
      },
    });
  }
}
