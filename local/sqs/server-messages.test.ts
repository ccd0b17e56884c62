import {
  ChangeMessageVisibilityCommand,
  DeleteMessageCommand,
  ReceiveMessageCommand,
  SendMessageCommand,
  type SendMessageCommandInput,
} from '@aws-sdk/client-sqs';
import { describe, expect, test } from 'vitest';
import { MIB, ServerTestBed } from './server-test-bed.ts';

const bed = ServerTestBed.use();

describe('sending and receiving', () => {
  // The client checks the digest of the body by itself, in both directions.
  test('carries body, attributes of the message, and what SQS adds', async () => {
    const attributes = {
      text: { DataType: 'String', StringValue: 'größe' },
      bytes: { DataType: 'Binary.png', BinaryValue: new Uint8Array([1, 2, 255]) },
      number: { DataType: 'Number', StringValue: '7' },
    };
    const sent = await bed.send('{"ö":"💧"}', { MessageAttributes: attributes });
    const [message] = await bed.receive({ MessageSystemAttributeNames: ['All'], MessageAttributeNames: ['All'] });
    expect(message).toMatchObject({
      MessageId: sent.MessageId,
      Body: '{"ö":"💧"}',
      MD5OfBody: sent.MD5OfMessageBody,
      MessageAttributes: attributes,
      MD5OfMessageAttributes: sent.MD5OfMessageAttributes,
      Attributes: {
        ApproximateReceiveCount: '1',
        SentTimestamp: expect.stringMatching(/^\d{13}$/),
        ApproximateFirstReceiveTimestamp: expect.stringMatching(/^\d{13}$/),
        MessageGroupId: 'a',
        MessageDeduplicationId: encodeURIComponent('{"ö":"💧"}'),
        SequenceNumber: sent.SequenceNumber,
        SenderId: '000000000000',
      },
    });
  });

  test('digests attributes as SQS documents it', async () => {
    // Computed by hand from the description, with another program.
    const { MD5OfMessageAttributes } = await bed.send('x', {
      MessageAttributes: {
        b: { DataType: 'Binary', BinaryValue: new Uint8Array([1, 2]) },
        x: { DataType: 'String', StringValue: 'é' },
      },
    });
    expect(MD5OfMessageAttributes).toBe('3351bd6afbb9114b7fdd6cab7d1ec7f0');
  });

  test('gives only the attributes that are asked for', async () => {
    const value = { DataType: 'String', StringValue: '1' };
    await bed.send('x', { MessageAttributes: { 'app.one': value, 'app.two': value, other: value } });
    const [message] = await bed.receive({
      MessageSystemAttributeNames: ['MessageGroupId'],
      MessageAttributeNames: ['app.*'],
    });
    expect(message?.Attributes).toEqual({ MessageGroupId: 'a' });
    expect(Object.keys(message?.MessageAttributes ?? {})).toEqual(['app.one', 'app.two']);
  });

  test('answers a duplicate as the first, and delivers it once', async () => {
    const first = await bed.send('x');
    expect(await bed.send('x')).toMatchObject({ MessageId: first.MessageId, SequenceNumber: first.SequenceNumber });
    expect(await bed.receive()).toHaveLength(1);
  });

  test('takes a message of 1 MiB, attributes included, and not a byte more', async () => {
    const attribute = { n: { DataType: 'String', StringValue: 'v' } };
    const rest = 'n'.length + 'String'.length + 'v'.length;
    await bed.send('x'.repeat(MIB - rest), { MessageAttributes: attribute, MessageDeduplicationId: '1' });
    await expect(
      bed.send('x'.repeat(MIB - rest + 1), { MessageAttributes: attribute, MessageDeduplicationId: '2' }),
    ).rejects.toThrow('Message must be shorter than 1048576 bytes');
    const [message] = await bed.receive();
    expect(message?.Body).toHaveLength(MIB - rest);
  });

  test('counts bytes, not characters', async () => {
    await expect(bed.send('ö'.repeat(MIB / 2 + 1))).rejects.toThrow('Message must be shorter');
  });

  test('takes a message of 1 MiB that JSON makes six times as long', async () => {
    await bed.send('\r'.repeat(MIB), { MessageDeduplicationId: '1' });
    expect((await bed.receive())[0]?.Body).toBe('\r'.repeat(MIB));
  });

  test.each<{ what: string; input: Partial<SendMessageCommandInput>; error: string; code?: string }>([
    { what: 'no group', input: { MessageGroupId: undefined }, error: 'MessageGroupId', code: 'MissingParameter' },
    { what: 'no deduplication id', input: { MessageDeduplicationId: undefined }, error: 'ContentBasedDeduplication' },
    { what: 'a delay of its own', input: { DelaySeconds: 1 }, error: 'DelaySeconds' },
    { what: 'a group of 129 characters', input: { MessageGroupId: 'x'.repeat(129) }, error: 'MessageGroupId' },
    { what: 'a group with a space', input: { MessageGroupId: 'a b' }, error: 'MessageGroupId' },
    { what: 'no body', input: { MessageBody: '' }, error: 'MessageBody' },
    { what: 'a NUL in the body', input: { MessageBody: 'a\0' }, error: 'at 1', code: 'InvalidMessageContents' },
    { what: 'half a surrogate pair', input: { MessageBody: '\ud800' }, error: 'at 0', code: 'InvalidMessageContents' },
    { what: 'eleven attributes', input: { MessageAttributes: numbered(11) }, error: 'at most 10' },
    {
      what: 'an attribute without its value',
      input: { MessageAttributes: { a: { DataType: 'Binary', StringValue: 'x' } } },
      error: 'MessageAttributes.a',
    },
    {
      what: 'a trace header',
      input: { MessageSystemAttributes: { AWSTraceHeader: { DataType: 'String', StringValue: 'x' } } },
      error: 'unknown parameter MessageSystemAttributes',
    },
  ])('refuses $what', async ({ input, error, code = 'InvalidParameterValue' }) => {
    await expect(bed.send('x', input)).rejects.toThrow(
      expect.objectContaining({ name: code, message: expect.stringContaining(error) }),
    );
  });

  test('refuses what only a FIFO queue takes on a standard one', async () => {
    const input = { QueueUrl: bed.standard, MessageBody: 'x', MessageDeduplicationId: 'x' };
    await expect(bed.sqs.send(new SendMessageCommand(input))).rejects.toThrow('only a FIFO queue takes one');
  });

  test('waits for a message, and gets it when it is sent', async () => {
    const waiting = bed.receive({ WaitTimeSeconds: 20 });
    await bed.send('x');
    expect((await waiting).map((message) => message.Body)).toEqual(['x']);
  });

  test('waits for a group to be free', async () => {
    await bed.send('x');
    await bed.send('y');
    const [message] = await bed.receive({ MaxNumberOfMessages: 1 });
    const waiting = bed.receive({ WaitTimeSeconds: 20 });
    await bed.sqs.send(new DeleteMessageCommand({ QueueUrl: bed.fifo, ReceiptHandle: message?.ReceiptHandle }));
    expect((await waiting).map(({ Body }) => Body)).toEqual(['y']);
  });

  test('waits for a message whose visibility runs out', async () => {
    await bed.send('x');
    await bed.receive({ VisibilityTimeout: 1 });
    expect((await bed.receive({ WaitTimeSeconds: 20 })).map(({ Body }) => Body)).toEqual(['x']);
  });

  test('stops waiting after the time that it was given', async () => {
    expect(await bed.receive({ WaitTimeSeconds: 1 })).toEqual([]);
  });

  test('hands nothing to a receiver that has gone', async () => {
    const gone = new AbortController();
    const waiting = bed.sqs.send(new ReceiveMessageCommand({ QueueUrl: bed.fifo, WaitTimeSeconds: 20 }), {
      abortSignal: gone.signal,
    });
    const failed = expect(waiting).rejects.toThrow();
    // Any answer shows that the server has the receive before it.
    await bed.counts();
    gone.abort();
    await failed;
    await bed.counts();
    await bed.send('x');
    expect(await bed.counts()).toEqual(['1', '0']);
  });
});

describe('deleting and changing visibility', () => {
  test('with a handle that has expired fails', async () => {
    await bed.send('x');
    const [message] = await bed.receive({ VisibilityTimeout: 0 });
    await expect(
      bed.sqs.send(new DeleteMessageCommand({ QueueUrl: bed.fifo, ReceiptHandle: message?.ReceiptHandle })),
    ).rejects.toThrow('The receipt handle has expired');
  });

  test('with a handle that is none fails', async () => {
    await expect(bed.sqs.send(new DeleteMessageCommand({ QueueUrl: bed.fifo, ReceiptHandle: 'x' }))).rejects.toThrow(
      expect.objectContaining({ name: 'ReceiptHandleIsInvalid' }),
    );
  });

  test('visibility: back at once, and not for a message that is not in flight', async () => {
    await bed.send('x');
    const [message] = await bed.receive();
    const change = new ChangeMessageVisibilityCommand({
      QueueUrl: bed.fifo,
      ReceiptHandle: message?.ReceiptHandle,
      VisibilityTimeout: 0,
    });
    await bed.sqs.send(change);
    await expect(bed.sqs.send(change)).rejects.toThrow(expect.objectContaining({ name: 'MessageNotInflight' }));
    expect(await bed.receive()).toHaveLength(1);
  });
});

function numbered(count: number) {
  return Object.fromEntries(
    Array.from({ length: count }, (_, index) => [`a${index}`, { DataType: 'String', StringValue: 'x' }]),
  );
}
