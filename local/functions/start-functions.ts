import type { Cleanup } from '../cleanup.ts';
import type { Meter } from '../dynamodb/meter.ts';
import { functionEnvironment, type Outside } from '../local-environment.ts';
import type { CreatedQueue } from '../sqs/create-queues.ts';
import { declaredFunctions } from '../template/functions.ts';
import type { Place, Resources } from '../template/scope.ts';
import { FunctionRunner, type FunctionRunnerOptions } from './function-runner.ts';
import type { MovableClock } from './movable-clock.ts';
import { writeWorkerScript } from './worker-script.ts';

export interface FunctionsOptions {
  /** Directory of temporary files. */
  readonly temporary: string;
  readonly meter: Meter;
  /** URL of the event bus. */
  readonly eventBus: string;
  readonly sqs: { readonly url: string; readonly queues: readonly CreatedQueue[] };
  /** Undefined: functions that want EKS or Auto Scaling find nothing. */
  readonly outside: Outside | undefined;
  /** The time that functions see; undefined: the system's. */
  readonly clock: MovableClock | undefined;
  /** Invocations of one function at once. */
  readonly maxConcurrency: number;
  readonly onOutput: (functionName: string, ...output: Parameters<FunctionRunnerOptions['onOutput']>) => void;
}

/**
 * The functions of the template by name, each with an environment that is warm: what keeps a bundle from being loaded
 * shows now, and no event waits for it.
 *
 * @throws FunctionInitError
 */
export async function startFunctions(
  resources: Resources,
  options: FunctionsOptions,
  cleanup: Cleanup,
): Promise<ReadonlyMap<string, FunctionRunner>> {
  const script = writeWorkerScript(options.temporary);
  const functions = new Map<string, FunctionRunner>();
  for (const declared of declaredFunctions(resources)) {
    const { name, reservedConcurrency = Number.POSITIVE_INFINITY } = declared;
    const { eventBus, sqs, outside } = options;
    const endpoints = { dynamodb: await options.meter.endpointFor(name), sqs: sqs.url, eventBus, outside };
    const environment = functionEnvironment(declared, endpoints, resources.place.region);
    const definition = { ...declared, environment: withLocalQueues(environment, resources.place, sqs.queues) };
    const runner = new FunctionRunner(definition, {
      script,
      clock: options.clock,
      maxConcurrency: Math.min(options.maxConcurrency, reservedConcurrency),
      onOutput: (...output) => options.onOutput(name, ...output),
    });
    functions.set(name, runner);
    cleanup.add(() => runner.killAll());
  }
  await Promise.all([...functions.values()].map((runner) => runner.warm()));
  return functions;
}

/**
 * Variables that hold the URL of one of our queues as it is on AWS, put together from its name, get the URL that it has
 * here: an SQS client goes where the URL of the queue points.
 */
function withLocalQueues(
  environment: Readonly<Record<string, string>>,
  { region, account }: Place,
  queues: readonly CreatedQueue[],
): Record<string, string> {
  const local = new Map(queues.map(({ name, url }) => [`https://sqs.${region}.amazonaws.com/${account}/${name}`, url]));
  return Object.fromEntries(Object.entries(environment).map(([name, value]) => [name, local.get(value) ?? value]));
}
