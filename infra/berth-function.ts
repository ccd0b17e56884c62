import { Duration, RemovalPolicy, Stack } from 'aws-cdk-lib';
import * as iam from 'aws-cdk-lib/aws-iam';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import { NodejsFunction } from 'aws-cdk-lib/aws-lambda-nodejs';
import * as logs from 'aws-cdk-lib/aws-logs';
import * as sqs from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { QUEUE_ENV, TABLES, type TableName } from '../lib/store/tables.ts';
import { acknowledge } from './acknowledge.ts';
import { BUNDLING } from './bundling.ts';
import { type QueueName, queuePhysicalName, tablePhysicalName } from './names.ts';
import { fromProjectRoot, PROJECT_ROOT } from './project-root.ts';
import type { VpcSettings } from './vpc-settings.ts';

/** What the statements of a function's role name, besides what is its own. */
export interface FunctionResources {
  tableArn(table: TableName): string;
  queueArn(queue: QueueName): string;
  /** With `:*` at its end, as CloudFormation gives it: the streams of this one group. */
  readonly logGroupArn: string;
}

interface BerthFunctionProps {
  readonly prefix: string;
  /** The folder of its handler under `functions/`, and its name in logs. */
  readonly name: string;
  readonly description: string;
  readonly memoryMiB: number;
  readonly timeoutSeconds: number;
  /** The tables and queues that the handler finds in its environment. */
  readonly tables: readonly TableName[];
  readonly queues: readonly QueueName[];
  readonly environment?: Readonly<Record<string, string>>;
  /** Left out: it runs outside of any VPC. */
  readonly vpc?: VpcSettings | undefined;
  /** Everything that it may do. Each statement has a Sid, which also keeps CDK from merging it with another. */
  statements(resources: FunctionResources): iam.PolicyStatement[];
}

/** A function with its role, every permission of which is written out, and its logs. What invokes it is added by its owner. */
export class BerthFunction extends Construct {
  readonly fn: lambda.Function;
  private readonly prefix: string;

  constructor(scope: Construct, id: string, props: BerthFunctionProps) {
    super(scope, id);
    this.prefix = props.prefix;
    const logGroup = new logs.LogGroup(this, 'Logs', {
      retention: logs.RetentionDays.ONE_MONTH,
      removalPolicy: RemovalPolicy.DESTROY,
    });
    this.fn = new NodejsFunction(this, 'Function', {
      description: props.description,
      entry: fromProjectRoot(`functions/${props.name}/handler.ts`),
      handler: 'handler',
      projectRoot: PROJECT_ROOT,
      depsLockFilePath: fromProjectRoot('package-lock.json'),
      bundling: BUNDLING,
      runtime: lambda.Runtime.NODEJS_24_X,
      architecture: lambda.Architecture.ARM_64,
      memorySize: props.memoryMiB,
      timeout: Duration.seconds(props.timeoutSeconds),
      tracing: lambda.Tracing.ACTIVE,
      logGroup,
      role: this.role(props, {
        tableArn: (table) => this.tableArn(table),
        queueArn: (queue) => this.queueArn(queue),
        logGroupArn: logGroup.logGroupArn,
      }),
      environment: {
        ...Object.fromEntries(props.tables.map((table) => [TABLES[table].env, tablePhysicalName(props.prefix, table)])),
        ...Object.fromEntries(props.queues.map((queue) => [QUEUE_ENV[queue], this.queue(queue).queueUrl])),
        ...props.environment,
        POWERTOOLS_SERVICE_NAME: props.name,
        POWERTOOLS_METRICS_NAMESPACE: props.prefix,
      },
    });
    if (props.vpc !== undefined) {
      // By ids alone: CDK's own way wants more of the VPC than a function does, and would look it up.
      (this.fn.node.defaultChild as lambda.CfnFunction).vpcConfig = {
        subnetIds: [...props.vpc.subnetIds],
        securityGroupIds: [...props.vpc.securityGroupIds],
      };
    }
  }

  /** A queue of the state stack, by its name. */
  queue(name: QueueName): sqs.IQueue {
    const known = this.node.tryFindChild(`${name}Queue`) as sqs.IQueue | undefined;
    return known ?? sqs.Queue.fromQueueArn(this, `${name}Queue`, this.queueArn(name));
  }

  queueArn(queue: QueueName): string {
    return Stack.of(this).formatArn({ service: 'sqs', resource: queuePhysicalName(this.prefix, queue) });
  }

  private tableArn(table: TableName): string {
    const resourceName = tablePhysicalName(this.prefix, table);
    return Stack.of(this).formatArn({ service: 'dynamodb', resource: 'table', resourceName });
  }

  /**
   * The policies stand in the role itself, so that the event source mapping, whose creation checks them, cannot come
   * before them. `withoutPolicyUpdates`: CDK adds nothing of its own to what is written out.
   */
  private role({ name, statements, vpc }: BerthFunctionProps, resources: FunctionResources): iam.IRole {
    const more = vpc === undefined ? common(resources) : [...common(resources), interfaces()];
    const role = new iam.Role(this, 'Role', {
      description: `Berth: what the ${name.replace('-', ' ')} may do`,
      assumedBy: new iam.ServicePrincipal('lambda.amazonaws.com'),
      inlinePolicies: {
        [name]: new iam.PolicyDocument({ statements: [...statements(resources), ...more] }),
      },
    });
    acknowledge(role, {
      id: 'AwsSolutions-IAM5[Resource::*]',
      reason:
        'X-Ray has no resources that its two write actions could be limited to; nor have network interfaces and groups that are described.',
    });
    return role.withoutPolicyUpdates();
  }
}

/** What every function may do. */
function common({ logGroupArn }: FunctionResources): iam.PolicyStatement[] {
  return [
    allow('Logs', logGroupArn, ['logs:CreateLogStream', 'logs:PutLogEvents']),
    allow('Traces', '*', ['xray:PutTraceSegments', 'xray:PutTelemetryRecords']),
  ];
}

/**
 * What Lambda does in the name of a function in a VPC. As AWS's policy for it has them, which is without resources: Lambda
 * asks whether it may before there is an interface.
 */
function interfaces(): iam.PolicyStatement {
  return allow('NetworkInterfaces', '*', [
    'ec2:CreateNetworkInterface',
    'ec2:DescribeNetworkInterfaces',
    'ec2:DescribeSubnets',
    'ec2:DeleteNetworkInterface',
    'ec2:AssignPrivateIpAddresses',
    'ec2:UnassignPrivateIpAddresses',
  ]);
}

export function allow(
  sid: string,
  resources: string | readonly string[],
  actions: string[],
  conditions: iam.Conditions = {},
): iam.PolicyStatement {
  return new iam.PolicyStatement({ sid, effect: iam.Effect.ALLOW, actions, resources: [resources].flat(), conditions });
}

/** What an event source mapping does with a queue in its function's name. */
export function allowReceiving(sid: string, queueArn: string): iam.PolicyStatement {
  return allow(sid, queueArn, [
    'sqs:ReceiveMessage',
    'sqs:DeleteMessage',
    'sqs:ChangeMessageVisibility',
    'sqs:GetQueueAttributes',
  ]);
}
