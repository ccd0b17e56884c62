import type * as z from 'zod/mini';
import { PLATFORM } from '../../lib/settings.ts';
import { type MessageAttributes, md5OfAttributes, md5OfBody, messageBytes } from './message.ts';
import type { Received } from './queue.ts';
import type { Queues } from './queues.ts';
import {
  type BatchEntry,
  checkContents,
  deleteEntry,
  type Operation,
  parseRequest,
  REQUESTS,
  type Request,
  type SendEntry,
  sendEntry,
  visibilityEntry,
} from './requests.ts';
import { SqsError } from './sqs-error.ts';

/** What an operation works with, beside its request. */
export interface OperationContext {
  readonly queues: Queues;
  /** Where this server listens: what queue URLs begin with. */
  readonly baseUrl: string;
  /** Aborted when the caller has gone. */
  readonly signal: AbortSignal;
}

type Answers = { readonly [O in Operation]: (request: Request<O>, context: OperationContext) => unknown };

const ANSWERS: Answers = {
  CreateQueue(request, context) {
    context.queues.create(request.QueueName, request.Attributes);
    return { QueueUrl: urlOf(request.QueueName, context) };
  },
  SetQueueAttributes(request, { queues }) {
    queues.setAttributes(nameOf(request.QueueUrl), request.Attributes);
  },
  GetQueueUrl(request, context) {
    context.queues.settings(request.QueueName);
    return { QueueUrl: urlOf(request.QueueName, context) };
  },
  GetQueueAttributes(request, { queues }) {
    return { Attributes: queueAttributes(queues, nameOf(request.QueueUrl), request.AttributeNames) };
  },
  ListQueues(request, context) {
    const names = context.queues.names().filter((name) => name.startsWith(request.QueueNamePrefix));
    return { QueueUrls: names.slice(0, request.MaxResults ?? 1000).map((name) => urlOf(name, context)) };
  },
  PurgeQueue(request, { queues }) {
    queues.purge(nameOf(request.QueueUrl));
  },
  SendMessage({ QueueUrl, ...entry }, { queues }) {
    return send(queues, nameOf(QueueUrl), entry);
  },
  SendMessageBatch(request, { queues }) {
    const bytes = request.Entries.reduce((sum, entry) => sum + bytesOf(entry), 0);
    if (bytes > PLATFORM.messageBytes) {
      throw new SqsError(
        'BatchRequestTooLong',
        `the batch has ${bytes} bytes, at most ${PLATFORM.messageBytes} may be`,
      );
    }
    return batch(request.Entries, (entry) => send(queues, nameOf(request.QueueUrl), parseRequest(sendEntry, entry)));
  },
  async ReceiveMessage(request, { queues, signal }) {
    const received = await queues.receive(nameOf(request.QueueUrl), {
      max: request.MaxNumberOfMessages,
      visibilitySeconds: request.VisibilityTimeout,
      waitSeconds: request.WaitTimeSeconds,
      signal,
    });
    return received.length === 0
      ? {}
      : { Messages: received.map((it) => receivedMessage(it, request, queues.account)) };
  },
  DeleteMessage(request, { queues }) {
    remove(queues, nameOf(request.QueueUrl), request.ReceiptHandle);
  },
  DeleteMessageBatch(request, { queues }) {
    return batch(request.Entries, (entry) =>
      remove(queues, nameOf(request.QueueUrl), parseRequest(deleteEntry, entry).ReceiptHandle),
    );
  },
  ChangeMessageVisibility(request, { queues }) {
    changeVisibility(queues, nameOf(request.QueueUrl), request.ReceiptHandle, request.VisibilityTimeout);
  },
  ChangeMessageVisibilityBatch(request, { queues }) {
    return batch(request.Entries, (entry) => {
      const { ReceiptHandle, VisibilityTimeout } = parseRequest(visibilityEntry, entry);
      return changeVisibility(queues, nameOf(request.QueueUrl), ReceiptHandle, VisibilityTimeout);
    });
  },
};

/**
 * Answers one request of the SQS API: `operation` as in the header X-Amz-Target, `input` its body.
 *
 * @throws SqsError what the caller did wrong
 */
export async function answer(operation: string, input: unknown, context: OperationContext): Promise<unknown> {
  if (!Object.hasOwn(ANSWERS, operation)) {
    throw new SqsError('UnsupportedOperation', `${operation} is not supported by the local queues`);
  }
  const known = operation as Operation;
  const request = parseRequest(REQUESTS[known] as z.ZodMiniType, input);
  const run = ANSWERS[known] as (request: unknown, context: OperationContext) => unknown;
  return (await run(request, context)) ?? {};
}

function urlOf(name: string, { baseUrl, queues }: OperationContext): string {
  return `${baseUrl}/${queues.account}/${name}`;
}

function nameOf(queueUrl: string): string {
  return queueUrl.slice(queueUrl.lastIndexOf('/') + 1);
}

function queueAttributes(queues: Queues, name: string, wanted: readonly string[]): Record<string, string> {
  const counts = queues.counts(name);
  const all: Record<string, string> = {
    QueueArn: queues.arn(name),
    ApproximateNumberOfMessages: String(counts.visible),
    ApproximateNumberOfMessagesNotVisible: String(counts.inFlight),
    ApproximateNumberOfMessagesDelayed: String(counts.delayed),
    ...queues.attributes(name),
  };
  return wanted.includes('All') ? all : pick(all, wanted);
}

function send(queues: Queues, name: string, entry: SendEntry) {
  const settings = queues.settings(name);
  const bytes = messageBytes(entry.MessageBody, entry.MessageAttributes);
  if (bytes > settings.maximumMessageBytes) {
    throw new SqsError(
      'InvalidParameterValue',
      `One or more parameters are invalid. Reason: Message must be shorter than ${settings.maximumMessageBytes} bytes; it has ${bytes}.`,
    );
  }
  checkContents(entry.MessageBody);
  if (settings.fifo) checkFifo(entry, settings.contentBasedDeduplication);
  else if (entry.MessageDeduplicationId !== undefined) {
    throw new SqsError('InvalidParameterValue', 'MessageDeduplicationId: only a FIFO queue takes one');
  }
  const sent = queues.send(name, {
    body: entry.MessageBody,
    attributes: entry.MessageAttributes,
    groupId: entry.MessageGroupId,
    deduplicationId: entry.MessageDeduplicationId,
    delaySeconds: entry.DelaySeconds,
  });
  return {
    MessageId: sent.messageId,
    MD5OfMessageBody: md5OfBody(entry.MessageBody),
    MD5OfMessageAttributes: md5OfAttributes(entry.MessageAttributes),
    SequenceNumber: sent.sequenceNumber,
  };
}

function checkFifo(entry: SendEntry, contentBased: boolean): void {
  if (entry.MessageGroupId === undefined) {
    throw new SqsError('MissingParameter', 'The request must contain the parameter MessageGroupId.');
  }
  if (entry.MessageDeduplicationId === undefined && !contentBased) {
    throw new SqsError(
      'InvalidParameterValue',
      'The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly',
    );
  }
  if (entry.DelaySeconds !== undefined) {
    throw new SqsError('InvalidParameterValue', 'DelaySeconds: a FIFO queue delays all messages or none');
  }
}

function receivedMessage({ message, receiptHandle }: Received, request: Request<'ReceiveMessage'>, account: string) {
  const system: Record<string, string | undefined> = {
    SenderId: account,
    SentTimestamp: String(message.sentAt),
    ApproximateReceiveCount: String(message.receiveCount),
    ApproximateFirstReceiveTimestamp: String(message.firstReceivedAt),
    MessageGroupId: message.groupId,
    MessageDeduplicationId: message.deduplicationId,
    SequenceNumber: message.sequenceNumber,
    DeadLetterQueueSourceArn: message.deadLetterSource,
  };
  const wantedSystem = [...request.AttributeNames, ...request.MessageSystemAttributeNames];
  const attributes = selectAttributes(message.attributes, request.MessageAttributeNames);
  return {
    MessageId: message.messageId,
    ReceiptHandle: receiptHandle,
    Body: message.body,
    MD5OfBody: md5OfBody(message.body),
    Attributes: orNone(wantedSystem.includes('All') ? pick(system, Object.keys(system)) : pick(system, wantedSystem)),
    MessageAttributes: orNone(attributes),
    MD5OfMessageAttributes: md5OfAttributes(attributes),
  };
}

/** By name, by `prefix.*`, or all. */
function selectAttributes(attributes: MessageAttributes, wanted: readonly string[]): MessageAttributes {
  const matches = (name: string) =>
    wanted.some(
      (it) => it === 'All' || it === '.*' || it === name || (it.endsWith('.*') && name.startsWith(it.slice(0, -1))),
    );
  return Object.fromEntries(Object.entries(attributes).filter(([name]) => matches(name)));
}

function remove(queues: Queues, name: string, receiptHandle: string): undefined {
  const outcome = queues.delete(name, receiptHandle);
  if (outcome === 'invalid') throw invalidHandle();
  if (outcome === 'expired') {
    throw new SqsError(
      'InvalidParameterValue',
      `Value ${receiptHandle} for parameter ReceiptHandle is invalid. Reason: The receipt handle has expired.`,
    );
  }
}

function changeVisibility(queues: Queues, name: string, receiptHandle: string, seconds: number): undefined {
  const outcome = queues.changeVisibility(name, receiptHandle, seconds);
  if (outcome === 'invalid') throw invalidHandle();
  if (outcome === 'not-in-flight')
    throw new SqsError('MessageNotInflight', 'the message is not in flight under this handle');
}

function invalidHandle(): SqsError {
  return new SqsError('ReceiptHandleIsInvalid', 'the receipt handle was not given out by this queue');
}

/** Runs `one` on each entry; one that fails fails alone. */
function batch(entries: readonly BatchEntry[], one: (entry: Record<string, unknown>) => object | undefined) {
  if (entries.length === 0) throw new SqsError('EmptyBatchRequest', 'the batch has no entries');
  if (entries.length > 10) {
    throw new SqsError('TooManyEntriesInBatchRequest', `the batch has ${entries.length} entries, at most 10 may be`);
  }
  const ids = entries.map((entry) => entry.Id);
  if (new Set(ids).size < ids.length) throw new SqsError('BatchEntryIdsNotDistinct', 'two entries have the same Id');
  const bad = ids.find((id) => !/^[A-Za-z0-9_-]{1,80}$/.test(id));
  if (bad !== undefined) {
    throw new SqsError('InvalidBatchEntryId', `Id ${bad}: expected 1 to 80 letters, digits, hyphens and underscores`);
  }
  const Successful: object[] = [];
  const Failed: object[] = [];
  for (const { Id, ...entry } of entries) {
    try {
      Successful.push({ Id, ...one(entry) });
    } catch (error) {
      if (!(error instanceof SqsError) || error.code === 'QueueDoesNotExist') throw error;
      Failed.push({ Id, SenderFault: true, Code: error.queryCode, Message: error.message });
    }
  }
  return { Successful, Failed };
}

/** Zero for an entry that is refused anyway. */
function bytesOf({ Id: _, ...entry }: BatchEntry): number {
  const parsed = sendEntry.safeParse(entry);
  return parsed.success ? messageBytes(parsed.data.MessageBody, parsed.data.MessageAttributes) : 0;
}

function pick<T>(from: Readonly<Record<string, T | undefined>>, names: readonly string[]): Record<string, T> {
  const picked: Record<string, T> = {};
  for (const name of names) {
    const value = from[name];
    if (value !== undefined) picked[name] = value;
  }
  return picked;
}

function orNone<T extends object>(it: T): T | undefined {
  return Object.keys(it).length > 0 ? it : undefined;
}
