import { GetQueueAttributesCommand } from '@aws-sdk/client-sqs';
import { type SweepPage, sweepPageSchema } from '../tasks/sweep.ts';
import type { EpochMs } from '../time.ts';
import type { Connection } from './connection.ts';
import { retrying } from './retrying.ts';
import { borrow } from './set-aside.ts';

/** Milliseconds between two questions how many messages the failure queue has: one request each, which hides nothing. */
const COUNT_MS = 5_000;
/**
 * Milliseconds after which the messages are looked at again though they are as many as before: one may have come for one that
 * went, and the count lags. A look hides them from everybody for a second or so, the alarm included.
 */
const LOOK_MS = 60_000;
/** Messages that are looked at. Of more, those that SQS hands out; the next look may bring others. */
const MOST = 1_000;

/** Watches the failure queue of reaper and sweeper for pages of one sweep. */
export class GivenUpPages {
  readonly #connection: Connection;
  readonly #sweepId: string;
  #countedAt = Number.NEGATIVE_INFINITY;
  #lookedAt = Number.NEGATIVE_INFINITY;
  #seen = 0;

  constructor(connection: Connection, sweepId: string) {
    this.#connection = connection;
    this.#sweepId = sweepId;
  }

  /** The last page of the sweep that lies in the queue, if one is known to; asks seldom, however often it is called. */
  async last(): Promise<number | undefined> {
    const now: EpochMs = this.#connection.clock();
    if (now - this.#countedAt < COUNT_MS) return undefined;
    this.#countedAt = now;
    const count = await this.#count();
    if (count === 0 || (count === this.#seen && now - this.#lookedAt < LOOK_MS)) return undefined;
    this.#seen = count;
    this.#lookedAt = now;
    return borrow(this.#connection, 'reaperFailures', MOST, async (entries) => {
      const own = entries.map(({ message }) => pageIn(message.body)).filter((page) => page?.sweepId === this.#sweepId);
      return own.length === 0 ? undefined : Math.max(...own.map((page) => page?.page ?? 0));
    });
  }

  async #count(): Promise<number> {
    const { sqs, queueUrl } = this.#connection;
    const command = new GetQueueAttributesCommand({
      QueueUrl: queueUrl('reaperFailures'),
      AttributeNames: ['ApproximateNumberOfMessages', 'ApproximateNumberOfMessagesNotVisible'],
    });
    const { Attributes = {} } = await retrying(() => sqs.send(command));
    return Object.values(Attributes).reduce((sum, count) => sum + Number(count), 0);
  }
}

/** The page that a message holds, if it holds one: others tell of batches of the stream. */
function pageIn(body: string): SweepPage | undefined {
  try {
    return sweepPageSchema.safeParse(JSON.parse(body)).data;
  } catch {
    return undefined;
  }
}
