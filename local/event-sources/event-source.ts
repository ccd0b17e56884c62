import type { FunctionRunner } from '../functions/function-runner.ts';
import type { Sqs } from '../sqs/start-sqs.ts';
import type { DeclaredMapping } from '../template/event-source-mappings.ts';
import { type Resources, TemplateError } from '../template/scope.ts';

/** What brings events to a function, once it runs. One file per kind, listed in `start.ts`. */
export interface EventSource {
  /** Name of the function, as the engine knows it. */
  readonly functionName: string;
  /** What the events come from, for people: `queue Berth-plans.fifo`. */
  readonly source: string;
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
