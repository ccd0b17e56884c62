import { parsed } from '../schema.ts';
import { sweepKey } from '../store/keys.ts';
import { sweepFromItem } from '../store/sweep-store.ts';
import { type SweepRecord, sweepIdSchema } from '../tasks/sweep.ts';
import type { Connection } from './connection.ts';
import { pause } from './retrying.ts';
import { readRecord } from './services.ts';

/** Thrown when a sweep is not done in time. It goes on by itself. */
export class SweepTimeoutError extends Error {
  override readonly name = 'SweepTimeoutError';
}

export interface SweepWaitOptions {
  /** Milliseconds to wait; default: for ever. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  /** Told how it goes whenever that has changed. */
  readonly onProgress?: (record: SweepRecord) => void;
}

/** Milliseconds between two looks: a page takes a second or so. */
const LOOK_MS = 500;

/** How a sweep goes; undefined: none of its pages is done yet, or its record is gone. Throws InvalidInputError for what is no id. */
export async function readSweep(connection: Connection, sweepId: string): Promise<SweepRecord | undefined> {
  const item = await readRecord(connection, sweepKey(parsed(sweepIdSchema, sweepId, 'the id of the sweep')));
  return item && sweepFromItem(item);
}

/** Waits until a sweep is done. Throws SweepTimeoutError. */
export async function waitForSweep(
  connection: Connection,
  sweepId: string,
  { timeoutMs = Number.POSITIVE_INFINITY, signal, onProgress = () => undefined }: SweepWaitOptions = {},
): Promise<SweepRecord> {
  const until = performance.now() + timeoutMs;
  for (let page = -1; ; ) {
    const record = await readSweep(connection, sweepId);
    if (record?.finishedAt !== undefined) return record;
    if (record && record.page > page) onProgress(record);
    page = record?.page ?? -1;
    const left = until - performance.now();
    if (left <= 0) {
      const come = record ? `it has looked at ${record.slots} slots` : 'none of its pages is done';
      throw new SweepTimeoutError(`sweep ${sweepId} is not done after ${timeoutMs} ms: ${come}; it goes on by itself`);
    }
    await pause(Math.min(LOOK_MS, left), signal);
  }
}
