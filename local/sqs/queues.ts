import { randomUUID } from 'node:crypto';
import { type Clock, type EpochMs, systemClock } from '../../lib/time.ts';
import { Journal, type JournalEntry } from './journal.ts';
import { Queue, type QueueChange, type Received, type SendRequest, type Sent } from './queue.ts';
import { attributesFromSettings, type QueueSettings, settingsFromAttributes } from './queue-settings.ts';
import { SqsError } from './sqs-error.ts';

export interface QueuesOptions {
  readonly region: string;
  readonly account: string;
  /** File that keeps the queues over a restart. Default: they live in memory. */
  readonly journalFile?: string | undefined;
  readonly clock?: Clock;
  /** Makes message ids and receipt handles. Default: random UUIDs. */
  readonly newId?: () => string;
}

export interface ReceiveRequest {
  readonly max: number;
  readonly visibilitySeconds?: number | undefined;
  readonly waitSeconds?: number | undefined;
  /** Ends the wait: the receiver is gone, and what was handed to it would be in flight for nobody. */
  readonly signal?: AbortSignal | undefined;
}

interface Waiter {
  readonly max: number;
  readonly visibilitySeconds: number;
  readonly answer: (received: Received[]) => void;
}

interface Entry {
  readonly queue: Queue;
  /** Long polls, first come first served. */
  readonly waiters: Set<Waiter>;
  timer?: NodeJS.Timeout | undefined;
}

/** The queues of one engine by name: what takes more than one of them (dead letters), time (long polls) or a file. */
export class Queues {
  readonly region: string;
  readonly account: string;
  readonly #clock: Clock;
  readonly #newId: () => string;
  readonly #journal: Journal | undefined;
  readonly #entries = new Map<string, Entry>();
  #latest = 0 as EpochMs;
  /** What the operation under way has changed so far. */
  #changes: JournalEntry[] = [];

  private constructor(options: QueuesOptions) {
    this.region = options.region;
    this.account = options.account;
    this.#clock = options.clock ?? systemClock;
    this.#newId = options.newId ?? randomUUID;
    this.#journal = options.journalFile === undefined ? undefined : new Journal(options.journalFile);
  }

  /**
   * Queues as the journal has them. Messages that were in flight are back, their receives counted: whoever worked on
   * them ended with the engine.
   *
   * @throws Error when the journal is damaged
   */
  static async open(options: QueuesOptions): Promise<Queues> {
    const queues = new Queues(options);
    if (queues.#journal !== undefined) {
      for await (const entry of queues.#journal.read()) queues.#restore(entry);
      queues.#journal.start(queues.#snapshot());
    }
    return queues;
  }

  /**
   * Makes a queue; with the attributes that it has already, nothing happens.
   *
   * @throws SqsError QueueNameExists, InvalidParameterValue
   * @throws QueueAttributeError
   */
  create(name: string, attributes: Readonly<Record<string, string>>): void {
    const settings = settingsFromAttributes(name, attributes);
    const existing = this.#entries.get(name);
    if (existing === undefined) this.#set(name, settings);
    else if (JSON.stringify(attributesFromSettings(settings)) !== JSON.stringify(this.attributes(name))) {
      throw new SqsError('QueueNameExists', `queue ${name} exists with other attributes; set them instead`);
    }
  }

  /** Sets `attributes`, leaving the others as they are. */
  setAttributes(name: string, attributes: Readonly<Record<string, string>>): void {
    this.#set(name, settingsFromAttributes(name, { ...this.attributes(name), ...attributes }));
  }

  attributes(name: string): Record<string, string> {
    return attributesFromSettings(this.#entry(name).queue.settings);
  }

  settings(name: string): QueueSettings {
    return this.#entry(name).queue.settings;
  }

  names(): string[] {
    return [...this.#entries.keys()];
  }

  arn(name: string): string {
    return `arn:aws:sqs:${this.region}:${this.account}:${name}`;
  }

  counts(name: string): { visible: number; inFlight: number; delayed: number } {
    const { queue } = this.#entry(name);
    return this.#commit(() => queue.counts(this.#latest));
  }

  send(name: string, request: SendRequest): Sent {
    return this.#change(name, (queue, now) => queue.send(request, now));
  }

  /** Messages at once if there are any, else as soon as there are, or none after `waitSeconds`. */
  receive(name: string, request: ReceiveRequest): Promise<Received[]> {
    const entry = this.#entry(name);
    const { settings } = entry.queue;
    const visibilitySeconds = request.visibilitySeconds ?? settings.visibilitySeconds;
    const waitMs = (request.waitSeconds ?? settings.receiveWaitSeconds) * 1000;
    const received = this.#receive(name, request.max, visibilitySeconds);
    if (received.length > 0 || waitMs === 0 || request.signal?.aborted) return Promise.resolve(received);
    return new Promise((resolve) => {
      const answer = (messages: Received[]) => {
        clearTimeout(timer);
        request.signal?.removeEventListener('abort', none);
        entry.waiters.delete(waiter);
        resolve(messages);
      };
      const none = () => answer([]);
      const waiter: Waiter = { max: request.max, visibilitySeconds, answer };
      const timer = setTimeout(none, waitMs);
      request.signal?.addEventListener('abort', none);
      entry.waiters.add(waiter);
      this.#wake(name);
    });
  }

  delete(name: string, receiptHandle: string): 'done' | 'expired' | 'invalid' {
    return this.#change(name, (queue, now) => queue.delete(receiptHandle, now));
  }

  changeVisibility(name: string, receiptHandle: string, seconds: number): 'done' | 'not-in-flight' | 'invalid' {
    return this.#change(name, (queue, now) => queue.changeVisibility(receiptHandle, seconds, now));
  }

  purge(name: string): void {
    this.#change(name, (queue) => queue.purge());
  }

  /** Answers the long polls of a queue with nothing. */
  endWaits(name: string): void {
    for (const waiter of [...this.#entry(name).waiters]) waiter.answer([]);
  }

  /** Answers all long polls with nothing and closes the journal. */
  close(): void {
    for (const [name, entry] of this.#entries) {
      clearTimeout(entry.timer);
      this.endWaits(name);
    }
    this.#journal?.close();
  }

  #receive(name: string, max: number, visibilitySeconds: number): Received[] {
    const { received, redrivenTo } = this.#commit(() => {
      const { queue } = this.#entry(name);
      const { received, deadLettered } = queue.receive(max, visibilitySeconds, this.#latest);
      const { redrive } = queue.settings;
      if (redrive === undefined || deadLettered.length === 0) return { received };
      const redrivenTo = nameOfArn(redrive.deadLetterTargetArn);
      const target = this.#entry(redrivenTo).queue;
      for (const message of deadLettered) target.addDeadLetter(message, queue.arn, this.#latest);
      return { received, redrivenTo };
    });
    if (redrivenTo !== undefined) this.#wake(redrivenTo);
    return received;
  }

  #change<T>(name: string, operation: (queue: Queue, now: EpochMs) => T): T {
    const entry = this.#entry(name);
    const result = this.#commit(() => operation(entry.queue, this.#latest));
    this.#wake(name);
    return result;
  }

  /** One operation, at one time; what it changes reaches the journal as one line. */
  #commit<T>(operation: () => T): T {
    // The system's clock may be set back; a queue's time must not.
    this.#latest = Math.max(this.#latest, this.#clock()) as EpochMs;
    const result = operation();
    const changes = this.#changes;
    this.#changes = [];
    if (changes.length > 0) this.#journal?.append(changes);
    return result;
  }

  /** Answers the long polls that can be, and looks again when the next message turns visible. */
  #wake(name: string): void {
    const entry = this.#entry(name);
    clearTimeout(entry.timer);
    for (const waiter of entry.waiters) {
      const received = this.#receive(name, waiter.max, waiter.visibilitySeconds);
      if (received.length === 0) break;
      waiter.answer(received);
    }
    if (entry.waiters.size === 0) return;
    const next = entry.queue.nextVisibleAt(this.#latest);
    if (next !== undefined) entry.timer = setTimeout(() => this.#wake(name), Math.max(1, next - this.#latest));
  }

  #set(name: string, settings: QueueSettings): void {
    if (settings.redrive !== undefined) this.#checkRedrive(name, settings, settings.redrive.deadLetterTargetArn);
    this.#commit(() => {
      const entry = this.#entries.get(name);
      if (entry === undefined) this.#entries.set(name, this.#newEntry(name, settings));
      else entry.queue.settings = settings;
      this.#changes.push({ queue: name, change: { kind: 'attributes', attributes: attributesFromSettings(settings) } });
    });
  }

  #checkRedrive(name: string, settings: QueueSettings, arn: string): void {
    const target = this.#entries.get(nameOfArn(arn));
    if (target === undefined || target.queue.settings.fifo !== settings.fifo || nameOfArn(arn) === name) {
      throw new SqsError(
        'InvalidParameterValue',
        `queue ${name}: RedrivePolicy: the dead-letter queue ${arn} must be another queue that exists and is ${settings.fifo ? 'FIFO' : 'standard'} too`,
      );
    }
  }

  #newEntry(name: string, settings: QueueSettings): Entry {
    const record = (change: QueueChange) => this.#changes.push({ queue: name, change });
    return { queue: new Queue(this.arn(name), settings, this.#newId, record), waiters: new Set() };
  }

  #entry(name: string): Entry {
    const entry = this.#entries.get(name);
    if (entry === undefined) {
      throw new SqsError('QueueDoesNotExist', `there is no queue ${name}; there are: ${this.names().join(', ')}`);
    }
    return entry;
  }

  #restore({ queue: name, change }: JournalEntry): void {
    if (change.kind !== 'attributes') {
      this.#entry(name).queue.restore(change);
      return;
    }
    const settings = settingsFromAttributes(name, change.attributes);
    const entry = this.#entries.get(name);
    if (entry === undefined) this.#entries.set(name, this.#newEntry(name, settings));
    else entry.queue.settings = settings;
  }

  *#snapshot(): Iterable<JournalEntry> {
    const now = this.#clock();
    for (const [queue, entry] of this.#entries) {
      yield { queue, change: { kind: 'attributes', attributes: attributesFromSettings(entry.queue.settings) } };
      for (const change of entry.queue.snapshot(now)) yield { queue, change };
    }
  }
}

function nameOfArn(arn: string): string {
  return arn.slice(arn.lastIndexOf(':') + 1);
}
