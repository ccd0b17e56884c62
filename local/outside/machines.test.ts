import { beforeEach, describe, expect, test } from 'vitest';
import { isReady } from './cluster-objects.ts';
import { ClusterTestBed, cordon, instanceOn, names, nodes, nodesOf } from './cluster-test-bed.ts';

let bed: ClusterTestBed;

beforeEach(() => {
  bed = new ClusterTestBed();
});

describe('machines', () => {
  test('an instance is Pending, then in service, then its Node joins, and is Ready at last', () => {
    const cluster = bed.clusterOf({ nodegroups: [{ name: 'games', max: 2, desired: 1, zones: ['eu-central-1b'] }] });
    const seen = () => [
      [...(bed.groups.get('eks-games')?.instances.values() ?? [])].map(({ state }) => state).join(),
      nodes(cluster).map(isReady).join(),
    ];
    bed.agenda.settle();
    expect(seen()).toEqual(['Pending', '']);
    bed.pass(39);
    expect(seen()).toEqual(['Pending', '']);
    bed.pass(1);
    expect(seen()).toEqual(['InService', '']);
    bed.pass(50);
    expect(seen()).toEqual(['InService', 'false']);
    bed.pass(10);
    expect(seen()).toEqual(['InService', 'true']);
    const [node] = nodes(cluster);
    expect(node?.metadata).toMatchObject({
      name: 'ip-10-0-0-1.eu-central-1.compute.internal',
      creationTimestamp: '2026-01-15T12:01:30Z',
      labels: { 'eks.amazonaws.com/nodegroup': 'games', 'topology.kubernetes.io/zone': 'eu-central-1b' },
    });
    expect(node?.spec.providerID).toBe(`aws:///eu-central-1b/${cluster.machines.list()[0]?.instance}`);
    expect(node?.status.allocatable).toEqual({ cpu: '3920m', memory: '15Gi', pods: '58' });
  });

  test('many hours that pass at once leave what hours of waiting leave', () => {
    const once = bed.running(3);
    bed.pass(3600);
    const at = nodes(once).map(({ metadata }) => metadata.creationTimestamp);
    expect(at).toEqual(Array(3).fill('2026-01-15T12:01:30Z'));
  });

  test('an ended instance leaves its group, its Node goes some time after, and its pods after that', () => {
    const cluster = bed.running(2, { fleets: [{ name: 'f', replicas: 1 }] });
    bed.pass(60);
    const [node = ''] = nodesOf(cluster);
    bed.groups.terminate(instanceOn(cluster, node), true);
    expect(bed.groups.get('eks-games')).toMatchObject({ desired: 1 });
    bed.pass(59);
    expect(bed.groups.get('eks-games')?.instances.size).toBe(2);
    bed.pass(1);
    expect(bed.groups.get('eks-games')?.instances.size).toBe(1);
    bed.pass(59);
    expect(names(nodes(cluster))).toContain(node);
    bed.pass(1);
    expect(names(nodes(cluster))).not.toContain(node);
    expect(cluster.store.list('pods').map(({ spec }) => spec.nodeName)).toContain(node);
    bed.pass(61);
    expect(cluster.store.list('pods').map(({ spec }) => spec.nodeName)).not.toContain(node);
  });

  test('a lost machine stops telling, and is replaced once its group has found out', () => {
    const cluster = bed.running(2);
    const [lost = ''] = names(nodes(cluster));
    cluster.machines.lose(instanceOn(cluster, lost));
    bed.pass(41);
    expect(nodes(cluster).map(isReady)).toEqual([false, true]);
    bed.pass(900);
    expect(names(nodes(cluster))).not.toContain(lost);
    expect(nodes(cluster).map(isReady)).toEqual([true, true]);
    expect(bed.groups.get('eks-games')).toMatchObject({ desired: 2 });
  });

  test('a machine may be not ready for a while, and one may never join', () => {
    const cluster = bed.running(1);
    const instance = instanceOn(cluster, names(nodes(cluster))[0]);
    cluster.machines.setReady(instance, 'False');
    expect(nodes(cluster).map(isReady)).toEqual([false]);
    cluster.machines.setReady(instance, 'True');
    cluster.machines.failNextJoins(1);
    bed.groups.setDesiredCapacity('eks-games', 3);
    bed.pass(3600);
    expect(nodes(cluster).map(isReady)).toEqual([true, true]);
    const inService = [...(bed.groups.get('eks-games')?.instances.values() ?? [])].map(({ state }) => state);
    expect(inService).toEqual(Array(3).fill('InService'));
  });

  test('where names are used again, a new machine takes over the Node of an old one, with its cordon, and loses it', () => {
    bed = new ClusterTestBed({ leaseSeconds: 160, nodeRemovalSeconds: 200 });
    const cluster = bed.running(1, { reuseNames: true });
    const [name = ''] = names(nodes(cluster));
    cordon(cluster, name);
    const before = cluster.store.get('nodes', name);
    bed.groups.terminate(instanceOn(cluster, name), true);
    bed.pass(61);
    bed.groups.setDesiredCapacity('eks-games', 1);
    bed.pass(110);
    expect(instanceOn(cluster, name)).not.toBe(before?.spec.providerID.split('/')[4]);
    expect(cluster.store.get('nodes', name)).toMatchObject({
      metadata: { uid: before?.metadata.uid },
      spec: before?.spec,
    });
    expect(nodes(cluster).map(isReady)).toEqual([true]);
    // The old machine's lease has run out, and the new one renews it.
    bed.pass(60);
    expect(nodes(cluster).map(isReady)).toEqual([true]);
    bed.pass(40);
    expect(nodes(cluster)).toEqual([]);
    bed.groups.setDesiredCapacity('eks-games', 2);
    bed.pass(110);
    expect(names(nodes(cluster))).toEqual(['ip-10-0-0-2.eu-central-1.compute.internal']);
  });
});
