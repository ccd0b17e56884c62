import { ChangeMessageVisibilityBatchCommand, SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { abortable, requestHandler } from '../aws/requests.ts';
import { clip } from '../schema.ts';
import { PLATFORM } from '../settings.ts';

/** SQS's client as a function has it. */
export function queueClient(): SQSClient {
  return new SQSClient({
    requestHandler,
    // The URL of a queue names AWS's host even where an endpoint is set.
    useQueueUrlAsEndpoint: false,
  });
}

/** Where a message came from, and why it could not be used. */
export interface QuarantineOrigin {
  readonly reason: string;
  readonly messageId: string;
  readonly group: string;
  readonly source: string;
}

/** Bytes that the attributes of a quarantined message may take of its 1 MiB. */
const ATTRIBUTE_BYTES = 2_048;

/**
 * Puts a message whole into the quarantine queue, with the reason and its origin as attributes. A message so long that
 * the attributes would not fit beside it goes as it is, followed by one that holds them and names it.
 */
export async function quarantine(
  client: SQSClient,
  queueUrl: string,
  body: string,
  origin: QuarantineOrigin,
  signal?: AbortSignal,
): Promise<void> {
  const options = abortable(signal);
  // Whoever hands in more than this, the body itself for one, must not have it sent along.
  const told = {
    reason: tellable(origin.reason),
    messageId: tellable(origin.messageId),
    group: tellable(origin.group),
    source: tellable(origin.source),
  };
  const MessageAttributes = Object.fromEntries(
    Object.entries(told).map(([name, value]) => [name, { DataType: 'String', StringValue: value || '-' }]),
  );
  if (Buffer.byteLength(body) + ATTRIBUTE_BYTES <= PLATFORM.messageBytes) {
    await client.send(new SendMessageCommand({ QueueUrl: queueUrl, MessageBody: body, MessageAttributes }), options);
    return;
  }
  const { MessageId } = await client.send(new SendMessageCommand({ QueueUrl: queueUrl, MessageBody: body }), options);
  const note = JSON.stringify({ ...told, about: MessageId });
  await client.send(new SendMessageCommand({ QueueUrl: queueUrl, MessageBody: note, MessageAttributes }), options);
}

/** Characters that SQS takes in no text: those that XML 1.0 does not know. JSON can name them, so that a reason may hold one. */
const UNTELLABLE = /[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu;

function tellable(text: string): string {
  return clip(text, 400).replace(UNTELLABLE, '\uFFFD');
}

/** Lets messages be received again after `seconds`. One that cannot be is received when its visibility ends. */
export async function makeVisible(
  client: SQSClient,
  queueUrl: string,
  receiptHandles: readonly string[],
  seconds: number,
  signal?: AbortSignal,
): Promise<void> {
  await client.send(
    new ChangeMessageVisibilityBatchCommand({
      QueueUrl: queueUrl,
      Entries: receiptHandles.map((ReceiptHandle, at) => ({
        Id: String(at),
        ReceiptHandle,
        VisibilityTimeout: seconds,
      })),
    }),
    abortable(signal),
  );
}
