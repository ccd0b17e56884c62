import { setTimeout as delay } from 'node:timers/promises';
import { SendMessageCommand } from '@aws-sdk/client-sqs';
import { type Page, StreamReader } from '../dynamodb/stream-reader.ts';
import type { FunctionRunner } from '../functions/function-runner.ts';
import type { DeclaredMapping } from '../template/event-source-mappings.ts';
import type { StreamMapping } from '../template/stream-mappings.ts';
import { batchOutcome } from './batch-response.ts';
import {
  type EventCounts,
  type EventSource,
  type EventSourceContext,
  endsWithin,
  functionOf,
  NO_COUNTS,
  queueOf,
} from './event-source.ts';
import { type DropCondition, onFailureMessage } from './on-failure.ts';
import type { Part } from './stream-batch.ts';
import { laneOf, type StreamRecord, streamRecord, TTL_IDENTITY } from './stream-event.ts';
import { type LaneHost, type LaneSettings, type Outcome, StreamLane } from './stream-lane.ts';
import { type OpenedStream, openStream } from './stream-opening.ts';
import { ShardProgress } from './stream-progress.ts';

/** Milliseconds between two reads of a stream in which nothing is: from the first on, doubled up to the last, as often as Lambda. */
const POLL_MS = 10;
const POLL_CAP_MS = 250;
/** Milliseconds between two looks whether everything is done. */
const LOOK_MS = 10;
const RETRY_MS = 1_000;
/** Pause before the same records are invoked again, milliseconds; doubles. Lambda begins with a second or so. */
const BACK_OFF_MS = 10;
const BACK_OFF_CAP_MS = 1_000;
/** Records that are read ahead of the function. */
const READ_AHEAD = 20_000;

interface ShardWork {
  readonly progress: ShardProgress;
  readonly lanes: readonly StreamLane[];
}

/**
 * Invokes a function with the changes of a table, as Lambda's event source mapping does: those that pass a filter, in
 * batches, per shard and lane one at a time; what fails is tried again, in halves if so set, until it succeeds or is given
 * up, and nothing behind it in its lane comes before.
 *
 * The database is polled directly: reads are free, and count as nobody's requests. An invocation that has to wait for its
 * turn waits, so that there are no throttles to be counted as retries.
 */
export class StreamEventSource implements EventSource {
  readonly functionName: string;
  readonly source: string;
  readonly #opened: OpenedStream;
  readonly #mapping: StreamMapping;
  readonly #function: FunctionRunner;
  readonly #context: EventSourceContext;
  readonly #reader: StreamReader;
  readonly #onFailureUrl: string | undefined;
  readonly #shards = new Map<string, ShardWork>();
  readonly #counts = { ...NO_COUNTS };
  #polling: Promise<void> | undefined;
  #paused = true;
  #abandoned = false;
  /** Callers of `idle` that wait. */
  #hurried = 0;
  /** Aborted to end pauses between reads or retries. */
  #pauses = new AbortController();
  /** Ends the pause between two reads. */
  #readNow: () => void = () => undefined;

  private constructor(opened: OpenedStream, context: EventSourceContext) {
    const { mapping } = opened;
    const { declared, onFailureArn } = mapping;
    this.#opened = opened;
    this.#mapping = mapping;
    this.#context = context;
    this.#function = functionOf(context, declared, mapping.functionName);
    this.#onFailureUrl = onFailureArn && queueOf(context, declared, onFailureArn).url;
    this.#reader = new StreamReader(context.streams.client, mapping.sourceArn, opened.positions);
    this.functionName = this.#function.definition.name;
    this.source = `stream ${opened.table}`;
  }

  /**
   * The source, paused. From here on nothing is missed, whatever the starting position.
   *
   * @throws TemplateError
   */
  static async open(declared: DeclaredMapping, context: EventSourceContext): Promise<StreamEventSource> {
    const opened = await openStream(declared, context);
    const source = new StreamEventSource(opened, context);
    context.checkpoints.save(opened.id, declared.sourceArn, opened.positions);
    return source;
  }

  get counts(): EventCounts {
    return { ...this.#counts };
  }

  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.#pauses = new AbortController();
    this.#polling = Promise.resolve(this.#polling).then(() => this.#poll());
    this.#wake();
  }

  async pause(): Promise<void> {
    this.#paused = true;
    this.#pauses.abort();
    this.#readNow();
    await this.#polling;
    await Promise.all(this.#lanes().map((lane) => lane.settled()));
  }

  async idle(): Promise<void> {
    this.#hurried += 1;
    try {
      for (;;) {
        if (this.#isEmpty()) {
          if ((await this.#isAtEnd()) && this.#isEmpty()) return;
          this.#readNow();
        }
        this.#wake();
        await delay(LOOK_MS);
      }
    } finally {
      this.#hurried -= 1;
    }
  }

  async stop(graceMs: number): Promise<void> {
    this.#abandoned = !(await endsWithin(graceMs, this.pause()));
  }

  async #poll(): Promise<void> {
    let rest = POLL_MS;
    while (!this.#paused) {
      const isFull = this.#lanes().reduce((sum, lane) => sum + lane.length, 0) >= READ_AHEAD;
      const read = isFull ? 0 : await this.#read();
      this.#wake();
      rest = read === 0 ? Math.min(rest * 2, POLL_CAP_MS) : POLL_MS;
      if (read === 0 && !this.#paused) await this.#rest(rest);
    }
  }

  /** How many records there were. */
  async #read(): Promise<number> {
    try {
      const pages = await this.#context.streams.read(() => this.#reader.read());
      for (const page of pages) this.#take(page);
      for (const { error } of pages) if (error !== undefined) throw error;
      return pages.reduce((sum, { records }) => sum + records.length, 0);
    } catch (error) {
      this.#problem(`cannot read the ${this.source}: ${(error as Error).message}`);
      await this.#pause(RETRY_MS);
      return 0;
    }
  }

  #take({ shardId, records }: Page): void {
    const { filters, sourceArn, parallelizationFactor } = this.#mapping;
    const { progress, lanes } = this.#shard(shardId);
    const passed: [StreamRecord, StreamLane][] = [];
    for (const raw of records) {
      const seen = streamRecord(raw, sourceArn, this.#context.resources.place.region);
      const { SequenceNumber } = seen.dynamodb;
      const isExpiry = this.#context.streams.isExpiry(sourceArn, SequenceNumber);
      const record = isExpiry ? { ...seen, userIdentity: TTL_IDENTITY } : seen;
      this.#counts.PolledEventCount += 1;
      progress.read(SequenceNumber);
      if (filters.length > 0 && !filters.some((passes) => passes(record))) {
        this.#counts.FilteredOutEventCount += 1;
        progress.done(SequenceNumber);
        continue;
      }
      const lane = lanes[laneOf(record, this.#opened.partitionKey, parallelizationFactor)];
      if (lane !== undefined) passed.push([record, lane]);
    }
    for (const [record, lane] of passed) lane.add(record);
    if (records.length > passed.length) this.#saveProgress();
  }

  #shard(shardId: string): ShardWork {
    const known = this.#shards.get(shardId);
    if (known !== undefined) return known;
    const progress = new ShardProgress(this.#opened.positions[shardId] ?? null);
    const settings: LaneSettings = { ...this.#mapping, redeliverEvery: this.#context.redeliverEvery };
    const host = this.#hostOf(shardId, progress);
    const lanes = Array.from({ length: this.#mapping.parallelizationFactor }, () => new StreamLane(settings, host));
    const work = { progress, lanes };
    this.#shards.set(shardId, work);
    return work;
  }

  #hostOf(shardId: string, progress: ShardProgress): LaneHost {
    return {
      now: () => this.#context.clock(),
      paused: () => this.#paused,
      abandoned: () => this.#abandoned,
      hurried: () => this.#hurried > 0,
      invoke: (records) => this.#invoke(records),
      backOff: (retry) => this.#pause(Math.min(BACK_OFF_MS * 2 ** (retry - 1), BACK_OFF_CAP_MS)),
      handled: (records) => {
        for (const { dynamodb } of records) progress.done(dynamodb.SequenceNumber);
        if (records.length > 0) this.#saveProgress();
      },
      drop: (part, condition, functionError) => this.#drop(shardId, part, condition, functionError),
    };
  }

  async #invoke(records: readonly StreamRecord[]): Promise<Outcome> {
    this.#counts.invocations += 1;
    this.#counts.InvokedEventCount += records.length;
    const result = await this.#function.invoke({ Records: records });
    const numbers = records.map(({ dynamodb }) => dynamodb.SequenceNumber);
    const { failed, problem } = batchOutcome(result, numbers, this.#mapping.reportBatchItemFailures);
    if (failed.size === 0) return { ok: true };
    // The lowest is the checkpoint, and records are in order.
    const first = numbers.findIndex((number) => failed.has(number));
    this.#counts.FailedInvokeEventCount += records.length - first;
    if (problem !== undefined) this.#problem(`batch of ${records.length} changes failed: ${problem}`);
    return { ok: false, first, functionError: result.status === 'failed' };
  }

  async #drop(
    shardId: string,
    { records, invocations }: Part<StreamRecord>,
    condition: DropCondition,
    functionError: boolean,
  ): Promise<void> {
    this.#counts.DroppedEventCount += records.length;
    this.#problem(`${records.length} changes are given up after ${invocations} invocations: ${condition}`);
    if (this.#onFailureUrl === undefined) return;
    const functionArn = this.#function.definition.arn;
    const dropped = { condition, records, shardId, functionArn, invocations, functionError };
    const body = JSON.stringify(onFailureMessage(dropped, this.#context.clock()));
    try {
      await this.#context.sqs.client.send(new SendMessageCommand({ QueueUrl: this.#onFailureUrl, MessageBody: body }));
      this.#counts.OnFailureDestinationDeliveredEventCount += records.length;
    } catch (error) {
      this.#problem(`${this.#mapping.onFailureArn} was not told of them: ${(error as Error).message}`);
    }
  }

  #saveProgress(): void {
    const positions = [...this.#shards].map(([shardId, { progress }]) => [shardId, progress.position]);
    const all = { ...this.#opened.positions, ...Object.fromEntries(positions) };
    this.#context.checkpoints.save(this.#opened.id, this.#mapping.sourceArn, all);
  }

  #lanes(): StreamLane[] {
    return [...this.#shards.values()].flatMap(({ lanes }) => lanes);
  }

  #wake(): void {
    for (const lane of this.#lanes()) lane.wake();
  }

  #isEmpty(): boolean {
    return this.#lanes().every((lane) => lane.isEmpty);
  }

  async #isAtEnd(): Promise<boolean> {
    // What cannot be read now may hold something.
    return await this.#reader.isAtEnd().catch(() => false);
  }

  async #rest(ms: number): Promise<void> {
    const resting = new AbortController();
    this.#readNow = () => resting.abort();
    await delay(ms, undefined, { signal: resting.signal }).catch(() => undefined);
  }

  async #pause(ms: number): Promise<void> {
    await delay(ms, undefined, { signal: this.#pauses.signal }).catch(() => undefined);
  }

  #problem(problem: string): void {
    this.#context.onProblem(this.functionName, problem);
  }
}
