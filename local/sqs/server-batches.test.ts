import {
  ChangeMessageVisibilityBatchCommand,
  DeleteMessageBatchCommand,
  SendMessageBatchCommand,
} from '@aws-sdk/client-sqs';
import { describe, expect, test } from 'vitest';
import { MIB, ServerTestBed } from './server-test-bed.ts';

const bed = ServerTestBed.use();

describe('batches', () => {
  test('send, change and delete, each entry for itself', async () => {
    const sent = await bed.sqs.send(
      new SendMessageBatchCommand({
        QueueUrl: bed.fifo,
        Entries: [
          { Id: 'good', MessageBody: 'x', MessageGroupId: 'a', MessageDeduplicationId: '1' },
          { Id: 'bad', MessageBody: 'y', MessageDeduplicationId: '2' },
        ],
      }),
    );
    expect(sent.Successful?.map(({ Id }) => Id)).toEqual(['good']);
    expect(sent.Failed).toEqual([
      { Id: 'bad', SenderFault: true, Code: 'MissingParameter', Message: expect.stringContaining('MessageGroupId') },
    ]);

    const [message] = await bed.receive();
    const changed = await bed.sqs.send(
      new ChangeMessageVisibilityBatchCommand({
        QueueUrl: bed.fifo,
        Entries: [
          { Id: 'good', ReceiptHandle: message?.ReceiptHandle, VisibilityTimeout: 100 },
          { Id: 'bad', ReceiptHandle: 'x', VisibilityTimeout: 100 },
        ],
      }),
    );
    expect([changed.Successful?.[0]?.Id, changed.Failed?.[0]?.Code]).toEqual(['good', 'ReceiptHandleIsInvalid']);

    const deleted = await bed.sqs.send(
      new DeleteMessageBatchCommand({
        QueueUrl: bed.fifo,
        Entries: [
          { Id: 'good', ReceiptHandle: message?.ReceiptHandle },
          { Id: 'bad', ReceiptHandle: 'x' },
        ],
      }),
    );
    expect([deleted.Successful?.[0]?.Id, deleted.Failed?.[0]?.Id]).toEqual(['good', 'bad']);
    expect(await bed.counts()).toEqual(['0', '0']);
  });

  const entry = (Id: string, MessageBody = 'x') => ({
    Id,
    MessageBody,
    MessageGroupId: 'a',
    MessageDeduplicationId: Id,
  });

  test.each([
    { error: 'EmptyBatchRequest', entries: [] },
    { error: 'TooManyEntriesInBatchRequest', entries: Array.from({ length: 11 }, (_, index) => entry(`${index}`)) },
    { error: 'BatchEntryIdsNotDistinct', entries: [entry('a'), entry('a')] },
    { error: 'InvalidBatchEntryId', entries: [entry('a b')] },
    { error: 'BatchRequestTooLong', entries: [entry('a', 'x'.repeat(MIB / 2)), entry('b', 'x'.repeat(MIB / 2 + 1))] },
  ])('as a whole are refused: $error', async ({ error, entries }) => {
    await expect(bed.sqs.send(new SendMessageBatchCommand({ QueueUrl: bed.fifo, Entries: entries }))).rejects.toThrow(
      expect.objectContaining({ name: error }),
    );
    expect(await bed.counts()).toEqual(['0', '0']);
  });
});
