import * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import type * as lambda from 'aws-cdk-lib/aws-lambda';
import * as sns from 'aws-cdk-lib/aws-sns';
import { Construct } from 'constructs';
import { type BerthAlarm, graph, MINUTE } from './monitoring-parts.ts';
import { type QueueName, queuePhysicalName, tablePhysicalName } from './names.ts';
import { scalerAlarms, scalerRows } from './node-scaler-monitoring.ts';
import type { Settings } from './rules.ts';
import type { ClusterSettings } from './scaler-context.ts';

export interface MonitoringProps {
  readonly prefix: string;
  readonly settings: Settings;
  readonly planApplier: lambda.IFunction;
  readonly reaper: lambda.IFunction;
  readonly sweeper: lambda.IFunction;
  /** The node scaler, where there is one, with its clusters. */
  readonly scaler?: { readonly fn: lambda.IFunction; readonly clusters: readonly ClusterSettings[] };
  /** SNS topic that is told when an alarm goes off and when it is over. Without one, alarms show in the console only. */
  readonly alarmTopicArn?: string;
}

/** The alarms that somebody must act on, and one dashboard. */
export class Monitoring extends Construct {
  private readonly alarmAction: SnsAction | undefined;

  constructor(scope: Construct, id: string, props: MonitoringProps) {
    super(scope, id);
    this.alarmAction =
      props.alarmTopicArn === undefined
        ? undefined
        : new SnsAction(sns.Topic.fromTopicArn(this, 'AlarmTopic', props.alarmTopicArn));
    this.addDashboard(props, this.addAlarms(props));
  }

  private addAlarms({ prefix, settings, planApplier, reaper, scaler }: MonitoringProps): cloudwatch.Alarm[] {
    return [
      this.addAlarm('PlansDeadLettered', {
        alarmDescription:
          'Plans were given up after too many receives. Their pools went on without them: look at the messages and at the ' +
          "applier's log, mend the cause, then redrive them once. A worker plans again by itself.",
        metric: queueMetric(prefix, 'plansDead', 'ApproximateNumberOfMessagesVisible', 'Maximum'),
        threshold: 1,
        evaluationPeriods: 1,
      }),
      this.addAlarm('PlansQuarantined', {
        alarmDescription: 'Messages that are no plans were set aside, each with its reason: find who sends them.',
        metric: queueMetric(prefix, 'quarantine', 'ApproximateNumberOfMessagesVisible', 'Maximum'),
        threshold: 1,
        evaluationPeriods: 1,
      }),
      this.addAlarm('PlanApplierErrors', {
        alarmDescription:
          'An invocation of the plan applier threw or ran out of time; its whole batch is delivered again.',
        metric: planApplier.metricErrors({ period: MINUTE, statistic: 'Sum' }),
        threshold: 1,
        evaluationPeriods: 1,
      }),
      this.addAlarm('PlansWaiting', {
        alarmDescription:
          'A plan waits longer than two failed deliveries take: its pool is stuck behind a message, or more plans come than are applied.',
        metric: queueMetric(prefix, 'plans', 'ApproximateAgeOfOldestMessage', 'Maximum'),
        threshold: 2 * settings.queues.planVisibilitySeconds,
        evaluationPeriods: 3,
      }),
      this.addAlarm('ReaperGaveUp', {
        alarmDescription:
          'The task reaper gave up records of the stream, or the sweeper a page: look at their logs. Once the cause is mended, ' +
          'berth sweep brings to their limit what was left out; the daily sweep would do so too.',
        metric: queueMetric(prefix, 'reaperFailures', 'ApproximateNumberOfMessagesVisible', 'Maximum'),
        threshold: 1,
        evaluationPeriods: 1,
      }),
      this.addAlarm('ReaperLate', {
        alarmDescription:
          'The task reaper is more than half an hour behind the stream of the tasks, which keeps a day.',
        metric: reaper.metric('IteratorAge', { period: MINUTE, statistic: 'Maximum' }),
        threshold: 30 * 60 * 1000,
        evaluationPeriods: 5,
      }),
      ...(scaler === undefined ? [] : scalerAlarms(prefix, scaler).map(({ id, ...alarm }) => this.addAlarm(id, alarm))),
    ];
  }

  private addAlarm(id: string, props: BerthAlarm): cloudwatch.Alarm {
    const alarm = new cloudwatch.Alarm(this, id, {
      comparisonOperator: cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
      // An idle queue or function reports nothing, and that is no fault.
      treatMissingData: cloudwatch.TreatMissingData.NOT_BREACHING,
      ...props,
    });
    if (this.alarmAction !== undefined) {
      alarm.addAlarmAction(this.alarmAction);
      alarm.addOkAction(this.alarmAction);
    }
    return alarm;
  }

  private addDashboard(
    { prefix, planApplier, reaper, sweeper, scaler }: MonitoringProps,
    alarms: cloudwatch.Alarm[],
  ): void {
    const period = { period: MINUTE };
    const dashboard = new cloudwatch.Dashboard(this, 'Dashboard', { dashboardName: prefix });
    dashboard.addWidgets(new cloudwatch.AlarmStatusWidget({ title: 'Alarms', width: 24, height: 3, alarms }));
    dashboard.addWidgets(
      graph('Plans waiting', [
        queueMetric(prefix, 'plans', 'ApproximateNumberOfMessagesVisible', 'Maximum'),
        queueMetric(prefix, 'plans', 'ApproximateNumberOfMessagesNotVisible', 'Maximum'),
      ]),
      graph('Age of the oldest plan (s)', [queueMetric(prefix, 'plans', 'ApproximateAgeOfOldestMessage', 'Maximum')]),
      graph('Set aside', [
        queueMetric(prefix, 'plansDead', 'ApproximateNumberOfMessagesVisible', 'Maximum'),
        queueMetric(prefix, 'quarantine', 'ApproximateNumberOfMessagesVisible', 'Maximum'),
      ]),
    );
    dashboard.addWidgets(
      graph('Applier: invocations', [
        planApplier.metricInvocations(period),
        planApplier.metricErrors(period),
        planApplier.metricThrottles(period),
      ]),
      graph('Applier: duration (ms)', [
        planApplier.metricDuration({ ...period, statistic: 'p50' }),
        planApplier.metricDuration({ ...period, statistic: 'p99' }),
      ]),
      graph('Write units by table', [
        tableMetric(prefix, 'nodes', 'ConsumedWriteCapacityUnits'),
        tableMetric(prefix, 'tasks', 'ConsumedWriteCapacityUnits'),
        tableMetric(prefix, 'plans', 'ConsumedWriteCapacityUnits'),
        tableMetric(prefix, 'pools', 'ConsumedWriteCapacityUnits'),
      ]),
    );
    dashboard.addWidgets(
      graph('Reaper and sweeper: invocations', [
        reaper.metricInvocations(period),
        reaper.metricErrors(period),
        sweeper.metricInvocations(period),
        sweeper.metricErrors(period),
      ]),
      graph('Reaper: behind the stream (ms)', [reaper.metric('IteratorAge', { ...period, statistic: 'Maximum' })]),
      graph('Tasks deleted', [
        ...['history', 'removable', 'orphaned'].map((rule) => reaped(prefix, 'reaper.tasks_deleted', { rule })),
        reaped(prefix, 'reaper.sweep_found', {}),
      ]),
    );
    for (const row of scaler === undefined ? [] : scalerRows(prefix, scaler)) dashboard.addWidgets(...row);
  }
}

/** A metric that the reaper or the sweeper writes, over both. */
function reaped(prefix: string, metricName: string, dimensionsMap: Record<string, string>): cloudwatch.Metric {
  const dimensions = { service: 'task-reaper', ...dimensionsMap };
  return new cloudwatch.Metric({
    namespace: prefix,
    metricName,
    dimensionsMap: dimensions,
    statistic: 'Sum',
    period: MINUTE,
  });
}

function queueMetric(prefix: string, queue: QueueName, metricName: string, statistic: string): cloudwatch.Metric {
  const name = queuePhysicalName(prefix, queue);
  return new cloudwatch.Metric({
    namespace: 'AWS/SQS',
    metricName,
    dimensionsMap: { QueueName: name },
    statistic,
    period: MINUTE,
  });
}

function tableMetric(
  prefix: string,
  table: 'nodes' | 'tasks' | 'plans' | 'pools',
  metricName: string,
): cloudwatch.Metric {
  const name = tablePhysicalName(prefix, table);
  return new cloudwatch.Metric({
    namespace: 'AWS/DynamoDB',
    metricName,
    dimensionsMap: { TableName: name },
    statistic: 'Sum',
    period: MINUTE,
    label: name,
  });
}
