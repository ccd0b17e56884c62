import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '../../lib/time.ts';
import type { Streams } from '../dynamodb/streams.ts';
import type { FunctionRunner } from '../functions/function-runner.ts';
import type { CreatedQueue } from '../sqs/create-queues.ts';
import type { Sqs } from '../sqs/start-sqs.ts';
import { type Declared, type Resources, TemplateError } from '../template/scope.ts';
import type { CheckpointStore } from './stream-progress.ts';

/** How many events went which way since the start. Names and meanings are those of Lambda's `EventCount` metrics. */
export interface EventCounts {
  readonly PolledEventCount: number;
  readonly FilteredOutEventCount: number;
  /** An event that is delivered again counts again. */
  readonly InvokedEventCount: number;
  readonly FailedInvokeEventCount: number;
  /** Given up: no retries left, or too old. */
  readonly DroppedEventCount: number;
  readonly OnFailureDestinationDeliveredEventCount: number;
  /** Not of Lambda: how often the function was invoked by this source. */
  readonly invocations: number;
}

export const NO_COUNTS: EventCounts = {
  PolledEventCount: 0,
  FilteredOutEventCount: 0,
  InvokedEventCount: 0,
  FailedInvokeEventCount: 0,
  DroppedEventCount: 0,
  OnFailureDestinationDeliveredEventCount: 0,
  invocations: 0,
};

/** What brings events to a function, once it runs. One file per kind, listed in `start.ts`. */
export interface EventSource {
  /** Name of the function, as the engine knows it; of the queue, where it is a queue that gets the events. */
  readonly functionName: string;
  /** What the events come from, for people: `queue Berth-plans.fifo`. */
  readonly source: string;
  readonly counts: EventCounts;
  /** Takes nothing more; settles when everything that was taken is dealt with. */
  pause(): Promise<void>;
  resume(): void;
  /** Settles when the source is empty and nothing is being worked on. While it is paused, only if it is empty already. */
  idle(): Promise<void>;
  /** As `pause`, for good; what runs longer than `graceMs` is left behind. */
  stop(graceMs: number): Promise<void>;
}

/** What the engine offers to an event source. */
export interface EventSourceContext {
  readonly resources: Resources;
  readonly sqs: Sqs;
  readonly streams: Streams;
  readonly checkpoints: CheckpointStore;
  /** Time of record ages and of windows in which batches are gathered. */
  readonly clock: Clock;
  /** Time by which schedules are due. */
  readonly scheduleClock: Clock;
  /** Every how manieth batch of a stream is delivered once more, later; 0: none. */
  readonly redeliverEvery: number;
  readonly functions: readonly FunctionRunner[];
  /** Something went wrong that AWS would show in a metric. */
  readonly onProblem: (functionName: string, problem: string) => void;
}

/** The function of a name or ARN that the resource `declared` invokes. @throws TemplateError */
export function functionOf({ functions }: EventSourceContext, declared: Declared, nameOrArn: string): FunctionRunner {
  const wanted = [nameOrArn, nameOrArn.split(':').at(-1)];
  const found = functions.find(({ definition }) => wanted.includes(definition.functionName));
  if (found !== undefined) return found;
  const { stack, logicalId } = declared;
  throw new TemplateError(`${stack.name}/${logicalId}: there is no function ${nameOrArn} in the template`);
}

/** The queue of an ARN that the resource `declared` takes from or sends to. @throws TemplateError */
export function queueOf({ sqs }: EventSourceContext, declared: Declared, arn: string): CreatedQueue {
  const name = arn.split(':').at(-1);
  const found = arn.split(':')[2] === 'sqs' ? sqs.queues.find((queue) => queue.name === name) : undefined;
  if (found !== undefined) return found;
  const { stack, logicalId } = declared;
  throw new TemplateError(`${stack.name}/${logicalId}: there is no queue ${arn} in the template`);
}

/** Waits for `work`, at most `ms`; says whether it ended. */
export async function endsWithin(ms: number, work: Promise<unknown>): Promise<boolean> {
  const waiting = new AbortController();
  const late = delay(ms, false, { signal: waiting.signal }).catch(() => false);
  const ended = await Promise.race([work.then(() => true), late]);
  waiting.abort();
  return ended;
}
