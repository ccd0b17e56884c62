import { expect, test } from 'vitest';
import { groupOf, splitBySize, sqsRecord } from './sqs-event.ts';

test('a record has what Lambda puts into it', () => {
  const record = sqsRecord(
    {
      MessageId: 'id',
      ReceiptHandle: 'handle',
      Body: 'body',
      MD5OfBody: 'md5',
      Attributes: { MessageGroupId: 'a', ApproximateReceiveCount: '1' },
      MessageAttributes: {
        text: { DataType: 'String', StringValue: 'x' },
        bytes: { DataType: 'Binary', BinaryValue: new Uint8Array([1, 2]) },
      },
    },
    'arn:aws:sqs:r:a:q.fifo',
    'r',
  );
  expect(JSON.parse(JSON.stringify(record))).toEqual({
    messageId: 'id',
    receiptHandle: 'handle',
    body: 'body',
    attributes: { MessageGroupId: 'a', ApproximateReceiveCount: '1' },
    messageAttributes: {
      text: { dataType: 'String', stringValue: 'x', stringListValues: [], binaryListValues: [] },
      bytes: { dataType: 'Binary', binaryValue: 'AQI=', stringListValues: [], binaryListValues: [] },
    },
    md5OfBody: 'md5',
    eventSource: 'aws:sqs',
    eventSourceARN: 'arn:aws:sqs:r:a:q.fifo',
    awsRegion: 'r',
  });
  expect(groupOf(record)).toBe('a');
  // A standard queue may have groups too, but they mean no order.
  expect(groupOf({ ...record, eventSourceARN: 'arn:aws:sqs:r:a:q' })).toBe('id');
});

const record = (id: string, length: number) =>
  sqsRecord({ MessageId: id, Body: 'ö'.repeat(length / 2) }, 'arn', 'region');
const ids = (parts: ReturnType<typeof splitBySize>) => parts.map((part) => part.map(({ messageId }) => messageId));

test('a batch is split where the event would be larger than the limit, in order', () => {
  const records = [record('1', 400), record('2', 400), record('3', 400), record('4', 2000), record('5', 400)];
  expect(ids(splitBySize(records, 1_500))).toEqual([['1', '2'], ['3'], ['4'], ['5']]);
  for (const part of splitBySize(records, 1_500).filter((it) => it.length > 1)) {
    expect(Buffer.byteLength(JSON.stringify({ Records: part }))).toBeLessThanOrEqual(1_500);
  }
});

test('the limit is that of an invocation: nine messages of 640 KiB pass together, ten do not', () => {
  const records = Array.from({ length: 10 }, (_, index) => record(String(index), 640 * 1024));
  expect(splitBySize(records).map((part) => part.length)).toEqual([9, 1]);
});
