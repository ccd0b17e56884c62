import type { EpochMs } from '../../lib/time.ts';
import { Queue, type QueueChange, type Received } from './queue.ts';
import { settingsFromAttributes } from './queue-settings.ts';

export const SECOND = 1000;
export const MINUTE = 60 * SECOND;

/** Queues at a time that passes when a test says so, and the changes that they tell of. */
export class QueueTestBed {
  now = 1_800_000_000_000 as EpochMs;
  readonly changes: QueueChange[] = [];
  #ids = 0;

  pass(ms: number): void {
    this.now = (this.now + ms) as EpochMs;
  }

  queueWith(name: string, attributes: Record<string, string>): Queue {
    const settings = settingsFromAttributes(name, attributes);
    const id = () => `id-${++this.#ids}`;
    return new Queue(`arn:aws:sqs:r:a:${name}`, settings, id, (change) => this.changes.push(change));
  }

  fifo(attributes: Record<string, string> = {}): Queue {
    return this.queueWith('q.fifo', { FifoQueue: 'true', DeduplicationScope: 'messageGroup', ...attributes });
  }

  standard(attributes: Record<string, string> = {}): Queue {
    return this.queueWith('q', attributes);
  }

  /** `a1` is the message of that body and deduplication id in the group `a`. What became of the last. */
  send(queue: Queue, ...bodies: string[]) {
    const sent = bodies.map((body) =>
      queue.send({ body, attributes: {}, groupId: body[0], deduplicationId: body }, this.now),
    );
    return sent.at(-1) as NonNullable<(typeof sent)[number]>;
  }

  receive(queue: Queue, max = 10, seconds = 30): Received[] {
    return queue.receive(max, seconds, this.now).received;
  }
}

export const bodies = (received: readonly Received[]) => received.map(({ message }) => message.body);
export const handle = (received: readonly Received[], index = 0) => (received[index] as Received).receiptHandle;
