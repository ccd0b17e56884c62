import type { Message } from '@aws-sdk/client-sqs';
import { isId } from '../ids.ts';
import type { EpochMs } from '../time.ts';

/** A message that was set aside, as it came. */
export interface SetAsideMessage {
  /** Its id where it lies now: what is named to redrive or to discard it. */
  readonly messageId: string;
  /** Its message group, which is the pool; undefined if nothing says so. */
  readonly pool: string | undefined;
  /** Of its plan, if it has a usable one. */
  readonly planId: string | undefined;
  /** Why it was quarantined; undefined in the dead-letter queue, where it was received too often. */
  readonly reason: string | undefined;
  /** ARN of the queue that it came from, and its id there; undefined in the dead-letter queue. */
  readonly source: string | undefined;
  readonly originalMessageId: string | undefined;
  /** When it came here. */
  readonly at: EpochMs;
  /** RFC 3339: when it was last redriven, if it was. */
  readonly redrivenAt: string | undefined;
  /** Why it cannot be redriven now, if a part of what belongs to it was not received. */
  readonly incomplete: string | undefined;
  readonly body: string;
}

/** A message and the receipt handles of all that belongs to it. */
export interface SetAsideEntry {
  readonly message: SetAsideMessage;
  readonly handles: readonly string[];
}

/** Attribute of a message that was redriven: when. */
export const REDRIVEN_ATTRIBUTE = 'redrivenAt';

/**
 * The messages that `received` ones are, the oldest first. One that is too long to carry its attributes is followed by
 * another that carries them and names it (`quarantine` in lib/store/queue.ts): the two are one here.
 */
export function entriesOf(received: readonly Message[]): SetAsideEntry[] {
  const notes = new Map<string, Message>();
  for (const message of received) {
    const about = subjectOf(message);
    if (about !== undefined) notes.set(about, message);
  }
  const ids = new Set(received.map(({ MessageId }) => MessageId));
  return received
    .filter((message) => {
      const about = subjectOf(message);
      return about === undefined || !ids.has(about);
    })
    .map((message) => entryOf(message, notes.get(message.MessageId ?? '')))
    .sort((a, b) => a.message.at - b.message.at);
}

function entryOf(message: Message, note: Message | undefined): SetAsideEntry {
  const { MessageId = '', Body = '', Attributes = {} } = message;
  const about = (name: string) => attributeOf(note ?? message, name);
  const group = Attributes.MessageGroupId ?? about('group');
  return {
    handles: [message, note].flatMap((part) => part?.ReceiptHandle ?? []),
    message: {
      messageId: MessageId,
      pool: group,
      planId: planIdOf(Body),
      reason: about('reason'),
      source: about('source'),
      originalMessageId: about('messageId'),
      at: Number(Attributes.SentTimestamp ?? 0) as EpochMs,
      redrivenAt: attributeOf(message, REDRIVEN_ATTRIBUTE),
      incomplete: incompletenessOf(message, note, group),
      body: Body,
    },
  };
}

function incompletenessOf(message: Message, note: Message | undefined, group: string | undefined): string | undefined {
  const about = subjectOf(message);
  if (about !== undefined) return `it only describes message ${about}, which is not there or was not received`;
  if (note === undefined && group === undefined) {
    return 'the message that says where it came from is not there or was not received; try again';
  }
  return undefined;
}

/** The id of the message that `message` describes, if it does. What its attributes say must be what its body says. */
function subjectOf(message: Message): string | undefined {
  const reason = attributeOf(message, 'reason');
  const body = reason === undefined ? undefined : objectIn(message.Body ?? '');
  if (body === undefined || typeof body.about !== 'string') return undefined;
  const same = body.messageId === attributeOf(message, 'messageId') && body.reason === reason;
  return same ? body.about : undefined;
}

/** An attribute's text; `-` stands for none, since SQS takes no empty one. */
function attributeOf({ MessageAttributes = {} }: Message, name: string): string | undefined {
  const value = MessageAttributes[name]?.StringValue;
  return value === '-' ? undefined : value;
}

function planIdOf(body: string): string | undefined {
  const planId = objectIn(body)?.planId;
  return isId(planId) ? planId : undefined;
}

function objectIn(body: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
