import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { DynamoDBStreamsClient } from '@aws-sdk/client-dynamodb-streams';
import type { EpochMs } from '../../lib/time.ts';
import type { CreatedTable } from './create-tables.ts';
import { expireItems, type Key } from './expire-items.ts';
import { StreamReader } from './stream-reader.ts';

/** The tables with their streams, and which of the deletes in these are by TTL: the database itself neither makes nor marks any. */
export class Streams {
  readonly client: DynamoDBStreamsClient;
  readonly tables: readonly CreatedTable[];
  readonly #dynamodb: DynamoDBClient;
  readonly #readings = new Set<Promise<unknown>>();
  #expiring: Promise<unknown> | undefined;
  /** Streams as far as they have been looked through for deletes by TTL. */
  readonly #readers = new Map<string, StreamReader>();
  readonly #expiries = new Set<string>();

  constructor(client: DynamoDBStreamsClient, dynamodb: DynamoDBClient, tables: readonly CreatedTable[]) {
    this.client = client;
    this.tables = tables;
    this.#dynamodb = dynamodb;
  }

  /** Runs `read`, not while items are being deleted of which it is not known yet that TTL deleted them. */
  async read<T>(read: () => Promise<T>): Promise<T> {
    while (this.#expiring !== undefined) await this.#expiring;
    const reading = read();
    this.#readings.add(reading);
    try {
      return await reading;
    } finally {
      this.#readings.delete(reading);
    }
  }

  /** Whether the change with this number was made by `expire`. */
  isExpiry(streamArn: string, sequenceNumber: string): boolean {
    return this.#expiries.has(`${streamArn} ${sequenceNumber}`);
  }

  /** Deletes what has expired by `now`, as TTL does. Answers how many items that were. */
  async expire(now: EpochMs): Promise<number> {
    while (this.#expiring !== undefined) await this.#expiring;
    const run = this.#expire(now);
    this.#expiring = run
      .catch(() => undefined)
      .finally(() => {
        this.#expiring = undefined;
      });
    return await run;
  }

  async #expire(now: EpochMs): Promise<number> {
    await Promise.allSettled(this.#readings);
    let count = 0;
    for (const table of this.tables) {
      const deleted = await expireItems(this.#dynamodb, table, now);
      if (table.streamArn !== undefined && deleted.length > 0) await this.#mark(table.streamArn, table, deleted);
      count += deleted.length;
    }
    return count;
  }

  /** Finds the deletes in the stream: the last of each key. */
  async #mark(streamArn: string, table: CreatedTable, deleted: readonly Key[]): Promise<void> {
    const textOf = (key: Key = {}) => JSON.stringify(table.keys.map((name) => key[name]));
    const wanted = new Set(deleted.map(textOf));
    const found = new Map<string, string>();
    const reader = this.#readers.get(streamArn) ?? new StreamReader(this.client, streamArn, {});
    this.#readers.set(streamArn, reader);
    for await (const { eventName, dynamodb } of reader.toEnd()) {
      const key = textOf(dynamodb?.Keys);
      if (eventName === 'REMOVE' && wanted.has(key)) found.set(key, dynamodb?.SequenceNumber ?? '');
    }
    for (const sequenceNumber of found.values()) this.#expiries.add(`${streamArn} ${sequenceNumber}`);
  }
}
