import type * as iam from 'aws-cdk-lib/aws-iam';
import { BY_NODE_INDEX } from '../lib/store/tables.ts';
import { allow, type FunctionResources } from './berth-function.ts';
import type { ClusterSettings } from './scaler-context.ts';

/** Where the resources of the deployment's own account are. */
export interface AccountPlace {
  readonly partition: string;
  readonly account: string;
}

/** The ARNs of the node groups of a cluster: names, and ids that EKS gives them. */
function nodeGroupsArn({ partition, account }: AccountPlace, { region, name }: ClusterSettings): string {
  return `arn:${partition}:eks:${region}:${account}:nodegroup/${name}/*/*`;
}

/** The ARN of a group by its name; between account and name there is an id that nobody knows beforehand. */
function groupArn({ partition, account }: AccountPlace, region: string, group: string): string {
  return `arn:${partition}:autoscaling:${region}:${account}:autoScalingGroup:*:autoScalingGroupName/${group}`;
}

const CHANGES = ['autoscaling:SetDesiredCapacity', 'autoscaling:TerminateInstanceInAutoScalingGroup'];

/**
 * Everything the node scaler may do, logs and traces aside. Of clusters that are reached by a role of their own it may take
 * on that role, and nothing else: the role has what is listed here for the others.
 */
export function nodeScalerStatements(
  { tableArn }: Pick<FunctionResources, 'tableArn'>,
  place: AccountPlace,
  clusters: readonly ClusterSettings[],
): iam.PolicyStatement[] {
  const own = clusters.filter(({ roleArn }) => roleArn === undefined);
  const roles = new Set(clusters.flatMap(({ roleArn }) => (roleArn === undefined ? [] : [roleArn])));
  return [
    // One write begins a turn and shows all there is, so nothing is read.
    allow('Turns', tableArn('scaler'), ['dynamodb:UpdateItem']),
    ...registering(tableArn),
    ...(own.length === 0 ? [] : [...reading(place, own), ...changing(place, own)]),
    ...(roles.size === 0 ? [] : [allow('TakeOnRoles', [...roles], ['sts:AssumeRole'])]),
  ];
}

/** What registering nodes with Berth and taking them out takes, as `lib/client/node-registry.ts` lists it. */
function registering(tableArn: FunctionResources['tableArn']): iam.PolicyStatement[] {
  const byNode = `${tableArn('tasks')}/index/${BY_NODE_INDEX}`;
  return [
    allow('Pools', tableArn('pools'), ['dynamodb:BatchGetItem', 'dynamodb:GetItem', 'dynamodb:UpdateItem']),
    allow('Nodes', tableArn('nodes'), [
      'dynamodb:BatchGetItem',
      'dynamodb:DeleteItem',
      'dynamodb:PutItem',
      'dynamodb:Query',
      'dynamodb:UpdateItem',
    ]),
    // Of a node that is taken out though tasks are on it: they are orphaned.
    allow('Tasks', tableArn('tasks'), ['dynamodb:BatchGetItem', 'dynamodb:PutItem', 'dynamodb:Scan']),
    allow('TasksOfNode', byNode, ['dynamodb:Query']),
    allow('Rejections', tableArn('rejections'), ['dynamodb:DeleteItem']),
  ];
}

function reading(place: AccountPlace, clusters: readonly ClusterSettings[]): iam.PolicyStatement[] {
  const clusterArns = clusters.map(
    ({ region, name }) => `arn:${place.partition}:eks:${region}:${place.account}:cluster/${name}`,
  );
  const nodeGroups = clusters.map((cluster) => nodeGroupsArn(place, cluster));
  return [
    allow('Clusters', clusterArns, ['eks:DescribeCluster']),
    allow('NodeGroups', nodeGroups, ['eks:DescribeNodegroup']),
    // None of them knows resources.
    allow('SeeGroups', '*', [
      'autoscaling:DescribeAutoScalingGroups',
      'autoscaling:DescribeAutoScalingInstances',
      'autoscaling:DescribeScalingActivities',
    ]),
  ];
}

/** Groups of EKS's node groups by the tag that EKS gives them, self-managed ones by name; each region with its own clusters. */
function changing(place: AccountPlace, clusters: readonly ClusterSettings[]): iam.PolicyStatement[] {
  return regionsOf(clusters).flatMap((region) => {
    const there = clusters.filter((cluster) => cluster.region === region);
    const names = there.map(({ name }) => name);
    const named = new Set(there.flatMap(({ autoScalingGroups }) => autoScalingGroups));
    const groups = [...named].map((group) => groupArn(place, region, group));
    return [
      allow(`ChangeNodeGroups${sidOf(region)}`, groupArn(place, region, '*'), CHANGES, {
        StringEquals: { 'aws:ResourceTag/eks:cluster-name': names },
      }),
      ...(groups.length === 0 ? [] : [allow(`ChangeNamedGroups${sidOf(region)}`, groups, CHANGES)]),
    ];
  });
}

function regionsOf(clusters: readonly ClusterSettings[]): string[] {
  return [...new Set(clusters.map(({ region }) => region))];
}

/** `EuCentral1`: a Sid has letters and digits alone. */
function sidOf(region: string): string {
  return region.replace(/(^|-)(\w)/g, (_, _hyphen, letter: string) => letter.toUpperCase());
}

/** The resources with a `*` in them, as cdk-nag finds them. */
export function wildcards(place: AccountPlace, clusters: readonly ClusterSettings[]): string[] {
  const own = clusters.filter(({ roleArn }) => roleArn === undefined);
  const groups = own.flatMap(({ region, autoScalingGroups }) =>
    ['*', ...autoScalingGroups].map((group) => groupArn(place, region, group)),
  );
  return [...new Set([...own.map((cluster) => nodeGroupsArn(place, cluster)), ...groups])];
}
