import { readFileSync } from 'node:fs';
import { beforeAll, expect, test } from 'vitest';
import { scalerStore } from '../lib/store/scaler-store.ts';
import type { EpochMs } from '../lib/time.ts';
import { permissionsAsked, permissionsGranted } from '../test/support/permissions.ts';
import { CLUSTERS, ROLE, ScalerTemplate } from '../test/support/scaler-template.ts';
import { tableArn } from '../test/support/synthesized.ts';
import { nodeScalerStatements } from './node-scaler-policy.ts';

// Expectations are written out, not computed from lib/: a slip there must show here.

let scaler: ScalerTemplate;
beforeAll(() => {
  scaler = new ScalerTemplate();
});

/** `arn:<partition>:service:region:<account>:resource` */
const regional = (service: string, region: string, resource: string) => ({
  'Fn::Join': [
    '',
    ['arn:', { Ref: 'AWS::Partition' }, `:${service}:${region}:`, { Ref: 'AWS::AccountId' }, `:${resource}`],
  ],
});
const group = (region: string, name: string) =>
  regional('autoscaling', region, `autoScalingGroup:*:autoScalingGroupName/${name}`);

const CHANGES = ['autoscaling:SetDesiredCapacity', 'autoscaling:TerminateInstanceInAutoScalingGroup'];
const COMMON = ['Logs', 'Traces'];
const TABLES = ['Turns', 'Pools', 'Nodes', 'Tasks', 'TasksOfNode', 'Rejections'];

test('role: exactly these permissions', () => {
  const { Logs, Traces, ...own } = scaler.statements();
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
  const foreign = new ScalerTemplate({ clusters: [CLUSTERS[3]] });
  expect(Object.keys(foreign.statements())).toEqual([...TABLES, 'TakeOnRoles', ...COMMON]);
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
