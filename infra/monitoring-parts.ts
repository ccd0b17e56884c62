import { Duration } from 'aws-cdk-lib';
import * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch';

/** The period of every metric that is alarmed on or shown. */
export const MINUTE = Duration.minutes(1);

/** An alarm on one metric, as far as alarms differ. */
export type BerthAlarm = Pick<
  cloudwatch.AlarmProps,
  'alarmDescription' | 'metric' | 'threshold' | 'evaluationPeriods' | 'treatMissingData'
>;

/** A graph of a third of the dashboard's width. */
export function graph(title: string, left: cloudwatch.IMetric[]): cloudwatch.GraphWidget {
  return new cloudwatch.GraphWidget({ title, left, width: 8, height: 6, leftYAxis: { min: 0 } });
}
