import type { InspectableCluster } from '../aws/reach-cluster.ts';
import { CallError } from '../scaler/call-error.ts';
import { type ClusterSettings, clusterIdOf } from '../scaler/cluster-settings.ts';
import type { Ledger } from '../scaler/observation.ts';
import type { NodeRegistry } from '../scaler/ports.ts';
import { type EpochMs, systemClock } from '../time.ts';
import type { CommonOptions, Run } from './context.ts';
import { EXIT, type ExitStatus } from './io.ts';
import type { ClusterOptions, Memory } from './scaler-clusters.ts';
import { type Cordons, cordonsText } from './scaler-cordons.ts';
import { ageText, lineOf } from './scaler-view.ts';

export type OverOptions = CommonOptions & ClusterOptions;

/** What is known of a cluster before it is asked. */
export interface Seen {
  readonly registry: NodeRegistry;
  readonly ledgers: ReadonlyMap<string, Ledger>;
  readonly now: EpochMs;
}

/** Whether a pool is as it should be. */
interface Judged {
  readonly well: boolean;
}

/** What a command sees of a cluster. */
export interface Sight<P extends Judged> extends Cordons {
  readonly pools: readonly P[];
}

/** What a command wants to know of a cluster; undefined: the cluster does not know the kind. */
export type Look<P extends Judged> = (reached: InspectableCluster, seen: Seen) => Promise<Sight<P> | undefined>;

/** What a command found out of one cluster. */
export interface ClusterView<P extends Judged> extends Cordons {
  readonly cluster: string;
  /** Why nothing could be seen of it. */
  readonly problem?: string;
  /** Undefined: it does not know the kind GameServerNode. */
  readonly pools?: readonly P[];
  /** When its last tick began; undefined: nobody knows. */
  readonly lastTick?: EpochMs;
}

/** Looks at each cluster that `options` select, at all of them at once. One that cannot be seen holds up no other. */
export async function overClusters<P extends Judged>(
  run: Run,
  options: OverOptions,
  look: Look<P>,
): Promise<readonly ClusterView<P>[]> {
  // Loaded for these commands alone: the clients of clusters are larger than all the rest.
  const { clustersOf, memoryOf, reach } = await import('./scaler-clusters.ts');
  const clusters = clustersOf(run.env, options);
  const memory = memoryOf(run);
  return Promise.all(
    clusters.map((settings) => lookAt(memory, settings, () => reach(run.env, settings, options), look)),
  );
}

async function lookAt<P extends Judged>(
  memory: Memory,
  settings: ClusterSettings,
  reach: () => Promise<InspectableCluster>,
  look: Look<P>,
): Promise<ClusterView<P>> {
  const cluster = clusterIdOf(settings);
  let reached: InspectableCluster | undefined;
  try {
    const { ledgers, lastTick } = await memory.look(cluster);
    reached = await reach();
    const sight = await look(reached, { registry: memory.registry(cluster), ledgers, now: systemClock() });
    return {
      cluster,
      ...sight,
      ...(lastTick === undefined ? {} : { lastTick }),
    };
  } catch (error) {
    if (!(error instanceof CallError)) throw error;
    return { cluster, problem: `${error.code}: ${error.message}` };
  } finally {
    reached?.close();
  }
}

/** Failed: a cluster, or its nodes, could not be seen; no: a pool is not as it should be, or nodes are left cordoned. */
export function exitOf(views: readonly ClusterView<Judged>[]): ExitStatus {
  if (views.some(({ problem, nodesProblem }) => problem !== undefined || nodesProblem !== undefined))
    return EXIT.failed;
  const fine = views.every(({ pools = [], leftCordoned = [] }) => {
    return leftCordoned.length === 0 && pools.every(({ well }) => well);
  });
  return fine ? EXIT.done : EXIT.no;
}

/** The clusters, one after the other, each with what `text` says of its pools, or why there is nothing to say. */
export function clustersText<P extends Judged>(
  views: readonly ClusterView<P>[],
  text: (pools: readonly P[]) => string,
): string {
  return views.map((view) => clusterText(view, text, systemClock())).join('\n\n');
}

function clusterText<P extends Judged>(
  { cluster, problem, pools, lastTick, ...cordons }: ClusterView<P>,
  text: (pools: readonly P[]) => string,
  now: EpochMs,
): string {
  const ticked = lastTick === undefined ? 'no tick yet' : `last tick ${ageText(now - lastTick)} ago`;
  const head = `cluster ${cluster}, ${ticked}`;
  if (problem !== undefined) return `${head}\n${lineOf(`could not be seen: ${problem}`)}`;
  if (pools === undefined) {
    return `${head}\nit does not know the kind GameServerNode: kubectl apply -f deploy/kubernetes/crd.yaml`;
  }
  return [head, text(pools), ...cordonsText(cordons)].join('\n');
}
