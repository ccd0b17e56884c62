import { AutoScalingClient } from '@aws-sdk/client-auto-scaling';
import { EKSClient } from '@aws-sdk/client-eks';
import { type InspectableCluster, reachOver, reachThroughEks } from '../aws/reach-cluster.ts';
import { configOf } from '../client/connection.ts';
import { nodeRegistry } from '../client/node-registry.ts';
import type { KubernetesApi } from '../kubernetes/api.ts';
import { connectToKubeconfig } from '../kubernetes/kubeconfig.ts';
import { type ClusterSettings, clusterIdOf, readClusters } from '../scaler/cluster-settings.ts';
import type { NodeRegistry } from '../scaler/ports.ts';
import { InvalidInputError } from '../schema.ts';
import { type Remembered, scalerStore } from '../store/scaler-store.ts';
import { CLUSTERS_ENV, tableNamesFromEnv } from '../store/tables.ts';
import { systemClock } from '../time.ts';
import type { Run } from './context.ts';
import { BadInputError } from './io.ts';

type Env = Readonly<Record<string, string | undefined>>;

/** Which clusters a command is about, and how it reaches them. */
export interface ClusterOptions {
  /** `game`, or `eu-central-1/game` where two regions have one of that name. */
  readonly cluster?: string;
  readonly kubeconfig?: string;
  readonly context?: string;
  /** Of objects that are to be applied. */
  readonly file?: string;
}

/** The clusters of the deployment that `cluster` selects; left out: all of them. */
export function clustersOf(env: Env, { cluster, kubeconfig, file }: ClusterOptions): readonly ClusterSettings[] {
  const clusters = [...knownClusters(env)];
  const named = cluster === undefined ? clusters : selected(clusters, cluster, env);
  if (kubeconfig !== undefined && named.length > 1) {
    throw new BadInputError('--kubeconfig is of one cluster: say which with --cluster NAME');
  }
  if (file !== undefined && named.length > 1) {
    throw new BadInputError('--file is for one cluster: say which with --cluster NAME, or look at none with --offline');
  }
  if (named.length > 0) return named;
  throw new BadInputError(
    `${CLUSTERS_ENV} is not set or names no cluster: set it to the output Clusters of the stack, as in ${CLUSTERS_ENV}='[{"name":"game","region":"eu-central-1"}]', or name one with --cluster REGION/NAME`,
  );
}

function knownClusters(env: Env): readonly ClusterSettings[] {
  const value = env[CLUSTERS_ENV];
  if (value === undefined || value === '') return [];
  const read = readClusters(value);
  if ('problems' in read) throw new InvalidInputError(CLUSTERS_ENV, read.problems);
  return read.clusters;
}

function selected(clusters: readonly ClusterSettings[], wanted: string, env: Env): readonly ClusterSettings[] {
  const found = clusters.filter((one) => one.name === wanted || clusterIdOf(one) === wanted);
  if (found.length === 1) return found;
  if (found.length > 1) {
    throw new BadInputError(`--cluster ${wanted}: expected one of ${found.map(clusterIdOf).join(', ')}`);
  }
  const [region, name, ...rest] = wanted.includes('/') ? wanted.split('/') : [env.AWS_REGION, wanted];
  const read = readClusters([{ name, region }]);
  if (rest.length === 0 && clusters.length === 0 && 'clusters' in read) return read.clusters;
  const known = clusters.length === 0 ? 'REGION/NAME' : `one of ${clusters.map(clusterIdOf).join(', ')}`;
  throw new BadInputError(`--cluster ${wanted}: expected ${known}`);
}

/**
 * A cluster as whoever runs the command may reach it: with their own credentials, or by a kubeconfig. Not as the function:
 * that a command could take on its role would be a way around the cluster's own rules.
 */
export async function reach(env: Env, settings: ClusterSettings, options: ClusterOptions): Promise<InspectableCluster> {
  const { region } = settings;
  const eks = new EKSClient({ ...configOf(env, env.AWS_ENDPOINT_URL_EKS), region });
  const autoScaling = new AutoScalingClient({ ...configOf(env, env.AWS_ENDPOINT_URL_AUTO_SCALING), region });
  const through = { settings, eks, autoScaling, clock: systemClock };
  if (options.kubeconfig === undefined) return reachThroughEks(through);
  return reachOver(await connectByFile(options.kubeconfig, options.context), through);
}

async function connectByFile(file: string, context: string | undefined): Promise<KubernetesApi> {
  try {
    return await connectToKubeconfig(file, context);
  } catch (error) {
    const { code, path } = error as NodeJS.ErrnoException;
    if (code === undefined || path === undefined) throw error;
    throw new BadInputError(`--kubeconfig ${file}: ${path} cannot be read: ${code}`, { cause: error });
  }
}

/** What Berth itself knows of clusters. */
export interface Memory {
  look(cluster: string): Promise<Remembered>;
  registry(cluster: string): NodeRegistry;
}

export function memoryOf({ connection, env }: Pick<Run, 'connection' | 'env'>): Memory {
  const store = scalerStore(connection.dynamo, tableNamesFromEnv(env, ['scaler']));
  return { look: store.look, registry: (cluster) => nodeRegistry(connection, cluster) };
}
