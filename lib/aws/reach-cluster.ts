import type { AutoScalingClient } from '@aws-sdk/client-auto-scaling';
import type { EKSClient } from '@aws-sdk/client-eks';
import type { KubernetesApi } from '../kubernetes/api.ts';
import { clusterOf, listNodes } from '../kubernetes/cluster.ts';
import { connectToEks } from '../kubernetes/eks.ts';
import { objectsOf } from '../kubernetes/objects.ts';
import { serviceAddress } from '../kubernetes/services.ts';
import type { ProviderContext } from '../providers/context.ts';
import { locateMachines, providersOf } from '../providers/providers.ts';
import type { ClusterSettings } from '../scaler/cluster-settings.ts';
import type { ObservedNode } from '../scaler/observation.ts';
import type { ReachedCluster } from '../scaler/run-cluster.ts';
import type { Clock } from '../time.ts';

/** How a cluster and the providers of its pools are reached. */
export interface Reach {
  readonly settings: Pick<ClusterSettings, 'name' | 'region'>;
  /** With the credentials that the cluster knows as well. */
  readonly eks: EKSClient;
  readonly autoScaling: AutoScalingClient;
  readonly clock: Clock;
  /** Gives up every request. */
  readonly signal?: AbortSignal;
}

/** `close` ends the connections to its API server, of which nothing would be used again: each tick connects anew. */
export interface ConnectedCluster extends ReachedCluster {
  close(): void;
}

/** As whoever looks at it reaches it. A tick has the nodes in its snapshot, and asks for them no second time. */
export interface InspectableCluster extends ConnectedCluster {
  /** All nodes, of one state. Throws CallError. */
  listNodes(): Promise<readonly ObservedNode[]>;
}

/** A cluster of EKS as one tick reaches it. Throws CallError where EKS does not name its endpoint. */
export async function reachThroughEks(reach: Reach): Promise<InspectableCluster> {
  const { settings, eks, clock, signal } = reach;
  const { name: cluster, region } = settings;
  const { credentials } = eks.config;
  const given = signal === undefined ? {} : { signal };
  return reachOver(await connectToEks({ cluster, region, eks, credentials, clock, ...given }), reach);
}

/** As `reachThroughEks`, over a connection to its API server that is there already. */
export function reachOver(
  api: KubernetesApi,
  { settings, eks, autoScaling, clock, signal }: Reach,
): InspectableCluster {
  const context: ProviderContext = {
    ...{ cluster: settings.name, eks, autoScaling, clock },
    ...(signal === undefined ? {} : { signal }),
    resolveService: (service) => serviceAddress(api, service),
  };
  return {
    objects: objectsOf(api),
    cluster: clusterOf(api),
    provider: providersOf(context),
    locate: (instances) => locateMachines(context, instances),
    listNodes: () => listNodes(api),
    close: () => api.close(),
  };
}
