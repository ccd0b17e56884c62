import { beforeEach, describe, expect, test } from 'vitest';
import type { Queue, QueueChange, Received } from './queue.ts';
import { bodies, handle, MINUTE, QueueTestBed, SECOND } from './queue-test-bed.ts';

let bed: QueueTestBed;

beforeEach(() => {
  bed = new QueueTestBed();
});

describe('visibility', () => {
  test('a message is visible again exactly when its time is over', () => {
    const queue = bed.fifo();
    bed.send(queue, 'a1');
    bed.receive(queue, 10, 180);
    bed.pass(180 * SECOND - 1);
    expect(bed.receive(queue)).toEqual([]);
    expect(queue.nextVisibleAt(bed.now)).toBe(bed.now + 1);
    bed.pass(1);
    expect(bodies(bed.receive(queue))).toEqual(['a1']);
  });

  test('can be changed, counted from the change', () => {
    const queue = bed.fifo();
    bed.send(queue, 'a1');
    const received = bed.receive(queue, 10, 30);
    bed.pass(20 * SECOND);
    expect(queue.changeVisibility(handle(received), 60, bed.now)).toBe('done');
    bed.pass(59 * SECOND);
    expect(bed.receive(queue)).toEqual([]);
    bed.pass(1 * SECOND);
    expect(bodies(bed.receive(queue))).toEqual(['a1']);
  });

  test('of zero returns the message at once, but its group waits for the others of it', () => {
    const queue = bed.fifo();
    bed.send(queue, 'a1', 'a2');
    const received = bed.receive(queue);
    expect(queue.changeVisibility(handle(received, 0), 0, bed.now)).toBe('done');
    expect(bed.receive(queue)).toEqual([]);
    queue.changeVisibility(handle(received, 1), 0, bed.now);
    expect(bodies(bed.receive(queue))).toEqual(['a1', 'a2']);
  });

  test('cannot be changed of a message that is not in flight', () => {
    const queue = bed.fifo();
    bed.send(queue, 'a1');
    const received = bed.receive(queue);
    bed.pass(30 * SECOND);
    expect(queue.changeVisibility(handle(received), 10, bed.now)).toBe('not-in-flight');
    expect(queue.changeVisibility('nonsense', 10, bed.now)).toBe('invalid');
  });
});

describe('deleting', () => {
  test('on a FIFO queue fails when the visibility has run out, and the message comes again', () => {
    const queue = bed.fifo();
    bed.send(queue, 'a1');
    const late = bed.receive(queue);
    bed.pass(30 * SECOND);
    expect(queue.delete(handle(late), bed.now)).toBe('expired');
    const again = bed.receive(queue);
    expect(bodies(again)).toEqual(['a1']);
    expect(queue.delete(handle(late), bed.now)).toBe('expired');
    expect(queue.delete(handle(again), bed.now)).toBe('done');
  });

  test('on a standard queue succeeds late, unless somebody else has received the message since', () => {
    const queue = bed.standard();
    bed.send(queue, 'a1');
    const late = bed.receive(queue);
    bed.pass(30 * SECOND);
    const again = bed.receive(queue);
    expect(queue.delete(handle(late), bed.now)).toBe('done');
    expect(queue.counts(bed.now).inFlight).toBe(1);
    bed.pass(30 * SECOND);
    expect(queue.delete(handle(again), bed.now)).toBe('done');
    expect(queue.counts(bed.now)).toEqual({ visible: 0, inFlight: 0, delayed: 0 });
  });

  test('twice is no error; what is no receipt handle is one', () => {
    const queue = bed.fifo();
    bed.send(queue, 'a1');
    const received = bed.receive(queue);
    expect(queue.delete(handle(received), bed.now)).toBe('done');
    expect(queue.delete(handle(received), bed.now)).toBe('done');
    expect(queue.delete('nonsense', bed.now)).toBe('invalid');
  });
});

describe('dead letters', () => {
  const redrive = (max: number) => ({
    RedrivePolicy: JSON.stringify({ deadLetterTargetArn: 'arn:aws:sqs:r:a:dead.fifo', maxReceiveCount: max }),
  });

  test('a message received as often as allowed leaves with the next receive, and its group goes on', () => {
    const queue = bed.fifo(redrive(2));
    bed.send(queue, 'a1');
    for (const count of [1, 2]) {
      expect(bed.receive(queue)[0]?.message.receiveCount).toBe(count);
      bed.pass(30 * SECOND);
    }
    bed.send(queue, 'a2');
    const { received, deadLettered } = queue.receive(10, 30, bed.now);
    expect(deadLettered.map((message) => message.body)).toEqual(['a1']);
    expect(bodies(received)).toEqual(['a2']);
    expect(queue.counts(bed.now)).toEqual({ visible: 0, inFlight: 1, delayed: 0 });
  });

  test('in a FIFO dead-letter queue: new time, id for deduplication, source; two of one deduplication id both stay', () => {
    const source = bed.fifo();
    const dead = bed.queueWith('dead.fifo', { FifoQueue: 'true' });
    bed.send(source, 'a1');
    const first = bed.receive(source)[0]?.message as Received['message'];
    bed.pass(6 * MINUTE);
    bed.send(source, 'a1');
    const second = bed.receive(source)[1]?.message as Received['message'];
    dead.addDeadLetter(first, source.arn, bed.now);
    dead.addDeadLetter(second, source.arn, bed.now);
    const received = bed.receive(dead);
    expect(received.map(({ message }) => message.deduplicationId)).toEqual([first.messageId, second.messageId]);
    expect(received[0]?.message).toMatchObject({
      messageId: first.messageId,
      groupId: 'a',
      sentAt: bed.now,
      deadLetterSource: 'arn:aws:sqs:r:a:q.fifo',
      receiveCount: 1,
    });
  });

  test('in a standard dead-letter queue: the time of sending stays, so it may be gone sooner', () => {
    const source = bed.standard();
    const dead = bed.standard({ MessageRetentionPeriod: '3600' });
    bed.send(source, 'a1');
    bed.pass(59 * MINUTE);
    dead.addDeadLetter(bed.receive(source)[0]?.message as Received['message'], source.arn, bed.now);
    expect(dead.counts(bed.now).visible).toBe(1);
    bed.pass(1 * MINUTE);
    expect(dead.counts(bed.now).visible).toBe(0);
  });
});

describe('retention', () => {
  test('a message past it is gone, waiting or in flight', () => {
    const queue = bed.fifo({ MessageRetentionPeriod: '60' });
    bed.send(queue, 'a1', 'b1');
    bed.receive(queue, 1, 3600);
    bed.pass(60 * SECOND);
    expect(bed.receive(queue)).toEqual([]);
    expect(queue.counts(bed.now)).toEqual({ visible: 0, inFlight: 0, delayed: 0 });
  });
});

test('purging empties the queue, also of what is in flight', () => {
  const queue = bed.fifo();
  bed.send(queue, 'a1', 'a2', 'b1');
  bed.receive(queue, 1);
  queue.purge();
  expect(queue.counts(bed.now)).toEqual({ visible: 0, inFlight: 0, delayed: 0 });
});

describe('restoring', () => {
  /** Another queue of the same name, from the changes of the first or from its snapshot. */
  function restored(from: Iterable<QueueChange>): Queue {
    const plain = JSON.parse(JSON.stringify([...from])) as QueueChange[];
    const queue = bed.fifo();
    for (const change of plain) queue.restore(change);
    return queue;
  }

  test.each(['changes', 'snapshot'])('from %s: order, receive counts, deduplication; nothing is in flight', (from) => {
    const queue = bed.fifo();
    bed.send(queue, 'a1', 'a2', 'b1', 'a3');
    const received = bed.receive(queue, 3);
    queue.delete(handle(received, 0), bed.now);
    const other = restored(from === 'changes' ? bed.changes : queue.snapshot(bed.now));

    expect(other.counts(bed.now)).toEqual({ visible: 3, inFlight: 0, delayed: 0 });
    const again = bed.receive(other);
    expect(bodies(again)).toEqual(['a2', 'a3', 'b1']);
    expect(again.map(({ message }) => message.receiveCount)).toEqual([2, 2, 1]);
    expect(bed.send(other, 'a1').duplicate).toBe(true);
    expect(Number(bed.send(other, 'a4').sequenceNumber)).toBeGreaterThan(Number(again[1]?.message.sequenceNumber));
  });
});
