import { createHash } from 'node:crypto';
import type { EpochMs } from '../../lib/time.ts';
import { DEDUPLICATION_MS, type Deduplication, DeduplicationWindow } from './deduplication-window.ts';
import { GroupIndex } from './group-index.ts';
import type { Message, MessageAttributes } from './message.ts';
import type { QueueSettings } from './queue-settings.ts';
import { encodeReceiptHandle, messageIdOf } from './receipt-handle.ts';

export interface SendRequest {
  readonly body: string;
  readonly attributes: MessageAttributes;
  readonly groupId?: string | undefined;
  readonly deduplicationId?: string | undefined;
  readonly delaySeconds?: number | undefined;
}

export interface Sent {
  readonly messageId: string;
  readonly sequenceNumber?: string | undefined;
  /** The deduplication id was seen within five minutes: nothing was added, the ids are those of the first message. */
  readonly duplicate: boolean;
}

export interface Received {
  readonly message: Message;
  readonly receiptHandle: string;
}

/** A change of a queue that outlives a restart. What is in flight does not: whoever held it is gone as well. */
export type QueueChange =
  | { readonly kind: 'sent'; readonly message: Message; readonly deduplication?: Deduplication | undefined }
  | { readonly kind: 'received'; readonly messageIds: readonly string[]; readonly at: EpochMs }
  | { readonly kind: 'removed'; readonly messageIds: readonly string[] }
  | { readonly kind: 'deduplication'; readonly deduplication: Deduplication };

interface InFlight {
  readonly receiptHandle: string;
  readonly until: EpochMs;
}

/**
 * One queue: what SQS documents of a standard or FIFO queue, as data and rules, without a clock (each call takes `now`,
 * which must not go backwards), a network or timers.
 *
 * FIFO: a receive takes as many messages as it can of one group, in order, then of others; while a message of a group is
 * in flight no other of that group is handed out; a receipt handle whose visibility has run out deletes nothing.
 */
export class Queue {
  readonly arn: string;
  settings: QueueSettings;
  readonly #newId: () => string;
  readonly #onChange: (change: QueueChange) => void;
  /** In the order of arrival. */
  readonly #messages = new Map<string, Message>();
  readonly #groups = new GroupIndex();
  readonly #inFlight = new Map<string, InFlight>();
  readonly #deduplications = new DeduplicationWindow();
  #lastSequence = 0;

  /**
   * @param newId makes message ids and receipt handles; unique
   * @param onChange told of every change that `restore` can apply again
   */
  constructor(arn: string, settings: QueueSettings, newId: () => string, onChange: (change: QueueChange) => void) {
    this.arn = arn;
    this.settings = settings;
    this.#newId = newId;
    this.#onChange = onChange;
  }

  send(request: SendRequest, now: EpochMs): Sent {
    const deduplicationId = this.#deduplicationId(request);
    const key = deduplicationId === undefined ? undefined : this.#deduplicationKey(request.groupId, deduplicationId);
    const first = key === undefined ? undefined : this.#deduplications.find(key, now);
    if (first !== undefined) {
      return { messageId: first.messageId, sequenceNumber: first.sequenceNumber, duplicate: true };
    }
    const messageId = this.#newId();
    const sequenceNumber = this.settings.fifo ? this.#nextSequence(now) : undefined;
    const delaySeconds = request.delaySeconds ?? this.settings.delaySeconds;
    const message: Message = {
      messageId,
      body: request.body,
      attributes: request.attributes,
      groupId: request.groupId,
      deduplicationId,
      sequenceNumber,
      sentAt: now,
      visibleAt: (now + delaySeconds * 1000) as EpochMs,
      receiveCount: 0,
    };
    this.#add(message, key, now);
    return { messageId, sequenceNumber, duplicate: false };
  }

  /**
   * Up to `max` messages, each in flight for `visibilitySeconds` from now on; and those that had been received as often
   * as the redrive policy allows, which are thereby out of this queue: the caller puts them into the dead-letter queue.
   */
  receive(max: number, visibilitySeconds: number, now: EpochMs): { received: Received[]; deadLettered: Message[] } {
    this.#returnExpired(now);
    const received: Received[] = [];
    const given: Message[] = [];
    const removed: Message[] = [];
    const deadLettered: Message[] = [];
    const until = (now + visibilitySeconds * 1000) as EpochMs;
    for (const group of this.#groups.free()) {
      if (received.length >= max) break;
      let taken = 0;
      for (const message of group.messages) {
        if (received.length >= max || message.visibleAt > now) break;
        if (this.#pastRetention(message, now)) {
          removed.push(message);
          continue;
        }
        const { redrive } = this.settings;
        if (redrive !== undefined && message.receiveCount >= redrive.maxReceiveCount) {
          deadLettered.push(message);
          continue;
        }
        const receiptHandle = encodeReceiptHandle(message.messageId, this.#newId());
        message.receiveCount += 1;
        message.firstReceivedAt ??= now;
        this.#inFlight.set(message.messageId, { receiptHandle, until });
        given.push(message);
        received.push({ message: { ...message }, receiptHandle });
        taken += 1;
      }
      if (taken > 0) this.#groups.lock(group, taken);
    }
    this.#remove([...removed, ...deadLettered]);
    if (given.length > 0) {
      this.#onChange({ kind: 'received', messageIds: given.map((message) => message.messageId), at: now });
    }
    return { received, deadLettered };
  }

  /** Takes in a message that `from` gave up. Its deduplication id becomes its message id, so that no two are one here. */
  addDeadLetter(message: Message, from: string, now: EpochMs): void {
    const { fifo } = this.settings;
    const moved: Message = {
      ...message,
      deduplicationId: fifo ? message.messageId : message.deduplicationId,
      sequenceNumber: fifo ? this.#nextSequence(now) : undefined,
      sentAt: fifo ? now : message.sentAt,
      visibleAt: now,
      deadLetterSource: from,
      receiveCount: 0,
      firstReceivedAt: undefined,
    };
    this.#add(moved, fifo ? this.#deduplicationKey(moved.groupId, moved.messageId) : undefined, now);
  }

  /** `done`: the message is gone, now or before. `expired`: FIFO, the visibility ran out first; it will be received again. */
  delete(receiptHandle: string, now: EpochMs): 'done' | 'expired' | 'invalid' {
    this.#returnExpired(now);
    const messageId = messageIdOf(receiptHandle);
    if (messageId === undefined) return 'invalid';
    const message = this.#messages.get(messageId);
    if (message === undefined) return 'done';
    const current = this.#inFlight.get(messageId)?.receiptHandle === receiptHandle;
    // On a standard queue an old handle succeeds, and deletes the message unless somebody else has received it since.
    if (!current && this.settings.fifo) return 'expired';
    if (current || !this.#inFlight.has(messageId)) this.#remove([message]);
    return 'done';
  }

  /** Sets how long a message in flight stays so, counted from now; 0 returns it at once. */
  changeVisibility(receiptHandle: string, seconds: number, now: EpochMs): 'done' | 'not-in-flight' | 'invalid' {
    this.#returnExpired(now);
    const messageId = messageIdOf(receiptHandle);
    if (messageId === undefined) return 'invalid';
    if (this.#inFlight.get(messageId)?.receiptHandle !== receiptHandle) return 'not-in-flight';
    this.#inFlight.set(messageId, { receiptHandle, until: (now + seconds * 1000) as EpochMs });
    this.#returnExpired(now);
    return 'done';
  }

  purge(): void {
    this.#remove([...this.#messages.values()]);
  }

  /** Messages that wait (also those whose group is locked), are in flight, are delayed. */
  counts(now: EpochMs): { visible: number; inFlight: number; delayed: number } {
    this.#returnExpired(now);
    this.#remove([...this.#messages.values()].filter((message) => this.#pastRetention(message, now)));
    let delayed = 0;
    for (const message of this.#messages.values()) if (message.visibleAt > now) delayed += 1;
    const inFlight = this.#inFlight.size;
    return { visible: this.#messages.size - inFlight - delayed, inFlight, delayed };
  }

  /** When the next message turns visible by time alone, or undefined: until then an empty receive stays empty unless something is sent or deleted. */
  nextVisibleAt(now: EpochMs): EpochMs | undefined {
    let next: number = Number.POSITIVE_INFINITY;
    for (const { until } of this.#inFlight.values()) next = Math.min(next, until);
    for (const group of this.#groups.free()) {
      const visibleAt = group.messages[0]?.visibleAt;
      if (visibleAt !== undefined && visibleAt > now) next = Math.min(next, visibleAt);
    }
    return Number.isFinite(next) ? (next as EpochMs) : undefined;
  }

  /** Applies a change of an earlier run. */
  restore(change: QueueChange): void {
    switch (change.kind) {
      case 'sent':
        this.#put({ ...change.message });
        if (change.deduplication !== undefined) this.#remember(change.deduplication);
        break;
      case 'received':
        for (const messageId of change.messageIds) {
          const message = this.#messages.get(messageId);
          if (message === undefined) continue;
          message.receiveCount += 1;
          message.firstReceivedAt ??= change.at;
        }
        break;
      case 'removed':
        this.#drop(change.messageIds);
        break;
      case 'deduplication':
        this.#remember(change.deduplication);
        break;
    }
  }

  /** The changes that make a new queue what this one is, less what is in flight. */
  *snapshot(now: EpochMs): Iterable<QueueChange> {
    for (const message of this.#messages.values()) {
      if (!this.#pastRetention(message, now)) yield { kind: 'sent', message };
    }
    for (const deduplication of this.#deduplications.entries(now)) yield { kind: 'deduplication', deduplication };
  }

  #deduplicationId(request: SendRequest): string | undefined {
    if (!this.settings.fifo) return undefined;
    if (request.deduplicationId !== undefined) return request.deduplicationId;
    if (this.settings.contentBasedDeduplication) return createHash('sha256').update(request.body).digest('hex');
    throw new Error('a FIFO queue without content-based deduplication needs a deduplication id');
  }

  #deduplicationKey(groupId: string | undefined, deduplicationId: string): string {
    return this.settings.deduplicationScope === 'messageGroup' ? `${groupId} ${deduplicationId}` : deduplicationId;
  }

  #remember(deduplication: Deduplication): void {
    this.#deduplications.remember(deduplication);
    this.#seen(deduplication.sequenceNumber);
  }

  /** Begins with the time, so that it goes on growing over a restart that finds the queue empty. */
  #nextSequence(now: EpochMs): string {
    this.#lastSequence = Math.max(this.#lastSequence + 1, now * 1000);
    return String(this.#lastSequence).padStart(20, '0');
  }

  #seen(sequenceNumber: string | undefined): void {
    this.#lastSequence = Math.max(this.#lastSequence, Number(sequenceNumber ?? 0));
  }

  #pastRetention(message: Message, now: EpochMs): boolean {
    return message.sentAt + this.settings.retentionSeconds * 1000 <= now;
  }

  #add(message: Message, deduplicationKey: string | undefined, now: EpochMs): void {
    const { messageId, sequenceNumber } = message;
    const deduplication =
      deduplicationKey === undefined
        ? undefined
        : { key: deduplicationKey, until: (now + DEDUPLICATION_MS) as EpochMs, messageId, sequenceNumber };
    if (deduplication !== undefined) this.#remember(deduplication);
    this.#put(message);
    this.#onChange({ kind: 'sent', message: { ...message }, deduplication });
  }

  #put(message: Message): void {
    this.#messages.set(message.messageId, message);
    this.#groups.add(this.#groupKey(message), message);
    this.#seen(message.sequenceNumber);
  }

  #remove(messages: readonly Message[]): void {
    if (messages.length === 0) return;
    const messageIds = messages.map((message) => message.messageId);
    this.#drop(messageIds);
    this.#onChange({ kind: 'removed', messageIds });
  }

  #drop(messageIds: readonly string[]): void {
    for (const messageId of messageIds) {
      const message = this.#messages.get(messageId);
      if (message === undefined) continue;
      const wasInFlight = this.#inFlight.delete(messageId);
      this.#messages.delete(messageId);
      this.#groups.remove(this.#groupKey(message), message, wasInFlight);
    }
  }

  #returnExpired(now: EpochMs): void {
    for (const [messageId, { until }] of this.#inFlight) {
      if (until > now) continue;
      this.#inFlight.delete(messageId);
      this.#groups.unlock(this.#groupKey(this.#messages.get(messageId) as Message));
    }
  }

  /** On a standard queue each message is a group of its own: nothing waits for anything. */
  #groupKey(message: Message): string {
    return this.settings.fifo ? (message.groupId ?? '') : message.messageId;
  }
}
