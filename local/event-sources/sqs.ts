import { setTimeout as delay } from 'node:timers/promises';
import {
  DeleteMessageBatchCommand,
  GetQueueAttributesCommand,
  type Message,
  ReceiveMessageCommand,
  type SQSClient,
} from '@aws-sdk/client-sqs';
import type { FunctionRunner } from '../functions/function-runner.ts';
import { type DeclaredMapping, type SqsMapping, sqsMapping } from '../template/event-source-mappings.ts';
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
import { groupOf, type SqsRecord, splitBySize, sqsRecord } from './sqs-event.ts';

/** Seconds that one receive waits for messages: as long may `pause` take with a queue that is not the engine's own. */
const WAIT_SECONDS = 1;
/** Messages of one request, to receive or to delete. */
const REQUEST_MESSAGES = 10;
/** Milliseconds between two looks at a queue or after a receive that failed. */
const PAUSE_MS = 20;
const RETRY_MS = 1_000;

const COUNTS = [
  'ApproximateNumberOfMessages',
  'ApproximateNumberOfMessagesNotVisible',
  'ApproximateNumberOfMessagesDelayed',
] as const;

/**
 * Invokes a function with the messages of a queue, as Lambda's event source mapping does: up to ten at once, or as many as
 * can be gathered in the window of a standard queue's mapping, several batches side by side. What succeeded is deleted; what failed is left alone, so that it turns visible again when the
 * queue's visibility time-out is over, and the rest of its group waits that long.
 */
export class SqsEventSource implements EventSource {
  readonly functionName: string;
  readonly source: string;
  readonly #mapping: SqsMapping;
  readonly #function: FunctionRunner;
  readonly #client: SQSClient;
  readonly #queueName: string;
  readonly #queueUrl: string;
  readonly #context: EventSourceContext;
  readonly #maxBatches: number;
  readonly #batches = new Set<Promise<void>>();
  readonly #counts = { ...NO_COUNTS };
  /** Set while messages are taken. */
  #polling: Promise<void> | undefined;
  #paused = true;
  /** Callers of `idle` that wait. */
  #hurried = 0;

  constructor(declared: DeclaredMapping, context: EventSourceContext) {
    this.#mapping = sqsMapping(context.resources, declared);
    this.#context = context;
    this.#client = context.sqs.client;
    const queue = queueOf(context, declared.declared, declared.sourceArn);
    this.#queueName = queue.name;
    this.#queueUrl = queue.url;
    this.#function = functionOf(context, declared.declared, declared.functionName);
    this.functionName = this.#function.definition.name;
    this.source = `queue ${queue.name}`;
    // More batches than environments would hold their messages, and their visibility time-out would run.
    this.#maxBatches = Math.min(
      this.#mapping.maximumConcurrency ?? Number.POSITIVE_INFINITY,
      this.#function.maxConcurrency,
    );
  }

  get counts(): EventCounts {
    return { ...this.#counts };
  }

  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    // One that is still ending would not see that it is wanted again.
    this.#polling = Promise.resolve(this.#polling).then(() => this.#poll());
  }

  async pause(): Promise<void> {
    this.#paused = true;
    const polling = Promise.resolve(this.#polling).then(() => 'ended' as const);
    // Again and again: the receive may still be on its way to the queue, and begin to wait there after this.
    do this.#context.sqs.endWaits(this.#queueName);
    while ((await Promise.race([polling, delay(PAUSE_MS)])) !== 'ended');
    await Promise.all(this.#batches);
  }

  async idle(): Promise<void> {
    this.#hurried += 1;
    try {
      while (this.#batches.size > 0 || !(await this.#isEmpty())) {
        // One that gathers is to see that somebody waits.
        if (this.#mapping.windowMs > 0) this.#context.sqs.endWaits(this.#queueName);
        await Promise.race([delay(PAUSE_MS), ...this.#batches]);
      }
    } finally {
      this.#hurried -= 1;
    }
  }

  async stop(graceMs: number): Promise<void> {
    await endsWithin(graceMs, this.pause());
  }

  async #poll(): Promise<void> {
    while (!this.#paused) {
      if (this.#batches.size >= this.#maxBatches) {
        await Promise.race(this.#batches);
        continue;
      }
      const messages = await this.#gather();
      if (messages.length === 0) continue;
      const batch = this.#process(messages)
        .catch((error: Error) => this.#problem(`batch of ${messages.length} messages: ${error.stack}`))
        .finally(() => this.#batches.delete(batch));
      this.#batches.add(batch);
    }
  }

  /** The messages of one batch. */
  async #gather(): Promise<Message[]> {
    const { batchSize, windowMs } = this.#mapping;
    const messages = await this.#receive(batchSize);
    const end = this.#context.clock() + windowMs;
    while (messages.length > 0 && messages.length < batchSize && this.#context.clock() < end) {
      if (this.#paused || this.#hurried > 0) break;
      messages.push(...(await this.#receive(batchSize - messages.length)));
    }
    return messages;
  }

  async #receive(max: number): Promise<Message[]> {
    try {
      const { Messages = [] } = await this.#client.send(
        new ReceiveMessageCommand({
          QueueUrl: this.#queueUrl,
          MaxNumberOfMessages: Math.min(max, REQUEST_MESSAGES),
          WaitTimeSeconds: WAIT_SECONDS,
          MessageSystemAttributeNames: ['All'],
          MessageAttributeNames: ['All'],
        }),
      );
      this.#counts.PolledEventCount += Messages.length;
      return Messages;
    } catch (error) {
      this.#problem(`cannot receive from ${this.#queueName}: ${(error as Error).message}`);
      await delay(RETRY_MS);
      return [];
    }
  }

  /** One batch. In parts where it is too large for one invocation, one after the other, to keep each group in order. */
  async #process(messages: readonly Message[]): Promise<void> {
    const records = messages.map((message) =>
      sqsRecord(message, this.#mapping.sourceArn, this.#context.resources.place.region),
    );
    const failedGroups = new Set<string>();
    for (const part of splitBySize(records)) {
      const next = part.filter((record) => !failedGroups.has(groupOf(record)));
      if (next.length === 0) continue;
      for (const failed of await this.#invoke(next)) failedGroups.add(groupOf(failed));
    }
  }

  /** Answers the records that failed; the others are deleted. */
  async #invoke(records: readonly SqsRecord[]): Promise<SqsRecord[]> {
    this.#counts.invocations += 1;
    this.#counts.InvokedEventCount += records.length;
    const result = await this.#function.invoke({ Records: records });
    const ids = records.map((record) => record.messageId);
    const { failed, problem } = batchOutcome(result, ids, this.#mapping.reportBatchItemFailures);
    this.#counts.FailedInvokeEventCount += failed.size;
    if (problem !== undefined) this.#problem(`${records.length} messages will be delivered again: ${problem}`);
    const done = records.filter((record) => !failed.has(record.messageId));
    for (let index = 0; index < done.length; index += REQUEST_MESSAGES) {
      await this.#delete(done.slice(index, index + REQUEST_MESSAGES));
    }
    return records.filter((record) => failed.has(record.messageId));
  }

  async #delete(records: readonly SqsRecord[]): Promise<void> {
    try {
      const { Failed = [] } = await this.#client.send(
        new DeleteMessageBatchCommand({
          QueueUrl: this.#queueUrl,
          Entries: records.map((record, index) => ({ Id: String(index), ReceiptHandle: record.receiptHandle })),
        }),
      );
      // Usually the function took longer than the visibility time-out.
      for (const { Id, Message } of Failed) {
        this.#problem(`message ${records[Number(Id)]?.messageId} could not be deleted and comes again: ${Message}`);
      }
    } catch (error) {
      this.#problem(`${records.length} messages could not be deleted and come again: ${(error as Error).message}`);
    }
  }

  async #isEmpty(): Promise<boolean> {
    const { Attributes = {} } = await this.#client.send(
      new GetQueueAttributesCommand({ QueueUrl: this.#queueUrl, AttributeNames: [...COUNTS] }),
    );
    return COUNTS.every((name) => Number(Attributes[name] ?? 0) === 0);
  }

  #problem(problem: string): void {
    this.#context.onProblem(this.functionName, problem);
  }
}
