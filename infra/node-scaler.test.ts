import { beforeAll, describe, expect, test } from 'vitest';
import { CLUSTERS, CLUSTERS_JSON, ScalerTemplate } from '../test/support/scaler-template.ts';
import { byType, synthesized } from '../test/support/synthesized.ts';

// Expectations are written out, not computed from lib/: a slip there must show here.

let scaler: ScalerTemplate;
beforeAll(() => {
  scaler = new ScalerTemplate();
});

test('a deployment without clusters has no node scaler', () => {
  for (const context of [{}, { clusters: [] }]) {
    const { functions: without } = synthesized(context);
    expect(JSON.stringify(without)).not.toMatch(/NodeScaler|node-scaler/);
  }
});

test('function: runtime, limits, tracing, environment', () => {
  const { Code: _bundle, LoggingConfig, Role, ...properties } = scaler.fn().properties;
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
  expect(LoggingConfig).toEqual({ LogGroup: { Ref: scaler.single('AWS::Logs::LogGroup', 'NodeScaler').id } });
});

test('an event is tried once, and not kept past the next tick', () => {
  expect(scaler.single('AWS::Lambda::EventInvokeConfig', 'NodeScaler').properties).toEqual({
    FunctionName: { Ref: scaler.fn().id },
    Qualifier: '$LATEST',
    MaximumRetryAttempts: 0,
    MaximumEventAgeInSeconds: 60,
  });
});

test('schedule: every minute, told which, without retries', () => {
  const { Target, ...properties } = scaler.single('AWS::Scheduler::Schedule', 'NodeScaler').properties as Record<
    string,
    object
  >;
  expect(properties).toEqual({
    Description: 'Berth: a tick of the node scaler',
    ScheduleExpression: 'rate(1 minute)',
    FlexibleTimeWindow: { Mode: 'OFF' },
  });
  const { Input, ...target } = Target as { Input: string };
  expect(target).toEqual({
    Arn: { 'Fn::GetAtt': [scaler.fn().id, 'Arn'] },
    RoleArn: { 'Fn::GetAtt': [scaler.single('AWS::IAM::Role', 'NodeScalerScheduleRole').id, 'Arn'] },
    RetryPolicy: { MaximumRetryAttempts: 0, MaximumEventAgeInSeconds: 60 },
  });
  expect(JSON.parse(Input)).toEqual({
    apiVersion: 'berth/v1',
    kind: 'ScalerTick',
    scheduledTime: '<aws.scheduler.scheduled-time>',
  });
});

test("the schedule's role: it may invoke this one function, and schedules of other accounts may not borrow it", () => {
  expect(scaler.single('AWS::IAM::Role', 'NodeScalerScheduleRole').properties).toMatchObject({
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
              Resource: { 'Fn::GetAtt': [scaler.fn().id, 'Arn'] },
            },
          ],
        },
      },
    ],
  });
});

describe('a VPC', () => {
  const scalerVpc = { subnetIds: ['subnet-0a1b2c3d', 'subnet-1a1b2c3d'], securityGroupIds: ['sg-0a1b2c3d'] };

  test('is used by its ids, with what Lambda needs for interfaces', () => {
    const inside = new ScalerTemplate({ clusters: CLUSTERS, scalerVpc: JSON.stringify(scalerVpc) });
    const { properties } = inside.fn();
    expect(properties.VpcConfig).toEqual({ SubnetIds: scalerVpc.subnetIds, SecurityGroupIds: ['sg-0a1b2c3d'] });
    expect(inside.statements().NetworkInterfaces).toEqual({
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
    const others = byType(inside.json, 'AWS::Lambda::Function').filter(([id]) => !id.startsWith('NodeScaler'));
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
  const outputs = Object.values(scaler.json.Outputs ?? {});
  expect(outputs).toContainEqual({
    Description: expect.stringContaining('access entry'),
    Value: { 'Fn::GetAtt': [scaler.single('AWS::IAM::Role', 'NodeScalerRole').id, 'Arn'] },
  });
  expect(outputs).toContainEqual({ Description: 'BERTH_CLUSTERS', Value: CLUSTERS_JSON });
});
