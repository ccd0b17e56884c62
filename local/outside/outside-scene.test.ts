import { expect, test } from 'vitest';
import type { ObservedGameServer } from '../../lib/scaler/observation.ts';
import type { EpochMs } from '../../lib/time.ts';
import { access, OutsideTestBed, START } from './outside-test-bed.ts';

const bed = OutsideTestBed.use();

test('a scene without dynamics is as it was set up, and changes by requests alone', async () => {
  await bed.start({
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
  const cluster = await bed.connect();
  const { scene } = bed.outside;
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
  expect(bed.outside.cluster().store.get('pods', 'old', 'default')?.metadata.deletionTimestamp).toBeDefined();

  await cluster.deleteGameServer(seen.gameServers[0] as ObservedGameServer);
  await bed.setDesired('eks-games', 4);
  await bed.terminate('i-1');
  bed.pass(3600);
  const after = await cluster.snapshot();
  expect(after.gameServers.map(({ name, deleting }) => [name, deleting])).toEqual([
    ['gs1', true],
    ['gs2', false],
    ['gs3', true],
    ['gs4', false],
  ]);
  expect(after.nodes.map(({ name }) => name)).toEqual(['n1', 'n2']);
  expect(after.pods).toHaveLength(3);
  const seenGroup = await bed.group('eks-games');
  expect(seenGroup).toMatchObject({ DesiredCapacity: 3 });
  expect(seenGroup?.Instances?.map((one) => [one.InstanceId, one.LifecycleState])).toEqual([
    ['i-1', 'Terminating'],
    ['i-2', 'Pending'],
  ]);
  expect(bed.outside.violations).toEqual([
    'game: instance i-1 of node n1 was ended by id with 2 running game pods: gs1, gs2',
  ]);

  scene.change('gameservers', 'gs2', (one) => ({ ...one, status: { ...one.status, state: 'Shutdown' } }), 'default');
  scene.remove('gameservers', 'gs1', 'default');
  scene.remove('nodes', 'n2');
  const last = await cluster.snapshot();
  expect(last.gameServers.map(({ state }) => state)).toEqual(['Shutdown', 'Ready', 'Ready']);
  expect([last.nodes.length, last.pods.length]).toEqual([1, 2]);
  expect(bed.outside.violations).toHaveLength(1);
});
