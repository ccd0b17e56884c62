import { CreateQueueCommand, type Message, ReceiveMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Queues } from '../../local/sqs/queues.ts';
import { type SqsServer, startSqsServer } from '../../local/sqs/server.ts';
import { PLATFORM } from '../settings.ts';
import { quarantine } from './queue.ts';

let queues: Queues;
let server: SqsServer;
let sqs: SQSClient;
let url: string;

beforeAll(async () => {
  queues = await Queues.open({ region: 'us-east-1', account: '000000000000' });
  server = await startSqsServer(queues);
  sqs = new SQSClient({ endpoint: server.url });
});
afterAll(async () => {
  sqs.destroy();
  await server.close();
  queues.close();
});

let made = 0;
beforeEach(async () => {
  const { QueueUrl } = await sqs.send(new CreateQueueCommand({ QueueName: `quarantine-${made++}` }));
  url = QueueUrl ?? '';
});

const ORIGIN = { reason: 'it is no plan', messageId: 'm1', group: 'prod', source: 'arn:plans' };

async function messages(): Promise<Message[]> {
  const receive = { QueueUrl: url, MaxNumberOfMessages: 10, MessageAttributeNames: ['All'] };
  return (await sqs.send(new ReceiveMessageCommand(receive))).Messages ?? [];
}

const attributes = ({ MessageAttributes = {} }: Message) =>
  Object.fromEntries(Object.entries(MessageAttributes).map(([name, { StringValue }]) => [name, StringValue]));

describe('a message that is quarantined', () => {
  it('is there as it came, with the reason and its origin', async () => {
    await quarantine(sqs, url, 'nönsense', ORIGIN);
    const [message, ...others] = await messages();
    expect(others).toEqual([]);
    expect(message?.Body).toBe('nönsense');
    expect(attributes(message ?? {})).toEqual(ORIGIN);
  });

  // A record of the queue is handed in whole: sent along, it would make the second message as long as the first, and
  // the pool would wait behind it until its message was given up.
  it.each([0, 100, 2_048])('is there as it came, %i bytes below the most that a message holds', async (less) => {
    const body = 'x'.repeat(PLATFORM.messageBytes - less);
    await quarantine(sqs, url, body, { ...ORIGIN, body, receiptHandle: 'r' } as typeof ORIGIN);
    const [message, note] = await messages();
    expect(message?.Body === body).toBe(true);
    if (less < 2_048) {
      expect(JSON.parse(note?.Body ?? '')).toEqual({ ...ORIGIN, about: message?.MessageId });
      expect(attributes(note ?? {})).toEqual(ORIGIN);
    } else {
      expect(note).toBeUndefined();
    }
  });

  it('gets a reason that SQS takes, whatever the message holds', async () => {
    const body = 'x'.repeat(PLATFORM.messageBytes);
    const reason = `planId is "\uFFFF\u0000\uD800", ${'😀'.repeat(400)}`;
    await quarantine(sqs, url, body, { ...ORIGIN, reason, group: '' });
    const [, note] = await messages();
    const told = attributes(note ?? {});
    expect(told.reason).toMatch(/^planId is "\uFFFD\uFFFD\uFFFD", (😀)+.?…$/u);
    expect(told.reason?.length).toBeLessThanOrEqual(400);
    expect(told.group).toBe('-');
    expect(JSON.parse(note?.Body ?? '')).toMatchObject({ reason: told.reason });
  });
});
