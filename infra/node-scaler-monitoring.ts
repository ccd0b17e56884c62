import * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch';
import type * as lambda from 'aws-cdk-lib/aws-lambda';
import { type BerthAlarm, graph, MINUTE } from './monitoring-parts.ts';
import { type ClusterSettings, clusterIdOf } from './scaler-context.ts';

/** The node scaler and what it works on. */
interface Scaler {
  readonly fn: lambda.IFunction;
  readonly clusters: readonly ClusterSettings[];
}

/** The alarms of the function, and of each cluster, with their ids. */
export function scalerAlarms(prefix: string, { fn, clusters }: Scaler): (BerthAlarm & { readonly id: string })[] {
  return [
    {
      id: 'NodeScalerErrors',
      alarmDescription: 'The node scaler threw or ran out of time, three ticks in a row: look at its log.',
      metric: fn.metricErrors({ period: MINUTE, statistic: 'Sum' }),
      threshold: 1,
      evaluationPeriods: 3,
    },
    ...clusters.flatMap((cluster) => clusterAlarms(prefix, clusterIdOf(cluster))),
  ];
}

function clusterAlarms(prefix: string, cluster: string): (BerthAlarm & { readonly id: string })[] {
  // A construct's id has no slash.
  const of = cluster.replace('/', ' ');
  return [
    {
      id: `ClusterUnobserved ${of}`,
      alarmDescription: `Cluster ${cluster} could not be observed for five minutes, and nothing was changed in it: its endpoint, the access entry, or the function itself. Its log says which.`,
      metric: clusterMetric(prefix, cluster, 'scaler.cluster_unobserved'),
      threshold: 1,
      evaluationPeriods: 5,
      // Who is not invoked, or never gets to an end, says nothing.
      treatMissingData: cloudwatch.TreatMissingData.BREACHING,
    },
    {
      id: `AtProviderMaximum ${of}`,
      alarmDescription: `A pool of cluster ${cluster} has wanted more nodes than its group may have for 15 minutes: raise the group's maximum, or lower the target.`,
      metric: clusterMetric(prefix, cluster, 'scaler.at_provider_maximum'),
      threshold: 1,
      evaluationPeriods: 15,
    },
    {
      id: `DrainBlocked ${of}`,
      alarmDescription: `A node of cluster ${cluster} has been draining for longer than its object's drainWarningSeconds. Nothing is forced: kubectl describe shows the games that are still on it.`,
      metric: clusterMetric(prefix, cluster, 'scaler.drain_blocked'),
      threshold: 1,
      evaluationPeriods: 1,
    },
  ];
}

/** Rows of the dashboard: the function, and the pools of each cluster, whichever there are. */
export function scalerRows(prefix: string, { fn, clusters }: Scaler): cloudwatch.IWidget[][] {
  const period = { period: MINUTE };
  const ids = clusters.map(clusterIdOf);
  const each = (name: string) => ids.map((id) => clusterMetric(prefix, id, name, id));
  return [
    [
      graph('Node scaler: invocations', [fn.metricInvocations(period), fn.metricErrors(period)]),
      graph('Node scaler: a tick (s)', each('scaler.tick_seconds')),
      graph('Clusters unobserved', each('scaler.cluster_unobserved')),
    ],
    ...ids.map((id) => [
      graph(`${id}: targets and active nodes`, [poolMetrics(prefix, id, 'target'), poolMetrics(prefix, id, 'active')]),
      graph(`${id}: pending and draining`, [poolMetrics(prefix, id, 'pending'), poolMetrics(prefix, id, 'draining')]),
      graph(`${id}: allocated servers`, [poolMetrics(prefix, id, 'allocated')]),
    ]),
  ];
}

function clusterMetric(prefix: string, cluster: string, metricName: string, label?: string): cloudwatch.Metric {
  return new cloudwatch.Metric({
    namespace: prefix,
    metricName,
    dimensionsMap: { service: 'node-scaler', cluster },
    statistic: 'Maximum',
    period: MINUTE,
    ...(label === undefined ? {} : { label }),
  });
}

/** One metric of all pools of a cluster: their names are known to the cluster alone. */
function poolMetrics(prefix: string, cluster: string, what: string): cloudwatch.MathExpression {
  const search = `{"${prefix}",cluster,pool,service} MetricName="scaler.${what}" cluster="${cluster}"`;
  return new cloudwatch.MathExpression({
    expression: `SEARCH('${search}', 'Maximum', 60)`,
    usingMetrics: {},
    period: MINUTE,
    label: what,
  });
}
