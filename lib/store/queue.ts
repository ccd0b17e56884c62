import { ChangeMessageVisibilityBatchCommand, SendMessageCommand, type SQSClient } from '@aws-sdk/client-sqs';
import { PLATFORM } from '../settings.ts';

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
  const options = signal ? { abortSignal: signal } : {};
  if (Buffer.byteLength(body) + ATTRIBUTE_BYTES <= PLATFORM.messageBytes) {
    await client.send(
      new SendMessageCommand({ QueueUrl: queueUrl, MessageBody: body, MessageAttributes: attributesOf(origin) }),
      options,
    );
    return;
  }
  const { MessageId } = await client.send(new SendMessageCommand({ QueueUrl: queueUrl, MessageBody: body }), options);
  const note = { ...origin, about: MessageId };
  await client.send(
    new SendMessageCommand({
      QueueUrl: queueUrl,
      MessageBody: JSON.stringify(note),
      MessageAttributes: attributesOf(origin),
    }),
    options,
  );
}

function attributesOf({ reason, messageId, group, source }: QuarantineOrigin) {
  const text = (value: string) => ({ DataType: 'String', StringValue: value.slice(0, 400) || '-' });
  return { reason: text(reason), messageId: text(messageId), group: text(group), source: text(source) };
}

/** Lets messages be received again after `seconds`. One that cannot be is received when its visibility ends. */
export async function makeVisible(
  client: SQSClient,
  queueUrl: string,
  receiptHandles: readonly string[],
  seconds: number,
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
  );
}
