import { setTimeout as sleep } from 'node:timers/promises';
import { storeError } from '../store/errors.ts';

/** How often a write that met another one looks again before it gives up. Two writers of one item meet rarely twice. */
const TRIES = 20;
const BASE_MS = 10;
const CAP_MS = 1_000;

/**
 * Runs `attempt` until it passes. It is run again after a conflict, having to look again itself, and after an error that may
 * pass later, with exponential back-off and full jitter. Throws what the last try threw, as one of the four store errors,
 * or the reason of `signal` once that is aborted.
 */
export async function retrying<T>(attempt: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  for (let tries = 0; ; tries++) {
    try {
      signal?.throwIfAborted();
      return await attempt();
    } catch (error) {
      signal?.throwIfAborted();
      const failure = storeError(error);
      if ((failure.name !== 'ConflictError' && failure.name !== 'RetryError') || tries >= TRIES) throw failure;
      await pause(Math.random() * Math.min(CAP_MS, BASE_MS * 2 ** tries), signal);
    }
  }
}

/** Waits for `ms` milliseconds. Throws the reason of `signal` once that is aborted. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  try {
    await sleep(ms, undefined, signal && { signal });
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  }
}
