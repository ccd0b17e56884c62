import type { EpochMs } from '../../lib/time.ts';
import type { DropCondition } from './on-failure.ts';
import { gather, recordBytes, type Waiting } from './payload.ts';
import { afterFailure, type Part, type RetryPolicy } from './stream-batch.ts';
import { createdAt, type StreamRecord } from './stream-event.ts';

/** How an invocation with a batch ended: which record was the first to fail, if any. */
export type Outcome =
  | { readonly ok: true }
  | { readonly ok: false; readonly first: number; readonly functionError: boolean };

export interface LaneSettings extends RetryPolicy {
  readonly batchSize: number;
  readonly windowMs: number;
  readonly maximumAgeMs: number;
  /** Every how manieth batch is delivered once more, later; 0: none. */
  readonly redeliverEvery: number;
}

/** What a lane needs of the source that it belongs to. */
export interface LaneHost {
  now(): EpochMs;
  /** No invocation is to begin: paused, or stopped for good. */
  paused(): boolean;
  /** What an invocation brought is not to count any more: the engine has ended it. */
  abandoned(): boolean;
  /** Batches are not to wait for their window. */
  hurried(): boolean;
  invoke(records: readonly StreamRecord[]): Promise<Outcome>;
  /** Before the `retry`th time in a row that the same records are invoked again, counted from 1. */
  backOff(retry: number): Promise<void>;
  handled(records: readonly StreamRecord[]): void;
  drop(part: Part<StreamRecord>, condition: DropCondition, functionError: boolean): Promise<void>;
}

interface Arrived extends Waiting<StreamRecord> {
  readonly at: EpochMs;
}

/** The batches of one shard whose partition keys share a lane: one after the other, so that each key keeps its order. */
export class StreamLane {
  readonly #settings: LaneSettings;
  readonly #host: LaneHost;
  readonly #waiting: Arrived[] = [];
  /** What is left of the batch under way. */
  #parts: readonly Part<StreamRecord>[] = [];
  #running: Promise<void> | undefined;
  #batches = 0;
  /** A batch to be delivered once more, and behind which one. */
  #again: { readonly records: readonly StreamRecord[]; readonly after: number } | undefined;
  #functionError = false;
  #failuresInARow = 0;

  constructor(settings: LaneSettings, host: LaneHost) {
    this.#settings = settings;
    this.#host = host;
  }

  add(record: StreamRecord): void {
    this.#waiting.push({ record, bytes: recordBytes(record), at: this.#host.now() });
  }

  /** Records that are not handled. */
  get length(): number {
    return this.#waiting.length + this.#parts.reduce((sum, { records }) => sum + records.length, 0);
  }

  get isEmpty(): boolean {
    return this.length === 0 && this.#running === undefined && this.#again === undefined;
  }

  /** Invokes what is due, if nothing is being invoked. */
  wake(): void {
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
    });
  }

  /** Settles when nothing is being invoked. */
  async settled(): Promise<void> {
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#host.paused()) {
      if (this.#parts.length === 0) this.#parts = this.#take();
      const [part, ...rest] = this.#parts;
      if (part !== undefined) await this.#handle(part, rest);
      else if (this.#again !== undefined && this.#waiting.length === 0) await this.#redeliver();
      else return;
      if (this.#again !== undefined && this.#parts.length === 0 && this.#batches > this.#again.after) {
        await this.#redeliver();
      }
    }
  }

  #take(): readonly Part<StreamRecord>[] {
    const [oldest] = this.#waiting;
    if (oldest === undefined) return [];
    const { count, full } = gather(this.#waiting, this.#settings.batchSize);
    const due = full || this.#host.hurried() || this.#host.now() >= oldest.at + this.#settings.windowMs;
    if (!due) return [];
    this.#batches += 1;
    const records = this.#waiting.splice(0, count).map(({ record }) => record);
    const { redeliverEvery } = this.#settings;
    if (redeliverEvery > 0 && this.#batches % redeliverEvery === 0 && this.#again === undefined) {
      this.#again = { records, after: this.#batches };
    }
    return [{ records, retries: 0, invocations: 0 }];
  }

  async #handle(part: Part<StreamRecord>, rest: readonly Part<StreamRecord>[]): Promise<void> {
    const oldestAllowed = this.#host.now() - this.#settings.maximumAgeMs;
    const young = part.records.findIndex((record) => createdAt(record) >= oldestAllowed);
    if (young !== 0) {
      const count = young < 0 ? part.records.length : young;
      const records = part.records.slice(count);
      this.#parts = records.length === 0 ? rest : [{ ...part, records }, ...rest];
      await this.#drop({ ...part, records: part.records.slice(0, count) }, 'RecordAgeExceeded');
      return;
    }
    const outcome = await this.#host.invoke(part.records);
    if (this.#host.abandoned()) return;
    if (outcome.ok) {
      this.#parts = rest;
      this.#failuresInARow = 0;
      this.#host.handled(part.records);
      return;
    }
    this.#functionError = outcome.functionError;
    const invoked = { ...part, invocations: part.invocations + 1 };
    const { done, next, givenUp } = afterFailure(invoked, outcome.first, this.#settings);
    this.#parts = [...next, ...rest];
    this.#host.handled(done);
    if (givenUp !== undefined) {
      this.#failuresInARow = 0;
      await this.#drop(givenUp, 'RetryAttemptsExhausted');
    } else {
      this.#failuresInARow += 1;
      await this.#host.backOff(this.#failuresInARow);
    }
  }

  async #drop(part: Part<StreamRecord>, condition: DropCondition): Promise<void> {
    await this.#host.drop(part, condition, part.invocations > 0 && this.#functionError);
    this.#host.handled(part.records);
  }

  /** As after a checkpoint that Lambda lost. How it ends changes nothing: the records have been dealt with. */
  async #redeliver(): Promise<void> {
    const records = this.#again?.records ?? [];
    this.#again = undefined;
    await this.#host.invoke(records);
  }
}
