import { createHash } from 'node:crypto';
import type { EpochMs } from '../../lib/time.ts';

/** A message attribute as the SQS API carries it; binary values in base64, as they stand on the wire. */
export interface MessageAttribute {
  readonly DataType: string;
  readonly StringValue?: string | undefined;
  readonly BinaryValue?: string | undefined;
}

export type MessageAttributes = Readonly<Record<string, MessageAttribute>>;

/** A message as a queue keeps it. Plain data: it is what the journal holds. */
export interface Message {
  readonly messageId: string;
  readonly body: string;
  readonly attributes: MessageAttributes;
  /** The message group. Always there on a FIFO queue; on a standard one it means nothing for order. */
  readonly groupId?: string | undefined;
  readonly deduplicationId?: string | undefined;
  /** On FIFO queues only. */
  readonly sequenceNumber?: string | undefined;
  /** Counts towards retention. A FIFO dead-letter queue sets it anew, a standard one keeps it. */
  readonly sentAt: EpochMs;
  /** Not to be received before. */
  readonly visibleAt: EpochMs;
  /** ARN of the queue that gave the message up. */
  readonly deadLetterSource?: string | undefined;
  receiveCount: number;
  firstReceivedAt?: EpochMs | undefined;
}

/** Bytes that count towards the size limit of a message: body, and name, type and value of each attribute. */
export function messageBytes(body: string, attributes: MessageAttributes): number {
  let bytes = Buffer.byteLength(body);
  for (const [name, attribute] of Object.entries(attributes)) {
    bytes += Buffer.byteLength(name) + Buffer.byteLength(attribute.DataType) + valueBytes(attribute).length;
  }
  return bytes;
}

export function md5OfBody(body: string): string {
  return createHash('md5').update(body).digest('hex');
}

/**
 * The digest by which a client checks the attributes that it sent or received, or undefined when there are none: over
 * the attributes by name, each as length and bytes of name and type, a byte for the kind of value (1 text, 2 binary),
 * length and bytes of the value. Source: SQS developer guide, "Calculating the MD5 message digest for message attributes".
 */
export function md5OfAttributes(attributes: MessageAttributes): string | undefined {
  const names = Object.keys(attributes).sort();
  if (names.length === 0) return undefined;
  const hash = createHash('md5');
  const update = (bytes: Buffer) => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(bytes.length);
    hash.update(length).update(bytes);
  };
  for (const name of names) {
    const attribute = attributes[name] as MessageAttribute;
    update(Buffer.from(name));
    update(Buffer.from(attribute.DataType));
    hash.update(Buffer.from([attribute.BinaryValue === undefined ? 1 : 2]));
    update(valueBytes(attribute));
  }
  return hash.digest('hex');
}

function valueBytes(attribute: MessageAttribute): Buffer {
  return attribute.BinaryValue === undefined
    ? Buffer.from(attribute.StringValue ?? '')
    : Buffer.from(attribute.BinaryValue, 'base64');
}
