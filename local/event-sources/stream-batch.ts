/** Records that are invoked together, and what it took so far. */
export interface Part<T> {
  readonly records: readonly T[];
  /** Of `maximumRetries`. */
  readonly retries: number;
  readonly invocations: number;
}

export interface RetryPolicy {
  readonly bisectOnError: boolean;
  readonly maximumRetries: number;
}

/** What follows from an invocation that failed. */
export interface Failure<T> {
  /** Those before the first that failed. */
  readonly done: readonly T[];
  /** What is invoked next, in this order. */
  readonly next: readonly Part<T>[];
  /** What is not invoked any more. */
  readonly givenUp?: Part<T> | undefined;
}

/**
 * What becomes of a batch whose invocation failed from its record number `first` on: everything from there is invoked
 * again, also what succeeded behind it. With `bisectOnError` a batch is cut before that record or, where that is its first,
 * into halves; cutting takes nothing from the number of retries. Without it, or with one record alone, each invocation
 * after the first is a retry, and when there is none left the rest is given up.
 *
 * Source: Lambda developer guide, "Using Lambda with DynamoDB streams", error handling and partial batch responses.
 */
export function afterFailure<T>(part: Part<T>, first: number, policy: RetryPolicy): Failure<T> {
  const done = part.records.slice(0, first);
  const rest = { ...part, records: part.records.slice(first) };
  if (policy.bisectOnError && first > 0) return { done, next: [rest] };
  if (policy.bisectOnError && rest.records.length > 1) {
    const middle = Math.ceil(rest.records.length / 2);
    const halves = [rest.records.slice(0, middle), rest.records.slice(middle)];
    return { done, next: halves.map((records) => ({ ...rest, records })) };
  }
  if (part.retries >= policy.maximumRetries) return { done, next: [], givenUp: rest };
  return { done, next: [{ ...rest, retries: part.retries + 1 }] };
}
