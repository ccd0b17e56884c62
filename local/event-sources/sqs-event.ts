import type { Message } from '@aws-sdk/client-sqs';

/** Bytes that an invocation may carry. Lambda makes two of a batch that is larger. */
const PAYLOAD_BYTES = 6 * 1024 * 1024;

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

/** The group of a FIFO message; of others, each is its own. */
export function groupOf(record: SqsRecord): string {
  return record.attributes.MessageGroupId ?? record.messageId;
}

/** The records in as few events as the size of an invocation's payload allows, in order. */
export function splitBySize(records: readonly SqsRecord[], limit = PAYLOAD_BYTES): SqsRecord[][] {
  const parts: SqsRecord[][] = [];
  let bytes = 0;
  for (const record of records) {
    const size = Buffer.byteLength(JSON.stringify(record)) + 1;
    const part = parts.at(-1);
    if (part === undefined || bytes + size > limit) {
      parts.push([record]);
      bytes = size + '{"Records":[]}'.length;
    } else {
      part.push(record);
      bytes += size;
    }
  }
  return parts;
}
