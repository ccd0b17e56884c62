import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from 'vitest';
import { scalerStore } from '../lib/store/scaler-store.ts';
import type { EpochMs } from '../lib/time.ts';
import { permissionsAsked, permissionsGranted } from '../test/support/permissions.ts';
import { byType, synthesized, type TemplateJson, tableArn } from '../test/support/synthesized.ts';
import { nodeScalerStatements } from './node-scaler-policy.ts';

// Expectations are written out, not computed from lib/: a slip there must show here.

const ROLE = 'arn:aws:iam::111122223333:role/Scaler';
const CLUSTERS = [
  { name: 'game', region: 'eu-central-1', autoScalingGroups: ['metal', 'more-metal'] },
  { name: 'test', region: 'eu-central-1' },
  { name: 'far', region: 'us-east-1' },
  { name: 'foreign', region: 'eu-west-1', roleArn: ROLE, autoScalingGroups: ['theirs'] },
];
const CLUSTERS_JSON = JSON.stringify(
  CLUSTERS.map((one) => ({ ...one, autoScalingGroups: one.autoScalingGroups ?? [] })),
);

let functions: TemplateJson;
beforeAll(() => {
  ({ functions } = synthesized({ clusters: CLUSTERS }));
});

function only(type: string, begins: string, template = functions) {
  const found = byType(template, type).filter(([id]) => id.startsWith(begins));
  expect(found).toHaveLength(1);
  const [[id, { Properties }] = ['', { Properties: {} }]] = found;
  return { id, properties: Properties as Record<string, never> };
}

const fn = () => only('AWS::Lambda::Function', 'NodeScaler');

/** `arn:<partition>:service:region:<account>:resource` */
const regional = (service: string, region: string, resource: string) => ({
  'Fn::Join': [
    '',
    ['arn:', { Ref: 'AWS::Partition' }, `:${service}:${region}:`, { Ref: 'AWS::AccountId' }, `:${resource}`],
  ],
});
const group = (region: string, name: string) =>
  regional('autoscaling', region, `autoScalingGroup:*:autoScalingGroupName/${name}`);

test('a deployment without clusters has no node scaler', () => {
  for (const context of [{}, { clusters: [] }]) {
    const { functions: without } = synthesized(context);
    expect(JSON.stringify(without)).not.toMatch(/NodeScaler|node-scaler/);
  }
});

test('function: runtime, limits, tracing, environment', () => {
  const { Code: _bundle, LoggingConfig, Role, ...properties } = fn().properties;
  expect(properties).toEqual({
    Description: 'Berth: brings the pools of game server nodes to their targets',
    Handler: 'index.handler',
    Runtime: 'nodejs24.x',
    Architectures: ['arm64'],
    MemorySize: 512,
    Timeout: 55,
    TracingConfig: { Mode: 'Active' },
    Environment: {
      Variables: {
        BERTH_TABLE_SCALER: 'Berth-Scaler',
        BERTH_TABLE_NODES: 'Berth-Nodes',
        BERTH_TABLE_TASKS: 'Berth-Tasks',
        BERTH_TABLE_POOLS: 'Berth-Pools',
        BERTH_TABLE_REJECTIONS: 'Berth-Rejections',
        BERTH_CLUSTERS: CLUSTERS_JSON,
        POWERTOOLS_SERVICE_NAME: 'node-scaler',
        POWERTOOLS_METRICS_NAMESPACE: 'Berth',
      },
    },
  });
  expect(LoggingConfig).toEqual({ LogGroup: { Ref: only('AWS::Logs::LogGroup', 'NodeScaler').id } });
});

test('an event is tried once, and not kept past the next tick', () => {
  expect(only('AWS::Lambda::EventInvokeConfig', 'NodeScaler').properties).toEqual({
    FunctionName: { Ref: fn().id },
    Qualifier: '$LATEST',
    MaximumRetryAttempts: 0,
    MaximumEventAgeInSeconds: 60,
  });
});

test('schedule: every minute, told which, without retries', () => {
  const { Target, ...properties } = only('AWS::Scheduler::Schedule', 'NodeScaler').properties as Record<string, object>;
  expect(properties).toEqual({
    Description: 'Berth: a tick of the node scaler',
    ScheduleExpression: 'rate(1 minute)',
    FlexibleTimeWindow: { Mode: 'OFF' },
  });
  const { Input, ...target } = Target as { Input: string };
  expect(target).toEqual({
    Arn: { 'Fn::GetAtt': [fn().id, 'Arn'] },
    RoleArn: { 'Fn::GetAtt': [only('AWS::IAM::Role', 'NodeScalerScheduleRole').id, 'Arn'] },
    RetryPolicy: { MaximumRetryAttempts: 0, MaximumEventAgeInSeconds: 60 },
  });
  expect(JSON.parse(Input)).toEqual({
    apiVersion: 'berth/v1',
    kind: 'ScalerTick',
    scheduledTime: '<aws.scheduler.scheduled-time>',
  });
});

test("the schedule's role: it may invoke this one function, and schedules of other accounts may not borrow it", () => {
  expect(only('AWS::IAM::Role', 'NodeScalerScheduleRole').properties).toMatchObject({
    AssumeRolePolicyDocument: {
      Statement: [
        {
          Principal: { Service: 'scheduler.amazonaws.com' },
          Condition: { StringEquals: { 'aws:SourceAccount': { Ref: 'AWS::AccountId' } } },
        },
      ],
    },
    Policies: [
      {
        PolicyDocument: {
          Statement: [
            {
              Sid: 'Tick',
              Effect: 'Allow',
              Action: 'lambda:InvokeFunction',
              Resource: { 'Fn::GetAtt': [fn().id, 'Arn'] },
            },
          ],
        },
      },
    ],
  });
});

/** Statements of the function's role by their Sid. */
function statements(template = functions): Record<string, object> {
  const { Policies } = only('AWS::IAM::Role', 'NodeScalerRole', template).properties as unknown as {
    Policies: [{ PolicyDocument: { Statement: { Sid: string }[] } }];
  };
  return Object.fromEntries(Policies[0].PolicyDocument.Statement.map(({ Sid, ...rest }) => [Sid, rest]));
}

const CHANGES = ['autoscaling:SetDesiredCapacity', 'autoscaling:TerminateInstanceInAutoScalingGroup'];
const COMMON = ['Logs', 'Traces'];
const TABLES = ['Turns', 'Pools', 'Nodes', 'Tasks', 'TasksOfNode', 'Rejections'];

test('role: exactly these permissions', () => {
  const { Logs, Traces, ...own } = statements();
  expect(Object.keys({ Logs, Traces })).toEqual(COMMON);
  expect(own).toEqual({
    Turns: { Effect: 'Allow', Action: 'dynamodb:UpdateItem', Resource: tableArn('Berth-Scaler') },
    Pools: {
      Effect: 'Allow',
      Action: ['dynamodb:BatchGetItem', 'dynamodb:GetItem', 'dynamodb:UpdateItem'],
      Resource: tableArn('Berth-Pools'),
    },
    Nodes: {
      Effect: 'Allow',
      Action: [
        'dynamodb:BatchGetItem',
        'dynamodb:DeleteItem',
        'dynamodb:PutItem',
        'dynamodb:Query',
        'dynamodb:UpdateItem',
      ],
      Resource: tableArn('Berth-Nodes'),
    },
    Tasks: {
      Effect: 'Allow',
      Action: ['dynamodb:BatchGetItem', 'dynamodb:PutItem', 'dynamodb:Scan'],
      Resource: tableArn('Berth-Tasks'),
    },
    TasksOfNode: { Effect: 'Allow', Action: 'dynamodb:Query', Resource: tableArn('Berth-Tasks/index/by-node') },
    Rejections: { Effect: 'Allow', Action: 'dynamodb:DeleteItem', Resource: tableArn('Berth-Rejections') },
    Clusters: {
      Effect: 'Allow',
      Action: 'eks:DescribeCluster',
      Resource: [
        regional('eks', 'eu-central-1', 'cluster/game'),
        regional('eks', 'eu-central-1', 'cluster/test'),
        regional('eks', 'us-east-1', 'cluster/far'),
      ],
    },
    NodeGroups: {
      Effect: 'Allow',
      Action: 'eks:DescribeNodegroup',
      Resource: [
        regional('eks', 'eu-central-1', 'nodegroup/game/*/*'),
        regional('eks', 'eu-central-1', 'nodegroup/test/*/*'),
        regional('eks', 'us-east-1', 'nodegroup/far/*/*'),
      ],
    },
    SeeGroups: {
      Effect: 'Allow',
      Action: [
        'autoscaling:DescribeAutoScalingGroups',
        'autoscaling:DescribeAutoScalingInstances',
        'autoscaling:DescribeScalingActivities',
      ],
      Resource: '*',
    },
    ChangeNodeGroupsEuCentral1: {
      Effect: 'Allow',
      Action: CHANGES,
      Resource: group('eu-central-1', '*'),
      Condition: { StringEquals: { 'aws:ResourceTag/eks:cluster-name': ['game', 'test'] } },
    },
    ChangeNamedGroupsEuCentral1: {
      Effect: 'Allow',
      Action: CHANGES,
      Resource: [group('eu-central-1', 'metal'), group('eu-central-1', 'more-metal')],
    },
    ChangeNodeGroupsUsEast1: {
      Effect: 'Allow',
      Action: CHANGES,
      Resource: group('us-east-1', '*'),
      Condition: { StringEquals: { 'aws:ResourceTag/eks:cluster-name': ['far'] } },
    },
    TakeOnRoles: { Effect: 'Allow', Action: 'sts:AssumeRole', Resource: ROLE },
  });
});

test('role of a function that takes on a role for each cluster: it may do nothing to any itself', () => {
  const { functions: foreign } = synthesized({ clusters: [CLUSTERS[3]] });
  expect(Object.keys(statements(foreign))).toEqual([...TABLES, 'TakeOnRoles', ...COMMON]);
});

test('it may do on the table what its store sends, no less and no more', async () => {
  const { dynamo, asked } = permissionsAsked();
  const at = 1 as EpochMs;
  const outcome = await scalerStore(dynamo, { scaler: 'scaler' }).begin({
    ...{ cluster: 'c', scheduledAt: at, holder: 'h', now: at, until: at },
  });
  if (outcome.kind !== 'begun') throw new Error(outcome.kind);
  await outcome.turn.ledgerOf('o').write({ version: 0, pendingDeletions: [] });
  await outcome.turn.end(['o']);
  const granted = nodeScalerStatements({ tableArn: (table) => table }, { partition: 'aws', account: '1' }, []);
  expect(asked()).toEqual(permissionsGranted(granted).filter((one) => one.startsWith('scaler ')));
});

test('a role of another account needs what docs/policies has, which is what the function has for its own clusters', () => {
  const file = new URL('../docs/policies/scaler-cluster-role.json', import.meta.url);
  const { Statement } = JSON.parse(readFileSync(file, 'utf8')) as { Statement: { Sid: string }[] };
  const cluster = { name: 'CLUSTER', region: 'REGION', autoScalingGroups: [] };
  const place = { partition: 'aws', account: 'ACCOUNT' };
  const statements = nodeScalerStatements({ tableArn: (table) => table }, place, [cluster]).map(
    (statement) => statement.toStatementJson() as { Sid: string; Action: unknown; Resource: unknown },
  );
  const list = (value: unknown) => [value].flat();
  const own = statements
    .filter(({ Sid }) => !TABLES.includes(Sid))
    .map(({ Sid, ...rest }) => ({
      ...rest,
      Sid: Sid.replace('REGION', ''),
      Action: list(rest.Action),
      Resource: list(rest.Resource),
    }));
  expect(own).toEqual(Statement);
});

describe('a VPC', () => {
  const scalerVpc = { subnetIds: ['subnet-0a1b2c3d', 'subnet-1a1b2c3d'], securityGroupIds: ['sg-0a1b2c3d'] };

  test('is used by its ids, with what Lambda needs for interfaces', () => {
    const { functions: inside } = synthesized({ clusters: CLUSTERS, scalerVpc: JSON.stringify(scalerVpc) });
    const { properties } = only('AWS::Lambda::Function', 'NodeScaler', inside);
    expect(properties.VpcConfig).toEqual({ SubnetIds: scalerVpc.subnetIds, SecurityGroupIds: ['sg-0a1b2c3d'] });
    expect(statements(inside).NetworkInterfaces).toEqual({
      Effect: 'Allow',
      Action: [
        'ec2:AssignPrivateIpAddresses',
        'ec2:CreateNetworkInterface',
        'ec2:DeleteNetworkInterface',
        'ec2:DescribeNetworkInterfaces',
        'ec2:DescribeSubnets',
        'ec2:UnassignPrivateIpAddresses',
      ],
      Resource: '*',
    });
    const others = byType(inside, 'AWS::Lambda::Function').filter(([id]) => !id.startsWith('NodeScaler'));
    expect(others.map(([, { Properties }]) => Properties.VpcConfig)).toEqual([undefined, undefined, undefined]);
  });

  test.each<[input: unknown, says: string]>([
    ['{', 'is no object'],
    [{ ...scalerVpc, subnetIds: [] }, 'has no subnetIds'],
    [{ subnetIds: ['subnet-0a1b2c3d'] }, 'has no securityGroupIds'],
    [{ ...scalerVpc, subnetIds: ['vpc-0a1b2c3d'] }, 'has "vpc-0a1b2c3d" as subnetIds[0]'],
    [{ ...scalerVpc, subnetIds: [['subnet-0a1b2c3d']] }, 'has ["subnet-0a1b2c3d"] as subnetIds[0]'],
    [{ ...scalerVpc, securityGroupIds: Array(6).fill('sg-0a1b2c3d') }, 'has 6 securityGroupIds, and Lambda takes 5'],
    [{ ...scalerVpc, vpcId: 'vpc-0a1b2c3d' }, 'has a field vpcId, which nothing reads'],
  ])('of %j is refused', (scalerVpcInput, says) => {
    expect(() => synthesized({ scalerVpc: scalerVpcInput })).toThrow(`context value scalerVpc ${says}`);
  });
});

test('a VPC without clusters is refused: nothing would run in it', () => {
  const scalerVpc = { subnetIds: ['subnet-0a1b2c3d'], securityGroupIds: ['sg-0a1b2c3d'] };
  expect(() => synthesized({ scalerVpc })).toThrow('scalerVpc is given and clusters is not');
});

test('clusters that cannot be used are refused, each problem with its path', () => {
  const clusters = [{ name: 'game' }, { name: '?', region: 'eu-central-1' }];
  expect(() => synthesized({ clusters })).toThrow(
    /context value clusters\[0\]\.region: expected a region[\s\S]*context value clusters\[1\]\.name: expected a name/,
  );
});

test('outputs: the role that access entries name, and the clusters for who works with them', () => {
  const outputs = Object.values(functions.Outputs ?? {});
  expect(outputs).toContainEqual({
    Description: expect.stringContaining('access entry'),
    Value: { 'Fn::GetAtt': [only('AWS::IAM::Role', 'NodeScalerRole').id, 'Arn'] },
  });
  expect(outputs).toContainEqual({ Description: 'BERTH_CLUSTERS', Value: CLUSTERS_JSON });
});

describe('monitoring', () => {
  test('has an alarm on the function, and three on each cluster', () => {
    const alarms = byType(functions, 'AWS::CloudWatch::Alarm').map(([id, { Properties }]) => {
      const of = Properties as Record<string, unknown>;
      return [id.replace(/^Monitoring(.*).{8}$/, '$1'), of] as const;
    });
    const common = {
      ...{ Namespace: 'Berth', Period: 60, Statistic: 'Maximum', Threshold: 1 },
      ComparisonOperator: 'GreaterThanOrEqualToThreshold',
      Dimensions: [
        { Name: 'cluster', Value: 'eu-central-1/game' },
        { Name: 'service', Value: 'node-scaler' },
      ],
    };
    const named = new Map(alarms);
    expect(alarms.filter(([id]) => /Cluster|Provider|Drain/.test(id))).toHaveLength(12);
    expect(named.get('ClusterUnobservedeucentral1game')).toMatchObject({
      ...common,
      MetricName: 'scaler.cluster_unobserved',
      EvaluationPeriods: 5,
      // Nobody says that it observed nothing while it does not run.
      TreatMissingData: 'breaching',
    });
    expect(named.get('AtProviderMaximumeucentral1game')).toMatchObject({
      ...common,
      MetricName: 'scaler.at_provider_maximum',
      EvaluationPeriods: 15,
      TreatMissingData: 'notBreaching',
    });
    expect(named.get('DrainBlockedeucentral1game')).toMatchObject({
      ...common,
      MetricName: 'scaler.drain_blocked',
      EvaluationPeriods: 1,
      TreatMissingData: 'notBreaching',
    });
    expect(named.get('NodeScalerErrors')).toMatchObject({
      ...{ Namespace: 'AWS/Lambda', MetricName: 'Errors', EvaluationPeriods: 3, Threshold: 1 },
      Dimensions: [{ Name: 'FunctionName', Value: { Ref: fn().id } }],
    });
  });

  test('shows the function, and the pools of each cluster', () => {
    const text = JSON.stringify(only('AWS::CloudWatch::Dashboard', 'Monitoring').properties);
    for (const title of ['Node scaler: invocations', 'us-east-1/far: targets and active nodes'])
      expect(text).toContain(title);
    const [search] = text.match(/SEARCH\([^)]*scaler\.active[^)]*\)/) ?? [];
    expect(search?.replaceAll('\\', '')).toBe(
      `SEARCH('{"Berth",cluster,pool,service} MetricName="scaler.active" cluster="eu-central-1/game"', 'Maximum', 60)`,
    );
  });
});
