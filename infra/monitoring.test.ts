import { beforeAll, describe, expect, test } from 'vitest';
import { byType, functionParts, synthesized, type TemplateJson } from '../test/support/synthesized.ts';

let functions: TemplateJson;
/** Logical ids of the functions. */
let ids: { readonly applier: string; readonly reaper: string; readonly sweeper: string };
beforeAll(() => {
  ({ functions } = synthesized());
  const idOf = (construct: string) => functionParts(functions, construct).functionId;
  ids = { applier: idOf('PlanApplier'), reaper: idOf('TaskReaper'), sweeper: idOf('TaskSweeper') };
});

const alarmsOf = (template: TemplateJson) => byType(template, 'AWS::CloudWatch::Alarm');

test('six alarms, quiet while there is no data', () => {
  const common = {
    ComparisonOperator: 'GreaterThanOrEqualToThreshold',
    Period: 60,
    TreatMissingData: 'notBreaching',
    AlarmDescription: expect.stringMatching(/\.$/),
  };
  const waiting = (queue: string) => ({
    ...common,
    Namespace: 'AWS/SQS',
    MetricName: 'ApproximateNumberOfMessagesVisible',
    Dimensions: [{ Name: 'QueueName', Value: queue }],
    Statistic: 'Maximum',
    Threshold: 1,
    EvaluationPeriods: 1,
  });
  const named = alarmsOf(functions).map(([id, { Properties }]) => [
    id.replace(/^Monitoring(.*).{8}$/, '$1'),
    Properties,
  ]);
  expect(Object.fromEntries(named)).toEqual({
    PlansDeadLettered: waiting('Berth-plans-dead.fifo'),
    PlansQuarantined: waiting('Berth-quarantine'),
    PlanApplierErrors: {
      ...common,
      Namespace: 'AWS/Lambda',
      MetricName: 'Errors',
      Dimensions: [{ Name: 'FunctionName', Value: { Ref: ids.applier } }],
      Statistic: 'Sum',
      Threshold: 1,
      EvaluationPeriods: 1,
    },
    PlansWaiting: {
      ...common,
      Namespace: 'AWS/SQS',
      MetricName: 'ApproximateAgeOfOldestMessage',
      Dimensions: [{ Name: 'QueueName', Value: 'Berth-plans.fifo' }],
      Statistic: 'Maximum',
      Threshold: 360,
      EvaluationPeriods: 3,
    },
    ReaperGaveUp: waiting('Berth-reaper-failures'),
    ReaperLate: {
      ...common,
      Namespace: 'AWS/Lambda',
      MetricName: 'IteratorAge',
      Dimensions: [{ Name: 'FunctionName', Value: { Ref: ids.reaper } }],
      Statistic: 'Maximum',
      Threshold: 1_800_000,
      EvaluationPeriods: 5,
    },
  });
});

test('an alarm topic is told when an alarm goes off and when it is over', () => {
  const topic = 'arn:aws:sns:eu-central-1:123456789012:alarms';
  const alarms = alarmsOf(synthesized({ alarmTopicArn: topic }).functions);
  expect(alarms).toHaveLength(6);
  for (const [, { Properties }] of alarms) {
    expect(Properties).toMatchObject({ AlarmActions: [topic], OKActions: [topic] });
  }
});

describe('dashboard', () => {
  interface Widget {
    readonly type: string;
    readonly properties: { readonly title: string; readonly alarms?: string[]; readonly metrics?: unknown[][] };
  }

  /** What it shows, with `<id>` in place of a function's name and of an alarm's ARN. */
  function widgets(): Widget[] {
    const [[, dashboard] = [], ...more] = byType(functions, 'AWS::CloudWatch::Dashboard');
    expect(more).toEqual([]);
    expect(dashboard?.Properties.DashboardName).toBe('Berth');
    const body = dashboard?.Properties.DashboardBody as { 'Fn::Join': [string, (string | object)[]] };
    const text = body['Fn::Join'][1].map((part) => (typeof part === 'string' ? part : `<${idIn(part)}>`)).join('');
    return JSON.parse(text).widgets;
  }

  const idIn = (part: object) => [Object.values(part)[0]].flat()[0];

  test('shows every alarm', () => {
    const [first] = widgets();
    expect(first?.type).toBe('alarm');
    expect(first?.properties.alarms).toEqual(alarmsOf(functions).map(([id]) => `<${id}>`));
  });

  test('shows these metrics', () => {
    const graphs = widgets().slice(1);
    // Namespace, name, dimensions and statistic, as on a line of the source of a dashboard.
    const lineOf = (metric: unknown[]) =>
      metric.map((part) => (typeof part === 'string' ? part : (part as { stat: string }).stat)).join(' ');
    const shown = graphs.map(({ properties: { title, metrics = [] } }) => [title, metrics.map(lineOf)]);
    const { applier, reaper, sweeper } = ids;
    expect(Object.fromEntries(shown)).toEqual({
      'Plans waiting': [
        'AWS/SQS ApproximateNumberOfMessagesVisible QueueName Berth-plans.fifo Maximum',
        'AWS/SQS ApproximateNumberOfMessagesNotVisible QueueName Berth-plans.fifo Maximum',
      ],
      'Age of the oldest plan (s)': ['AWS/SQS ApproximateAgeOfOldestMessage QueueName Berth-plans.fifo Maximum'],
      'Set aside': [
        'AWS/SQS ApproximateNumberOfMessagesVisible QueueName Berth-plans-dead.fifo Maximum',
        'AWS/SQS ApproximateNumberOfMessagesVisible QueueName Berth-quarantine Maximum',
      ],
      'Applier: invocations': [
        `AWS/Lambda Invocations FunctionName <${applier}> Sum`,
        `AWS/Lambda Errors FunctionName <${applier}> Sum`,
        `AWS/Lambda Throttles FunctionName <${applier}> Sum`,
      ],
      'Applier: duration (ms)': [
        `AWS/Lambda Duration FunctionName <${applier}> p50`,
        `AWS/Lambda Duration FunctionName <${applier}> p99`,
      ],
      'Write units by table': ['Nodes', 'Tasks', 'Plans', 'Pools'].map(
        (table) => `AWS/DynamoDB ConsumedWriteCapacityUnits TableName Berth-${table} Sum`,
      ),
      'Reaper and sweeper: invocations': [
        `AWS/Lambda Invocations FunctionName <${reaper}> Sum`,
        `AWS/Lambda Errors FunctionName <${reaper}> Sum`,
        `AWS/Lambda Invocations FunctionName <${sweeper}> Sum`,
        `AWS/Lambda Errors FunctionName <${sweeper}> Sum`,
      ],
      'Reaper: behind the stream (ms)': [`AWS/Lambda IteratorAge FunctionName <${reaper}> Maximum`],
      'Tasks deleted': [
        ...['history', 'removable', 'orphaned'].map(
          (rule) => `Berth reaper.tasks_deleted rule ${rule} service task-reaper Sum`,
        ),
        'Berth reaper.sweep_found service task-reaper Sum',
      ],
    });
  });
});
