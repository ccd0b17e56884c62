import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import type { Clock } from '../../lib/time.ts';
import { eksIdentity } from '../kubernetes/eks-token.ts';
import type { ObjectInput } from '../kubernetes/kube-object.ts';
import { type KubernetesApi, startKubernetesApi } from '../kubernetes/server.ts';
import { Agenda } from './agenda.ts';
import { AutoScalingGroups } from './auto-scaling-groups.ts';
import { startAutoScalingServer } from './auto-scaling-server.ts';
import { type EksCluster, startEksServer } from './eks-server.ts';
import { Faults, type LoggedRequest } from './faults.ts';
import { apiFaultOf, requestOf } from './kubernetes-faults.ts';
import { type KilledSession, Verdicts } from './referee.ts';
import { type ClusterSettings, type ClusterWorld, SimulatedCluster } from './simulated-cluster.ts';
import { DEFAULT_TIMINGS, type Timings } from './timings.ts';

/** Who may come to a cluster with a token of EKS. */
export interface Access {
  /** Of an access key; undefined: STS does not know it. */
  secretOf(accessKeyId: string): string | undefined;
  /** Groups of RBAC that an access entry gives them. Default: the one that deploy/kubernetes binds. */
  readonly groups?: readonly string[];
}

export interface OutsideClusterSettings extends ClusterSettings {
  /** Left out: nobody but whoever has the kubeconfig. */
  readonly access?: Access;
  /** What is installed. Default: what deploy/kubernetes has for every cluster. */
  readonly manifests?: readonly ObjectInput[];
}

export interface OutsideSettings {
  readonly clock: Clock;
  /** Default: one by the name of `game`, with nothing in it. */
  readonly clusters?: readonly [OutsideClusterSettings, ...OutsideClusterSettings[]];
  /**
   * False: nothing moves but what a request does directly. A deleted GameServer gets its deletionTimestamp, an ended
   * instance is Terminating and desired one less, an increase raises desired. Default true.
   */
  readonly dynamics?: boolean;
  readonly timings?: Partial<Timings>;
  /** Makes uids and generated names the same in every run. */
  readonly seed?: string;
}

/** A cluster with its API. */
export type OutsideCluster = SimulatedCluster & { readonly kubernetes: KubernetesApi };

export interface Outside {
  /** For AWS_ENDPOINT_URL_EKS and AWS_ENDPOINT_URL_AUTO_SCALING. */
  readonly endpoints: { readonly eks: string; readonly autoScaling: string };
  /** Of all clusters. */
  readonly groups: AutoScalingGroups;
  readonly faults: Faults;
  /** Requests to all servers, in the order in which they came. */
  readonly requests: readonly LoggedRequest[];
  /** What requests have done that none may do: sessions and machines with games ended, more machines than needed. */
  readonly violations: readonly string[];
  /** Sessions that were lost, whosever fault it was. */
  readonly killedSessions: readonly KilledSession[];
  /** The first cluster's. */
  readonly kubernetes: KubernetesApi;
  readonly machines: SimulatedCluster['machines'];
  readonly fleets: SimulatedCluster['fleets'];
  readonly scene: SimulatedCluster['scene'];
  readonly clusters: readonly OutsideCluster[];
  /** By its name; left out: the first. Throws where there is none. */
  cluster(name?: string): OutsideCluster;
  /** The next request to delete that server comes just after players have got it. The answer takes it back. */
  allocateBeforeDelete(
    server: string,
    options?: { readonly cluster?: string; readonly namespace?: string },
  ): () => void;
  /** Brings the world to the clock's time. Each request does so before it is looked at. */
  settle(): void;
  /** Ends the servers. */
  close(): Promise<void>;
}

/** Starts all that is outside of a node scaler: EKS, EC2 Auto Scaling, and clusters with machines, game servers and players. */
export async function startOutside(settings: OutsideSettings): Promise<Outside> {
  const { clock, dynamics = true, seed, clusters: wanted = [{ name: 'game' }] } = settings;
  const agenda = new Agenda({ clock, dynamics });
  const groups = new AutoScalingGroups(agenda);
  const verdicts = new Verdicts();
  const faults = new Faults(() => agenda.now());
  const settle = () => agenda.settle();
  const world = { agenda, groups, verdicts, timings: { ...DEFAULT_TIMINGS, ...settings.timings }, seed };

  const clusters: OutsideCluster[] = [];
  for (const one of wanted) clusters.push(await startCluster(one, { world, faults, clock }));
  const known = new Map(clusters.map((one) => [one.name, eksClusterOf(one)]));
  const autoScaling = await startAutoScalingServer(groups, { faults, settle });
  const eks = await startEksServer(known, { faults, settle });

  const cluster = (name = wanted[0].name): OutsideCluster => {
    const found = clusters.find((one) => one.name === name);
    if (found === undefined) throw new Error(`there is no cluster ${name}; there is: ${[...known.keys()].join(', ')}`);
    return found;
  };
  const { kubernetes, machines, fleets, scene } = cluster();
  return {
    endpoints: { eks: eks.url, autoScaling: autoScaling.url },
    groups,
    faults,
    requests: faults.requests,
    violations: verdicts.violations,
    killedSessions: verdicts.killedSessions,
    kubernetes,
    machines,
    fleets,
    scene,
    clusters,
    cluster,
    allocateBeforeDelete(server, { cluster: name, namespace } = {}) {
      const { name: where, fleets: players } = cluster(name);
      const act = () => players.allocateServer(server, namespace);
      const rule = { service: 'kubernetes', cluster: where, operation: 'delete gameservers', subject: server } as const;
      return faults.add({ ...rule, fault: { kind: 'meanwhile', act } });
    },
    settle,
    close: async () => {
      await Promise.all([eks.close(), autoScaling.close(), ...clusters.map((one) => one.kubernetes.close())]);
    },
  };
}

async function startCluster(
  settings: OutsideClusterSettings,
  { world, faults, clock }: { readonly world: ClusterWorld; readonly faults: Faults; readonly clock: Clock },
): Promise<OutsideCluster> {
  const { name, access, manifests = deployed() } = settings;
  const cluster = new SimulatedCluster(settings, world);
  const { secretOf, groups = ['berth:node-scaler'] } = access ?? {};
  const kubernetes = await startKubernetesApi({
    store: cluster.store,
    clock,
    cluster: name,
    manifests,
    kubelets: world.agenda.dynamics,
    ...(secretOf && { authenticate: (token) => eksIdentity(token, { cluster: name, clock, secretOf, groups }) }),
    before: (request) => {
      world.agenda.settle();
      return apiFaultOf(faults.strike(requestOf(name, request)));
    },
  });
  return Object.assign(cluster, { kubernetes });
}

/** The definition of GameServerNode and the rights of the scaler, as every cluster gets them. */
function deployed(): ObjectInput[] {
  const folder = join(import.meta.dirname, '../../deploy/kubernetes');
  return ['crd.yaml', 'rbac.yaml'].flatMap((file) =>
    parseAllDocuments(readFileSync(join(folder, file), 'utf8')).map((document) => document.toJS() as ObjectInput),
  );
}

function eksClusterOf({ name, region, nodegroups, kubernetes }: OutsideCluster): EksCluster {
  return { name, region, status: 'ACTIVE', endpoint: kubernetes.url, caPem: kubernetes.caPem, nodegroups };
}
