import {
  type _Record,
  DescribeStreamCommand,
  type DynamoDBStreamsClient,
  GetRecordsCommand,
  GetShardIteratorCommand,
  type GetShardIteratorCommandInput,
  type Shard,
} from '@aws-sdk/client-dynamodb-streams';

/** A page of one shard. */
export interface Page {
  readonly shardId: string;
  readonly records: readonly _Record[];
  /** Why there are none; the next read tries again. */
  readonly error?: Error | undefined;
}

/** By shard: the sequence number of the last record that is not to be read again; null: none, the shard from its beginning. */
export type Positions = Readonly<Record<string, string | null>>;

interface ShardState {
  /** Undefined: to be had anew, at the start and after an error. */
  iterator: string | undefined;
  after: string | null;
  ended: boolean;
}

/** Records of one read at most. Source: DynamoDB API, `GetRecords`. */
const PAGE_RECORDS = 1000;

/** Reads the shards of one stream side by side, each in order, a child after its parent. */
export class StreamReader {
  readonly #client: DynamoDBStreamsClient;
  readonly #streamArn: string;
  readonly #positions: Positions;
  readonly #shards = new Map<string, ShardState>();
  /** The look-up of shards; undefined when one is due. */
  #discovery: Promise<void> | undefined;

  /** @param positions where to go on; a shard that is not among them is read from its beginning */
  constructor(client: DynamoDBStreamsClient, streamArn: string, positions: Positions) {
    this.#client = client;
    this.#streamArn = streamArn;
    this.#positions = positions;
  }

  /** The positions from which only what is written from now on is read. */
  static async latest(client: DynamoDBStreamsClient, streamArn: string): Promise<Positions> {
    const reader = new StreamReader(client, streamArn, {});
    // An iterator for the end does not outlive the database's process, as a sequence number does: hence read to the end.
    for await (const _ of reader.toEnd());
    return Object.fromEntries([...reader.#shards].map(([shardId, { after }]) => [shardId, after]));
  }

  /** The next page of each shard; without records where there are none at the moment. */
  async read(): Promise<Page[]> {
    await this.#discover();
    return await Promise.all(this.#open().map(([shardId, shard]) => this.#readShard(shardId, shard)));
  }

  /** All records that are left at the moment. @throws Error when they cannot be read */
  async *toEnd(): AsyncIterable<_Record> {
    for (;;) {
      const pages = await this.read();
      for (const { error } of pages) if (error !== undefined) throw error;
      // Where a shard has just ended, its children are still to come.
      if (this.#discovery !== undefined && pages.every(({ records }) => records.length === 0)) return;
      for (const { records } of pages) yield* records;
    }
  }

  /** Whether everything has been read up to now. Takes nothing from `read`. */
  async isAtEnd(): Promise<boolean> {
    await this.#discover();
    const left = await Promise.all(
      this.#open().map(async ([shardId, shard]) => {
        const ShardIterator = shard.iterator ?? (await this.#iterator(shardId, shard.after));
        const { Records = [] } = await this.#client.send(new GetRecordsCommand({ ShardIterator, Limit: 1 }));
        return Records.length;
      }),
    );
    return left.every((count) => count === 0);
  }

  #open(): [string, ShardState][] {
    return [...this.#shards].filter(([, { ended }]) => !ended);
  }

  async #discover(): Promise<void> {
    if (this.#open().length === 0 && this.#shards.size > 0) this.#discovery = undefined;
    this.#discovery ??= this.#lookUp();
    try {
      await this.#discovery;
    } catch (error) {
      this.#discovery = undefined;
      throw error;
    }
  }

  async #lookUp(): Promise<void> {
    const found: Shard[] = [];
    let last: string | undefined;
    do {
      const { StreamDescription } = await this.#client.send(
        new DescribeStreamCommand({ StreamArn: this.#streamArn, ExclusiveStartShardId: last }),
      );
      found.push(...(StreamDescription?.Shards ?? []));
      last = StreamDescription?.LastEvaluatedShardId;
    } while (last !== undefined);
    const isThere = new Set(found.map(({ ShardId }) => ShardId));
    for (const { ShardId = '', ParentShardId = '' } of found) {
      if (this.#shards.has(ShardId)) continue;
      const parentIsRead = !isThere.has(ParentShardId) || this.#shards.get(ParentShardId)?.ended === true;
      if (!parentIsRead) continue;
      this.#shards.set(ShardId, { iterator: undefined, after: this.#positions[ShardId] ?? null, ended: false });
    }
  }

  async #readShard(shardId: string, shard: ShardState): Promise<Page> {
    try {
      shard.iterator ??= await this.#iterator(shardId, shard.after);
      const { Records = [], NextShardIterator } = await this.#client.send(
        new GetRecordsCommand({ ShardIterator: shard.iterator, Limit: PAGE_RECORDS }),
      );
      shard.iterator = NextShardIterator;
      shard.after = Records.at(-1)?.dynamodb?.SequenceNumber ?? shard.after;
      if (NextShardIterator === undefined) {
        shard.ended = true;
        // Its children can be read now.
        this.#discovery = undefined;
      }
      return { shardId, records: Records };
    } catch (error) {
      // An iterator expires, but where it stood is known. Records that are gone are not waited for.
      shard.iterator = undefined;
      if ((error as Error).name === 'TrimmedDataAccessException') shard.after = null;
      return { shardId, records: [], error: error as Error };
    }
  }

  async #iterator(shardId: string, after: string | null): Promise<string | undefined> {
    const input: GetShardIteratorCommandInput = {
      StreamArn: this.#streamArn,
      ShardId: shardId,
      ...(after === null
        ? { ShardIteratorType: 'TRIM_HORIZON' }
        : { ShardIteratorType: 'AFTER_SEQUENCE_NUMBER', SequenceNumber: after }),
    };
    return (await this.#client.send(new GetShardIteratorCommand(input))).ShardIterator;
  }
}
