import { Stack } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { Monitoring } from './monitoring.ts';
import { NodeScaler } from './node-scaler.ts';
import { PlanApplier } from './plan-applier.ts';
import type { Settings } from './rules.ts';
import type { ClusterSettings } from './scaler-context.ts';
import { TaskReaper } from './task-reaper.ts';
import { TaskSweeper } from './task-sweeper.ts';
import type { VpcSettings } from './vpc-settings.ts';

export interface FunctionsStackProps {
  /** The prefix of the state stack whose tables and queues the functions use. */
  readonly prefix: string;
  readonly settings: Settings;
  readonly alarmTopicArn?: string;
  /** What the node scaler works on; none: there is no node scaler. */
  readonly clusters: readonly ClusterSettings[];
  /** Where it runs, for clusters with a private endpoint. */
  readonly scalerVpc?: VpcSettings;
}

/** Everything that can be deleted and made again at any time: functions, their roles and logs, alarms, the dashboard. */
export class FunctionsStack extends Stack {
  constructor(scope: Construct, id: string, props: FunctionsStackProps) {
    super(scope, id, { description: 'Berth: functions, alarms, dashboard. Holds no state.' });
    const planApplier = new PlanApplier(this, 'PlanApplier', props);
    const reaper = new TaskReaper(this, 'TaskReaper', props);
    const sweeper = new TaskSweeper(this, 'TaskSweeper', props);
    const { clusters, scalerVpc: vpc } = props;
    const scaler = clusters.length > 0 ? new NodeScaler(this, 'NodeScaler', { ...props, clusters, vpc }) : undefined;
    new Monitoring(this, 'Monitoring', {
      ...props,
      planApplier: planApplier.fn,
      reaper: reaper.fn,
      sweeper: sweeper.fn,
      ...(scaler === undefined ? {} : { scaler: { fn: scaler.fn, clusters } }),
    });
  }
}
