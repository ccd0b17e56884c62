import { beforeEach, describe, expect, test } from 'vitest';
import { bodies, handle, MINUTE, QueueTestBed } from './queue-test-bed.ts';

let bed: QueueTestBed;

beforeEach(() => {
  bed = new QueueTestBed();
});

describe('deduplication', () => {
  test('swallows the same id within five minutes and answers with the first message', () => {
    const queue = bed.fifo();
    const first = bed.send(queue, 'a1');
    bed.pass(5 * MINUTE - 1);
    expect(bed.send(queue, 'a1')).toEqual({ ...first, duplicate: true });
    expect(bodies(bed.receive(queue))).toEqual(['a1']);
  });

  test('goes on after the message was received and deleted', () => {
    const queue = bed.fifo();
    bed.send(queue, 'a1');
    queue.delete(handle(bed.receive(queue)), bed.now);
    expect(bed.send(queue, 'a1').duplicate).toBe(true);
    expect(bed.receive(queue)).toEqual([]);
  });

  test('ends after five minutes', () => {
    const queue = bed.fifo();
    bed.send(queue, 'a1');
    bed.pass(5 * MINUTE);
    expect(bed.send(queue, 'a1').duplicate).toBe(false);
    expect(bodies(bed.receive(queue))).toEqual(['a1', 'a1']);
  });

  test('is not prolonged by a duplicate', () => {
    const queue = bed.fifo();
    bed.send(queue, 'a1');
    bed.pass(4 * MINUTE);
    bed.send(queue, 'a1');
    bed.pass(1 * MINUTE);
    expect(bed.send(queue, 'a1').duplicate).toBe(false);
  });

  test.each([
    { scope: 'messageGroup', duplicate: false },
    { scope: 'queue', duplicate: true },
  ])('with the scope $scope, the same id in another group is a duplicate: $duplicate', ({ scope, duplicate }) => {
    const queue = bed.fifo({ DeduplicationScope: scope });
    queue.send({ body: 'x', attributes: {}, groupId: 'a', deduplicationId: '1' }, bed.now);
    expect(queue.send({ body: 'y', attributes: {}, groupId: 'b', deduplicationId: '1' }, bed.now).duplicate).toBe(
      duplicate,
    );
  });

  test('by content, if set, looks at the body alone', () => {
    const queue = bed.fifo({ ContentBasedDeduplication: 'true' });
    const attributes = { other: { DataType: 'String', StringValue: 'x' } };
    queue.send({ body: 'x', attributes: {}, groupId: 'a' }, bed.now);
    expect(queue.send({ body: 'x', attributes, groupId: 'a' }, bed.now).duplicate).toBe(true);
    expect(queue.send({ body: 'y', attributes: {}, groupId: 'a' }, bed.now).duplicate).toBe(false);
  });

  test('is nothing that a standard queue does', () => {
    const queue = bed.standard();
    bed.send(queue, 'a1', 'a1');
    expect(bodies(bed.receive(queue))).toEqual(['a1', 'a1']);
  });
});
