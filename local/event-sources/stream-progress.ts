import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import * as z from 'zod/mini';
import type { Positions } from '../dynamodb/stream-reader.ts';

/** How far one shard has been dealt with: up to the first record that is not, whatever has been done behind it. */
export class ShardProgress {
  /** In the order of the shard; those at the front that are done are gone. */
  readonly #open: string[] = [];
  readonly #done = new Set<string>();
  #position: string | null;

  constructor(position: string | null) {
    this.#position = position;
  }

  /** Sequence number of the last record before which there is nothing left to do. */
  get position(): string | null {
    return this.#position;
  }

  read(sequenceNumber: string): void {
    this.#open.push(sequenceNumber);
  }

  done(sequenceNumber: string): void {
    this.#done.add(sequenceNumber);
    let count = 0;
    for (const next of this.#open) {
      if (!this.#done.delete(next)) break;
      this.#position = next;
      count += 1;
    }
    this.#open.splice(0, count);
  }
}

const content = z.record(
  z.string(),
  z.object({ streamArn: z.string(), positions: z.record(z.string(), z.nullable(z.string())) }),
);

/** Where the stream sources go on after a restart: in a file, or nowhere. */
export class CheckpointStore {
  readonly #file: string | undefined;
  readonly #entries: z.infer<typeof content>;

  /** @throws Error when the file is damaged */
  constructor(file: string | undefined) {
    this.#file = file;
    this.#entries = file === undefined || !existsSync(file) ? {} : read(file);
  }

  /** Of the source `id`; undefined when it has never run, or ran on another stream. */
  positions(id: string, streamArn: string): Positions | undefined {
    const entry = this.#entries[id];
    return entry?.streamArn === streamArn ? entry.positions : undefined;
  }

  save(id: string, streamArn: string, positions: Positions): void {
    this.#entries[id] = { streamArn, positions: { ...positions } };
    if (this.#file === undefined) return;
    // In one step: whoever is killed in between leaves the file as it was.
    writeFileSync(`${this.#file}.new`, JSON.stringify(this.#entries));
    renameSync(`${this.#file}.new`, this.#file);
  }
}

function read(file: string): z.infer<typeof content> {
  try {
    return content.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch (cause) {
    throw new Error(`${file} is damaged; without it the streams are read as if for the first time`, { cause });
  }
}
