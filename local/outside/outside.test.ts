import {
  AutoScalingClient,
  DescribeAutoScalingGroupsCommand,
  SetDesiredCapacityCommand,
  TerminateInstanceInAutoScalingGroupCommand,
} from '@aws-sdk/client-auto-scaling';
import { DescribeNodegroupCommand, EKSClient } from '@aws-sdk/client-eks';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { KubernetesApi } from '../../lib/kubernetes/api.ts';
import { clusterOf } from '../../lib/kubernetes/cluster.ts';
import { connectToEks } from '../../lib/kubernetes/eks.ts';
import type { ObservedGameServer, ObservedNode } from '../../lib/scaler/observation.ts';
import type { Cluster } from '../../lib/scaler/ports.ts';
import type { EpochMs } from '../../lib/time.ts';
import { MovableClock } from '../functions/movable-clock.ts';
import { type Outside, type OutsideSettings, startOutside } from './outside.ts';

const START = Date.parse('2026-01-15T12:00:00Z') as EpochMs;
const CREDENTIALS = { accessKeyId: 'scaler', secretAccessKey: 'secret' };
const access = { secretOf: (id: string) => (id === 'scaler' ? 'secret' : undefined) };

let clock: MovableClock;
let outside: Outside;
let eks: EKSClient;
let autoScaling: AutoScalingClient;
const apis: KubernetesApi[] = [];

beforeEach(() => {
  clock = new MovableClock();
  clock.set(START);
});
afterEach(async () => {
  for (const api of apis.splice(0)) api.close();
  eks.destroy();
  autoScaling.destroy();
  await outside.close();
});

async function start(settings: Omit<OutsideSettings, 'clock'>): Promise<void> {
  outside = await startOutside({ clock: () => clock.now(), seed: 'test', ...settings });
  eks = new EKSClient({ endpoint: outside.endpoints.eks, maxAttempts: 1 });
  autoScaling = new AutoScalingClient({ endpoint: outside.endpoints.autoScaling, maxAttempts: 1 });
}

/** The cluster as a scaler sees it that finds it by EKS. */
async function connect(cluster = 'game', credentials = CREDENTIALS): Promise<Cluster> {
  const of = { cluster, region: 'eu-central-1', eks, credentials, clock: () => clock.now() };
  const api = await connectToEks(of);
  apis.push(api);
  return clusterOf(api);
}

function pass(seconds: number): void {
  clock.set((clock.now() + seconds * 1000) as EpochMs);
}

async function group(name: string) {
  const input = { AutoScalingGroupNames: [name] };
  const { AutoScalingGroups } = await autoScaling.send(new DescribeAutoScalingGroupsCommand(input));
  return AutoScalingGroups?.[0];
}

function setDesired(name: string, desired: number) {
  return autoScaling.send(new SetDesiredCapacityCommand({ AutoScalingGroupName: name, DesiredCapacity: desired }));
}

function terminate(id: string) {
  const input = { InstanceId: id, ShouldDecrementDesiredCapacity: true };
  return autoScaling.send(new TerminateInstanceInAutoScalingGroupCommand(input));
}

const instanceOf = ({ providerId }: ObservedNode) => providerId.split('/').at(-1) ?? '';
const cordon = (cluster: Cluster, node: ObservedNode) =>
  cluster.patchNode(node, { unschedulable: true, annotations: {} });

async function serverNamed(cluster: Cluster, name: string): Promise<ObservedGameServer> {
  const server = await cluster.readGameServer({ namespace: 'default', name });
  if (server === undefined) throw new Error(`there is no server ${name}`);
  return server;
}

test('a cluster of ten nodes gives one up safely, and each thing happens in its time', async () => {
  await start({
    clusters: [
      {
        name: 'game',
        access,
        nodegroups: [{ name: 'games', max: 12, desired: 10, zones: ['eu-central-1a', 'eu-central-1b'] }],
        fleets: [{ name: 'f', replicas: 22 }],
      },
    ],
  });
  const cluster = await connect();
  expect((await cluster.snapshot()).nodes).toEqual([]);
  expect((await group('eks-games'))?.Instances?.map((one) => one.LifecycleState)).toEqual(Array(10).fill('Pending'));
  pass(120);
  const before = await cluster.snapshot();
  expect(before.nodes.map(({ ready }) => ready)).toEqual(Array(10).fill(true));
  expect(before.gameServers.map(({ state }) => state)).toEqual(Array(22).fill('Ready'));
  expect(before.nodes.map(({ name }) => before.pods.filter(({ nodeName }) => nodeName === name).length)).toEqual([
    4, 4, 4, 4, 4, 2, 0, 0, 0, 0,
  ]);
  for (let n = 0; n < 8; n += 1) outside.fleets.allocate('f');

  // The node with two servers, both Ready.
  const victim = before.nodes[5] as ObservedNode;
  await cordon(cluster, victim);
  const onVictim = (await cluster.listGameServers()).filter(({ nodeName }) => nodeName === victim.name);
  for (const server of onVictim) await cluster.deleteGameServer(server);
  expect((await cluster.podsOn(victim.name)).length).toBe(2);
  pass(29);
  expect((await cluster.podsOn(victim.name)).length).toBe(2);
  pass(1);
  expect(await cluster.podsOn(victim.name)).toEqual([]);
  const moved = (await cluster.listGameServers()).filter(({ state }) => state === 'Ready');
  expect(moved.length).toBe(14);

  await terminate(instanceOf(victim));
  const going = (await group('eks-games'))?.Instances?.find((one) => one.InstanceId === instanceOf(victim));
  expect(going?.LifecycleState).toBe('Terminating');
  await cluster.deleteNode(victim);
  pass(60);
  expect(await group('eks-games')).toMatchObject({ DesiredCapacity: 9 });
  expect((await group('eks-games'))?.Instances?.length).toBe(9);
  expect((await cluster.snapshot()).nodes.length).toBe(9);
  expect(outside.violations).toEqual([]);
  expect(outside.killedSessions).toEqual([]);

  // And what happens to a scaler that does it wrong.
  const full = before.nodes[0] as ObservedNode;
  await terminate(instanceOf(full));
  pass(60);
  outside.settle();
  expect(outside.killedSessions.map(({ server, node, cause }) => ({ server, node, cause }))).toEqual(
    (await cluster.listGameServers())
      .filter(({ nodeName, state }) => nodeName === full.name && state === 'Allocated')
      .map(({ name }) => ({ server: name, node: full.name, cause: `its machine ${instanceOf(full)} was ended by id` })),
  );
  expect(outside.killedSessions).toHaveLength(4);
  expect(outside.violations[0]).toContain(`of node ${full.name} was ended by id with 4 running game pods`);
});

test('a token that somebody else has signed, or for another cluster, is none', async () => {
  await start({ clusters: [{ name: 'game', access }, { name: 'other' }] });
  expect((await (await connect()).snapshot()).nodes).toEqual([]);
  const stranger = await connect('game', { accessKeyId: 'scaler', secretAccessKey: 'guess' });
  await expect(stranger.snapshot()).rejects.toMatchObject({ kind: 'denied' });
  const closed = await connect('other');
  await expect(closed.snapshot()).rejects.toMatchObject({ kind: 'denied' });
});

test('a server that players get just before it is deleted stays; a delete that comes first wins', async () => {
  await start({
    clusters: [
      {
        name: 'game',
        access,
        nodegroups: [{ name: 'games', max: 1, desired: 1 }],
        fleets: [{ name: 'f', replicas: 3 }],
      },
    ],
  });
  const cluster = await connect();
  pass(120);
  await cluster.snapshot();
  outside.allocateBeforeDelete('f-1');
  await expect(cluster.deleteGameServer(await serverNamed(cluster, 'f-1'))).rejects.toMatchObject({ kind: 'conflict' });
  expect(await serverNamed(cluster, 'f-1')).toMatchObject({ state: 'Allocated', deleting: false });
  expect(outside.violations).toEqual([]);

  const cache = outside.fleets.servers('f');
  await cluster.deleteGameServer(await serverNamed(cluster, 'f-2'));
  expect(outside.fleets.allocate('f', { from: cache })).toBe('f-3');
  expect(outside.violations).toEqual([]);
});

test('a request to a cluster comes to harm as it was ordered', async () => {
  await start({ clusters: [{ name: 'game', access }] });
  const cluster = await connect();
  const add = (name: string) => outside.scene.addNode({ name });
  const read = async (name: string) => (await cluster.readNode(name)) as ObservedNode;
  for (const name of ['a', 'b', 'c', 'd', 'e']) add(name);
  const rule = { service: 'kubernetes', cluster: 'game', operation: 'patch nodes' } as const;

  outside.faults.add({
    ...rule,
    subject: 'a',
    fault: { kind: 'refuse', code: 'TooManyRequests', retryAfterSeconds: 3 },
  });
  await expect(cordon(cluster, await read('a'))).rejects.toMatchObject({ kind: 'throttled', code: '429' });
  outside.faults.add({ ...rule, subject: 'b', fault: { kind: 'cut', effect: false } });
  await expect(cordon(cluster, await read('b'))).rejects.toMatchObject({ kind: 'unknown' });
  outside.faults.add({ ...rule, subject: 'c', fault: { kind: 'cut', effect: true } });
  await expect(cordon(cluster, await read('c'))).rejects.toMatchObject({ kind: 'unknown' });

  let release: (() => void) | undefined;
  const until = new Promise<void>((resolve) => {
    release = resolve;
  });
  outside.faults.add({ ...rule, subject: 'd', fault: { kind: 'late', until } });
  const before = await read('d');
  let answered = false;
  const late = cordon(cluster, before).then(() => {
    answered = true;
  });
  await expect.poll(async () => (await read('d')).unschedulable).toBe(true);
  expect(answered).toBe(false);
  release?.();
  await late;

  const seen: unknown[] = [];
  const look = () => seen.push(outside.cluster().store.get('nodes', 'e')?.spec.unschedulable ?? false);
  outside.faults.add({ ...rule, subject: 'e', fault: { kind: 'meanwhile', act: look } });
  await cordon(cluster, await read('e'));
  await cluster.patchNode(await read('e'), { unschedulable: false, annotations: {} });
  outside.faults.add({ ...rule, subject: 'e', fault: { kind: 'meanwhile', act: look, after: true } });
  await cordon(cluster, await read('e'));
  expect(seen).toEqual([false, true]);

  const now = await Promise.all(['a', 'b', 'c', 'd', 'e'].map(read));
  expect(now.map((node) => node.unschedulable)).toEqual([false, false, true, true, true]);
});

test('requests to all servers are told in one order', async () => {
  await start({ clusters: [{ name: 'game', access, nodegroups: [{ name: 'games', max: 2 }] }] });
  const cluster = await connect();
  await setDesired('eks-games', 1);
  await cluster.readNode('x');
  await cluster.podsOn('y');
  await eks.send(new DescribeNodegroupCommand({ clusterName: 'game', nodegroupName: 'games' }));
  expect(outside.requests.map(({ service, operation, subject }) => [service, operation, subject])).toEqual([
    ['eks', 'DescribeCluster', 'game'],
    ['autoscaling', 'SetDesiredCapacity', 'eks-games'],
    ['kubernetes', 'get nodes', 'x'],
    ['kubernetes', 'list pods', 'y'],
    ['eks', 'DescribeNodegroup', 'games'],
  ]);
});

test('a scene without dynamics is as it was set up, and changes by requests alone', async () => {
  await start({
    dynamics: false,
    clusters: [
      {
        name: 'game',
        access,
        nodegroups: [
          {
            name: 'games',
            status: 'UPDATING',
            min: 0,
            max: 5,
            instances: [{ id: 'i-1' }, { id: 'i-2', state: 'Pending' }],
            activities: [{ status: 'Failed', message: 'VcpuLimitExceeded' }],
          },
        ],
      },
    ],
  });
  const cluster = await connect();
  const { scene } = outside;
  const created = Date.parse('2026-01-01T00:00:00Z') as EpochMs;
  scene.addNode({
    name: 'n1',
    providerId: 'aws:///eu-central-1a/i-1',
    zone: 'eu-central-1a',
    nodegroup: 'games',
    unschedulable: true,
    ready: false,
    annotations: { 'stable.agones.dev/cordoned-by': 'game' },
    taints: [{ key: 'ToBeDeletedByClusterAutoscaler' }],
    createdAt: created,
  });
  scene.addNode({ name: 'n2', deletedAt: START });
  for (const [name, state] of [
    ['gs1', 'Ready'],
    ['gs2', 'Allocated'],
  ] as const) {
    scene.addGameServer({ name, state, node: 'n1', createdAt: created });
  }
  scene.addGameServer({ name: 'gs3', state: 'Ready', node: 'n1', deletedAt: START, pod: false });
  scene.addGameServer({ name: 'gs4', state: 'Ready', node: '10.1.2.3', devAddress: '10.1.2.3' });
  scene.addPod({ name: 'daemon', node: 'n1' });
  scene.addPod({ name: 'old', node: 'n1', labels: { 'agones.dev/role': 'gameserver' }, deletedAt: START });

  const seen = await cluster.snapshot();
  expect(seen.nodes[0]).toMatchObject({
    name: 'n1',
    providerId: 'aws:///eu-central-1a/i-1',
    labels: { 'topology.kubernetes.io/zone': 'eu-central-1a', 'eks.amazonaws.com/nodegroup': 'games' },
    annotations: { 'stable.agones.dev/cordoned-by': 'game' },
    taints: ['ToBeDeletedByClusterAutoscaler', 'node.kubernetes.io/unschedulable'],
    unschedulable: true,
    ready: false,
    createdAt: created,
    deleting: false,
  });
  expect(seen.nodes[1]).toMatchObject({ name: 'n2', deleting: true });
  expect(seen.gameServers.map(({ name, state, nodeName, deleting }) => [name, state, nodeName, deleting])).toEqual([
    ['gs1', 'Ready', 'n1', false],
    ['gs2', 'Allocated', 'n1', false],
    ['gs3', 'Ready', 'n1', true],
    ['gs4', 'Ready', '10.1.2.3', false],
  ]);
  expect(seen.gameServers.map(({ development }) => development)).toEqual([false, false, false, true]);
  expect(seen.pods.map(({ name, ownerKind }) => [name, ownerKind])).toEqual([
    ['gs1', 'GameServer'],
    ['gs2', 'GameServer'],
    ['old', undefined],
  ]);
  expect(outside.cluster().store.get('pods', 'old', 'default')?.metadata.deletionTimestamp).toBeDefined();

  await cluster.deleteGameServer(seen.gameServers[0] as ObservedGameServer);
  await setDesired('eks-games', 4);
  await terminate('i-1');
  pass(3600);
  const after = await cluster.snapshot();
  expect(after.gameServers.map(({ name, deleting }) => [name, deleting])).toEqual([
    ['gs1', true],
    ['gs2', false],
    ['gs3', true],
    ['gs4', false],
  ]);
  expect(after.nodes.map(({ name }) => name)).toEqual(['n1', 'n2']);
  expect(after.pods).toHaveLength(3);
  const seenGroup = await group('eks-games');
  expect(seenGroup).toMatchObject({ DesiredCapacity: 3 });
  expect(seenGroup?.Instances?.map((one) => [one.InstanceId, one.LifecycleState])).toEqual([
    ['i-1', 'Terminating'],
    ['i-2', 'Pending'],
  ]);
  expect(outside.violations).toEqual([
    'game: instance i-1 of node n1 was ended by id with 2 running game pods: gs1, gs2',
  ]);

  scene.change('gameservers', 'gs2', (one) => ({ ...one, status: { ...one.status, state: 'Shutdown' } }), 'default');
  scene.remove('gameservers', 'gs1', 'default');
  scene.remove('nodes', 'n2');
  const last = await cluster.snapshot();
  expect(last.gameServers.map(({ state }) => state)).toEqual(['Shutdown', 'Ready', 'Ready']);
  expect([last.nodes.length, last.pods.length]).toEqual([1, 2]);
  expect(outside.violations).toHaveLength(1);
});

test('two clusters share one Auto Scaling API, and machines join their own', async () => {
  const nodegroups = (group: string) => [{ name: 'games', group, max: 3, desired: 1 }];
  await start({
    clusters: [
      { name: 'one', access, nodegroups: nodegroups('g1') },
      { name: 'two', access, nodegroups: nodegroups('g2'), autoScalingGroups: [{ name: 'own', max: 2, desired: 1 }] },
    ],
  });
  const [one, two] = [await connect('one'), await connect('two')];
  await setDesired('g1', 3);
  pass(120);
  const labels = async (cluster: Cluster) =>
    (await cluster.snapshot()).nodes.map((node) => node.labels['eks.amazonaws.com/nodegroup']);
  expect(await labels(one)).toEqual(['games', 'games', 'games']);
  expect(await labels(two)).toEqual(['games', undefined]);
  outside.faults.add({
    cluster: 'two',
    operation: 'list nodes',
    times: Number.POSITIVE_INFINITY,
    fault: { kind: 'refuse', code: 'ServiceUnavailable' },
  });
  await expect(two.snapshot()).rejects.toMatchObject({ code: '503' });
  expect((await one.snapshot()).nodes).toHaveLength(3);
  expect(() => outside.cluster('three')).toThrow('there is: one, two');
});
