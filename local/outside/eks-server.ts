import { type AwsServer, type AwsServerSettings, startAwsServer } from './aws-server.ts';
import type { ScalingGroup } from './scaling-group.ts';
import { ServiceError } from './service-error.ts';

export interface Nodegroup {
  readonly name: string;
  /** CREATING, ACTIVE, UPDATING, DELETING, CREATE_FAILED, DELETE_FAILED or DEGRADED. */
  status: string;
  readonly capacityType: 'ON_DEMAND' | 'SPOT';
  readonly labels: Readonly<Record<string, string>>;
  readonly tags: Readonly<Record<string, string>>;
  issues: readonly { readonly code: string; readonly message: string; readonly resourceIds?: readonly string[] }[];
  /** Undefined: its group is gone. */
  readonly group: ScalingGroup | undefined;
}

export interface EksCluster {
  readonly name: string;
  readonly region: string;
  readonly status: string;
  /** Of the Kubernetes API. */
  readonly endpoint: string;
  readonly caPem: string;
  readonly nodegroups: ReadonlyMap<string, Nodegroup>;
}

const CLUSTER = /^\/clusters\/([^/]+)$/;
const NODEGROUP = /^\/clusters\/([^/]+)\/node-groups\/([^/]+)$/;

/** EKS as far as a node scaler uses it: what a cluster and what a node group is. */
export function startEksServer(
  clusters: ReadonlyMap<string, EksCluster>,
  settings: AwsServerSettings,
): Promise<AwsServer> {
  return startAwsServer(
    {
      contentType: 'application/json',
      errorHeader: 'x-amzn-errortype',
      body: (_, __, answer) => JSON.stringify(answer),
      errorBody: ({ code, message }) => JSON.stringify({ __type: code, message }),
      read: ({ method, path }) => {
        const named = NODEGROUP.exec(path) ?? CLUSTER.exec(path);
        if (method !== 'GET' || named === null) {
          const message = `${method} ${path} is not taken here; what is: DescribeCluster, DescribeNodegroup`;
          throw new ServiceError('InvalidRequestException', message);
        }
        const [cluster = '', nodegroup] = named.slice(1).map(decodeURIComponent);
        const about = { service: 'eks', cluster } as const;
        if (nodegroup === undefined) {
          const answer = () => ({ cluster: describeCluster(clusterOf(clusters, cluster)) });
          return { ...about, operation: 'DescribeCluster', subject: cluster, answer };
        }
        const answer = () => ({ nodegroup: describeNodegroup(clusterOf(clusters, cluster), nodegroup) });
        return { ...about, operation: 'DescribeNodegroup', subject: nodegroup, answer };
      },
    },
    settings,
  );
}

function clusterOf(clusters: ReadonlyMap<string, EksCluster>, name: string): EksCluster {
  const cluster = clusters.get(name);
  if (cluster === undefined) throw notFound(`No cluster found for name: ${name}.`);
  return cluster;
}

function describeCluster({ name, region, status, endpoint, caPem }: EksCluster): object {
  return {
    name,
    arn: `arn:aws:eks:${region}:000000000000:cluster/${name}`,
    version: '1.33',
    status,
    endpoint,
    certificateAuthority: { data: Buffer.from(caPem).toString('base64') },
    accessConfig: { authenticationMode: 'API' },
    tags: {},
  };
}

function describeNodegroup(cluster: EksCluster, name: string): object {
  const nodegroup = cluster.nodegroups.get(name);
  if (nodegroup === undefined) throw notFound(`No node group found for name: ${name}.`);
  const { status, capacityType, labels, tags, issues, group } = nodegroup;
  return {
    nodegroupName: name,
    nodegroupArn: `arn:aws:eks:${cluster.region}:000000000000:nodegroup/${cluster.name}/${name}/0`,
    clusterName: cluster.name,
    status,
    capacityType,
    ...(group && {
      scalingConfig: { minSize: group.min, maxSize: group.max, desiredSize: group.desired },
      instanceTypes: [group.instanceType],
    }),
    resources: { autoScalingGroups: group ? [{ name: group.name }] : [] },
    labels,
    tags,
    health: { issues: issues.map(({ resourceIds = [], ...issue }) => ({ ...issue, resourceIds })) },
  };
}

function notFound(message: string): ServiceError {
  return new ServiceError('ResourceNotFoundException', message, 404);
}
