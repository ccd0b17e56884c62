import type { Logger } from '@aws-lambda-powertools/logger';
import { Metrics, MetricUnit } from '@aws-lambda-powertools/metrics';
import type { Deed, TickError } from '../scaler/act/report.ts';
import { CallError, type CallErrorKind } from '../scaler/call-error.ts';
import type { OrphanOutcome } from '../scaler/registration/registration-orphans.ts';
import type { ClusterOutcome } from '../scaler/run-cluster.ts';
import { isUnobserved } from '../scaler/tell/status-json.ts';
import type { ObjectOutcome } from '../scaler/tick.ts';
import { clip } from '../schema.ts';
import { SCALER } from '../settings.ts';
import { isStoreError } from '../store/errors.ts';

/** What a tick came to for one cluster, and how long it took. `failure`: thrown instead of an outcome. */
export interface ClusterReport {
  /** As `clusterIdOf` has it. */
  readonly cluster: string;
  readonly seconds: number;
  readonly outcome: ClusterOutcome | { readonly kind: 'failed'; readonly failure: unknown };
}

/** Classes of errors, of which there are few: a dimension's values are each a metric of their own. */
type ErrorClass = CallErrorKind | 'unobserved' | 'store' | 'bug';

/** Errors that one line names. */
const NAMED = 10;

/** Characters of one text of a line: CloudWatch cuts a line of 256 KB in two, and neither half is JSON. */
const TEXT_LENGTH = 2_000;

type Told = Readonly<
  Record<'error' | 'warn' | 'info', (message: string, fields: Readonly<Record<string, unknown>>) => void>
>;

/** `logger` with every text cut: names and messages come from outside, of pools with thousands of nodes by the megabyte. */
function bounded(logger: Logger): Told {
  return {
    error: (message, fields) => logger.error(message, cut(fields)),
    warn: (message, fields) => logger.warn(message, cut(fields)),
    info: (message, fields) => logger.info(message, cut(fields)),
  };
}

function cut<T>(value: T): T {
  if (typeof value === 'string') return clip(value, TEXT_LENGTH) as T;
  if (Array.isArray(value)) return value.map(cut) as T;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, cut(inner)])) as T;
}

/** One line a pool that has changed or is not as it should be, and one for whatever else somebody must look at. */
export function tellCluster(to: Logger, { cluster, outcome }: ClusterReport): void {
  const logger = bounded(to);
  switch (outcome.kind) {
    case 'failed':
      logger.error('tick of the cluster failed', { cluster, error: shownError(outcome.failure) });
      return;
    case 'unobserved':
      logger.error('cluster could not be observed; nothing was changed', { cluster, error: shownError(outcome.error) });
      break;
    case 'done':
      for (const one of outcome.objects) tellObject(logger, cluster, one);
      if (outcome.errors.length > 0) {
        logger.warn('not all could be told', { cluster, errors: outcome.errors.slice(0, NAMED) });
      }
      for (const one of outcome.leaving) tellLeaving(logger, cluster, one);
      for (const object of outcome.abandoned) {
        logger.warn('object is gone, and what was under way for it is given up; look for machines without a node', {
          cluster,
          object,
        });
      }
      break;
    case 'no-kind':
      if (outcome.stranded !== undefined) {
        logger.warn('kind GameServerNode is gone, and nodes stay registered in pools of Berth; apply it again', {
          ...{ cluster, objects: outcome.stranded.slice(0, NAMED) },
        });
      }
      break;
    case 'held':
      logger.info('cluster is held by another run', { cluster });
      return;
    default:
      break;
  }
  if ('unreleased' in outcome) {
    const error = shownError(outcome.unreleased);
    logger.warn('the lease could not be given back; it expires', { cluster, error });
  }
}

function tellObject(logger: Told, cluster: string, { name, status, problems, report }: ObjectOutcome): void {
  const { deeds, errors, outOfTime } = report;
  const degraded = status.conditions.find(({ type }) => type === 'Degraded');
  const isWrong = problems.length > 0 || errors.length > 0 || outOfTime || degraded?.status === 'True';
  if (!isWrong && deeds.length === 0) return;
  const { effectiveTarget: target, targetSource: source, nodes } = status;
  const fields = {
    ...{ cluster, object: name, target, source, ...nodes, deeds: countOf(deeds) },
    ...(problems.length > 0 ? { problems: problems.slice(0, NAMED) } : {}),
    ...(degraded?.status === 'True' ? { degraded: status.degraded, detail: degraded.message } : {}),
    ...(errors.length > 0 ? { failed: errors.length, errors: errors.slice(0, NAMED) } : {}),
    ...(outOfTime ? { outOfTime } : {}),
  };
  if (isWrong) logger.warn('pool is not as it should be', fields);
  else logger.info('pool changed', fields);
}

/** Nobody has a status to look at of an object that is gone. */
function tellLeaving(logger: Told, cluster: string, { name, report }: OrphanOutcome): void {
  const { deeds, errors, findings, outOfTime } = report;
  const isWrong = errors.length > 0 || findings.length > 0 || outOfTime;
  if (!isWrong && deeds.length === 0) return;
  const detail = findings.slice(0, NAMED).map(({ message }) => message);
  const fields = {
    ...{ cluster, object: name, deeds: countOf(deeds) },
    ...(detail.length > 0 ? { detail } : {}),
    ...(errors.length > 0 ? { failed: errors.length, errors: errors.slice(0, NAMED) } : {}),
    ...(outOfTime ? { outOfTime } : {}),
  };
  if (isWrong) logger.warn('object is gone, and not all of its nodes are out of their pool of Berth', fields);
  else logger.info('object is gone, and its nodes leave their pool of Berth', fields);
}

function countOf(deeds: readonly Deed[]): Partial<Record<Deed['kind'], number>> {
  const counts: Partial<Record<Deed['kind'], number>> = {};
  for (const deed of deeds) counts[deed.kind] = (counts[deed.kind] ?? 0) + (deed.kind === 'increased' ? deed.by : 1);
  return counts;
}

/** What the log may show of an error: not what it carries along, which may be a request with its token. */
function shownError(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { message: String(error) };
  const { name, message, stack } = error;
  if (error instanceof CallError) return { name, kind: error.kind, code: error.code, message };
  return { name, message, ...(isStoreError(error) ? {} : { stack }) };
}

/**
 * Writes the metrics of one cluster's tick in embedded metric format. Dimensions are the cluster, the pool (of the first
 * `SCALER.meteredPools` objects by name), and the class of an error. A tick that was not run writes none.
 */
export function publishScalerMetrics(report: ClusterReport): void {
  const { cluster, seconds, outcome } = report;
  if (outcome.kind === 'held' || outcome.kind === 'past') return;
  const objects = outcome.kind === 'done' ? outcome.objects : [];
  const byName = [...objects].sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const one of byName.slice(0, SCALER.meteredPools)) publishPool(cluster, one);
  for (const [errorClass, count] of errorsOf(report)) {
    const metrics = metricsOf({ cluster, class: errorClass });
    metrics.addMetric('scaler.errors', MetricUnit.Count, count);
    metrics.publishStoredMetrics();
  }
  const metrics = metricsOf({ cluster });
  const has = (reason: 'AtProviderMaximum' | 'DrainBlocked') =>
    objects.filter(({ status }) => status.degraded?.includes(reason)).length;
  metrics.addMetric('scaler.tick_seconds', MetricUnit.Seconds, seconds);
  metrics.addMetric('scaler.cluster_unobserved', MetricUnit.Count, isClusterUnobserved(report) ? 1 : 0);
  metrics.addMetric('scaler.at_provider_maximum', MetricUnit.Count, has('AtProviderMaximum'));
  metrics.addMetric('scaler.drain_blocked', MetricUnit.Count, has('DrainBlocked'));
  metrics.publishStoredMetrics();
}

/** Whether nothing of the cluster, or not all that its pools are made of, could be seen. */
function isClusterUnobserved({ outcome }: ClusterReport): boolean {
  if (outcome.kind === 'failed' || outcome.kind === 'unobserved') return true;
  return outcome.kind === 'done' && outcome.objects.some(({ status }) => isUnobserved(status.degraded));
}

function publishPool(cluster: string, { name, status }: ObjectOutcome): void {
  const { nodes, effectiveTarget, protectedServers } = status;
  if (nodes === undefined) return;
  const { active, pending, draining, held } = nodes;
  const metrics = metricsOf({ cluster, pool: name });
  const values = { target: effectiveTarget, active, pending, draining, held, allocated: protectedServers };
  for (const [what, value] of Object.entries(values)) {
    if (value !== undefined) metrics.addMetric(`scaler.${what}`, MetricUnit.Count, value);
  }
  metrics.publishStoredMetrics();
}

function metricsOf(dimensions: Readonly<Record<string, string>>): Metrics {
  const metrics = new Metrics({ serviceName: 'node-scaler' });
  for (const [name, value] of Object.entries(dimensions)) metrics.addDimension(name, value);
  return metrics;
}

function errorsOf({ outcome }: ClusterReport): Map<ErrorClass, number> {
  const counts = new Map<ErrorClass, number>();
  const count = (errorClass: ErrorClass) => counts.set(errorClass, (counts.get(errorClass) ?? 0) + 1);
  if (outcome.kind === 'failed') count(isStoreError(outcome.failure) ? 'store' : 'bug');
  if (outcome.kind === 'unobserved') count(outcome.error.kind);
  if (outcome.kind === 'done') {
    for (const error of [
      ...[...outcome.objects, ...outcome.leaving].flatMap(({ report }) => report.errors),
      ...outcome.errors,
    ]) {
      count(classOf(error));
    }
  }
  return counts;
}

function classOf({ kind }: TickError): ErrorClass {
  return kind ?? 'unobserved';
}
