import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { parse, parseAllDocuments } from 'yaml';
import { connect, type KubernetesApi } from '../../lib/kubernetes/api.ts';
import { scalerStore } from '../../lib/store/scaler-store.ts';
import type { EpochMs } from '../../lib/time.ts';
import { type Engine, startEngine } from '../../local/engine.ts';
import { MovableClock } from '../../local/functions/movable-clock.ts';
import type { ObjectInput } from '../../local/kubernetes/kube-object.ts';
import { type Outside, startOutside } from '../../local/outside/outside.ts';
import { FLEET, gameServerNode, NODEGROUP, type Scene } from './scene.ts';

/** The cluster that the local engine's node scaler works on, and who its function is to AWS. */
const CLUSTER = { name: 'local', region: 'us-east-1' } as const;
const MANIFESTS = join(import.meta.dirname, '../../deploy/kubernetes');

/** What the first machines and their servers have to come up. */
const BOOT_MS = 300_000;

/** Berth and its outside, with the clock that both go by. */
export interface Stage {
  readonly clock: MovableClock;
  readonly engine: Engine;
  readonly outside: Outside;
  /** The API server, as its administrator. */
  readonly operator: KubernetesApi;
  /** Whether the end of a machine is written down in the Scaler table. */
  isIntended(instance: string): Promise<boolean>;
  /** Ends everything. */
  strike(): Promise<void>;
}

export interface StageSettings {
  readonly scene: Scene;
  readonly seed: number;
}

/** Starts the engine with the node scaler as it is deployed, and a simulated EKS with a cluster; installs what a cluster gets. */
export async function setStage({ scene, seed }: StageSettings): Promise<Stage> {
  const clock = new MovableClock();
  clock.set((scene.from - BOOT_MS) as EpochMs);
  const outside = await startOutside({
    clock: () => clock.now(),
    seed: `demo-${seed}`,
    clusters: [
      {
        ...CLUSTER,
        access: { secretOf: (id) => (id === 'local' ? 'local' : undefined) },
        manifests: await rights(),
        gameServersPerNode: scene.serversPerNode,
        nodegroups: [
          {
            name: NODEGROUP,
            min: scene.min,
            max: scene.max,
            desired: scene.replicas,
            zones: ['us-east-1a', 'us-east-1b'],
            newInstancesProtected: true,
          },
        ],
        fleets: [{ name: FLEET, replicas: scene.buffer }],
      },
    ],
  });
  // The scene begins with a pool that has been there for a while.
  clock.set(scene.from);
  outside.settle();
  try {
    const engine = await startEngine({ outside: outside.endpoints, functionClock: clock, schedules: true });
    return await stageOf({ clock, engine, outside, scene });
  } catch (error) {
    await outside.close();
    throw error;
  }
}

async function stageOf(
  running: Pick<Stage, 'clock' | 'engine' | 'outside'> & { readonly scene: Scene },
): Promise<Stage> {
  const { clock, engine, outside, scene } = running;
  const { url, caPem, token } = outside.kubernetes;
  const operator = connect(
    { server: url, ca: caPem },
    { token: { get: async () => token, renew: async () => undefined } },
  );
  const dynamo = new DynamoDBClient({
    endpoint: engine.endpoints.dynamodb,
    region: engine.region,
    credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
  });
  const store = scalerStore(dynamo, engine.tables);
  const strike = async () => {
    operator.close();
    dynamo.destroy();
    await engine.stop();
    await outside.close();
  };
  try {
    await install(operator, scene);
  } catch (error) {
    await strike();
    throw error;
  }
  return {
    ...{ clock, engine, outside, operator, strike },
    async isIntended(instance) {
      const { ledgers } = await store.look(`${CLUSTER.region}/${CLUSTER.name}`);
      return [...ledgers.values()].some((one) => one.pendingDeletions.some((entry) => entry.instance === instance));
    },
  };
}

/** What `kubectl apply` would send. */
async function install(operator: KubernetesApi, scene: Scene): Promise<void> {
  const definition = parse(await readFile(join(MANIFESTS, 'crd.yaml'), 'utf8')) as object;
  const path = ['apis', 'apiextensions.k8s.io', 'v1', 'customresourcedefinitions'];
  await operator.request({ method: 'POST', path, body: definition });
  const objects = ['apis', 'stable.agones.dev', 'v1alpha1', 'gameservernodes'];
  await operator.request({ method: 'POST', path: objects, body: gameServerNode(scene) });
}

async function rights(): Promise<ObjectInput[]> {
  const text = await readFile(join(MANIFESTS, 'rbac.yaml'), 'utf8');
  return parseAllDocuments(text).map((document) => document.toJS() as ObjectInput);
}
