import { randomUUID } from 'node:crypto';
import {
  ExecutionEnvironment,
  type FunctionDefinition,
  FunctionInitError,
  type InvocationResult,
  type OutputListener,
} from './execution-environment.ts';
import type { MovableClock } from './movable-clock.ts';

export interface FunctionStatistics {
  readonly invocations: number;
  /** Of these: exceptions, time-outs, crashes, failed starts. */
  readonly failures: number;
  readonly coldStarts: number;
  /** Invocations under way. */
  readonly running: number;
}

export interface FunctionRunnerOptions {
  /** Path of the script from `writeWorkerScript`. */
  readonly script: string;
  /** The time that the function sees. Default: the system's. */
  readonly clock?: MovableClock | undefined;
  /** Environments, and so invocations, at once; further invocations wait for their turn. */
  readonly maxConcurrency: number;
  /** Each line that a handler prints, and, as `platform`, one for each invocation that fails. */
  readonly onOutput: (stream: 'stdout' | 'stderr' | 'platform', line: string, requestId: string | undefined) => void;
}

/** Runs one function as Lambda does: in environments that are started when needed and kept warm. */
export class FunctionRunner {
  readonly definition: FunctionDefinition;
  readonly maxConcurrency: number;
  readonly #script: string;
  readonly #clock: MovableClock | undefined;
  readonly #onOutput: FunctionRunnerOptions['onOutput'];
  readonly #environments = new Set<ExecutionEnvironment>();
  /** The one used last is used first: the others may grow old, as on Lambda. */
  readonly #idle: ExecutionEnvironment[] = [];
  readonly #waiting: (() => void)[] = [];
  #statistics = { invocations: 0, failures: 0, coldStarts: 0, running: 0 };

  constructor(definition: FunctionDefinition, options: FunctionRunnerOptions) {
    this.definition = definition;
    this.maxConcurrency = options.maxConcurrency;
    this.#script = options.script;
    this.#clock = options.clock;
    this.#onOutput = options.onOutput;
  }

  /** Starts an environment ahead of the first invocation. @throws FunctionInitError */
  async warm(): Promise<void> {
    this.#idle.push(await this.#start());
  }

  /** Invokes the function with a copy of `event`. Never throws: whatever goes wrong is a failed invocation. */
  async invoke(event: unknown): Promise<InvocationResult> {
    await this.#takeTurn();
    this.#statistics.invocations += 1;
    const requestId = randomUUID();
    const result = await this.#run(requestId, JSON.stringify(event));
    this.#passTurn();
    if (result.status === 'failed') {
      this.#statistics.failures += 1;
      const { errorType, errorMessage, trace } = result.error;
      this.#onOutput('platform', `ERROR ${JSON.stringify({ errorType, errorMessage, trace })}`, requestId);
    }
    return result;
  }

  get statistics(): FunctionStatistics {
    return { ...this.#statistics };
  }

  /** Ends all environments in the middle of what they do: what runs fails as after a crash. The next invocation starts a new one. */
  async killAll(): Promise<void> {
    this.#idle.length = 0;
    await Promise.all([...this.#environments].map((environment) => environment.kill()));
  }

  async #takeTurn(): Promise<void> {
    if (this.#statistics.running < this.maxConcurrency) this.#statistics.running += 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  /** To whoever waits first, without a moment in which a third could take it. */
  #passTurn(): void {
    const next = this.#waiting.shift();
    if (next !== undefined) next();
    else this.#statistics.running -= 1;
  }

  async #run(requestId: string, event: string): Promise<InvocationResult> {
    try {
      const environment = this.#takeIdle() ?? (await this.#start());
      const result = await environment.invoke(requestId, event);
      if (environment.alive) this.#idle.push(environment);
      else this.#environments.delete(environment);
      return result;
    } catch (error) {
      if (!(error instanceof FunctionInitError)) throw error;
      return { status: 'failed', error: error.error };
    }
  }

  /** One that died while idle (a handler that left something running) is passed over. */
  #takeIdle(): ExecutionEnvironment | undefined {
    for (let environment = this.#idle.pop(); environment !== undefined; environment = this.#idle.pop()) {
      if (environment.alive) return environment;
      this.#environments.delete(environment);
    }
    return undefined;
  }

  async #start(): Promise<ExecutionEnvironment> {
    this.#statistics.coldStarts += 1;
    const onOutput: OutputListener = (stream, line, requestId) => this.#onOutput(stream, line, requestId);
    const environment = new ExecutionEnvironment(this.definition, this.#script, onOutput, this.#clock);
    this.#environments.add(environment);
    try {
      await environment.load();
    } catch (error) {
      this.#environments.delete(environment);
      throw error;
    }
    return environment;
  }
}
