import { beforeEach, describe, expect, test } from 'vitest';
import type { EpochMs } from '../../lib/time.ts';
import { Queue, type QueueChange, type Received } from './queue.ts';
import { settingsFromAttributes } from './queue-settings.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;

let now: EpochMs;
let ids: number;
let changes: QueueChange[];

beforeEach(() => {
  now = 1_800_000_000_000 as EpochMs;
  ids = 0;
  changes = [];
});

const pass = (ms: number) => {
  now = (now + ms) as EpochMs;
};

function queueWith(name: string, attributes: Record<string, string>): Queue {
  const settings = settingsFromAttributes(name, attributes);
  return new Queue(
    `arn:aws:sqs:r:a:${name}`,
    settings,
    () => `id-${++ids}`,
    (change) => changes.push(change),
  );
}

const fifo = (attributes: Record<string, string> = {}) =>
  queueWith('q.fifo', { FifoQueue: 'true', DeduplicationScope: 'messageGroup', ...attributes });

const standard = (attributes: Record<string, string> = {}) => queueWith('q', attributes);

/** `a1` is the message of that body and deduplication id in the group `a`. */
function send(queue: Queue, ...bodies: string[]) {
  const sent = bodies.map((body) => queue.send({ body, attributes: {}, groupId: body[0], deduplicationId: body }, now));
  return sent.at(-1) as NonNullable<(typeof sent)[number]>;
}

function receive(queue: Queue, max = 10, seconds = 30): Received[] {
  return queue.receive(max, seconds, now).received;
}

const bodies = (received: readonly Received[]) => received.map(({ message }) => message.body);
const handle = (received: readonly Received[], index = 0) => (received[index] as Received).receiptHandle;

describe('a FIFO queue, receiving', () => {
  test('hands out up to ten messages of one group, in order', () => {
    const queue = fifo();
    send(queue, ...Array.from({ length: 12 }, (_, index) => `a${index}`));
    expect(bodies(receive(queue))).toEqual(Array.from({ length: 10 }, (_, index) => `a${index}`));
  });

  test('takes as many as it can of one group, then fills up from others', () => {
    const queue = fifo();
    send(queue, 'a1', 'b1', 'a2', 'c1', 'b2');
    expect(bodies(receive(queue, 4))).toEqual(['a1', 'a2', 'b1', 'b2']);
    expect(bodies(receive(queue, 4))).toEqual(['c1']);
  });

  test('hands out no message of a group of which one is in flight', () => {
    const queue = fifo();
    send(queue, 'a1', 'a2');
    expect(bodies(receive(queue, 1))).toEqual(['a1']);
    send(queue, 'a3', 'b1');
    expect(bodies(receive(queue))).toEqual(['b1']);
  });

  test('goes on with a group when all of it that was in flight is deleted, not before', () => {
    const queue = fifo();
    send(queue, 'a1', 'a2', 'a3');
    const received = receive(queue, 2);
    queue.delete(handle(received, 0), now);
    expect(receive(queue)).toEqual([]);
    queue.delete(handle(received, 1), now);
    expect(bodies(receive(queue))).toEqual(['a3']);
  });

  test('gives every group its turn', () => {
    const queue = fifo();
    send(queue, 'a1', 'a2', 'b1', 'b2');
    queue.delete(handle(receive(queue, 1)), now);
    expect(bodies(receive(queue, 1))).toEqual(['b1']);
  });

  test('keeps the order of a group whose messages expired together', () => {
    const queue = fifo();
    send(queue, 'a1', 'a2', 'a3', 'a4');
    expect(bodies(receive(queue, 3))).toEqual(['a1', 'a2', 'a3']);
    pass(30 * SECOND);
    expect(bodies(receive(queue))).toEqual(['a1', 'a2', 'a3', 'a4']);
  });

  test('delivers what was not deleted before what came later, when part of a batch was deleted', () => {
    const queue = fifo();
    send(queue, 'a1', 'a2', 'a3');
    const received = receive(queue);
    send(queue, 'a4');
    queue.delete(handle(received, 0), now);
    expect(receive(queue)).toEqual([]);
    pass(30 * SECOND);
    expect(bodies(receive(queue))).toEqual(['a2', 'a3', 'a4']);
  });

  test('counts receives, remembers the first, and gives a new receipt handle each time', () => {
    const queue = fifo();
    send(queue, 'a1');
    const first = receive(queue);
    const firstAt = now;
    pass(30 * SECOND);
    const second = receive(queue);
    expect(first[0]?.message).toMatchObject({ receiveCount: 1, firstReceivedAt: firstAt });
    expect(second[0]?.message).toMatchObject({ receiveCount: 2, firstReceivedAt: firstAt });
    expect(handle(second)).not.toBe(handle(first));
  });

  test('numbers messages in the order of arrival', () => {
    const queue = fifo();
    const sent = ['a1', 'b1', 'a2'].map((body) => send(queue, body).sequenceNumber as string);
    expect(sent.toSorted()).toEqual(sent);
    expect(sent[0]).toMatch(/^\d{20}$/);
  });

  test('delays all messages alike when the queue has a delay', () => {
    const queue = fifo({ DelaySeconds: '10' });
    send(queue, 'a1');
    expect(receive(queue)).toEqual([]);
    expect(queue.counts(now)).toEqual({ visible: 0, inFlight: 0, delayed: 1 });
    pass(10 * SECOND);
    expect(bodies(receive(queue))).toEqual(['a1']);
  });
});

describe('deduplication', () => {
  test('swallows the same id within five minutes and answers with the first message', () => {
    const queue = fifo();
    const first = send(queue, 'a1');
    pass(5 * MINUTE - 1);
    expect(send(queue, 'a1')).toEqual({ ...first, duplicate: true });
    expect(bodies(receive(queue))).toEqual(['a1']);
  });

  test('goes on after the message was received and deleted', () => {
    const queue = fifo();
    send(queue, 'a1');
    queue.delete(handle(receive(queue)), now);
    expect(send(queue, 'a1').duplicate).toBe(true);
    expect(receive(queue)).toEqual([]);
  });

  test('ends after five minutes', () => {
    const queue = fifo();
    send(queue, 'a1');
    pass(5 * MINUTE);
    expect(send(queue, 'a1').duplicate).toBe(false);
    expect(bodies(receive(queue))).toEqual(['a1', 'a1']);
  });

  test('is not prolonged by a duplicate', () => {
    const queue = fifo();
    send(queue, 'a1');
    pass(4 * MINUTE);
    send(queue, 'a1');
    pass(1 * MINUTE);
    expect(send(queue, 'a1').duplicate).toBe(false);
  });

  test.each([
    { scope: 'messageGroup', duplicate: false },
    { scope: 'queue', duplicate: true },
  ])('with the scope $scope, the same id in another group is a duplicate: $duplicate', ({ scope, duplicate }) => {
    const queue = fifo({ DeduplicationScope: scope });
    queue.send({ body: 'x', attributes: {}, groupId: 'a', deduplicationId: '1' }, now);
    expect(queue.send({ body: 'y', attributes: {}, groupId: 'b', deduplicationId: '1' }, now).duplicate).toBe(
      duplicate,
    );
  });

  test('by content, if set, looks at the body alone', () => {
    const queue = fifo({ ContentBasedDeduplication: 'true' });
    const attributes = { other: { DataType: 'String', StringValue: 'x' } };
    queue.send({ body: 'x', attributes: {}, groupId: 'a' }, now);
    expect(queue.send({ body: 'x', attributes, groupId: 'a' }, now).duplicate).toBe(true);
    expect(queue.send({ body: 'y', attributes: {}, groupId: 'a' }, now).duplicate).toBe(false);
  });

  test('is nothing that a standard queue does', () => {
    const queue = standard();
    send(queue, 'a1', 'a1');
    expect(bodies(receive(queue))).toEqual(['a1', 'a1']);
  });
});

describe('visibility', () => {
  test('a message is visible again exactly when its time is over', () => {
    const queue = fifo();
    send(queue, 'a1');
    receive(queue, 10, 180);
    pass(180 * SECOND - 1);
    expect(receive(queue)).toEqual([]);
    expect(queue.nextVisibleAt(now)).toBe(now + 1);
    pass(1);
    expect(bodies(receive(queue))).toEqual(['a1']);
  });

  test('can be changed, counted from the change', () => {
    const queue = fifo();
    send(queue, 'a1');
    const received = receive(queue, 10, 30);
    pass(20 * SECOND);
    expect(queue.changeVisibility(handle(received), 60, now)).toBe('done');
    pass(59 * SECOND);
    expect(receive(queue)).toEqual([]);
    pass(1 * SECOND);
    expect(bodies(receive(queue))).toEqual(['a1']);
  });

  test('of zero returns the message at once, but its group waits for the others of it', () => {
    const queue = fifo();
    send(queue, 'a1', 'a2');
    const received = receive(queue);
    expect(queue.changeVisibility(handle(received, 0), 0, now)).toBe('done');
    expect(receive(queue)).toEqual([]);
    queue.changeVisibility(handle(received, 1), 0, now);
    expect(bodies(receive(queue))).toEqual(['a1', 'a2']);
  });

  test('cannot be changed of a message that is not in flight', () => {
    const queue = fifo();
    send(queue, 'a1');
    const received = receive(queue);
    pass(30 * SECOND);
    expect(queue.changeVisibility(handle(received), 10, now)).toBe('not-in-flight');
    expect(queue.changeVisibility('nonsense', 10, now)).toBe('invalid');
  });
});

describe('deleting', () => {
  test('on a FIFO queue fails when the visibility has run out, and the message comes again', () => {
    const queue = fifo();
    send(queue, 'a1');
    const late = receive(queue);
    pass(30 * SECOND);
    expect(queue.delete(handle(late), now)).toBe('expired');
    const again = receive(queue);
    expect(bodies(again)).toEqual(['a1']);
    expect(queue.delete(handle(late), now)).toBe('expired');
    expect(queue.delete(handle(again), now)).toBe('done');
  });

  test('on a standard queue succeeds late, unless somebody else has received the message since', () => {
    const queue = standard();
    send(queue, 'a1');
    const late = receive(queue);
    pass(30 * SECOND);
    const again = receive(queue);
    expect(queue.delete(handle(late), now)).toBe('done');
    expect(queue.counts(now).inFlight).toBe(1);
    pass(30 * SECOND);
    expect(queue.delete(handle(again), now)).toBe('done');
    expect(queue.counts(now)).toEqual({ visible: 0, inFlight: 0, delayed: 0 });
  });

  test('twice is no error; what is no receipt handle is one', () => {
    const queue = fifo();
    send(queue, 'a1');
    const received = receive(queue);
    expect(queue.delete(handle(received), now)).toBe('done');
    expect(queue.delete(handle(received), now)).toBe('done');
    expect(queue.delete('nonsense', now)).toBe('invalid');
  });
});

describe('dead letters', () => {
  const redrive = (max: number) => ({
    RedrivePolicy: JSON.stringify({ deadLetterTargetArn: 'arn:aws:sqs:r:a:dead.fifo', maxReceiveCount: max }),
  });

  test('a message received as often as allowed leaves with the next receive, and its group goes on', () => {
    const queue = fifo(redrive(2));
    send(queue, 'a1');
    for (const count of [1, 2]) {
      expect(receive(queue)[0]?.message.receiveCount).toBe(count);
      pass(30 * SECOND);
    }
    send(queue, 'a2');
    const { received, deadLettered } = queue.receive(10, 30, now);
    expect(deadLettered.map((message) => message.body)).toEqual(['a1']);
    expect(bodies(received)).toEqual(['a2']);
    expect(queue.counts(now)).toEqual({ visible: 0, inFlight: 1, delayed: 0 });
  });

  test('in a FIFO dead-letter queue: new time, id for deduplication, source; two of one deduplication id both stay', () => {
    const source = fifo();
    const dead = queueWith('dead.fifo', { FifoQueue: 'true' });
    send(source, 'a1');
    const first = receive(source)[0]?.message as Received['message'];
    pass(6 * MINUTE);
    send(source, 'a1');
    const second = receive(source)[1]?.message as Received['message'];
    dead.addDeadLetter(first, source.arn, now);
    dead.addDeadLetter(second, source.arn, now);
    const received = receive(dead);
    expect(received.map(({ message }) => message.deduplicationId)).toEqual([first.messageId, second.messageId]);
    expect(received[0]?.message).toMatchObject({
      messageId: first.messageId,
      groupId: 'a',
      sentAt: now,
      deadLetterSource: 'arn:aws:sqs:r:a:q.fifo',
      receiveCount: 1,
    });
  });

  test('in a standard dead-letter queue: the time of sending stays, so it may be gone sooner', () => {
    const source = standard();
    const dead = standard({ MessageRetentionPeriod: '3600' });
    send(source, 'a1');
    pass(59 * MINUTE);
    dead.addDeadLetter(receive(source)[0]?.message as Received['message'], source.arn, now);
    expect(dead.counts(now).visible).toBe(1);
    pass(1 * MINUTE);
    expect(dead.counts(now).visible).toBe(0);
  });
});

describe('retention', () => {
  test('a message past it is gone, waiting or in flight', () => {
    const queue = fifo({ MessageRetentionPeriod: '60' });
    send(queue, 'a1', 'b1');
    receive(queue, 1, 3600);
    pass(60 * SECOND);
    expect(receive(queue)).toEqual([]);
    expect(queue.counts(now)).toEqual({ visible: 0, inFlight: 0, delayed: 0 });
  });
});

describe('a standard queue', () => {
  test('hands out messages whatever is in flight, each for itself', () => {
    const queue = standard();
    send(queue, 'a1', 'a2');
    expect(bodies(receive(queue, 1))).toEqual(['a1']);
    expect(bodies(receive(queue))).toEqual(['a2']);
  });

  test('delays single messages', () => {
    const queue = standard();
    queue.send({ body: 'later', attributes: {}, delaySeconds: 5 }, now);
    queue.send({ body: 'now', attributes: {} }, now);
    expect(bodies(receive(queue))).toEqual(['now']);
    pass(5 * SECOND);
    expect(bodies(receive(queue))).toEqual(['later']);
  });
});

test('purging empties the queue, also of what is in flight', () => {
  const queue = fifo();
  send(queue, 'a1', 'a2', 'b1');
  receive(queue, 1);
  queue.purge();
  expect(queue.counts(now)).toEqual({ visible: 0, inFlight: 0, delayed: 0 });
});

describe('restoring', () => {
  /** Another queue of the same name, from the changes of the first or from its snapshot. */
  function restored(from: Iterable<QueueChange>): Queue {
    const plain = JSON.parse(JSON.stringify([...from])) as QueueChange[];
    const queue = fifo();
    for (const change of plain) queue.restore(change);
    return queue;
  }

  test.each(['changes', 'snapshot'])('from %s: order, receive counts, deduplication; nothing is in flight', (from) => {
    const queue = fifo();
    send(queue, 'a1', 'a2', 'b1', 'a3');
    const received = receive(queue, 3);
    queue.delete(handle(received, 0), now);
    const other = restored(from === 'changes' ? changes : queue.snapshot(now));

    expect(other.counts(now)).toEqual({ visible: 3, inFlight: 0, delayed: 0 });
    const again = receive(other);
    expect(bodies(again)).toEqual(['a2', 'a3', 'b1']);
    expect(again.map(({ message }) => message.receiveCount)).toEqual([2, 2, 1]);
    expect(send(other, 'a1').duplicate).toBe(true);
    expect(Number(send(other, 'a4').sequenceNumber)).toBeGreaterThan(Number(again[1]?.message.sequenceNumber));
  });
});
