import { randomUUID } from 'node:crypto';
import { Logger } from '@aws-lambda-powertools/logger';
import type { Context } from 'aws-lambda';
import type { ConnectedCluster } from '../../lib/aws/reach-cluster.ts';
import { type ClusterReport, publishScalerMetrics, tellCluster } from '../../lib/aws/scaler-telemetry.ts';
import { type TimeLeft, timeLeft } from '../../lib/aws/time-left.ts';
import type { NodeConnection } from '../../lib/client/connection.ts';
import { nodeRegistry } from '../../lib/client/node-registry.ts';
import { cronTimes } from '../../lib/cron/croner.ts';
import { type ClusterSettings, clusterIdOf, readClusters } from '../../lib/scaler/cluster-settings.ts';
import { runCluster } from '../../lib/scaler/run-cluster.ts';
import { InvalidInputError } from '../../lib/schema.ts';
import { SCALER } from '../../lib/settings.ts';
import { dynamoClient } from '../../lib/store/dynamo.ts';
import { scalerStore } from '../../lib/store/scaler-store.ts';
import { CLUSTERS_ENV, requiredEnv, tableNamesFromEnv } from '../../lib/store/tables.ts';
import { type EpochMs, systemClock } from '../../lib/time.ts';
import { reachCluster } from './reach.ts';
import { readTick } from './tick-event.ts';

const logger = new Logger({ serviceName: 'node-scaler' });
const tables = tableNamesFromEnv(process.env, ['scaler', 'nodes', 'tasks', 'pools', 'rejections']);
const clusters = clustersFromEnv();
const dynamo = dynamoClient();
const nodes: NodeConnection = {
  ...{ dynamo, tables, clock: systemClock, shards: new Map() },
  rejectionsTable: () => tables.rejections,
};

/** What a tick came to, by cluster. */
export interface TickSummary {
  readonly clusters: readonly { readonly cluster: string; readonly outcome: string; readonly objects?: number }[];
}

/** Runs one tick of every cluster, all at the same time. One that fails is told, and holds up no other. */
export async function handler(event: unknown, context: Context): Promise<TickSummary> {
  const scheduledAt = readTick(event, systemClock());
  const left = timeLeft(context, SCALER);
  const reports = await Promise.all(clusters.map((settings) => reportOf(settings, scheduledAt, left)));
  for (const report of reports) {
    tellCluster(logger, report);
    publishScalerMetrics(report);
  }
  return {
    clusters: reports.map(({ cluster, outcome }) => {
      const objects = outcome.kind === 'done' ? { objects: outcome.objects.length } : {};
      return { cluster, outcome: outcome.kind, ...objects };
    }),
  };
}

async function reportOf(settings: ClusterSettings, scheduledAt: EpochMs, left: TimeLeft): Promise<ClusterReport> {
  const { signal, deadline } = left;
  const [cluster, begun] = [clusterIdOf(settings), systemClock()];
  // Of this run alone: Lambda may deliver one event twice, with one request id.
  const holder = randomUUID();
  const until = (begun + SCALER.leaseSeconds * 1000) as EpochMs;
  let connected: ConnectedCluster | undefined;
  const ports = {
    turns: scalerStore(dynamo, tables, signal),
    reach: async () => {
      connected = await reachCluster(settings, systemClock, signal);
      return connected;
    },
    registry: nodeRegistry(nodes, cluster, signal),
    times: cronTimes,
    clock: systemClock,
  };
  const outcome = await runCluster({ cluster, scheduledAt, holder, until, deadline }, ports)
    .catch((failure: unknown): ClusterReport['outcome'] => ({ kind: 'failed', failure }))
    .finally(() => connected?.close());
  return { cluster, outcome, seconds: (systemClock() - begun) / 1000 };
}

function clustersFromEnv(): readonly ClusterSettings[] {
  const read = readClusters(requiredEnv(process.env, CLUSTERS_ENV));
  if ('problems' in read) throw new InvalidInputError(CLUSTERS_ENV, read.problems);
  return read.clusters;
}
