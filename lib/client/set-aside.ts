import {
  ChangeMessageVisibilityBatchCommand,
  DeleteMessageCommand,
  type Message,
  ReceiveMessageCommand,
  type ReceiveMessageCommandInput,
  SendMessageCommand,
} from '@aws-sdk/client-sqs';
import { InvalidInputError } from '../schema.ts';
import { PLATFORM } from '../settings.ts';
import { isoTime } from '../time.ts';
import type { Connection } from './connection.ts';
import { retrying } from './retrying.ts';
import { entriesOf, REDRIVEN_ATTRIBUTE, type SetAsideEntry, type SetAsideMessage } from './set-aside-message.ts';

/** What became of one message that was to be redriven. */
export interface Redriven {
  readonly messageId: string;
  /** Undefined: it is back in the plan queue. Otherwise why it stays where it is. */
  readonly refusal: string | undefined;
}

/** Messages that were set aside: the quarantine queue, or the dead-letter queue of the plan queue. */
export interface SetAside {
  /**
   * The first messages, at most `limit` (default 100), the oldest first; of a dead-letter queue at most ten of a pool. SQS has
   * no way to look at a message without receiving it, so each is received and then given back: for that moment nobody
   * else sees it, and its count of receives goes up by one.
   */
  list(options?: { readonly limit?: number }): Promise<SetAsideMessage[]>;
  /**
   * Sends messages back to the plan queue as they came, each into its pool, and takes off here what was sent. All of
   * them by 'all', one after the other in their order. Run again after a crash it sends none twice. A message that was
   * redriven before is refused unless `again`: a second time may be after its result has expired, and then it would take
   * effect twice. A message goes by the id of its plan as well, if it is the only one of that plan. Ids that are not found are
   * refused, and so is, of all, what has come back meanwhile.
   */
  redrive(which: 'all' | readonly string[], options?: { readonly again?: boolean }): Promise<Redriven[]>;
  /** Deletes messages for good, by their ids or those of their plans, as `redrive`; answers which were there. */
  discard(messageIds: readonly string[]): Promise<string[]>;
}

/** Seconds for which what is received is out of everybody's way: longer than a listing or a redrive takes. */
const HELD_SECONDS = 120;

const RECEIVE = {
  MaxNumberOfMessages: PLATFORM.fifoBatch,
  VisibilityTimeout: HELD_SECONDS,
  MessageAttributeNames: ['All'],
  MessageSystemAttributeNames: ['SentTimestamp', 'MessageGroupId'],
} satisfies Omit<ReceiveMessageCommandInput, 'QueueUrl'>;

/** Messages that are held at once, each up to 1 MiB. */
const MOST_AT_ONCE = 100;

/** The messages of one of the two queues. */
export function setAside(connection: Connection, queue: 'plansDead' | 'quarantine'): SetAside {
  return {
    async list({ limit = MOST_AT_ONCE } = {}) {
      if (!Number.isSafeInteger(limit) || limit < 1 || limit > 10_000) {
        const message = `expected a whole number from 1 to 10000, got ${limit}`;
        throw new InvalidInputError('an option of the list', [{ path: 'limit', message }]);
      }
      return borrow(connection, queue, limit, async (entries) => entries.map(({ message }) => message));
    },
    redrive: (which, { again = false } = {}) => redrive(connection, queue, which, again),
    async discard(messageIds) {
      const wanted = new Set(messageIds);
      const missing = await untilFound(connection, queue, wanted, (_, take) => take());
      return messageIds.filter((id) => !missing.has(id));
    },
  };
}

async function redrive(
  connection: Connection,
  queue: 'plansDead' | 'quarantine',
  which: 'all' | readonly string[],
  again: boolean,
): Promise<Redriven[]> {
  const outcomes = new Map<string, Redriven>();
  /** Ids in the plan queue of what was sent. */
  const sent = new Set<string>();
  const one = async (entry: SetAsideEntry, take: () => Promise<void>) => {
    const { messageId, originalMessageId = '', reason } = entry.message;
    // Sent once more it would come back once more, for ever.
    const refusal = sent.has(originalMessageId) ? `it has come back: ${reason}` : refusalOf(entry.message, again);
    if (refusal === undefined) {
      sent.add(await sendBack(connection, entry.message));
      await take();
    }
    outcomes.set(messageId, { messageId, refusal });
  };
  const wanted = which === 'all' ? undefined : new Set(which);
  const missing = await untilFound(connection, queue, wanted, one);
  for (const [messageId, refusal] of missing) outcomes.set(messageId, { messageId, refusal });
  return [...outcomes.values()];
}

/**
 * Does `one` to each of the messages that are `wanted`, or to all; what it takes is deleted. The queue is gone through a
 * part at a time, as long as something is taken: of a pool in the dead-letter queue the next ten show only then. What
 * takes long calls `hold` every now and then, lest messages be received by others meanwhile. Answers why, of each of the
 * `wanted` that was not found.
 */
export async function untilFound(
  connection: Connection,
  queue: 'plansDead' | 'quarantine',
  wanted: ReadonlySet<string> | undefined,
  one: (entry: SetAsideEntry, take: () => Promise<void>, hold: () => Promise<void>) => Promise<void>,
): Promise<ReadonlyMap<string, string>> {
  const left = wanted && new Set(wanted);
  /** Messages by plan, of the latest look. */
  let ofPlan = new Map<string, string[]>();
  let taken = 0;
  do {
    taken = 0;
    await borrow(connection, queue, MOST_AT_ONCE, async (entries, remove, hold) => {
      ofPlan = messagesByPlan(entries);
      for (const entry of entries) {
        const { messageId, planId = '' } = entry.message;
        const names = ofPlan.get(planId)?.length === 1 ? [messageId, planId] : [messageId];
        // All of them: either name may have been given, or both.
        if (left && names.filter((name) => left.delete(name)).length === 0) continue;
        const take = async () => {
          await remove(entry);
          taken++;
        };
        await one(entry, take, hold);
      }
    });
  } while (taken > 0 && left?.size !== 0);
  return new Map([...(left ?? [])].map((name) => [name, missingText(ofPlan.get(name))]));
}

function messagesByPlan(entries: readonly SetAsideEntry[]): Map<string, string[]> {
  const messages = new Map<string, string[]>();
  for (const { message } of entries) {
    if (message.planId === undefined) continue;
    messages.set(message.planId, [...(messages.get(message.planId) ?? []), message.messageId]);
  }
  return messages;
}

/** `ofPlan`: the messages of the plan that goes by that name, if one does. */
function missingText(ofPlan: readonly string[] = []): string {
  if (ofPlan.length < 2)
    return 'it is not among the messages that are there to be received now; list them to see which are';
  return `${ofPlan.length} messages are of that plan: name the one that is meant by its own id, as in ${ofPlan.slice(0, 3).join(' or ')}`;
}

function refusalOf({ pool, incomplete, redrivenAt }: SetAsideMessage, again: boolean): string | undefined {
  if (incomplete !== undefined) return incomplete;
  if (pool === undefined) return 'nothing says which pool it came for';
  if (redrivenAt !== undefined && !again) {
    return `it was redriven before, at ${redrivenAt}; if its result has expired since, it would take effect a second time`;
  }
  return undefined;
}

/**
 * Puts a message back into the plan queue. Its deduplication id is its id here: the plan's own may have been seen within
 * the last five minutes, and then SQS would swallow it; sent twice, since what came after failed, it is one. Answers its id
 * there.
 */
async function sendBack({ sqs, planQueueUrl, clock }: Connection, message: SetAsideMessage): Promise<string> {
  const mark = { [REDRIVEN_ATTRIBUTE]: { DataType: 'String', StringValue: isoTime(clock()) } };
  const room = Buffer.byteLength(message.body) + MARK_BYTES <= PLATFORM.messageBytes;
  const { MessageId = '' } = await retrying(() =>
    sqs.send(
      new SendMessageCommand({
        QueueUrl: planQueueUrl,
        MessageBody: message.body,
        MessageGroupId: message.pool,
        MessageDeduplicationId: `redrive:${message.messageId}`,
        ...(room ? { MessageAttributes: mark } : {}),
      }),
    ),
  );
  return MessageId;
}

/** Bytes that the mark takes of a message's 1 MiB. */
const MARK_BYTES = 64;

/** Receives up to `limit` messages, has `use` look at them and delete some, and gives back the others. */
export async function borrow<T>(
  connection: Connection,
  queue: 'plansDead' | 'quarantine' | 'reaperFailures',
  limit: number,
  use: (
    entries: readonly SetAsideEntry[],
    remove: (entry: SetAsideEntry) => Promise<void>,
    hold: () => Promise<void>,
  ) => Promise<T>,
): Promise<T> {
  const { sqs, pollSeconds, clock } = connection;
  const QueueUrl = connection.queueUrl(queue);
  const received: Message[] = [];
  const gone = new Set<string>();
  const remove = async ({ handles }: SetAsideEntry) => {
    for (const ReceiptHandle of handles) {
      await retrying(() => sqs.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle })));
      gone.add(ReceiptHandle);
    }
  };
  const heldBack = () =>
    received.flatMap(({ ReceiptHandle }) => ReceiptHandle ?? []).filter((handle) => !gone.has(handle));
  let heldAt: number = clock();
  const hold = async () => {
    if (clock() - heldAt < HOLD_MS) return;
    heldAt = clock();
    await changeVisibility(connection, QueueUrl, heldBack(), HELD_SECONDS);
  };
  const receive = new ReceiveMessageCommand({ QueueUrl, WaitTimeSeconds: pollSeconds, ...RECEIVE });
  try {
    while (received.length < limit) {
      const { Messages = [] } = await retrying(() => sqs.send(receive));
      if (Messages.length === 0) break;
      received.push(...Messages);
    }
    return await use(entriesOf(received).slice(0, limit), remove, hold);
  } finally {
    // What cannot be given back is back when its visibility ends.
    await changeVisibility(connection, QueueUrl, heldBack(), 0);
  }
}

/** Milliseconds after which what is held is held anew: a quarter of how long it would stay so. */
const HOLD_MS = HELD_SECONDS * 250;

/** Has messages be received by others after so many seconds from now. */
async function changeVisibility(
  { sqs }: Connection,
  QueueUrl: string,
  handles: readonly string[],
  VisibilityTimeout: number,
): Promise<void> {
  for (let at = 0; at < handles.length; at += PLATFORM.fifoBatch) {
    const Entries = handles
      .slice(at, at + PLATFORM.fifoBatch)
      .map((ReceiptHandle, Id) => ({ Id: String(Id), ReceiptHandle, VisibilityTimeout }));
    await retrying(() => sqs.send(new ChangeMessageVisibilityBatchCommand({ QueueUrl, Entries })));
  }
}
