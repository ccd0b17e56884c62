import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import type { WorkerAnswer, WorkerData, WorkerError, WorkerRequest } from './environment-worker.ts';
import { LineSplitter } from './line-splitter.ts';
import type { MovableClock } from './movable-clock.ts';

/** Lambda's limit for loading a function. */
const INIT_TIMEOUT_MS = 10_000;

/** A function as its environments need it. */
export interface FunctionDefinition {
  /** Short name by which the engine knows it: `PlanApplier`. */
  readonly name: string;
  readonly functionName: string;
  readonly arn: string;
  /** `index.handler`: file without extension, and the export. */
  readonly handler: string;
  /** Absolute path of the file that `handler` names. */
  readonly bundle: string;
  readonly timeoutMs: number;
  readonly memoryMiB: number;
  readonly environment: Readonly<Record<string, string>>;
}

/** How an invocation ended. `payload` is the JSON text of what the handler returned. */
export type InvocationResult =
  | { readonly status: 'returned'; readonly payload: string }
  | { readonly status: 'failed'; readonly error: WorkerError };

export type OutputListener = (stream: 'stdout' | 'stderr', line: string, requestId: string | undefined) => void;

/**
 * One environment of a function: a thread with the environment variables, the memory and the bundle that the function
 * has. It runs one invocation at a time and stays warm for the next. Time-out, lack of memory, an uncaught error,
 * `process.exit` and `kill` end it, and the invocation under way as failed.
 */
export class ExecutionEnvironment {
  readonly #definition: FunctionDefinition;
  readonly #worker: Worker;
  readonly #exited: Promise<void>;
  #settle: ((answer: WorkerAnswer) => void) | undefined;
  #requestId: string | undefined;
  #end: WorkerError | undefined;

  /** Begins to start; `load` says how that went. `script`: see `writeWorkerScript`. */
  constructor(definition: FunctionDefinition, script: string, onOutput: OutputListener, clock?: MovableClock) {
    this.#definition = definition;
    const data: WorkerData = {
      bundleUrl: pathToFileURL(definition.bundle).href,
      exportName: definition.handler.split('.').at(-1) ?? '',
      context: {
        functionName: definition.functionName,
        functionVersion: '$LATEST',
        invokedFunctionArn: definition.arn,
        memoryLimitInMB: String(definition.memoryMiB),
        logGroupName: `/aws/lambda/${definition.functionName}`,
        logStreamName: 'local',
      },
      clock: clock?.shared,
    };
    this.#worker = new Worker(script, {
      workerData: data,
      env: { ...definition.environment },
      // Not those of the engine: what loads TypeScript there has no business in a bundle.
      execArgv: [],
      argv: [],
      stdout: true,
      stderr: true,
      resourceLimits: { maxOldGenerationSizeMb: definition.memoryMiB },
    });
    for (const stream of ['stdout', 'stderr'] as const) {
      const lines = new LineSplitter((line) => onOutput(stream, line, this.#requestId));
      this.#worker[stream].on('data', (chunk: Buffer) => lines.write(chunk)).on('end', () => lines.end());
    }
    this.#worker.on('message', (answer: WorkerAnswer) => {
      // What comes after the time-out comes too late, even if the thread still runs.
      if (this.#end === undefined) this.#settle?.(answer);
    });
    this.#worker.on('error', (error) => {
      this.#end ??= describeCrash(error);
    });
    this.#exited = new Promise((resolve) => {
      this.#worker.on('exit', (status) => {
        this.#end ??= { errorType: 'Runtime.ExitError', errorMessage: `exited with status ${status}`, trace: [] };
        this.#settle?.({ kind: 'threw', error: this.#end });
        resolve();
      });
    });
  }

  /** Loads the bundle. @throws FunctionInitError when that fails or takes longer than 10 s; the environment is gone then */
  async load(): Promise<void> {
    const answer = await this.#answer(INIT_TIMEOUT_MS, 'Runtime.InitTimeout');
    if (answer.kind === 'ready') return;
    await this.kill();
    throw new FunctionInitError(this.#definition, (answer as { error: WorkerError }).error);
  }

  /** Whether it can take another invocation. */
  get alive(): boolean {
    return this.#end === undefined;
  }

  /** Runs the handler on `event`, which must be JSON. One at a time. */
  async invoke(requestId: string, event: string): Promise<InvocationResult> {
    const { timeoutMs } = this.#definition;
    this.#requestId = requestId;
    const request: WorkerRequest = { requestId, event, deadline: Date.now() + timeoutMs };
    const answered = this.#answer(timeoutMs, 'Sandbox.Timedout');
    this.#worker.postMessage(request);
    const answer = await answered;
    if (answer.kind === 'returned') return { status: 'returned', payload: answer.payload };
    return { status: 'failed', error: (answer as { error: WorkerError }).error };
  }

  /** Ends the environment at once, in the middle of whatever it does. */
  async kill(errorType = 'Runtime.Killed', errorMessage = 'the environment was ended'): Promise<void> {
    this.#end ??= { errorType, errorMessage, trace: [] };
    await this.#worker.terminate();
    await this.#exited;
  }

  #answer(timeoutMs: number, timeoutError: string): Promise<WorkerAnswer> {
    return new Promise((resolve) => {
      const seconds = (timeoutMs / 1000).toFixed(2);
      const timer = setTimeout(
        () => void this.kill(timeoutError, `Task timed out after ${seconds} seconds`),
        timeoutMs,
      );
      this.#settle = (answer) => {
        clearTimeout(timer);
        this.#settle = undefined;
        resolve(answer);
      };
      if (this.#end !== undefined) this.#settle({ kind: 'threw', error: this.#end });
    });
  }
}

/** A bundle cannot be loaded: what it imports or does at its top level fails. */
export class FunctionInitError extends Error {
  override readonly name = 'FunctionInitError';
  readonly error: WorkerError;

  constructor(definition: FunctionDefinition, error: WorkerError) {
    super(
      `function ${definition.name} does not load: ${error.errorType}: ${error.errorMessage} (${definition.bundle})`,
    );
    this.error = error;
  }
}

function describeCrash(error: Error & { code?: string }): WorkerError {
  const errorType = error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? 'Runtime.OutOfMemory' : 'Runtime.UnhandledError';
  return { errorType, errorMessage: `${error.name}: ${error.message}`, trace: (error.stack ?? '').split('\n') };
}
