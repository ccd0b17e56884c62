/** What every request to AWS has of ours. */

/**
 * Time-outs that a function of 30 seconds can afford. Without them a lost packet holds an invocation until it is killed.
 * `throwOnRequestTimeout`: a time-out is an error, not a warning.
 */
export const requestHandler = { connectionTimeout: 1_000, requestTimeout: 3_000, throwOnRequestTimeout: true } as const;

/** Options of `send` that give a request up when `signal` is aborted. */
export function abortable(signal: AbortSignal | undefined): { abortSignal?: AbortSignal } {
  return signal ? { abortSignal: signal } : {};
}
