import { beforeEach, describe, expect, test } from 'vitest';
import { bodies, handle, QueueTestBed, SECOND } from './queue-test-bed.ts';

let bed: QueueTestBed;

beforeEach(() => {
  bed = new QueueTestBed();
});

describe('a FIFO queue, receiving', () => {
  test('hands out up to ten messages of one group, in order', () => {
    const queue = bed.fifo();
    bed.send(queue, ...Array.from({ length: 12 }, (_, index) => `a${index}`));
    expect(bodies(bed.receive(queue))).toEqual(Array.from({ length: 10 }, (_, index) => `a${index}`));
  });

  test('takes as many as it can of one group, then fills up from others', () => {
    const queue = bed.fifo();
    bed.send(queue, 'a1', 'b1', 'a2', 'c1', 'b2');
    expect(bodies(bed.receive(queue, 4))).toEqual(['a1', 'a2', 'b1', 'b2']);
    expect(bodies(bed.receive(queue, 4))).toEqual(['c1']);
  });

  test('hands out no message of a group of which one is in flight', () => {
    const queue = bed.fifo();
    bed.send(queue, 'a1', 'a2');
    expect(bodies(bed.receive(queue, 1))).toEqual(['a1']);
    bed.send(queue, 'a3', 'b1');
    expect(bodies(bed.receive(queue))).toEqual(['b1']);
  });

  test('goes on with a group when all of it that was in flight is deleted, not before', () => {
    const queue = bed.fifo();
    bed.send(queue, 'a1', 'a2', 'a3');
    const received = bed.receive(queue, 2);
    queue.delete(handle(received, 0), bed.now);
    expect(bed.receive(queue)).toEqual([]);
    queue.delete(handle(received, 1), bed.now);
    expect(bodies(bed.receive(queue))).toEqual(['a3']);
  });

  test('gives every group its turn', () => {
    const queue = bed.fifo();
    bed.send(queue, 'a1', 'a2', 'b1', 'b2');
    queue.delete(handle(bed.receive(queue, 1)), bed.now);
    expect(bodies(bed.receive(queue, 1))).toEqual(['b1']);
  });

  test('keeps the order of a group whose messages expired together', () => {
    const queue = bed.fifo();
    bed.send(queue, 'a1', 'a2', 'a3', 'a4');
    expect(bodies(bed.receive(queue, 3))).toEqual(['a1', 'a2', 'a3']);
    bed.pass(30 * SECOND);
    expect(bodies(bed.receive(queue))).toEqual(['a1', 'a2', 'a3', 'a4']);
  });

  test('delivers what was not deleted before what came later, when part of a batch was deleted', () => {
    const queue = bed.fifo();
    bed.send(queue, 'a1', 'a2', 'a3');
    const received = bed.receive(queue);
    bed.send(queue, 'a4');
    queue.delete(handle(received, 0), bed.now);
    expect(bed.receive(queue)).toEqual([]);
    bed.pass(30 * SECOND);
    expect(bodies(bed.receive(queue))).toEqual(['a2', 'a3', 'a4']);
  });

  test('counts receives, remembers the first, and gives a new receipt handle each time', () => {
    const queue = bed.fifo();
    bed.send(queue, 'a1');
    const first = bed.receive(queue);
    const firstAt = bed.now;
    bed.pass(30 * SECOND);
    const second = bed.receive(queue);
    expect(first[0]?.message).toMatchObject({ receiveCount: 1, firstReceivedAt: firstAt });
    expect(second[0]?.message).toMatchObject({ receiveCount: 2, firstReceivedAt: firstAt });
    expect(handle(second)).not.toBe(handle(first));
  });

  test('numbers messages in the order of arrival', () => {
    const queue = bed.fifo();
    const sent = ['a1', 'b1', 'a2'].map((body) => bed.send(queue, body).sequenceNumber as string);
    expect(sent.toSorted()).toEqual(sent);
    expect(sent[0]).toMatch(/^\d{20}$/);
  });

  test('delays all messages alike when the queue has a delay', () => {
    const queue = bed.fifo({ DelaySeconds: '10' });
    bed.send(queue, 'a1');
    expect(bed.receive(queue)).toEqual([]);
    expect(queue.counts(bed.now)).toEqual({ visible: 0, inFlight: 0, delayed: 1 });
    bed.pass(10 * SECOND);
    expect(bodies(bed.receive(queue))).toEqual(['a1']);
  });
});

describe('a standard queue', () => {
  test('hands out messages whatever is in flight, each for itself', () => {
    const queue = bed.standard();
    bed.send(queue, 'a1', 'a2');
    expect(bodies(bed.receive(queue, 1))).toEqual(['a1']);
    expect(bodies(bed.receive(queue))).toEqual(['a2']);
  });

  test('delays single messages', () => {
    const queue = bed.standard();
    queue.send({ body: 'later', attributes: {}, delaySeconds: 5 }, bed.now);
    queue.send({ body: 'now', attributes: {} }, bed.now);
    expect(bodies(bed.receive(queue))).toEqual(['now']);
    bed.pass(5 * SECOND);
    expect(bodies(bed.receive(queue))).toEqual(['later']);
  });
});
