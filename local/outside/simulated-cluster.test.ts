import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import type { EpochMs } from '../../lib/time.ts';
import type { KubeObject } from '../kubernetes/kube-object.ts';
import { Agenda } from './agenda.ts';
import { AutoScalingGroups } from './auto-scaling-groups.ts';
import { isReady, stateOf } from './cluster-objects.ts';
import { Verdicts } from './referee.ts';
import { type ClusterSettings, SimulatedCluster } from './simulated-cluster.ts';
import { DEFAULT_TIMINGS, type Timings } from './timings.ts';

const START = Date.parse('2026-01-15T12:00:00Z') as EpochMs;
let now: EpochMs;
let agenda: Agenda;
let groups: AutoScalingGroups;
let verdicts: Verdicts;
let timings: Timings;

beforeEach(() => {
  now = START;
  timings = DEFAULT_TIMINGS;
  agenda = new Agenda({ clock: () => now, dynamics: true });
  groups = new AutoScalingGroups(agenda);
  verdicts = new Verdicts();
});

function clusterOf(settings: Partial<ClusterSettings> = {}): SimulatedCluster {
  return new SimulatedCluster({ name: 'game', ...settings }, { agenda, groups, timings, verdicts, seed: 's' });
}

function pass(seconds: number): void {
  now = (now + seconds * 1000) as EpochMs;
  agenda.settle();
}

const nodes = ({ store }: SimulatedCluster) => store.list('nodes');
const names = (objects: readonly KubeObject[]) => objects.map(({ metadata }) => metadata.name);
const states = (cluster: SimulatedCluster, fleet = 'f') => cluster.fleets.servers(fleet).map(stateOf);
const nodesOf = (cluster: SimulatedCluster) => cluster.fleets.servers('f').map(({ status }) => status.nodeName);

/** A cluster of `size` nodes that have joined, all of one group. */
function running(size: number, settings: Partial<ClusterSettings> = {}): SimulatedCluster {
  const cluster = clusterOf({ nodegroups: [{ name: 'games', max: 20, desired: size }], ...settings });
  pass(120);
  return cluster;
}

function instanceOn(cluster: SimulatedCluster, node: string | undefined): string {
  const found = cluster.machines.list().find((machine) => machine.node === node && machine.running);
  if (found === undefined) throw new Error(`there is no machine of ${node}`);
  return found.instance;
}

function cordon({ store }: SimulatedCluster, name: string): void {
  const node = store.get('nodes', name) as KubeObject;
  store.update('nodes', { ...node, spec: { ...node.spec, unschedulable: true } });
}

describe('machines', () => {
  test('an instance is Pending, then in service, then its Node joins, and is Ready at last', () => {
    const cluster = clusterOf({ nodegroups: [{ name: 'games', max: 2, desired: 1, zones: ['eu-central-1b'] }] });
    const seen = () => [
      [...(groups.get('eks-games')?.instances.values() ?? [])].map(({ state }) => state).join(),
      nodes(cluster).map(isReady).join(),
    ];
    agenda.settle();
    expect(seen()).toEqual(['Pending', '']);
    pass(39);
    expect(seen()).toEqual(['Pending', '']);
    pass(1);
    expect(seen()).toEqual(['InService', '']);
    pass(50);
    expect(seen()).toEqual(['InService', 'false']);
    pass(10);
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
    const once = running(3);
    pass(3600);
    const at = nodes(once).map(({ metadata }) => metadata.creationTimestamp);
    expect(at).toEqual(Array(3).fill('2026-01-15T12:01:30Z'));
  });

  test('an ended instance leaves its group, its Node goes some time after, and its pods after that', () => {
    const cluster = running(2, { fleets: [{ name: 'f', replicas: 1 }] });
    pass(60);
    const [node = ''] = nodesOf(cluster);
    groups.terminate(instanceOn(cluster, node), true);
    expect(groups.get('eks-games')).toMatchObject({ desired: 1 });
    pass(59);
    expect(groups.get('eks-games')?.instances.size).toBe(2);
    pass(1);
    expect(groups.get('eks-games')?.instances.size).toBe(1);
    pass(59);
    expect(names(nodes(cluster))).toContain(node);
    pass(1);
    expect(names(nodes(cluster))).not.toContain(node);
    expect(cluster.store.list('pods').map(({ spec }) => spec.nodeName)).toContain(node);
    pass(61);
    expect(cluster.store.list('pods').map(({ spec }) => spec.nodeName)).not.toContain(node);
  });

  test('a lost machine stops telling, and is replaced once its group has found out', () => {
    const cluster = running(2);
    const [lost = ''] = names(nodes(cluster));
    cluster.machines.lose(instanceOn(cluster, lost));
    pass(41);
    expect(nodes(cluster).map(isReady)).toEqual([false, true]);
    pass(900);
    expect(names(nodes(cluster))).not.toContain(lost);
    expect(nodes(cluster).map(isReady)).toEqual([true, true]);
    expect(groups.get('eks-games')).toMatchObject({ desired: 2 });
  });

  test('a machine may be not ready for a while, and one may never join', () => {
    const cluster = running(1);
    const instance = instanceOn(cluster, names(nodes(cluster))[0]);
    cluster.machines.setReady(instance, 'False');
    expect(nodes(cluster).map(isReady)).toEqual([false]);
    cluster.machines.setReady(instance, 'True');
    cluster.machines.failNextJoins(1);
    groups.setDesiredCapacity('eks-games', 3);
    pass(3600);
    expect(nodes(cluster).map(isReady)).toEqual([true, true]);
    const inService = [...(groups.get('eks-games')?.instances.values() ?? [])].map(({ state }) => state);
    expect(inService).toEqual(Array(3).fill('InService'));
  });

  test('where names are used again, a new machine takes over the Node of an old one, with its cordon, and loses it', () => {
    timings = { ...DEFAULT_TIMINGS, leaseSeconds: 160, nodeRemovalSeconds: 200 };
    const cluster = running(1, { reuseNames: true });
    const [name = ''] = names(nodes(cluster));
    cordon(cluster, name);
    const before = cluster.store.get('nodes', name);
    groups.terminate(instanceOn(cluster, name), true);
    pass(61);
    groups.setDesiredCapacity('eks-games', 1);
    pass(110);
    expect(instanceOn(cluster, name)).not.toBe(before?.spec.providerID.split('/')[4]);
    expect(cluster.store.get('nodes', name)).toMatchObject({
      metadata: { uid: before?.metadata.uid },
      spec: before?.spec,
    });
    expect(nodes(cluster).map(isReady)).toEqual([true]);
    // The old machine's lease has run out, and the new one renews it.
    pass(60);
    expect(nodes(cluster).map(isReady)).toEqual([true]);
    pass(40);
    expect(nodes(cluster)).toEqual([]);
    groups.setDesiredCapacity('eks-games', 2);
    pass(110);
    expect(names(nodes(cluster))).toEqual(['ip-10-0-0-2.eu-central-1.compute.internal']);
  });
});

test('however often the world is settled, it comes to the same', () => {
  const history = (steps: readonly number[]) => {
    now = START;
    agenda = new Agenda({ clock: () => now, dynamics: true });
    groups = new AutoScalingGroups(agenda);
    verdicts = new Verdicts();
    const cluster = running(4, { fleets: [{ name: 'f', replicas: 12 }] });
    pass(20);
    for (let n = 0; n < 5; n += 1) cluster.fleets.allocate('f');
    const [first, second, third = ''] = names(nodes(cluster));
    cluster.machines.lose(instanceOn(cluster, first));
    groups.terminate(instanceOn(cluster, second), true);
    cordon(cluster, third);
    groups.setDesiredCapacity('eks-games', 6);
    const end = now + 1000_000;
    for (const seconds of steps) if (now + seconds * 1000 < end) pass(seconds);
    now = end as EpochMs;
    agenda.settle();
    return {
      objects: ['nodes', 'pods', 'gameservers'].map((one) => cluster.store.list(one)),
      groups: groups.list(),
      verdicts,
    };
  };
  const once = history([]);
  expect(once.verdicts.killedSessions.length).toBeGreaterThan(0);
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 120 }), { maxLength: 30 }), (steps) => {
      expect(history(steps)).toEqual(once);
    }),
    { numRuns: 30 },
  );
});

describe('game servers', () => {
  test('a fleet packs its servers onto nodes that are ready and have room', () => {
    const cluster = running(3);
    cluster.fleets.add({ name: 'f', replicas: 6 });
    agenda.settle();
    expect(states(cluster)).toEqual(Array(6).fill('Scheduled'));
    pass(10);
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
    const cluster = running(1, { fleets: [{ name: 'f', replicas: 6 }] });
    expect(states(cluster).filter((state) => state === 'Starting')).toHaveLength(2);
    groups.setDesiredCapacity('eks-games', 2);
    pass(120);
    expect(states(cluster)).toEqual(Array(6).fill('Ready'));
  });

  test('a deleted server is replaced at once and elsewhere, and goes with its pod after the grace', () => {
    const cluster = running(2, { fleets: [{ name: 'f', replicas: 1 }] });
    pass(20);
    const [server] = cluster.fleets.servers('f');
    const [node = ''] = nodesOf(cluster);
    cordon(cluster, node);
    cluster.store.delete('gameservers', 'f-1', { namespace: 'default', uid: server?.metadata.uid });
    agenda.settle();
    expect(states(cluster)).toEqual(['Ready', 'Scheduled']);
    expect(nodesOf(cluster)[1]).not.toBe(node);
    expect(cluster.store.get('pods', 'f-1', 'default')?.metadata.deletionTimestamp).toBeDefined();
    pass(29);
    expect(names(cluster.fleets.servers('f'))).toEqual(['f-1', 'f-2']);
    pass(1);
    expect(names(cluster.fleets.servers('f'))).toEqual(['f-2']);
    expect(names(cluster.store.list('pods'))).toEqual(['f-2']);
  });

  test('a server that is deleted on a machine that is off stays until its Node and its pod are collected', () => {
    const cluster = running(2, { fleets: [{ name: 'f', replicas: 1 }] });
    pass(20);
    cluster.machines.lose(instanceOn(cluster, nodesOf(cluster)[0]));
    cluster.store.delete('gameservers', 'f-1', { namespace: 'default' });
    pass(120);
    expect(names(cluster.fleets.servers('f'))).toContain('f-1');
    pass(600);
    expect(names(cluster.fleets.servers('f'))).not.toContain('f-1');
  });

  test('a fleet whose pods tolerate everything goes on landing on a cordoned node', () => {
    const cluster = running(1, { fleets: [{ name: 'f', replicas: 1, toleratesAll: true }] });
    pass(20);
    cordon(cluster, names(nodes(cluster))[0] ?? '');
    cluster.store.delete('gameservers', 'f-1', { namespace: 'default' });
    pass(20);
    expect(nodesOf(cluster)).toEqual(Array(2).fill(names(nodes(cluster))[0]));
  });

  test('an allocation takes the fullest node, cordoned or not, and another server where one has changed', () => {
    const cluster = running(2, { fleets: [{ name: 'f', replicas: 6 }] });
    pass(20);
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
    const cluster = running(1, { fleets: [{ name: 'f', replicas: 1 }] });
    pass(20);
    cluster.fleets.allocate('f');
    cluster.fleets.endGame('f-1');
    pass(60);
    expect(names(cluster.fleets.servers('f'))).toEqual(['f-2']);
    expect(states(cluster)).toEqual(['Ready']);
    expect(verdicts).toEqual(new Verdicts());
  });

  test('a reserved server is kept until its time has passed', () => {
    const cluster = running(1, { fleets: [{ name: 'f', replicas: 1 }] });
    pass(20);
    cluster.fleets.reserve('f-1', 30);
    expect(cluster.fleets.allocate('f')).toBeUndefined();
    cluster.fleets.scale('f', 0);
    pass(29);
    expect(states(cluster)).toEqual(['Reserved']);
    pass(60);
    expect(states(cluster)).toEqual([]);
    expect(verdicts).toEqual(new Verdicts());
  });

  test('a fleet that shrinks gives up servers of the emptiest nodes, and none in use', () => {
    const cluster = running(2, { fleets: [{ name: 'f', replicas: 6 }] });
    pass(20);
    cluster.fleets.allocateServer('f-5');
    cluster.fleets.scale('f', 4);
    pass(60);
    expect(names(cluster.fleets.servers('f'))).toEqual(expect.arrayContaining(['f-5']));
    expect(names(cluster.fleets.servers('f'))).not.toContain('f-6');
    cluster.fleets.scale('f', 0);
    pass(60);
    expect(names(cluster.fleets.servers('f'))).toEqual(['f-5']);
  });
});

describe('the referee', () => {
  const allocatedOn = (cluster: SimulatedCluster) => {
    pass(20);
    const server = cluster.fleets.allocate('f') ?? '';
    const node: string = cluster.store.get('gameservers', server, 'default')?.status.nodeName;
    return { server, node, instance: instanceOn(cluster, node) };
  };
  const killed = () => verdicts.killedSessions.map(({ server, cause }) => `${server}: ${cause}`);

  test('an instance ended with games on it is a violation, and its session is lost when it is gone', () => {
    const cluster = running(2, { fleets: [{ name: 'f', replicas: 1 }] });
    const { node, instance } = allocatedOn(cluster);
    groups.terminate(instance, true);
    const ended = `game: instance ${instance} of node ${node} was ended by id with 1 running game pods: f-1`;
    expect(verdicts.violations).toEqual([ended]);
    expect(killed()).toEqual([]);
    pass(60);
    expect(killed()).toEqual([`f-1: its machine ${instance} was ended by id`]);
    expect(verdicts.violations).toEqual([ended, `game: the session of f-1 was lost: ${instance} was ended by id`]);
    pass(600);
    expect(killed()).toHaveLength(1);
    expect(states(cluster)).toEqual(['Ready']);
  });

  test('a lowered desired capacity kills games', () => {
    const cluster = running(2, { fleets: [{ name: 'f', replicas: 8 }] });
    pass(20);
    for (let n = 0; n < 8; n += 1) cluster.fleets.allocate('f');
    groups.setDesiredCapacity('eks-games', 1);
    pass(60);
    expect(killed()).toHaveLength(4);
    expect(verdicts.violations[0]).toContain('was ended by lowered desired capacity with 4 running game pods: f-1');
  });

  test('an empty instance may be ended; one that still has a pod that is terminating may not', () => {
    const cluster = running(2, { fleets: [{ name: 'f', replicas: 1 }] });
    const { node, instance } = allocatedOn(cluster);
    const empty = names(nodes(cluster)).find((name) => name !== node);
    groups.terminate(instanceOn(cluster, empty), true);
    expect(verdicts.violations).toEqual([]);
    cordon(cluster, node);
    cluster.fleets.endGame('f-1');
    pass(1);
    groups.terminate(instance, true);
    expect(verdicts.violations).toHaveLength(1);
    expect(verdicts.killedSessions).toEqual([]);
  });

  test('a Node deleted under a game is a violation, and its session is lost when pod GC comes', () => {
    const cluster = running(1, { fleets: [{ name: 'f', replicas: 1 }] });
    const { node } = allocatedOn(cluster);
    cluster.store.delete('nodes', node);
    expect(verdicts.violations).toEqual([`game: Node ${node} was deleted with 1 running game pods: f-1`]);
    pass(61);
    expect(killed()).toEqual(['f-1: its pod was deleted']);
    // The kubelet does not register again.
    pass(3600);
    expect(nodes(cluster)).toEqual([]);
  });

  test('a server that is deleted in use is a violation', () => {
    const cluster = running(1, { fleets: [{ name: 'f', replicas: 2 }] });
    const { server } = allocatedOn(cluster);
    cluster.fleets.reserve('f-2', 600);
    cluster.store.delete('gameservers', server, { namespace: 'default' });
    cluster.store.delete('gameservers', 'f-2', { namespace: 'default' });
    expect(verdicts.violations).toEqual([
      `game: game server ${server} was deleted in state Allocated`,
      'game: game server f-2 was deleted in state Reserved',
    ]);
    expect(killed()).toEqual([`${server}: it was deleted`, 'f-2: it was deleted']);
  });

  test('a machine that fails, and a scene that is set, are nobody`s fault', () => {
    const cluster = running(2, { fleets: [{ name: 'f', replicas: 2 }] });
    const { server, node, instance } = allocatedOn(cluster);
    cluster.machines.lose(instance);
    expect(killed()).toEqual([`${server}: its machine ${instance} was ended by loss`]);
    pass(600);
    cluster.scene.remove('nodes', names(nodes(cluster)).find((name) => name !== node) ?? '');
    expect(verdicts.violations).toEqual([]);
  });

  test('more machines than are needed are a violation; those of cordoned and deleted Nodes may be replaced', () => {
    const cluster = running(3);
    const spec = { replicas: 4, config: { nodegroup: 'games' } };
    const metadata = { name: 'game' };
    cluster.scene.add('gameservernodes', {
      apiVersion: 'stable.agones.dev/v1alpha1',
      kind: 'GameServerNode',
      metadata,
      spec,
    });
    groups.setDesiredCapacity('eks-games', 4);
    cordon(cluster, names(nodes(cluster))[0] ?? '');
    groups.setDesiredCapacity('eks-games', 5);
    expect(verdicts.violations).toEqual([]);
    groups.setDesiredCapacity('eks-games', 6);
    expect(verdicts.violations).toEqual([
      'game: desired capacity of eks-games was raised to 6, of which 5 are or become usable, and 4 are needed',
    ]);
    cluster.expectNeed('eks-games', () => 9);
    groups.setDesiredCapacity('eks-games', 7);
    expect(verdicts.violations).toHaveLength(1);
  });
});
