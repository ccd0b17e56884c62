/** Exit status of a process that a signal ended, as shells have it. */
const EXIT_STATUS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;
type StopSignal = keyof typeof EXIT_STATUS;

/** What npm passes on and what the terminal sends arrive both: one Ctrl-C is two signals. */
const SAME_SIGNAL_MS = 1_000;

/** The reason with which a run ends that a signal stopped. */
export class StoppedError extends Error {
  override readonly name = 'StoppedError';
  readonly exitStatus: number;

  constructor(signal: StopSignal) {
    super(`stopped by ${signal}`);
    this.exitStatus = EXIT_STATUS[signal];
  }
}

/**
 * Aborts on the first signal that asks the process to end, so that what was started can be stopped. Asked again a while
 * later, the process ends at once; what it started ends with it all the same.
 */
export function stopSignal(): AbortSignal {
  const controller = new AbortController();
  let first: number | undefined;
  for (const signal of Object.keys(EXIT_STATUS) as StopSignal[]) {
    process.on(signal, () => {
      first ??= performance.now();
      controller.abort(new StoppedError(signal));
      if (performance.now() - first > SAME_SIGNAL_MS) process.exit(EXIT_STATUS[signal]);
    });
  }
  return controller.signal;
}
