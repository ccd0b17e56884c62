import type { Logger } from '@aws-lambda-powertools/logger';
import { Metrics, MetricUnit } from '@aws-lambda-powertools/metrics';
import type { ReapRule } from '../tasks/history.ts';
import type { Malformed, SlotOutcome } from '../tasks/reap.ts';

/** Task ids that one line names. */
const NAMED = 25;

/** One line a slot that lost tasks, and one for whatever somebody must look at. */
export function tellSlot(logger: Logger, { slotKey, deleted, marked, remaining, malformed, error }: SlotOutcome): void {
  if (deleted.length > 0 || marked.length > 0) {
    const tasks = deleted.slice(0, NAMED).map(({ taskId }) => taskId);
    logger.info('tasks deleted', {
      ...{ slot: slotKey, deleted: deleted.length, rules: byRule(deleted), tasks, remaining },
      ...(marked.length > 0 ? { marked: marked.length } : {}),
    });
  }
  tellMalformed(logger, malformed);
  if (error) logger.error('slot left for another time', { slot: slotKey, error });
}

export function tellMalformed(logger: Logger, malformed: readonly Malformed[]): void {
  for (const { key, problem } of malformed) logger.warn('task malformed; it is kept', { key, problem });
}

function byRule(deleted: SlotOutcome['deleted']): Partial<Record<ReapRule, number>> {
  const counts: Partial<Record<ReapRule, number>> = {};
  for (const { rule } of deleted) counts[rule] = (counts[rule] ?? 0) + 1;
  return counts;
}

/** What an invocation counts beside its slots. */
export interface ReaperCounts {
  /** Seconds from the change to the delete, of each slot that lost something. */
  readonly lags?: readonly number[];
  /** Tasks that a sweep found which the stream should have come to. */
  readonly found?: number;
  /** Malformed ones beside those of the slots. */
  readonly malformed?: number;
}

/** Writes the metrics of one invocation in embedded metric format. The rule is the only dimension: never a slot or a service. */
export function publishReaperMetrics(outcomes: readonly SlotOutcome[], counts: ReaperCounts): void {
  for (const [rule, count] of Object.entries(byRule(outcomes.flatMap(({ deleted }) => deleted)))) {
    const metrics = new Metrics({ serviceName: 'task-reaper' });
    metrics.addDimension('rule', rule);
    metrics.addMetric('reaper.tasks_deleted', MetricUnit.Count, count);
    metrics.publishStoredMetrics();
  }
  const sum = (of: (outcome: SlotOutcome) => number) => outcomes.reduce((total, outcome) => total + of(outcome), 0);
  const metrics = new Metrics({ serviceName: 'task-reaper' });
  // First, since a metric has at most 100 values in a line: the hundredth has the line written, and the next one begun.
  for (const lag of counts.lags ?? []) metrics.addMetric('reaper.lag_seconds', MetricUnit.Seconds, lag);
  const examined = outcomes.filter(({ remaining }) => remaining !== undefined).length;
  metrics.addMetric('reaper.slots_examined', MetricUnit.Count, examined);
  const values = {
    'reaper.tasks_marked': sum(({ marked }) => marked.length),
    'reaper.conflicts': sum(({ conflicts }) => conflicts),
    'reaper.malformed': sum(({ malformed }) => malformed.length) + (counts.malformed ?? 0),
    'reaper.slots_failed': sum(({ error }) => (error ? 1 : 0)),
  };
  for (const [name, value] of Object.entries(values)) if (value > 0) metrics.addMetric(name, MetricUnit.Count, value);
  if (counts.found !== undefined) metrics.addMetric('reaper.sweep_found', MetricUnit.Count, counts.found);
  metrics.publishStoredMetrics();
}
