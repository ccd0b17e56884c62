import { AutoScalingClient } from '@aws-sdk/client-auto-scaling';
import { EKSClient } from '@aws-sdk/client-eks';
import { fromEnv } from '@aws-sdk/credential-provider-env';
import { fromTemporaryCredentials } from '@aws-sdk/credential-providers';
import { type ConnectedCluster, reachThroughEks } from '../../lib/aws/reach-cluster.ts';
import { requestHandler } from '../../lib/aws/requests.ts';
import { type ClusterSettings, clusterIdOf } from '../../lib/scaler/cluster-settings.ts';
import type { Clock } from '../../lib/time.ts';

interface Clients {
  readonly eks: EKSClient;
  readonly autoScaling: AutoScalingClient;
}

/** By cluster, kept as long as the function is warm: connections, and credentials of another account until they expire. */
const clients = new Map<string, Clients>();

function clientsOf(cluster: ClusterSettings): Clients {
  const id = clusterIdOf(cluster);
  const known = clients.get(id);
  if (known) return known;
  const { region, roleArn } = cluster;
  const config = { region, requestHandler, maxAttempts: 3 };
  const taken = roleArn === undefined ? {} : { credentials: roleCredentials(roleArn, config) };
  const eks = new EKSClient({ ...config, ...taken });
  // The client's own, which it keeps until they expire: of another account's role there is one session for all.
  const made = { eks, autoScaling: new AutoScalingClient({ ...config, credentials: eks.config.credentials }) };
  clients.set(id, made);
  return made;
}

function roleCredentials(RoleArn: string, clientConfig: { readonly region: string }) {
  const params = { RoleArn, RoleSessionName: 'berth-node-scaler' };
  return fromTemporaryCredentials({ params, clientConfig, masterCredentials: fromEnv() });
}

/** A cluster of EKS as one tick reaches it. Throws CallError where EKS does not name its endpoint. */
export function reachCluster(settings: ClusterSettings, clock: Clock, signal: AbortSignal): Promise<ConnectedCluster> {
  return reachThroughEks({ settings, ...clientsOf(settings), clock, signal });
}
