/**
 * What runs inside an execution environment, on a thread of its own: loads the bundle as Lambda's runtime does and
 * answers one invocation after another. Compiled by `worker-script.ts`; imports nothing but Node.
 */
import { parentPort, workerData } from 'node:worker_threads';

export interface WorkerData {
  /** `file:` URL of the bundle. */
  readonly bundleUrl: string;
  /** Name of the function that it exports. */
  readonly exportName: string;
  readonly context: {
    readonly functionName: string;
    readonly functionVersion: string;
    readonly invokedFunctionArn: string;
    readonly memoryLimitInMB: string;
    readonly logGroupName: string;
    readonly logStreamName: string;
  };
  /** Shared time in milliseconds since 1970, NaN while it is the system's (`MovableClock`). Not there: the system's. */
  readonly clock?: SharedArrayBuffer | undefined;
}

export interface WorkerRequest {
  readonly requestId: string;
  /** The event as JSON: the handler gets its own copy, without anything that JSON cannot hold. */
  readonly event: string;
  /** Milliseconds since 1970 at which the invocation is ended. */
  readonly deadline: number;
}

export interface WorkerError {
  readonly errorType: string;
  readonly errorMessage: string;
  readonly trace: readonly string[];
}

export type WorkerAnswer =
  | { readonly kind: 'ready' }
  | { readonly kind: 'init-failed'; readonly error: WorkerError }
  | { readonly kind: 'returned'; readonly payload: string }
  | { readonly kind: 'threw'; readonly error: WorkerError };

type Handler = (event: unknown, context: unknown) => unknown;

const port = parentPort as NonNullable<typeof parentPort>;
const { bundleUrl, exportName, context, clock } = workerData as WorkerData;

/** The engine's own time: what is left of an invocation does not depend on what the function takes for the time. */
const SystemDate = Date;
if (clock) globalThis.Date = dateOf(new Float64Array(clock));

let handler: Handler | undefined;
try {
  const bundle = (await import(bundleUrl)) as Record<string, unknown>;
  const exported = bundle[exportName];
  if (typeof exported !== 'function') throw new TypeError(`the bundle exports no function ${exportName}`);
  handler = exported as Handler;
  port.postMessage({ kind: 'ready' } satisfies WorkerAnswer);
} catch (error) {
  await answer({ kind: 'init-failed', error: describe(error) });
}

port.on('message', async ({ requestId, event, deadline }: WorkerRequest) => {
  try {
    const result = await (handler as Handler)(JSON.parse(event), {
      ...context,
      awsRequestId: requestId,
      callbackWaitsForEmptyEventLoop: true,
      getRemainingTimeInMillis: () => Math.max(0, deadline - SystemDate.now()),
    });
    // `undefined`, which JSON does not have, reaches the caller as null.
    await answer({ kind: 'returned', payload: JSON.stringify(result) ?? 'null' });
  } catch (error) {
    await answer({ kind: 'threw', error: describe(error) });
  }
});

/** What was printed goes first, so that the lines of an invocation are there when its answer is. */
async function answer(message: WorkerAnswer): Promise<void> {
  await Promise.all([drained(process.stdout), drained(process.stderr)]);
  port.postMessage(message);
}

function drained(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    if (stream.writableLength === 0) resolve();
    else stream.write('', () => resolve());
  });
}

function describe(error: unknown): WorkerError {
  if (!(error instanceof Error)) return { errorType: typeof error, errorMessage: String(error), trace: [] };
  return { errorType: error.name, errorMessage: error.message, trace: (error.stack ?? '').split('\n') };
}

/** `Date` as ever, but for what it takes for now. */
function dateOf(time: Float64Array): DateConstructor {
  const now = () => (Number.isNaN(time[0]) ? SystemDate.now() : (time[0] as number));
  return new Proxy(SystemDate, {
    construct: (target, args, self) => Reflect.construct(target, args.length === 0 ? [now()] : args, self),
    get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
  });
}
