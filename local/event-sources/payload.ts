/** Bytes that an invocation may carry. Source: Lambda quotas, payload of a synchronous invocation. */
const PAYLOAD_BYTES = 6 * 1024 * 1024;

const FRAME_BYTES = '{"Records":[]}'.length;

/** Bytes that `record` takes of an event. */
export function recordBytes(record: unknown): number {
  return Buffer.byteLength(JSON.stringify(record)) + ','.length;
}

/** A record that waits for its batch, with its `recordBytes`. */
export interface Waiting<T> {
  readonly record: T;
  readonly bytes: number;
}

/**
 * How many of `waiting`, from the first on, make a batch: at most `batchSize`, and not more than one event may carry; and
 * whether no more could join them.
 */
export function gather<T>(
  waiting: readonly Waiting<T>[],
  batchSize: number,
  limit = PAYLOAD_BYTES,
): { readonly count: number; readonly full: boolean } {
  let bytes = FRAME_BYTES;
  for (const [count, { bytes: size }] of waiting.entries()) {
    bytes += size;
    // One that is too large by itself goes alone, and fails where it is used.
    if (count === batchSize || (count > 0 && bytes > limit)) return { count, full: true };
  }
  return { count: waiting.length, full: waiting.length === batchSize };
}
