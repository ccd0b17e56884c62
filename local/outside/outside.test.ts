import { expect, test } from 'vitest';
import type { ObservedNode } from '../../lib/scaler/observation.ts';
import type { Cluster } from '../../lib/scaler/ports.ts';
import { access, cordon, instanceOf, OutsideTestBed } from './outside-test-bed.ts';

const bed = OutsideTestBed.use();

test('a cluster of ten nodes gives one up safely, and each thing happens in its time', async () => {
  await bed.start({
    clusters: [
      {
        name: 'game',
        access,
        nodegroups: [{ name: 'games', max: 12, desired: 10, zones: ['eu-central-1a', 'eu-central-1b'] }],
        fleets: [{ name: 'f', replicas: 22 }],
      },
    ],
  });
  const cluster = await bed.connect();
  expect((await cluster.snapshot()).nodes).toEqual([]);
  expect((await bed.group('eks-games'))?.Instances?.map((one) => one.LifecycleState)).toEqual(
    Array(10).fill('Pending'),
  );
  bed.pass(120);
  const before = await cluster.snapshot();
  expect(before.nodes.map(({ ready }) => ready)).toEqual(Array(10).fill(true));
  expect(before.gameServers.map(({ state }) => state)).toEqual(Array(22).fill('Ready'));
  expect(before.nodes.map(({ name }) => before.pods.filter(({ nodeName }) => nodeName === name).length)).toEqual([
    4, 4, 4, 4, 4, 2, 0, 0, 0, 0,
  ]);
  for (let n = 0; n < 8; n += 1) bed.outside.fleets.allocate('f');

  // The node with two servers, both Ready.
  const victim = before.nodes[5] as ObservedNode;
  await cordon(cluster, victim);
  const onVictim = (await cluster.listGameServers()).filter(({ nodeName }) => nodeName === victim.name);
  for (const server of onVictim) await cluster.deleteGameServer(server);
  expect((await cluster.podsOn(victim.name)).length).toBe(2);
  bed.pass(29);
  expect((await cluster.podsOn(victim.name)).length).toBe(2);
  bed.pass(1);
  expect(await cluster.podsOn(victim.name)).toEqual([]);
  const moved = (await cluster.listGameServers()).filter(({ state }) => state === 'Ready');
  expect(moved.length).toBe(14);

  await bed.terminate(instanceOf(victim));
  const going = (await bed.group('eks-games'))?.Instances?.find((one) => one.InstanceId === instanceOf(victim));
  expect(going?.LifecycleState).toBe('Terminating');
  await cluster.deleteNode(victim);
  bed.pass(60);
  expect(await bed.group('eks-games')).toMatchObject({ DesiredCapacity: 9 });
  expect((await bed.group('eks-games'))?.Instances?.length).toBe(9);
  expect((await cluster.snapshot()).nodes.length).toBe(9);
  expect(bed.outside.violations).toEqual([]);
  expect(bed.outside.killedSessions).toEqual([]);

  // And what happens to a scaler that does it wrong.
  const full = before.nodes[0] as ObservedNode;
  await bed.terminate(instanceOf(full));
  bed.pass(60);
  bed.outside.settle();
  expect(bed.outside.killedSessions.map(({ server, node, cause }) => ({ server, node, cause }))).toEqual(
    (await cluster.listGameServers())
      .filter(({ nodeName, state }) => nodeName === full.name && state === 'Allocated')
      .map(({ name }) => ({ server: name, node: full.name, cause: `its machine ${instanceOf(full)} was ended by id` })),
  );
  expect(bed.outside.killedSessions).toHaveLength(4);
  expect(bed.outside.violations[0]).toContain(`of node ${full.name} was ended by id with 4 running game pods`);
});

test('a token that somebody else has signed, or for another cluster, is none', async () => {
  await bed.start({ clusters: [{ name: 'game', access }, { name: 'other' }] });
  expect((await (await bed.connect()).snapshot()).nodes).toEqual([]);
  const stranger = await bed.connect('game', { accessKeyId: 'scaler', secretAccessKey: 'guess' });
  await expect(stranger.snapshot()).rejects.toMatchObject({ kind: 'denied' });
  const closed = await bed.connect('other');
  await expect(closed.snapshot()).rejects.toMatchObject({ kind: 'denied' });
});

test('two clusters share one Auto Scaling API, and machines join their own', async () => {
  const nodegroups = (group: string) => [{ name: 'games', group, max: 3, desired: 1 }];
  await bed.start({
    clusters: [
      { name: 'one', access, nodegroups: nodegroups('g1') },
      { name: 'two', access, nodegroups: nodegroups('g2'), autoScalingGroups: [{ name: 'own', max: 2, desired: 1 }] },
    ],
  });
  const [one, two] = [await bed.connect('one'), await bed.connect('two')];
  await bed.setDesired('g1', 3);
  bed.pass(120);
  const labels = async (cluster: Cluster) =>
    (await cluster.snapshot()).nodes.map((node) => node.labels['eks.amazonaws.com/nodegroup']);
  expect(await labels(one)).toEqual(['games', 'games', 'games']);
  expect(await labels(two)).toEqual(['games', undefined]);
  bed.outside.faults.add({
    cluster: 'two',
    operation: 'list nodes',
    times: Number.POSITIVE_INFINITY,
    fault: { kind: 'refuse', code: 'ServiceUnavailable' },
  });
  await expect(two.snapshot()).rejects.toMatchObject({ code: '503' });
  expect((await one.snapshot()).nodes).toHaveLength(3);
  expect(() => bed.outside.cluster('three')).toThrow('there is: one, two');
});
