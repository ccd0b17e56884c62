import { beforeEach, describe, expect, test } from 'vitest';
import { ClusterTestBed, cordon, instanceOn, names, nodes, states } from './cluster-test-bed.ts';
import type { SimulatedCluster } from './simulated-cluster.ts';

let bed: ClusterTestBed;

beforeEach(() => {
  bed = new ClusterTestBed();
});

describe('the referee', () => {
  const allocatedOn = (cluster: SimulatedCluster) => {
    bed.pass(20);
    const server = cluster.fleets.allocate('f') ?? '';
    const node: string = cluster.store.get('gameservers', server, 'default')?.status.nodeName;
    return { server, node, instance: instanceOn(cluster, node) };
  };
  const killed = () => bed.verdicts.killedSessions.map(({ server, cause }) => `${server}: ${cause}`);

  test('an instance ended with games on it is a violation, and its session is lost when it is gone', () => {
    const cluster = bed.running(2, { fleets: [{ name: 'f', replicas: 1 }] });
    const { node, instance } = allocatedOn(cluster);
    bed.groups.terminate(instance, true);
    const ended = `game: instance ${instance} of node ${node} was ended by id with 1 running game pods: f-1`;
    expect(bed.verdicts.violations).toEqual([ended]);
    expect(killed()).toEqual([]);
    bed.pass(60);
    expect(killed()).toEqual([`f-1: its machine ${instance} was ended by id`]);
    expect(bed.verdicts.violations).toEqual([ended, `game: the session of f-1 was lost: ${instance} was ended by id`]);
    bed.pass(600);
    expect(killed()).toHaveLength(1);
    expect(states(cluster)).toEqual(['Ready']);
  });

  test('a lowered desired capacity kills games', () => {
    const cluster = bed.running(2, { fleets: [{ name: 'f', replicas: 8 }] });
    bed.pass(20);
    for (let n = 0; n < 8; n += 1) cluster.fleets.allocate('f');
    bed.groups.setDesiredCapacity('eks-games', 1);
    bed.pass(60);
    expect(killed()).toHaveLength(4);
    expect(bed.verdicts.violations[0]).toContain('was ended by lowered desired capacity with 4 running game pods: f-1');
  });

  test('an empty instance may be ended; one that still has a pod that is terminating may not', () => {
    const cluster = bed.running(2, { fleets: [{ name: 'f', replicas: 1 }] });
    const { node, instance } = allocatedOn(cluster);
    const empty = names(nodes(cluster)).find((name) => name !== node);
    bed.groups.terminate(instanceOn(cluster, empty), true);
    expect(bed.verdicts.violations).toEqual([]);
    cordon(cluster, node);
    cluster.fleets.endGame('f-1');
    bed.pass(1);
    bed.groups.terminate(instance, true);
    expect(bed.verdicts.violations).toHaveLength(1);
    expect(bed.verdicts.killedSessions).toEqual([]);
  });

  test('a Node deleted under a game is a violation, and its session is lost when pod GC comes', () => {
    const cluster = bed.running(1, { fleets: [{ name: 'f', replicas: 1 }] });
    const { node } = allocatedOn(cluster);
    cluster.store.delete('nodes', node);
    expect(bed.verdicts.violations).toEqual([`game: Node ${node} was deleted with 1 running game pods: f-1`]);
    bed.pass(61);
    expect(killed()).toEqual(['f-1: its pod was deleted']);
    // The kubelet does not register again.
    bed.pass(3600);
    expect(nodes(cluster)).toEqual([]);
  });

  test('a server that is deleted in use is a violation', () => {
    const cluster = bed.running(1, { fleets: [{ name: 'f', replicas: 2 }] });
    const { server } = allocatedOn(cluster);
    cluster.fleets.reserve('f-2', 600);
    cluster.store.delete('gameservers', server, { namespace: 'default' });
    cluster.store.delete('gameservers', 'f-2', { namespace: 'default' });
    expect(bed.verdicts.violations).toEqual([
      `game: game server ${server} was deleted in state Allocated`,
      'game: game server f-2 was deleted in state Reserved',
    ]);
    expect(killed()).toEqual([`${server}: it was deleted`, 'f-2: it was deleted']);
  });

  test('a machine that fails, and a scene that is set, are nobody`s fault', () => {
    const cluster = bed.running(2, { fleets: [{ name: 'f', replicas: 2 }] });
    const { server, node, instance } = allocatedOn(cluster);
    cluster.machines.lose(instance);
    expect(killed()).toEqual([`${server}: its machine ${instance} was ended by loss`]);
    bed.pass(600);
    cluster.scene.remove('nodes', names(nodes(cluster)).find((name) => name !== node) ?? '');
    expect(bed.verdicts.violations).toEqual([]);
  });

  test('more machines than are needed are a violation; those of cordoned and deleted Nodes may be replaced', () => {
    const cluster = bed.running(3);
    const spec = { replicas: 4, config: { nodegroup: 'games' } };
    const metadata = { name: 'game' };
    cluster.scene.add('gameservernodes', {
      apiVersion: 'stable.agones.dev/v1alpha1',
      kind: 'GameServerNode',
      metadata,
      spec,
    });
    bed.groups.setDesiredCapacity('eks-games', 4);
    cordon(cluster, names(nodes(cluster))[0] ?? '');
    bed.groups.setDesiredCapacity('eks-games', 5);
    expect(bed.verdicts.violations).toEqual([]);
    bed.groups.setDesiredCapacity('eks-games', 6);
    expect(bed.verdicts.violations).toEqual([
      'game: desired capacity of eks-games was raised to 6, of which 5 are or become usable, and 4 are needed',
    ]);
    cluster.expectNeed('eks-games', () => 9);
    bed.groups.setDesiredCapacity('eks-games', 7);
    expect(bed.verdicts.violations).toHaveLength(1);
  });
});
