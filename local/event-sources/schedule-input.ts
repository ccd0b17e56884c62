import { type EpochMs, isoTime } from '../../lib/time.ts';
import type { Place } from '../template/scope.ts';

/** One run of a schedule, as it tells its target about itself. */
export interface Execution {
  readonly executionId: string;
  readonly scheduledAt: EpochMs;
  /** Of delivering it, from 1. */
  readonly attempt: number;
  readonly scheduleArn: string;
}

/**
 * What the target gets: `input` with the context attributes in it replaced, or without one the event that the scheduler
 * makes up itself. Source: EventBridge Scheduler user guide, "Adding context attributes" and "Managing targets".
 */
export function scheduleInput(input: string | undefined, execution: Execution, { account, region }: Place): string {
  const scheduledTime = isoTime(execution.scheduledAt).replace(/\.\d+Z$/, 'Z');
  if (input === undefined) {
    return JSON.stringify({
      version: '0',
      id: execution.executionId,
      'detail-type': 'Scheduled Event',
      source: 'aws.scheduler',
      account,
      time: scheduledTime,
      region,
      resources: [execution.scheduleArn],
      detail: '{}',
    });
  }
  return input
    .replaceAll('<aws.scheduler.scheduled-time>', scheduledTime)
    .replaceAll('<aws.scheduler.execution-id>', execution.executionId)
    .replaceAll('<aws.scheduler.attempt-number>', String(execution.attempt))
    .replaceAll('<aws.scheduler.schedule-arn>', execution.scheduleArn);
}
