import type { Message } from '@aws-sdk/client-sqs';
import { gather, recordBytes } from './payload.ts';

/** A message as Lambda shows it to a function. */
export interface SqsRecord {
  readonly messageId: string;
  readonly receiptHandle: string;
  readonly body: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly messageAttributes: Readonly<Record<string, unknown>>;
  readonly md5OfBody: string;
  readonly md5OfMessageAttributes?: string | undefined;
  readonly eventSource: 'aws:sqs';
  readonly eventSourceARN: string;
  readonly awsRegion: string;
}

export function sqsRecord(message: Message, arn: string, region: string): SqsRecord {
  const messageAttributes = Object.entries(message.MessageAttributes ?? {}).map(([name, attribute]) => [
    name,
    {
      dataType: attribute.DataType,
      stringValue: attribute.StringValue,
      binaryValue: attribute.BinaryValue && Buffer.from(attribute.BinaryValue).toString('base64'),
      stringListValues: [],
      binaryListValues: [],
    },
  ]);
  return {
    messageId: message.MessageId ?? '',
    receiptHandle: message.ReceiptHandle ?? '',
    body: message.Body ?? '',
    attributes: message.Attributes ?? {},
    messageAttributes: Object.fromEntries(messageAttributes),
    md5OfBody: message.MD5OfBody ?? '',
    md5OfMessageAttributes: message.MD5OfMessageAttributes,
    eventSource: 'aws:sqs',
    eventSourceARN: arn,
    awsRegion: region,
  };
}

/** The group that a message keeps its order in; on a standard queue each is its own, although it may name a group. */
export function groupOf(record: SqsRecord): string {
  const isFifo = record.eventSourceARN.endsWith('.fifo');
  return (isFifo ? record.attributes.MessageGroupId : undefined) ?? record.messageId;
}

/** The records in as few events as the size of an invocation's payload allows, in order. */
export function splitBySize(records: readonly SqsRecord[], limit?: number): SqsRecord[][] {
  let waiting = records.map((record) => ({ record, bytes: recordBytes(record) }));
  const parts: SqsRecord[][] = [];
  while (waiting.length > 0) {
    const { count } = gather(waiting, waiting.length, limit);
    parts.push(waiting.slice(0, count).map(({ record }) => record));
    waiting = waiting.slice(count);
  }
  return parts;
}
