import type { ObjectInput } from '../local/kubernetes/kube-object.ts';
import type { Outside } from '../local/outside/outside.ts';
import type { NodegroupSettings } from '../local/outside/simulated-cluster.ts';

/** How much there is in a cluster; nodes, pods and game servers are spread over the pools evenly. */
export interface Crowd {
  readonly pools: number;
  readonly nodes: number;
  readonly pods: number;
  readonly gameServers: number;
}

/** Bytes by which a pod is longer here, to be as long as a real one: environment, volumes, probes, managed fields. */
const PADDING = 'x'.repeat(5_000);

const instanceOf = (node: number) => `i-${String(node).padStart(17, '0')}`;

/** Node groups with as many machines as they want, all of which have joined. */
export function poolsOf({ pools, nodes }: Crowd): NodegroupSettings[] {
  return Array.from({ length: pools }, (_, pool) => {
    const instances = Array.from({ length: nodes }, (_, node) => node)
      .filter((node) => node % pools === pool)
      .map((node) => ({ id: instanceOf(node), zone: 'us-east-1a', protectedFromScaleIn: true }));
    return { name: `pool-${pool}`, min: 0, max: instances.length + 10, zones: ['us-east-1a'], instances };
  });
}

/** Fills the cluster so that every pool is at its target: every second server is played on. */
export function crowd({ scene }: Outside, { pools, nodes, pods, gameServers }: Crowd): void {
  for (let node = 0; node < nodes; node++) {
    scene.addNode({
      name: `node-${node}`,
      providerId: `aws:///us-east-1a/${instanceOf(node)}`,
      zone: 'us-east-1a',
      nodegroup: `pool-${node % pools}`,
    });
  }
  for (let server = 0; server < gameServers; server++) {
    const state = server % 2 === 0 ? 'Ready' : 'Allocated';
    scene.addGameServer({ name: `game-${server}`, node: `node-${server % nodes}`, state, pod: false });
  }
  for (let pod = 0; pod < pods; pod++) scene.add('pods', podOf(pod, { nodes, gameServers }));
  for (let pool = 0; pool < pools; pool++) {
    const replicas = Array.from({ length: nodes }, (_, node) => node).filter((node) => node % pools === pool).length;
    scene.add('gameservernodes', {
      apiVersion: 'stable.agones.dev/v1alpha1',
      kind: 'GameServerNode',
      metadata: { name: `pool-${pool}` },
      spec: { replicas, provider: 'eks', config: { nodegroup: `pool-${pool}` } },
    });
  }
}

function podOf(pod: number, { nodes, gameServers }: Pick<Crowd, 'nodes' | 'gameServers'>): ObjectInput {
  const owner = { apiVersion: 'agones.dev/v1', kind: 'GameServer', name: `game-${pod}`, uid: `uid-${pod}` };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      ...{ name: `game-${pod}`, namespace: 'default', labels: { 'agones.dev/role': 'gameserver' } },
      annotations: { 'example.com/padding': PADDING },
      ownerReferences: [{ ...owner, controller: true, blockOwnerDeletion: true }],
    },
    spec: { nodeName: `node-${pod % nodes}`, containers: [{ name: 'game', image: 'example.com/game' }] },
    // Those of servers that are gone have ended.
    status: { phase: pod < gameServers ? 'Running' : 'Succeeded' },
  };
}
