import { DescribeNodegroupCommand } from '@aws-sdk/client-eks';
import { expect, test } from 'vitest';
import type { ObservedGameServer, ObservedNode } from '../../lib/scaler/observation.ts';
import type { Cluster } from '../../lib/scaler/ports.ts';
import { access, cordon, OutsideTestBed } from './outside-test-bed.ts';

const bed = OutsideTestBed.use();

async function serverNamed(cluster: Cluster, name: string): Promise<ObservedGameServer> {
  const server = await cluster.readGameServer({ namespace: 'default', name });
  if (server === undefined) throw new Error(`there is no server ${name}`);
  return server;
}

test('a server that players get just before it is deleted stays; a delete that comes first wins', async () => {
  await bed.start({
    clusters: [
      {
        name: 'game',
        access,
        nodegroups: [{ name: 'games', max: 1, desired: 1 }],
        fleets: [{ name: 'f', replicas: 3 }],
      },
    ],
  });
  const cluster = await bed.connect();
  bed.pass(120);
  await cluster.snapshot();
  bed.outside.allocateBeforeDelete('f-1');
  await expect(cluster.deleteGameServer(await serverNamed(cluster, 'f-1'))).rejects.toMatchObject({ kind: 'conflict' });
  expect(await serverNamed(cluster, 'f-1')).toMatchObject({ state: 'Allocated', deleting: false });
  expect(bed.outside.violations).toEqual([]);

  const cache = bed.outside.fleets.servers('f');
  await cluster.deleteGameServer(await serverNamed(cluster, 'f-2'));
  expect(bed.outside.fleets.allocate('f', { from: cache })).toBe('f-3');
  expect(bed.outside.violations).toEqual([]);
});

test('a request to a cluster comes to harm as it was ordered', async () => {
  await bed.start({ clusters: [{ name: 'game', access }] });
  const cluster = await bed.connect();
  const add = (name: string) => bed.outside.scene.addNode({ name });
  const read = async (name: string) => (await cluster.readNode(name)) as ObservedNode;
  for (const name of ['a', 'b', 'c', 'd', 'e']) add(name);
  const rule = { service: 'kubernetes', cluster: 'game', operation: 'patch nodes' } as const;

  bed.outside.faults.add({
    ...rule,
    subject: 'a',
    fault: { kind: 'refuse', code: 'TooManyRequests', retryAfterSeconds: 3 },
  });
  await expect(cordon(cluster, await read('a'))).rejects.toMatchObject({ kind: 'throttled', code: '429' });
  bed.outside.faults.add({ ...rule, subject: 'b', fault: { kind: 'cut', effect: false } });
  await expect(cordon(cluster, await read('b'))).rejects.toMatchObject({ kind: 'unknown' });
  bed.outside.faults.add({ ...rule, subject: 'c', fault: { kind: 'cut', effect: true } });
  await expect(cordon(cluster, await read('c'))).rejects.toMatchObject({ kind: 'unknown' });

  let release: (() => void) | undefined;
  const until = new Promise<void>((resolve) => {
    release = resolve;
  });
  bed.outside.faults.add({ ...rule, subject: 'd', fault: { kind: 'late', until } });
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
  const look = () => seen.push(bed.outside.cluster().store.get('nodes', 'e')?.spec.unschedulable ?? false);
  bed.outside.faults.add({ ...rule, subject: 'e', fault: { kind: 'meanwhile', act: look } });
  await cordon(cluster, await read('e'));
  await cluster.patchNode(await read('e'), { unschedulable: false, annotations: {} });
  bed.outside.faults.add({ ...rule, subject: 'e', fault: { kind: 'meanwhile', act: look, after: true } });
  await cordon(cluster, await read('e'));
  expect(seen).toEqual([false, true]);

  const now = await Promise.all(['a', 'b', 'c', 'd', 'e'].map(read));
  expect(now.map((node) => node.unschedulable)).toEqual([false, false, true, true, true]);
});

test('requests to all servers are told in one order', async () => {
  await bed.start({ clusters: [{ name: 'game', access, nodegroups: [{ name: 'games', max: 2 }] }] });
  const cluster = await bed.connect();
  await bed.setDesired('eks-games', 1);
  await cluster.readNode('x');
  await cluster.podsOn('y');
  await bed.eks.send(new DescribeNodegroupCommand({ clusterName: 'game', nodegroupName: 'games' }));
  expect(bed.outside.requests.map(({ service, operation, subject }) => [service, operation, subject])).toEqual([
    ['eks', 'DescribeCluster', 'game'],
    ['autoscaling', 'SetDesiredCapacity', 'eks-games'],
    ['kubernetes', 'get nodes', 'x'],
    ['kubernetes', 'list pods', 'y'],
    ['eks', 'DescribeNodegroup', 'games'],
  ]);
});
