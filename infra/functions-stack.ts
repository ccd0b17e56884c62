import { Stack } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { Monitoring } from './monitoring.ts';
import { PlanApplier } from './plan-applier.ts';
import type { Settings } from './rules.ts';
import { TaskReaper } from './task-reaper.ts';
import { TaskSweeper } from './task-sweeper.ts';

export interface FunctionsStackProps {
  /** The prefix of the state stack whose tables and queues the functions use. */
  readonly prefix: string;
  readonly settings: Settings;
  readonly alarmTopicArn?: string;
}

/** Everything that can be deleted and made again at any time: functions, their roles and logs, alarms, the dashboard. */
export class FunctionsStack extends Stack {
  constructor(scope: Construct, id: string, props: FunctionsStackProps) {
    super(scope, id, { description: 'Berth: functions, alarms, dashboard. Holds no state.' });
    const planApplier = new PlanApplier(this, 'PlanApplier', props);
    const reaper = new TaskReaper(this, 'TaskReaper', props);
    const sweeper = new TaskSweeper(this, 'TaskSweeper', props);
    new Monitoring(this, 'Monitoring', {
      ...props,
      planApplier: planApplier.fn,
      reaper: reaper.fn,
      sweeper: sweeper.fn,
    });
  }
}
