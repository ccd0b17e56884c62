import {
  DescribeClusterCommand,
  DescribeNodegroupCommand,
  EKSClient,
  ListNodegroupsCommand,
} from '@aws-sdk/client-eks';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { EpochMs } from '../../lib/time.ts';
import type { AwsServer } from './aws-server.ts';
import { type EksCluster, startEksServer } from './eks-server.ts';
import { Faults } from './faults.ts';
import { scalingGroupOf } from './scaling-group.ts';

const NOW = 1_000 as EpochMs;
const group = scalingGroupOf({ name: 'eks-games-1', min: 1, max: 9, desired: 4 }, NOW);
const nodegroup = {
  name: 'games',
  status: 'ACTIVE',
  capacityType: 'SPOT',
  labels: { role: 'game' },
  tags: { team: 'a' },
  issues: [{ code: 'AsgInstanceLaunchFailures', message: 'no capacity' }],
  group,
} as const;
const cluster: EksCluster = {
  name: 'game',
  region: 'eu-central-1',
  status: 'ACTIVE',
  endpoint: 'https://127.0.0.1:1',
  caPem: '-----BEGIN CERTIFICATE-----\n',
  nodegroups: new Map([['games', { ...nodegroup }]]),
};

let faults: Faults;
let server: AwsServer;
let client: EKSClient;
beforeEach(async () => {
  faults = new Faults(() => NOW);
  const settle = () => undefined;
  server = await startEksServer(new Map([['game', cluster]]), { faults, settle });
  client = new EKSClient({ endpoint: server.url, maxAttempts: 1 });
});
afterEach(async () => {
  client.destroy();
  await server.close();
});

test('a cluster is told with where its Kubernetes API is and by what certificate it is known', async () => {
  const answer = await client.send(new DescribeClusterCommand({ name: 'game' }));
  expect(answer.cluster).toMatchObject({ name: 'game', status: 'ACTIVE', endpoint: 'https://127.0.0.1:1' });
  const pem = Buffer.from(answer.cluster?.certificateAuthority?.data ?? '', 'base64').toString();
  expect(pem).toBe(cluster.caPem);
});

test('a node group is told with its group, sizes, health and tags as they are now', async () => {
  const read = () => client.send(new DescribeNodegroupCommand({ clusterName: 'game', nodegroupName: 'games' }));
  expect((await read()).nodegroup).toMatchObject({
    nodegroupName: 'games',
    status: 'ACTIVE',
    capacityType: 'SPOT',
    scalingConfig: { minSize: 1, maxSize: 9, desiredSize: 4 },
    resources: { autoScalingGroups: [{ name: 'eks-games-1' }] },
    labels: { role: 'game' },
    tags: { team: 'a' },
    health: { issues: [{ code: 'AsgInstanceLaunchFailures', message: 'no capacity', resourceIds: [] }] },
  });
  group.desired = 5;
  expect((await read()).nodegroup?.scalingConfig?.desiredSize).toBe(5);
});

test('what is not there is told as the service does, and what is not taken here by its name', async () => {
  await expect(client.send(new DescribeClusterCommand({ name: 'other' }))).rejects.toMatchObject({
    name: 'ResourceNotFoundException',
    message: 'No cluster found for name: other.',
  });
  const missing = new DescribeNodegroupCommand({ clusterName: 'game', nodegroupName: 'other' });
  await expect(client.send(missing)).rejects.toThrow('No node group found for name: other.');
  const list = client.send(new ListNodegroupsCommand({ clusterName: 'game' }));
  await expect(list).rejects.toThrow('GET /clusters/game/node-groups is not taken here');
});

test('a request comes to harm as it was ordered', async () => {
  faults.add({ service: 'eks', cluster: 'game', fault: { kind: 'refuse', code: 'ServerException', status: 500 } });
  await expect(client.send(new DescribeClusterCommand({ name: 'game' }))).rejects.toMatchObject({
    name: 'ServerException',
  });
  expect(faults.requests).toEqual([
    { service: 'eks', cluster: 'game', operation: 'DescribeCluster', subject: 'game', at: NOW, fault: 'refuse' },
  ]);
});
