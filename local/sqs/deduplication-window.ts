import type { EpochMs } from '../../lib/time.ts';

/** How long a deduplication id is remembered, milliseconds: also after its message was received and deleted. */
export const DEDUPLICATION_MS = 5 * 60 * 1000;

/** What is remembered of a deduplication id. */
export interface Deduplication {
  /** The id, with its group before it where the scope is the group. */
  readonly key: string;
  readonly until: EpochMs;
  readonly messageId: string;
  readonly sequenceNumber?: string | undefined;
}

/** The deduplication ids of a queue's last five minutes. */
export class DeduplicationWindow {
  /** In the order in which they run out, since all are kept equally long. */
  readonly #entries = new Map<string, Deduplication>();

  find(key: string, now: EpochMs): Deduplication | undefined {
    this.#forget(now);
    return this.#entries.get(key);
  }

  remember(deduplication: Deduplication): void {
    this.#entries.set(deduplication.key, deduplication);
  }

  entries(now: EpochMs): Iterable<Deduplication> {
    this.#forget(now);
    return this.#entries.values();
  }

  #forget(now: EpochMs): void {
    for (const [key, { until }] of this.#entries) {
      if (until > now) return;
      this.#entries.delete(key);
    }
  }
}
