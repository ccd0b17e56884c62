import { parsed } from '../schema.ts';
import { SWEEPER } from '../settings.ts';
import { sweepKey } from '../store/keys.ts';
import { sweepFromItem } from '../store/sweep-store.ts';
import { type SweepRecord, sweepIdSchema } from '../tasks/sweep.ts';
import type { Connection } from './connection.ts';
import { GivenUpPages } from './given-up-page.ts';
import { pause } from './retrying.ts';
import { readRecord } from './services.ts';

/** Thrown when a sweep is not done in time. It goes on by itself. */
export class SweepTimeoutError extends Error {
  override readonly name = 'SweepTimeoutError';
}

/** Thrown when a page of a sweep was given up: what comes after it is looked at by nobody. */
export class SweepFailedError extends Error {
  override readonly name = 'SweepFailedError';
  readonly page: number;

  constructor(sweepId: string, page: number) {
    super(
      `page ${page} of sweep ${sweepId} failed ${SWEEPER.maxReceives} times and lies in the failure queue; ` +
        'the sweep does not go on behind it: the log of the task sweeper says why. Mend that, sweep again, and delete the message',
    );
    this.page = page;
  }
}

/** Thrown when no page of a sweep was done for as long as one may be tried. */
export class SweepStalledError extends Error {
  override readonly name = 'SweepStalledError';
}

export interface SweepWaitOptions {
  /** Milliseconds to wait; default: as long as it goes on. */
  readonly timeoutMs?: number;
  /** Milliseconds without a page that is done after which it is not waited for any more; default: 48 minutes. */
  readonly stalledMs?: number;
  readonly signal?: AbortSignal;
  /** Told how it goes whenever that has changed. */
  readonly onProgress?: (record: SweepRecord) => void;
}

/** Milliseconds between two looks: a page takes a second or so. */
const LOOK_MS = 500;

/** Milliseconds for which one page is tried before it is given up. */
const PAGE_MS = SWEEPER.maxReceives * SWEEPER.visibilitySeconds * 1_000;

/** How a sweep goes; undefined: none of its pages is done yet, or its record is gone. Throws InvalidInputError for what is no id. */
export async function readSweep(connection: Connection, sweepId: string): Promise<SweepRecord | undefined> {
  const item = await readRecord(connection, sweepKey(parsed(sweepIdSchema, sweepId, 'the id of the sweep')));
  return item && sweepFromItem(item);
}

/** Waits until a sweep is done. Throws SweepFailedError, SweepStalledError, SweepTimeoutError. */
export async function waitForSweep(
  connection: Connection,
  sweepId: string,
  {
    timeoutMs = Number.POSITIVE_INFINITY,
    stalledMs = PAGE_MS,
    signal,
    onProgress = () => undefined,
  }: SweepWaitOptions = {},
): Promise<SweepRecord> {
  parsed(sweepIdSchema, sweepId, 'the id of the sweep');
  const until = performance.now() + timeoutMs;
  const givenUp = new GivenUpPages(connection, sweepId);
  let moved = performance.now();
  for (let page = -1; ; ) {
    // In this order: a page that was done by another delivery of it, and given up by this one, is done.
    const failed = await givenUp.last();
    const record = await readSweep(connection, sweepId);
    if (record?.finishedAt !== undefined) return record;
    if (failed !== undefined && failed >= (record?.page ?? 0)) throw new SweepFailedError(sweepId, failed);
    if (record && record.page > page) {
      onProgress(record);
      moved = performance.now();
    }
    page = record?.page ?? -1;
    const left = Math.min(until, moved + stalledMs) - performance.now();
    if (left <= 0) throw notDone(sweepId, record, performance.now() >= until ? timeoutMs : undefined, stalledMs);
    await pause(Math.min(LOOK_MS, left), signal);
  }
}

function notDone(
  sweepId: string,
  record: SweepRecord | undefined,
  timeoutMs: number | undefined,
  stalledMs: number,
): Error {
  const come = record ? `it has looked at ${record.slots} slots` : 'none of its pages is done';
  if (timeoutMs !== undefined) {
    return new SweepTimeoutError(`sweep ${sweepId} is not done after ${timeoutMs} ms: ${come}; it goes on by itself`);
  }
  return new SweepStalledError(
    `no page of sweep ${sweepId} was done for ${Math.round(stalledMs / 1_000)} seconds: ${come}. Pages of other sweeps are before ` +
      'it, or the task sweeper does not run: look at its log, and at whether its event source is enabled. It goes on by itself then',
  );
}
