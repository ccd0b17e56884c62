import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type MessageAttributeValue, SendMessageCommand } from '@aws-sdk/client-sqs';
import { type EpochMs, isoTime } from '../../lib/time.ts';
import type { DeclaredSchedule } from '../template/schedules.ts';
import { AsyncFunction } from './async-function.ts';
import {
  type EventCounts,
  type EventSource,
  type EventSourceContext,
  endsWithin,
  NO_COUNTS,
  queueOf,
} from './event-source.ts';
import { type Execution, scheduleInput } from './schedule-input.ts';

/** Milliseconds between two looks at the clock, and between two looks whether all is done. */
const POLL_MS = 50;
const LOOK_MS = 10;
/** Pause before a delivery or an invocation is tried again, milliseconds; doubles. On AWS it begins with a minute. */
const BACK_OFF_MS = 10;
const BACK_OFF_CAP_MS = 1_000;

/**
 * Invokes a function or sends to a queue at the times of a schedule, as EventBridge Scheduler does. Of several times that
 * have passed at once (a clock that was moved, a machine that slept) the last alone is made up for, and of those that
 * pass during a pause none. A run does not wait for the one before.
 */
export class ScheduleEventSource implements EventSource {
  readonly functionName: string;
  readonly source: string;
  readonly #schedule: DeclaredSchedule;
  readonly #context: EventSourceContext;
  readonly #function: AsyncFunction | undefined;
  readonly #queueUrl: string | undefined;
  readonly #deadLetterUrl: string | undefined;
  readonly #runs = new Set<Promise<void>>();
  readonly #counts = { ...NO_COUNTS };
  /** Times up to here are dealt with. */
  #after: EpochMs;
  /** The one behind it: it takes more to find one than to look at a clock. */
  #next: EpochMs | undefined;
  #polling: Promise<void> | undefined;
  #paused = true;
  /** Aborted to end pauses. */
  #pauses = new AbortController();

  /** The source, paused. @throws TemplateError when the target is none that the engine has */
  constructor(schedule: DeclaredSchedule, context: EventSourceContext) {
    const { declared, targetArn, deadLetterArn } = schedule;
    this.#schedule = schedule;
    this.#context = context;
    this.#after = context.scheduleClock();
    this.#next = schedule.recurrence.next(this.#after);
    this.source = `schedule ${schedule.name}`;
    this.#deadLetterUrl = deadLetterArn && queueOf(context, declared, deadLetterArn).url;
    if (targetArn.split(':')[2] === 'lambda') {
      this.#function = new AsyncFunction(context, declared, targetArn);
      this.functionName = this.#function.runner.definition.name;
    } else {
      const queue = queueOf(context, declared, targetArn);
      this.#queueUrl = queue.url;
      this.functionName = queue.name;
    }
  }

  get counts(): EventCounts {
    return { ...this.#counts };
  }

  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.#pauses = new AbortController();
    this.#goOnAfter(this.#context.scheduleClock());
    this.#polling = Promise.resolve(this.#polling).then(() => this.#poll());
  }

  async pause(): Promise<void> {
    this.#paused = true;
    this.#pauses.abort();
    await this.#polling;
    await Promise.all(this.#runs);
  }

  /** Settles when nothing is due by the clock, and every run is over. */
  async idle(): Promise<void> {
    while (this.#runs.size > 0 || (!this.#paused && this.#due() !== undefined)) await delay(LOOK_MS);
  }

  async stop(graceMs: number): Promise<void> {
    await endsWithin(graceMs, this.pause());
  }

  async #poll(): Promise<void> {
    while (!this.#paused) {
      const due = this.#due();
      if (due !== undefined) {
        this.#goOnAfter(due);
        this.#begin(due);
      }
      await this.#pause(POLL_MS);
    }
  }

  #due(): EpochMs | undefined {
    const now = this.#context.scheduleClock();
    // A clock that was set back: its times come again.
    if (now < this.#after) this.#goOnAfter(now);
    if (this.#next === undefined || now < this.#next) return undefined;
    return this.#schedule.recurrence.last(this.#after, now);
  }

  #goOnAfter(after: EpochMs): void {
    this.#after = after;
    this.#next = this.#schedule.recurrence.next(after);
  }

  #begin(scheduledAt: EpochMs): void {
    this.#counts.PolledEventCount += 1;
    const run = this.#run(scheduledAt)
      .catch((error: Error) => this.#problem(`the run of ${isoTime(scheduledAt)} failed: ${error.message}`))
      .finally(() => this.#runs.delete(run));
    this.#runs.add(run);
  }

  async #run(scheduledAt: EpochMs): Promise<void> {
    const execution = { executionId: randomUUID(), scheduledAt, attempt: 1, scheduleArn: this.#schedule.arn };
    if (this.#function !== undefined) await this.#invoke(this.#function, execution);
    else await this.#send(execution);
  }

  /** To hand an event over to a local function always succeeds: the retries are those of Lambda. */
  async #invoke(target: AsyncFunction, execution: Execution): Promise<void> {
    const event: unknown = JSON.parse(this.#inputOf(execution));
    const { ok, invocations, toldQueue } = await target.invoke(event, (retry) => this.#backOff(retry));
    this.#counts.invocations += invocations;
    this.#counts.InvokedEventCount += invocations;
    this.#counts.FailedInvokeEventCount += ok ? invocations - 1 : invocations;
    if (ok) return;
    this.#counts.DroppedEventCount += 1;
    this.#counts.OnFailureDestinationDeliveredEventCount += toldQueue ? 1 : 0;
    this.#problem(`the run of ${isoTime(execution.scheduledAt)} is given up after ${invocations} invocations`);
  }

  async #send(first: Execution): Promise<void> {
    for (let execution = first; ; execution = { ...execution, attempt: execution.attempt + 1 }) {
      const { messageGroupId: MessageGroupId } = this.#schedule;
      const input = { QueueUrl: this.#queueUrl, MessageBody: this.#inputOf(execution), MessageGroupId };
      try {
        await this.#context.sqs.client.send(new SendMessageCommand(input));
        return;
      } catch (error) {
        if (execution.attempt > this.#schedule.maximumRetries) {
          await this.#giveUp(execution, error as Error);
          return;
        }
        await this.#backOff(execution.attempt);
      }
    }
  }

  /** Source: EventBridge Scheduler user guide, "Configuring a dead-letter queue". */
  async #giveUp(execution: Execution, error: Error): Promise<void> {
    this.#counts.DroppedEventCount += 1;
    this.#problem(`the run of ${isoTime(execution.scheduledAt)} could not be delivered: ${error.message}`);
    if (this.#deadLetterUrl === undefined) return;
    const attributes = {
      ERROR_CODE: error.name,
      ERROR_MESSAGE: error.message,
      EXECUTION_ID: execution.executionId,
      EXHAUSTED_RETRY_CONDITION: 'MaximumRetryAttempts',
      IS_PAYLOAD_TRUNCATED: 'false',
      RETRY_ATTEMPTS: String(execution.attempt - 1),
      SCHEDULED_TIME: isoTime(execution.scheduledAt),
      SCHEDULE_ARN: execution.scheduleArn,
      TARGET_ARN: this.#schedule.targetArn,
    };
    const MessageAttributes = Object.fromEntries(
      Object.entries(attributes).map(([name, value]): [string, MessageAttributeValue] => [
        name,
        { DataType: 'String', StringValue: value },
      ]),
    );
    const message = { QueueUrl: this.#deadLetterUrl, MessageBody: this.#inputOf(execution), MessageAttributes };
    await this.#context.sqs.client.send(new SendMessageCommand(message));
    this.#counts.OnFailureDestinationDeliveredEventCount += 1;
  }

  #inputOf(execution: Execution): string {
    return scheduleInput(this.#schedule.input, execution, this.#context.resources.place);
  }

  #backOff(retry: number): Promise<void> {
    return this.#pause(Math.min(BACK_OFF_MS * 2 ** (retry - 1), BACK_OFF_CAP_MS));
  }

  async #pause(ms: number): Promise<void> {
    await delay(ms, undefined, { signal: this.#pauses.signal }).catch(() => undefined);
  }

  #problem(problem: string): void {
    this.#context.onProblem(this.functionName, `${this.source}: ${problem}`);
  }
}
