import { beforeEach, describe, expect, test } from 'vitest';
import { stateOf } from './cluster-objects.ts';
import { ClusterTestBed, cordon, instanceOn, names, nodes, nodesOf, states } from './cluster-test-bed.ts';
import { Verdicts } from './referee.ts';

let bed: ClusterTestBed;

beforeEach(() => {
  bed = new ClusterTestBed();
});

describe('game servers', () => {
  test('a fleet packs its servers onto nodes that are ready and have room', () => {
    const cluster = bed.running(3);
    cluster.fleets.add({ name: 'f', replicas: 6 });
    bed.agenda.settle();
    expect(states(cluster)).toEqual(Array(6).fill('Scheduled'));
    bed.pass(10);
    expect(states(cluster)).toEqual(Array(6).fill('Ready'));
    const [first, second] = names(nodes(cluster));
    expect(nodesOf(cluster)).toEqual([first, first, first, first, second, second]);
    const [pod] = cluster.store.list('pods');
    expect(pod).toMatchObject({
      metadata: {
        labels: { 'agones.dev/role': 'gameserver' },
        ownerReferences: [{ kind: 'GameServer', controller: true }],
      },
      status: { phase: 'Running' },
    });
  });

  test('servers wait for room, and take it as it comes', () => {
    const cluster = bed.running(1, { fleets: [{ name: 'f', replicas: 6 }] });
    expect(states(cluster).filter((state) => state === 'Starting')).toHaveLength(2);
    bed.groups.setDesiredCapacity('eks-games', 2);
    bed.pass(120);
    expect(states(cluster)).toEqual(Array(6).fill('Ready'));
  });

  test('a deleted server is replaced at once and elsewhere, and goes with its pod after the grace', () => {
    const cluster = bed.running(2, { fleets: [{ name: 'f', replicas: 1 }] });
    bed.pass(20);
    const [server] = cluster.fleets.servers('f');
    const [node = ''] = nodesOf(cluster);
    cordon(cluster, node);
    cluster.store.delete('gameservers', 'f-1', { namespace: 'default', uid: server?.metadata.uid });
    bed.agenda.settle();
    expect(states(cluster)).toEqual(['Ready', 'Scheduled']);
    expect(nodesOf(cluster)[1]).not.toBe(node);
    expect(cluster.store.get('pods', 'f-1', 'default')?.metadata.deletionTimestamp).toBeDefined();
    bed.pass(29);
    expect(names(cluster.fleets.servers('f'))).toEqual(['f-1', 'f-2']);
    bed.pass(1);
    expect(names(cluster.fleets.servers('f'))).toEqual(['f-2']);
    expect(names(cluster.store.list('pods'))).toEqual(['f-2']);
  });

  test('a server that is deleted on a machine that is off stays until its Node and its pod are collected', () => {
    const cluster = bed.running(2, { fleets: [{ name: 'f', replicas: 1 }] });
    bed.pass(20);
    cluster.machines.lose(instanceOn(cluster, nodesOf(cluster)[0]));
    cluster.store.delete('gameservers', 'f-1', { namespace: 'default' });
    bed.pass(120);
    expect(names(cluster.fleets.servers('f'))).toContain('f-1');
    bed.pass(600);
    expect(names(cluster.fleets.servers('f'))).not.toContain('f-1');
  });

  test('a fleet whose pods tolerate everything goes on landing on a cordoned node', () => {
    const cluster = bed.running(1, { fleets: [{ name: 'f', replicas: 1, toleratesAll: true }] });
    bed.pass(20);
    cordon(cluster, names(nodes(cluster))[0] ?? '');
    cluster.store.delete('gameservers', 'f-1', { namespace: 'default' });
    bed.pass(20);
    expect(nodesOf(cluster)).toEqual(Array(2).fill(names(nodes(cluster))[0]));
  });

  test('an allocation takes the fullest node, cordoned or not, and another server where one has changed', () => {
    const cluster = bed.running(2, { fleets: [{ name: 'f', replicas: 6 }] });
    bed.pass(20);
    const [first = '', second = ''] = names(nodes(cluster));
    const old = cluster.fleets.servers('f');
    cordon(cluster, first);
    expect(cluster.fleets.allocate('f')).toBe('f-1');
    expect(cluster.fleets.allocateServer('f-5')).toBe(true);
    expect(cluster.fleets.allocateServer('f-5')).toBe(false);
    // By what it knows f-1 is still to be had; it has changed, and so has f-2, which is being deleted.
    cluster.store.delete('gameservers', 'f-2', { namespace: 'default' });
    expect(cluster.fleets.allocate('f', { from: old })).toBe('f-3');
    const allocated = cluster.fleets.servers('f').filter((one) => stateOf(one) === 'Allocated');
    expect(allocated.map(({ status }) => status.nodeName)).toEqual([first, first, second]);
    cluster.store.delete('gameservers', 'f-4', { namespace: 'default' });
    expect(cluster.fleets.allocate('f')).toBe('f-6');
    expect(cluster.fleets.allocate('f')).toBeUndefined();
  });

  test('a session that ends shuts its server down, and another takes its place', () => {
    const cluster = bed.running(1, { fleets: [{ name: 'f', replicas: 1 }] });
    bed.pass(20);
    cluster.fleets.allocate('f');
    cluster.fleets.endGame('f-1');
    bed.pass(60);
    expect(names(cluster.fleets.servers('f'))).toEqual(['f-2']);
    expect(states(cluster)).toEqual(['Ready']);
    expect(bed.verdicts).toEqual(new Verdicts());
  });

  test('a reserved server is kept until its time has passed', () => {
    const cluster = bed.running(1, { fleets: [{ name: 'f', replicas: 1 }] });
    bed.pass(20);
    cluster.fleets.reserve('f-1', 30);
    expect(cluster.fleets.allocate('f')).toBeUndefined();
    cluster.fleets.scale('f', 0);
    bed.pass(29);
    expect(states(cluster)).toEqual(['Reserved']);
    bed.pass(60);
    expect(states(cluster)).toEqual([]);
    expect(bed.verdicts).toEqual(new Verdicts());
  });

  test('a fleet that shrinks gives up servers of the emptiest nodes, and none in use', () => {
    const cluster = bed.running(2, { fleets: [{ name: 'f', replicas: 6 }] });
    bed.pass(20);
    cluster.fleets.allocateServer('f-5');
    cluster.fleets.scale('f', 4);
    bed.pass(60);
    expect(names(cluster.fleets.servers('f'))).toEqual(expect.arrayContaining(['f-5']));
    expect(names(cluster.fleets.servers('f'))).not.toContain('f-6');
    cluster.fleets.scale('f', 0);
    bed.pass(60);
    expect(names(cluster.fleets.servers('f'))).toEqual(['f-5']);
  });
});
