import type { Clock } from '../../lib/time.ts';
import type { Streams } from '../dynamodb/streams.ts';
import type { FunctionRunner } from '../functions/function-runner.ts';
import type { Sqs } from '../sqs/start-sqs.ts';
import type { DeclaredMapping } from '../template/event-source-mappings.ts';
import { type Resources, TemplateError } from '../template/scope.ts';
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
  /** Name of the function, as the engine knows it. */
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
  /** Every how manieth batch of a stream is delivered once more, later; 0: none. */
  readonly redeliverEvery: number;
  readonly functions: readonly FunctionRunner[];
  /** Something went wrong that AWS would show in a metric. */
  readonly onProblem: (functionName: string, problem: string) => void;
}

/** The function that a mapping invokes. @throws TemplateError */
export function functionOf({ functions }: EventSourceContext, mapping: DeclaredMapping): FunctionRunner {
  const wanted = [mapping.functionName, mapping.functionName.split(':').at(-1)];
  const found = functions.find(({ definition }) => wanted.includes(definition.functionName));
  if (found !== undefined) return found;
  const { stack, logicalId } = mapping.declared;
  throw new TemplateError(`${stack.name}/${logicalId}: there is no function ${mapping.functionName} in the template`);
}
