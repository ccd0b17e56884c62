import { Logger } from '@aws-lambda-powertools/logger';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { keepOutput, type Output } from '../../test/support/output.ts';
import type { TaskId } from '../ids.ts';
import type { SlotOutcome } from '../tasks/reap.ts';
import type { SlotKey } from '../tasks/task.ts';
import { publishReaperMetrics, tellSlot } from './slot-telemetry.ts';

let output: Output;
beforeEach(() => {
  vi.stubEnv('POWERTOOLS_METRICS_NAMESPACE', 'berth');
  // As a function that is not the reaper has it: the metrics of both stand under one name.
  vi.stubEnv('POWERTOOLS_SERVICE_NAME', 'task-sweeper');
  output = keepOutput();
});

const outcome = (more: Partial<SlotOutcome> = {}): SlotOutcome => ({
  ...{ slotKey: 'web#1' as SlotKey, deleted: [], marked: [], remaining: 1, conflicts: 0, malformed: [] },
  ...{ unknown: false, error: undefined },
  ...more,
});
const deleted = (rule: 'history' | 'removable' | 'orphaned', count: number): SlotOutcome['deleted'] =>
  Array.from({ length: count }, (_, at) => ({ taskId: `${rule}-${at}` as TaskId, rule }));

/** What CloudWatch makes of each line: its dimensions, and its metrics with values and unit. */
function published() {
  return output.objects().map((line) => {
    const { _aws, ...properties } = line as Record<string, unknown> & {
      _aws: {
        CloudWatchMetrics: [{ Namespace: string; Dimensions: string[][]; Metrics: { Name: string; Unit: string }[] }];
      };
    };
    const [{ Namespace, Dimensions, Metrics }, ...more] = _aws.CloudWatchMetrics;
    expect([Namespace, more]).toEqual(['berth', []]);
    return {
      dimensions: Dimensions.map((names) => names.map((name) => `${name}=${properties[name]}`)),
      metrics: Object.fromEntries(Metrics.map(({ Name, Unit }) => [Name, [properties[Name], Unit]])),
    };
  });
}

const SERVICE = [['service=task-reaper']];

describe('the metrics of an invocation', () => {
  it('count deletes under their rule, and the rest without a dimension, beside the service, which is always the same', () => {
    const outcomes = [
      outcome({ deleted: [...deleted('history', 2), ...deleted('removable', 1)], conflicts: 2 }),
      outcome({ deleted: deleted('history', 3), marked: ['t' as TaskId], malformed: [{ key: 'k', problem: 'p' }] }),
      outcome({ error: new Error('no') }),
      // It need not be read.
      outcome({ remaining: undefined }),
    ];
    publishReaperMetrics(outcomes, { lags: [3, 1.5], malformed: 2, found: 0 });
    expect(published()).toEqual([
      {
        dimensions: [['service=task-reaper', 'rule=history']],
        metrics: { 'reaper.tasks_deleted': [5, 'Count'] },
      },
      {
        dimensions: [['service=task-reaper', 'rule=removable']],
        metrics: { 'reaper.tasks_deleted': [1, 'Count'] },
      },
      {
        dimensions: SERVICE,
        metrics: {
          'reaper.lag_seconds': [[3, 1.5], 'Seconds'],
          'reaper.slots_examined': [3, 'Count'],
          'reaper.tasks_marked': [1, 'Count'],
          'reaper.conflicts': [2, 'Count'],
          'reaper.malformed': [3, 'Count'],
          'reaper.slots_failed': [1, 'Count'],
          // That a sweep has found nothing is said.
          'reaper.sweep_found': [0, 'Count'],
        },
      },
    ]);
  });

  it('leave out what did not happen', () => {
    publishReaperMetrics([outcome()], {});
    expect(published()).toEqual([{ dimensions: SERVICE, metrics: { 'reaper.slots_examined': [1, 'Count'] } }]);
  });

  it.each([0, 1, 99, 100, 101, 200, 250])(
    'lose none of %i delays, a hundred a line, and no count stands twice',
    (count) => {
      const lags = Array.from({ length: count }, (_, at) => at);
      publishReaperMetrics([outcome()], { lags });
      const lines = published();
      const values = lines.map(({ metrics }) => [metrics['reaper.lag_seconds']?.[0] ?? []].flat());
      expect(values.flat()).toEqual(lags);
      expect(Math.max(...values.map(({ length }) => length))).toBeLessThanOrEqual(100);
      expect(lines.filter(({ metrics }) => 'reaper.slots_examined' in metrics)).toHaveLength(1);
      expect(lines.every(({ dimensions }) => JSON.stringify(dimensions) === JSON.stringify(SERVICE))).toBe(true);
      // No warning that there is nothing to publish: every line of the log is JSON.
      expect(output.texts()).toEqual([]);
    },
  );
});

describe('the line of a slot', () => {
  it('names 25 tasks and counts all, with what was marked', () => {
    const slot = outcome({ deleted: [...deleted('history', 30), ...deleted('orphaned', 2)], marked: ['m' as TaskId] });
    tellSlot(new Logger({ serviceName: 'task-reaper' }), { ...slot, remaining: 4 });
    const [line, ...more] = output.objects();
    expect(more).toEqual([]);
    expect(line).toMatchObject({
      ...{ level: 'INFO', message: 'tasks deleted', slot: 'web#1', deleted: 32, marked: 1, remaining: 4 },
      rules: { history: 30, orphaned: 2 },
      tasks: Array.from({ length: 25 }, (_, at) => `history-${at}`),
    });
  });

  it('is left out for a slot that lost nothing', () => {
    tellSlot(new Logger(), outcome());
    expect(output.objects()).toEqual([]);
  });
});
