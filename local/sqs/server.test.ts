import {
  ChangeMessageVisibilityBatchCommand,
  ChangeMessageVisibilityCommand,
  CreateQueueCommand,
  DeleteMessageBatchCommand,
  DeleteMessageCommand,
  GetQueueAttributesCommand,
  GetQueueUrlCommand,
  ListQueuesCommand,
  type Message,
  PurgeQueueCommand,
  ReceiveMessageCommand,
  SendMessageBatchCommand,
  SendMessageCommand,
  type SendMessageCommandInput,
  SetQueueAttributesCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Queues } from './queues.ts';
import { type SqsServer, startSqsServer } from './server.ts';

const MIB = 1024 * 1024;
const FIFO = { FifoQueue: 'true', DeduplicationScope: 'messageGroup', FifoThroughputLimit: 'perMessageGroupId' };

let queues: Queues;
let server: SqsServer;
let sqs: SQSClient;
let fifo: string;
let standard: string;

beforeEach(async () => {
  queues = await Queues.open({ region: 'eu-central-1', account: '000000000000' });
  server = await startSqsServer(queues);
  sqs = new SQSClient({ endpoint: server.url });
  fifo = await create('plans.fifo', FIFO);
  standard = await create('quarantine', {});
});

afterEach(async () => {
  sqs.destroy();
  await server.close();
  queues.close();
});

async function create(name: string, attributes: Record<string, string>): Promise<string> {
  const { QueueUrl } = await sqs.send(new CreateQueueCommand({ QueueName: name, Attributes: attributes }));
  return QueueUrl as string;
}

function send(body: string, more: Partial<SendMessageCommandInput> = {}) {
  const ids = { MessageGroupId: 'a', MessageDeduplicationId: encodeURIComponent(body.slice(0, 10)) };
  return sqs.send(new SendMessageCommand({ QueueUrl: fifo, MessageBody: body, ...ids, ...more }));
}

async function receive(more: Partial<ConstructorParameters<typeof ReceiveMessageCommand>[0]> = {}): Promise<Message[]> {
  const { Messages = [] } = await sqs.send(
    new ReceiveMessageCommand({ QueueUrl: fifo, MaxNumberOfMessages: 10, ...more }),
  );
  return Messages;
}

async function counts(url: string): Promise<unknown[]> {
  const { Attributes = {} } = await sqs.send(new GetQueueAttributesCommand({ QueueUrl: url, AttributeNames: ['All'] }));
  return [Attributes.ApproximateNumberOfMessages, Attributes.ApproximateNumberOfMessagesNotVisible];
}

describe('queues', () => {
  test('have a URL at this server, found by name, and are listed', async () => {
    expect(fifo).toBe(`${server.url}/000000000000/plans.fifo`);
    expect((await sqs.send(new GetQueueUrlCommand({ QueueName: 'plans.fifo' }))).QueueUrl).toBe(fifo);
    expect((await sqs.send(new ListQueuesCommand())).QueueUrls).toEqual([fifo, standard]);
    expect((await sqs.send(new ListQueuesCommand({ QueueNamePrefix: 'qua' }))).QueueUrls).toEqual([standard]);
  });

  test('tell their attributes, by name or all', async () => {
    const all = await sqs.send(new GetQueueAttributesCommand({ QueueUrl: fifo, AttributeNames: ['All'] }));
    expect(all.Attributes).toMatchObject({
      QueueArn: 'arn:aws:sqs:eu-central-1:000000000000:plans.fifo',
      VisibilityTimeout: '30',
      MessageRetentionPeriod: '345600',
      MaximumMessageSize: '1048576',
      ...FIFO,
    });
    const one = await sqs.send(
      new GetQueueAttributesCommand({ QueueUrl: fifo, AttributeNames: ['VisibilityTimeout'] }),
    );
    expect(one.Attributes).toEqual({ VisibilityTimeout: '30' });
  });

  test('are made once: the same again is no error, other attributes are one, and can be set', async () => {
    expect(await create('plans.fifo', FIFO)).toBe(fifo);
    await expect(create('plans.fifo', { ...FIFO, VisibilityTimeout: '10' })).rejects.toThrow(
      expect.objectContaining({ name: 'QueueNameExists' }),
    );
    await sqs.send(new SetQueueAttributesCommand({ QueueUrl: fifo, Attributes: { VisibilityTimeout: '10' } }));
    const { Attributes } = await sqs.send(new GetQueueAttributesCommand({ QueueUrl: fifo, AttributeNames: ['All'] }));
    expect(Attributes).toMatchObject({ VisibilityTimeout: '10', ...FIFO });
  });

  test.each([
    { name: 'a.fifo', attributes: {}, message: 'ends in .fifo' },
    { name: 'a', attributes: { FifoQueue: 'true' }, message: 'ends in .fifo' },
    { name: 'a', attributes: { VisibilityTimeout: '43201' }, message: 'VisibilityTimeout: expected a whole number' },
    { name: 'a', attributes: { VisibilityTimeout: 'x' }, message: 'VisibilityTimeout: expected a whole number' },
    { name: 'a', attributes: { Nonsense: '1' }, message: 'Nonsense' },
    { name: 'a', attributes: { RedrivePolicy: 'x' }, message: 'RedrivePolicy: expected JSON' },
    {
      name: 'a.fifo',
      attributes: { FifoQueue: 'true', FifoThroughputLimit: 'perMessageGroupId' },
      message: 'needs DeduplicationScope messageGroup',
    },
    {
      name: 'a',
      attributes: {
        RedrivePolicy: '{"deadLetterTargetArn":"arn:aws:sqs:eu-central-1:000000000000:plans.fifo","maxReceiveCount":1}',
      },
      message: 'must be another queue that exists and is standard',
    },
  ])('are not made as $name with $attributes', async ({ name, attributes, message }) => {
    await expect(create(name, attributes)).rejects.toThrow(message);
  });

  test('that do not exist are the error that clients know', async () => {
    await expect(send('x', { QueueUrl: `${fifo}x` })).rejects.toThrow(
      expect.objectContaining({ name: 'QueueDoesNotExist', Code: 'AWS.SimpleQueueService.NonExistentQueue' }),
    );
  });

  test('can be purged', async () => {
    await send('x');
    await sqs.send(new PurgeQueueCommand({ QueueUrl: fifo }));
    expect(await counts(fifo)).toEqual(['0', '0']);
  });
});

describe('sending and receiving', () => {
  // The client checks the digest of the body by itself, in both directions.
  test('carries body, attributes of the message, and what SQS adds', async () => {
    const attributes = {
      text: { DataType: 'String', StringValue: 'größe' },
      bytes: { DataType: 'Binary.png', BinaryValue: new Uint8Array([1, 2, 255]) },
      number: { DataType: 'Number', StringValue: '7' },
    };
    const sent = await send('{"ö":"💧"}', { MessageAttributes: attributes });
    const [message] = await receive({ MessageSystemAttributeNames: ['All'], MessageAttributeNames: ['All'] });
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
    const { MD5OfMessageAttributes } = await send('x', {
      MessageAttributes: {
        b: { DataType: 'Binary', BinaryValue: new Uint8Array([1, 2]) },
        x: { DataType: 'String', StringValue: 'é' },
      },
    });
    expect(MD5OfMessageAttributes).toBe('3351bd6afbb9114b7fdd6cab7d1ec7f0');
  });

  test('gives only the attributes that are asked for', async () => {
    const value = { DataType: 'String', StringValue: '1' };
    await send('x', { MessageAttributes: { 'app.one': value, 'app.two': value, other: value } });
    const [message] = await receive({
      MessageSystemAttributeNames: ['MessageGroupId'],
      MessageAttributeNames: ['app.*'],
    });
    expect(message?.Attributes).toEqual({ MessageGroupId: 'a' });
    expect(Object.keys(message?.MessageAttributes ?? {})).toEqual(['app.one', 'app.two']);
  });

  test('answers a duplicate as the first, and delivers it once', async () => {
    const first = await send('x');
    expect(await send('x')).toMatchObject({ MessageId: first.MessageId, SequenceNumber: first.SequenceNumber });
    expect(await receive()).toHaveLength(1);
  });

  test('takes a message of 1 MiB, attributes included, and not a byte more', async () => {
    const attribute = { n: { DataType: 'String', StringValue: 'v' } };
    const rest = 'n'.length + 'String'.length + 'v'.length;
    await send('x'.repeat(MIB - rest), { MessageAttributes: attribute, MessageDeduplicationId: '1' });
    await expect(
      send('x'.repeat(MIB - rest + 1), { MessageAttributes: attribute, MessageDeduplicationId: '2' }),
    ).rejects.toThrow('Message must be shorter than 1048576 bytes');
    const [message] = await receive();
    expect(message?.Body).toHaveLength(MIB - rest);
  });

  test('counts bytes, not characters', async () => {
    await expect(send('ö'.repeat(MIB / 2 + 1))).rejects.toThrow('Message must be shorter');
  });

  test('takes a message of 1 MiB that JSON makes six times as long', async () => {
    await send('\r'.repeat(MIB), { MessageDeduplicationId: '1' });
    expect((await receive())[0]?.Body).toBe('\r'.repeat(MIB));
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
    await expect(send('x', input)).rejects.toThrow(
      expect.objectContaining({ name: code, message: expect.stringContaining(error) }),
    );
  });

  test('refuses what only a FIFO queue takes on a standard one', async () => {
    const input = { QueueUrl: standard, MessageBody: 'x', MessageDeduplicationId: 'x' };
    await expect(sqs.send(new SendMessageCommand(input))).rejects.toThrow('only a FIFO queue takes one');
  });

  test('waits for a message, and gets it when it is sent', async () => {
    const waiting = receive({ WaitTimeSeconds: 20 });
    await send('x');
    expect((await waiting).map((message) => message.Body)).toEqual(['x']);
  });

  test('waits for a group to be free', async () => {
    await send('x');
    await send('y');
    const [message] = await receive({ MaxNumberOfMessages: 1 });
    const waiting = receive({ WaitTimeSeconds: 20 });
    await sqs.send(new DeleteMessageCommand({ QueueUrl: fifo, ReceiptHandle: message?.ReceiptHandle }));
    expect((await waiting).map(({ Body }) => Body)).toEqual(['y']);
  });

  test('waits for a message whose visibility runs out', async () => {
    await send('x');
    await receive({ VisibilityTimeout: 1 });
    expect((await receive({ WaitTimeSeconds: 20 })).map(({ Body }) => Body)).toEqual(['x']);
  });

  test('stops waiting after the time that it was given', async () => {
    expect(await receive({ WaitTimeSeconds: 1 })).toEqual([]);
  });

  test('hands nothing to a receiver that has gone', async () => {
    const gone = new AbortController();
    const waiting = sqs.send(new ReceiveMessageCommand({ QueueUrl: fifo, WaitTimeSeconds: 20 }), {
      abortSignal: gone.signal,
    });
    const failed = expect(waiting).rejects.toThrow();
    // Any answer shows that the server has the receive before it.
    await counts(fifo);
    gone.abort();
    await failed;
    await counts(fifo);
    await send('x');
    expect(await counts(fifo)).toEqual(['1', '0']);
  });
});

describe('deleting and changing visibility', () => {
  test('with a handle that has expired fails', async () => {
    await send('x');
    const [message] = await receive({ VisibilityTimeout: 0 });
    await expect(
      sqs.send(new DeleteMessageCommand({ QueueUrl: fifo, ReceiptHandle: message?.ReceiptHandle })),
    ).rejects.toThrow('The receipt handle has expired');
  });

  test('with a handle that is none fails', async () => {
    await expect(sqs.send(new DeleteMessageCommand({ QueueUrl: fifo, ReceiptHandle: 'x' }))).rejects.toThrow(
      expect.objectContaining({ name: 'ReceiptHandleIsInvalid' }),
    );
  });

  test('visibility: back at once, and not for a message that is not in flight', async () => {
    await send('x');
    const [message] = await receive();
    const change = new ChangeMessageVisibilityCommand({
      QueueUrl: fifo,
      ReceiptHandle: message?.ReceiptHandle,
      VisibilityTimeout: 0,
    });
    await sqs.send(change);
    await expect(sqs.send(change)).rejects.toThrow(expect.objectContaining({ name: 'MessageNotInflight' }));
    expect(await receive()).toHaveLength(1);
  });
});

describe('batches', () => {
  test('send, change and delete, each entry for itself', async () => {
    const sent = await sqs.send(
      new SendMessageBatchCommand({
        QueueUrl: fifo,
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

    const [message] = await receive();
    const changed = await sqs.send(
      new ChangeMessageVisibilityBatchCommand({
        QueueUrl: fifo,
        Entries: [
          { Id: 'good', ReceiptHandle: message?.ReceiptHandle, VisibilityTimeout: 100 },
          { Id: 'bad', ReceiptHandle: 'x', VisibilityTimeout: 100 },
        ],
      }),
    );
    expect([changed.Successful?.[0]?.Id, changed.Failed?.[0]?.Code]).toEqual(['good', 'ReceiptHandleIsInvalid']);

    const deleted = await sqs.send(
      new DeleteMessageBatchCommand({
        QueueUrl: fifo,
        Entries: [
          { Id: 'good', ReceiptHandle: message?.ReceiptHandle },
          { Id: 'bad', ReceiptHandle: 'x' },
        ],
      }),
    );
    expect([deleted.Successful?.[0]?.Id, deleted.Failed?.[0]?.Id]).toEqual(['good', 'bad']);
    expect(await counts(fifo)).toEqual(['0', '0']);
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
    await expect(sqs.send(new SendMessageBatchCommand({ QueueUrl: fifo, Entries: entries }))).rejects.toThrow(
      expect.objectContaining({ name: error }),
    );
    expect(await counts(fifo)).toEqual(['0', '0']);
  });
});

describe('what is not understood is refused', () => {
  test.each([
    { what: 'another operation', target: 'AmazonSQS.AddPermission', body: '{}', error: 'UnsupportedOperation' },
    { what: 'another protocol', target: undefined, body: 'Action=SendMessage', error: 'UnsupportedOperation' },
    { what: 'what is not JSON', target: 'AmazonSQS.SendMessage', body: '{', error: 'InvalidParameterValue' },
  ])('$what', async ({ target, body, error }) => {
    const headers = target === undefined ? undefined : { 'x-amz-target': target };
    const response = await fetch(server.url, { method: 'POST', body, ...(headers && { headers }) });
    expect(response.status).toBe(400);
    expect(response.headers.get('x-amzn-query-error')).toMatch(new RegExp(`${error};Sender$`));
    expect(await response.json()).toMatchObject({ __type: `com.amazonaws.sqs#${error}` });
  });
});

function numbered(count: number) {
  return Object.fromEntries(
    Array.from({ length: count }, (_, index) => [`a${index}`, { DataType: 'String', StringValue: 'x' }]),
  );
}
