import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DynamoDBClient, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { type Message, ReceiveMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { marshall } from '@aws-sdk/util-dynamodb';
import { afterEach, beforeEach } from 'vitest';
import { type EpochMs, systemClock } from '../../lib/time.ts';
import { type Engine, type EngineOptions, startEngine } from '../engine.ts';
import type { LogLine } from '../log.ts';
import { testFunction, testStandardQueue, testStreamMapping, testTable, writeAssembly } from '../test-assembly.ts';
import type { EventCounts } from './event-source.ts';

/**
 * The function under all of these: it prints the `id` of each change, `p/s` with what the item is told to do behind it,
 * as one line, then does that: `fail` fails that change, `throw` all; `once` fails
 * it the first time; `wait` waits for `go`; `nonsense` makes it answer what is not understood.
 */
export const HANDLER = `
  const idOf = ({ dynamodb: { Keys, NewImage, OldImage } }) =>
    [Keys.p.S + '/' + Keys.s.S, (NewImage ?? OldImage).does?.S].filter(Boolean).join(' ');
  export const handler = async ({ Records }) => {
    console.log(JSON.stringify(Records.map(idOf)));
    const told = (what) => Records.filter((record) => record.dynamodb.NewImage?.does?.S === what);
    if (told('throw').length > 0) throw new RangeError('told to');
    if (told('once').length > 0 && !globalThis.failed) {
      globalThis.failed = true;
      return { batchItemFailures: [{ itemIdentifier: told('once')[0].dynamodb.SequenceNumber }] };
    }
    if (told('nonsense').length > 0) return { batchItemFailures: [{ itemIdentifier: 'nobody' }] };
    if (told('wait').length > 0) await new Promise((resolve) => {
      const go = new BroadcastChannel('go');
      go.onmessage = () => { go.close(); resolve(); };
    });
    const failures = told('fail').toReversed();
    return { batchItemFailures: failures.map(({ dynamodb }) => ({ itemIdentifier: dynamodb.SequenceNumber })) };
  };`;

/** For `expect.poll`. */
export const PATIENT = { timeout: 30_000 };

/** Properties of a mapping that tells the queue `failed` of what is given up. */
export const ON_FAILURE = { DestinationConfig: { OnFailure: { Destination: { 'Fn::GetAtt': ['Failed', 'Arn'] } } } };

export interface Setup extends EngineOptions {
  readonly handler?: string;
  readonly mapping?: Record<string, unknown>;
}

/** An engine with the table `Things`, the queue `failed`, and the function `Worker` on the table's stream. */
export class StreamBed {
  directory = '';
  engine!: Engine;
  dynamodb!: DynamoDBClient;
  log: LogLine[] = [];
  /** Time of record ages and windows; it passes when a test says so. */
  now = 0 as EpochMs;
  #sqs!: SQSClient;

  /** Makes one for every test of the file, and ends what it started. */
  static use(): StreamBed {
    const bed = new StreamBed();
    beforeEach(() => {
      bed.directory = mkdtempSync(join(tmpdir(), 'berth-stream-'));
      bed.log = [];
      bed.now = systemClock();
    });
    afterEach(async () => {
      await bed.stop();
      rmSync(bed.directory, { recursive: true });
    });
    return bed;
  }

  /** Starts the engine, paused, so that a test can write first. */
  async start({ handler = HANDLER, mapping, ...options }: Setup = {}): Promise<void> {
    const Resources = {
      Things: testTable('Things'),
      Failed: testStandardQueue('failed'),
      Worker: testFunction('worker'),
      Mapping: testStreamMapping('Things', 'Worker', mapping),
    };
    const assembly = writeAssembly(join(this.directory, 'assembly'), { Test: { Resources } }, { worker: handler });
    const onLog = (line: LogLine) => this.log.push(line);
    this.engine = await startEngine({ assembly, paused: 'all', clock: () => this.now, onLog, ...options });
    this.dynamodb = new DynamoDBClient({ endpoint: this.engine.endpoints.dynamodb });
    this.#sqs = new SQSClient({ endpoint: this.engine.endpoints.sqs });
  }

  async stop(): Promise<void> {
    this.dynamodb.destroy();
    this.#sqs.destroy();
    await this.engine.stop();
  }

  /** Writes items: `a/1 fail` has the keys a and 1 and tells the function to fail it. */
  async put(...items: readonly string[]): Promise<void> {
    for (const item of items) {
      const [key = '', does] = item.split(' ');
      const [p, s] = key.split('/');
      const Item = marshall({ p, s, does }, { removeUndefinedValues: true });
      await this.dynamodb.send(new PutItemCommand({ TableName: 'Things', Item }));
    }
  }

  async work(): Promise<void> {
    this.engine.eventSources.resume();
    await this.engine.eventSources.idle();
  }

  passSeconds(seconds: number): void {
    this.now = (this.now + seconds * 1000) as EpochMs;
  }

  /** What the function printed, by line: with `HANDLER`, what each invocation got. */
  // biome-ignore lint/suspicious/noExplicitAny: JSON that each test knows the shape of
  got(): any[] {
    return this.log.filter(({ stream }) => stream === 'stdout').map(({ line }) => JSON.parse(line));
  }

  /** What the source had to say. */
  problems(): string[] {
    const ofSource = this.log.filter(({ stream, requestId }) => stream === 'platform' && requestId === undefined);
    return ofSource.map(({ line }) => line);
  }

  counts(): EventCounts {
    return this.engine.eventSources.counts('Worker');
  }

  /** What the on-failure queue was told. */
  // biome-ignore lint/suspicious/noExplicitAny: JSON that each test knows the shape of
  async failed(): Promise<any[]> {
    const input = { QueueUrl: this.engine.queues.get('failed')?.url, MaxNumberOfMessages: 10 };
    const { Messages = [] } = await this.#sqs.send(new ReceiveMessageCommand(input));
    return Messages.map(({ Body = '' }: Message) => JSON.parse(Body));
  }
}

/** Lets the invocations go that were told to wait. */
export function go(): void {
  const channel = new BroadcastChannel('go');
  channel.postMessage('go');
  channel.close();
}

/** Items `a/1` to `a/<count>`. */
export const numbered = (count: number, p = 'a') => Array.from({ length: count }, (_, index) => `${p}/${index + 1}`);
