import {
  ChangeMessageVisibilityBatchCommand,
  DeleteMessageCommand,
  PurgeQueueCommand,
  ReceiveMessageCommand,
  SendMessageCommand,
} from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type BerthBed, startBerthBed } from '../../test/support/berth-bed.ts';
import { PLATFORM } from '../settings.ts';
import { quarantine } from '../store/queue.ts';
import { berthOver } from './berth.ts';

let bed: BerthBed;

beforeAll(async () => {
  bed = await startBerthBed();
});
afterAll(() => bed.stop());
beforeEach(async () => {
  for (const QueueUrl of Object.values(bed.queues)) await bed.sqs.send(new PurgeQueueCommand({ QueueUrl }));
});

let sent = 0;
const origin = { reason: 'it is no plan', group: 'prod', source: 'arn:aws:sqs:::Berth-plans.fifo' };

async function park(body: string, about: Partial<typeof origin> = {}): Promise<string> {
  const messageId = `original-${sent++}`;
  await quarantine(bed.sqs, bed.queues.quarantine, body, { ...origin, ...about, messageId });
  return messageId;
}

async function die(body: string, pool = 'prod'): Promise<void> {
  await bed.sqs.send(
    new SendMessageCommand({
      QueueUrl: bed.queues.plansDead,
      MessageBody: body,
      MessageGroupId: pool,
      MessageDeduplicationId: `dead-${sent++}`,
    }),
  );
}

/** Takes what is in the plan queue, in order. */
async function planQueue() {
  const all: { body: string | undefined; group: string | undefined; mark: string | undefined }[] = [];
  for (;;) {
    const { Messages = [] } = await bed.sqs.send(
      new ReceiveMessageCommand({
        QueueUrl: bed.queues.plans,
        MaxNumberOfMessages: 10,
        MessageSystemAttributeNames: ['MessageGroupId'],
        MessageAttributeNames: ['All'],
      }),
    );
    if (Messages.length === 0) return all;
    for (const { Body, Attributes, MessageAttributes, ReceiptHandle } of Messages) {
      const mark = MessageAttributes?.redrivenAt?.StringValue;
      all.push({ body: Body, group: Attributes?.MessageGroupId, mark });
      await bed.sqs.send(new DeleteMessageCommand({ QueueUrl: bed.queues.plans, ReceiptHandle }));
    }
  }
}

const idsOf = (messages: readonly { messageId: string }[]) => messages.map(({ messageId }) => messageId);

describe('the quarantine', () => {
  it('shows messages as they came, with the reason and where they came from, and keeps them', async () => {
    const [first] = [await park('{"planId":"x1"}'), await park('not JSON', { reason: 'not JSON', group: '' })];
    const messages = await bed.berth.quarantine.list();
    expect(messages).toMatchObject([
      { body: '{"planId":"x1"}', planId: 'x1', pool: 'prod', reason: 'it is no plan', originalMessageId: first },
      { body: 'not JSON', planId: undefined, pool: undefined, reason: 'not JSON', source: origin.source },
    ]);
    // Given back: the next look finds them again, at once.
    expect(idsOf(await bed.berth.quarantine.list())).toEqual(idsOf(messages));
    expect(await bed.berth.quarantine.list({ limit: 1 })).toHaveLength(1);
  });

  it('holds more than one receive brings', async () => {
    for (let at = 0; at < 23; at++) await park(`message ${at}`);
    expect(new Set((await bed.berth.quarantine.list()).map(({ body }) => body)).size).toBe(23);
  });

  it('shows a message that is too long for its attributes as one, and redrives it as it came', async () => {
    const long = `{"planId":"long","x":"${'y'.repeat(PLATFORM.messageBytes - 30)}"}`;
    await park(long);
    const [message, ...others] = await bed.berth.quarantine.list();
    expect(others).toEqual([]);
    expect(message).toMatchObject({ planId: 'long', pool: 'prod', reason: 'it is no plan', incomplete: undefined });
    expect(message?.body).toBe(long);
    expect(await bed.berth.quarantine.redrive('all')).toMatchObject([{ refusal: undefined }]);
    expect(await planQueue()).toEqual([{ body: long, group: 'prod', mark: undefined }]);
    expect(await bed.berth.quarantine.list()).toEqual([]);
  });

  it('does not redrive a long one of which the other half is missing', async () => {
    await bed.sqs.send(new SendMessageCommand({ QueueUrl: bed.queues.quarantine, MessageBody: 'half' }));
    const [outcome] = await bed.berth.quarantine.redrive('all');
    expect(outcome?.refusal).toMatch(/says where it came from is not there/);
    expect(await bed.berth.quarantine.list()).toHaveLength(1);
  });

  it('sends those that are named, or all, back into their pools', async () => {
    await park('a');
    await park('b', { group: 'batch' });
    await park('c');
    const [, b] = await bed.berth.quarantine.list();
    expect(await bed.berth.quarantine.redrive([b?.messageId ?? '', 'nobody'])).toEqual([
      { messageId: b?.messageId, refusal: undefined },
      { messageId: 'nobody', refusal: expect.stringMatching(/not among the messages/) },
    ]);
    expect(await planQueue()).toMatchObject([{ body: 'b', group: 'batch' }]);
    expect((await bed.berth.quarantine.list()).map(({ body }) => body)).toEqual(['a', 'c']);
    expect(await bed.berth.quarantine.redrive('all')).toMatchObject([{ refusal: undefined }, { refusal: undefined }]);
    expect((await planQueue()).map(({ body }) => body)).toEqual(['a', 'c']);
  });

  it('is not swallowed by the queue that saw the plan a moment ago', async () => {
    const plan = { planId: 'seen', pool: 'prod' };
    await bed.berth.push(plan);
    await planQueue();
    await park(JSON.stringify(plan));
    await bed.berth.quarantine.redrive('all');
    expect(await planQueue()).toMatchObject([{ body: JSON.stringify(plan), group: 'prod' }]);
  });

  it('sends none twice if it fails between sending and deleting', async () => {
    await park('once');
    const { sqs } = bed.connection;
    const send = async (command: object, ...rest: unknown[]) => {
      if (command instanceof DeleteMessageCommand) throw new TypeError('crashed');
      return (sqs.send as (...args: unknown[]) => Promise<unknown>)(command, ...rest);
    };
    const proxy = new Proxy(sqs, { get: (target, name) => (name === 'send' ? send : Reflect.get(target, name)) });
    await expect(berthOver({ ...bed.connection, sqs: proxy }).quarantine.redrive('all')).rejects.toThrow('crashed');
    expect(await bed.berth.quarantine.redrive('all')).toHaveLength(1);
    expect((await planQueue()).map(({ body }) => body)).toEqual(['once']);
  });

  it('does not send again what comes back at once', async () => {
    await park('nonsense');
    await park('more of it');
    const { sqs } = bed.connection;
    let sends = 0;
    // An applier that finds it as unusable as before.
    const send = async (command: object, ...rest: unknown[]) => {
      const answer = await (sqs.send as (...args: unknown[]) => Promise<{ MessageId?: string }>)(command, ...rest);
      if (command instanceof SendMessageCommand) {
        if (++sends > 2) throw new TypeError('it was sent again');
        const about = { ...origin, messageId: answer.MessageId ?? '' };
        await quarantine(bed.sqs, bed.queues.quarantine, command.input.MessageBody ?? '', about);
      }
      return answer;
    };
    const proxy = new Proxy(sqs, { get: (target, name) => (name === 'send' ? send : Reflect.get(target, name)) });
    const outcomes = await berthOver({ ...bed.connection, sqs: proxy }).quarantine.redrive('all');
    expect(outcomes.map(({ refusal }) => refusal)).toEqual([
      ...[undefined, undefined],
      ...['it has come back: it is no plan', 'it has come back: it is no plan'],
    ]);
    expect(await bed.berth.quarantine.list()).toHaveLength(2);
  });

  it('forgets what is discarded', async () => {
    await park('a');
    await park('b');
    const [a, b] = await bed.berth.quarantine.list();
    expect(await bed.berth.quarantine.discard([b?.messageId ?? '', 'nobody'])).toEqual([b?.messageId]);
    expect(idsOf(await bed.berth.quarantine.list())).toEqual([a?.messageId]);
  });

  it('refuses a limit that is none', async () => {
    await expect(bed.berth.quarantine.list({ limit: 0 })).rejects.toThrow('limit: expected a whole number from 1');
  });
});

describe('the dead letters', () => {
  const body = (at: number) => JSON.stringify({ planId: `p${at}`, pool: 'prod' });

  it('show the first ten of a pool, and are redriven in their order, all of them', async () => {
    for (let at = 0; at < 25; at++) await die(body(at));
    await die('{"planId":"other"}', 'batch');
    const shown = await bed.berth.deadLetters.list();
    expect(shown.filter(({ pool }) => pool === 'prod').map(({ planId }) => planId)).toEqual(
      Array.from({ length: 10 }, (_, at) => `p${at}`),
    );
    expect(shown.filter(({ pool }) => pool === 'batch')).toMatchObject([{ planId: 'other', reason: undefined }]);
    expect(await bed.berth.deadLetters.redrive('all')).toHaveLength(26);
    const plans = await planQueue();
    expect(plans.filter(({ group }) => group === 'prod').map((plan) => plan.body)).toEqual(
      Array.from({ length: 25 }, (_, at) => body(at)),
    );
    expect(await bed.berth.deadLetters.list()).toEqual([]);
  });

  it('are redriven once, and a second time only by whoever insists', async () => {
    await bed.sqs.send(
      new SendMessageCommand({
        QueueUrl: bed.queues.plansDead,
        MessageBody: body(1),
        MessageGroupId: 'prod',
        MessageDeduplicationId: `dead-${sent++}`,
        MessageAttributes: { redrivenAt: { DataType: 'String', StringValue: '2026-03-01T12:00:00.000Z' } },
      }),
    );
    const [refused] = await bed.berth.deadLetters.redrive('all');
    expect(refused?.refusal).toMatch(/redriven before, at 2026-03-01T12:00:00.000Z/);
    expect(await planQueue()).toEqual([]);
    const id = refused?.messageId ?? '';
    expect(await bed.berth.deadLetters.redrive([id], { again: true })).toEqual([{ messageId: id, refusal: undefined }]);
    expect(await planQueue()).toMatchObject([{ body: body(1), mark: new Date(bed.now).toISOString() }]);
  });

  it('are given back even if looking at them fails', async () => {
    await die(body(1));
    const { sqs } = bed.connection;
    const seen: object[] = [];
    const send = async (command: object, ...rest: unknown[]) => {
      seen.push(command);
      if (command instanceof SendMessageCommand) throw new TypeError('crashed');
      return (sqs.send as (...args: unknown[]) => Promise<unknown>)(command, ...rest);
    };
    const proxy = new Proxy(sqs, { get: (target, name) => (name === 'send' ? send : Reflect.get(target, name)) });
    await expect(berthOver({ ...bed.connection, sqs: proxy }).deadLetters.redrive('all')).rejects.toThrow('crashed');
    expect(seen.at(-1)).toBeInstanceOf(ChangeMessageVisibilityBatchCommand);
    expect(await bed.berth.deadLetters.list()).toHaveLength(1);
  });
});
