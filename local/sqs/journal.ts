import { closeSync, createReadStream, existsSync, openSync, renameSync, writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { QueueChange } from './queue.ts';

/** What happened to the queue of this name. */
export interface JournalEntry {
  readonly queue: string;
  readonly change: QueueChange | { readonly kind: 'attributes'; readonly attributes: Readonly<Record<string, string>> };
}

/**
 * A file of what happened to the queues: a line per operation, each a JSON list of entries, so that an operation over two
 * queues (a dead letter) is there whole or not at all. A line is handed to the operating system before the operation is
 * answered: it outlives the end of this process by any signal, not a power cut.
 */
export class Journal {
  readonly #file: string;
  #descriptor: number | undefined;

  constructor(file: string) {
    this.#file = file;
  }

  /**
   * The entries of earlier runs, in order. A last line without its end was never answered, and is left out.
   *
   * @throws Error naming file and line when a line cannot be read
   */
  async *read(): AsyncGenerator<JournalEntry> {
    if (!existsSync(this.#file)) return;
    const lines = createInterface({ input: createReadStream(this.#file), crlfDelay: Number.POSITIVE_INFINITY });
    let number = 0;
    let unreadable: number | undefined;
    for await (const line of lines) {
      number += 1;
      if (unreadable !== undefined) throw this.#damaged(unreadable);
      const entries = parseLine(line);
      if (entries === undefined) unreadable = number;
      else yield* entries;
    }
  }

  /** Replaces the file by `entries`, then stays open for `append`. */
  start(entries: Iterable<JournalEntry>): void {
    const fresh = `${this.#file}.new`;
    this.#descriptor = openSync(fresh, 'w');
    for (const entry of entries) this.append([entry]);
    renameSync(fresh, this.#file);
  }

  append(entries: readonly JournalEntry[]): void {
    if (this.#descriptor === undefined) throw new Error(`the journal ${this.#file} is not open`);
    const line = Buffer.from(`${JSON.stringify(entries)}\n`);
    for (let written = 0; written < line.length; ) written += writeSync(this.#descriptor, line, written);
  }

  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }

  #damaged(line: number): Error {
    return new Error(
      `${this.#file}:${line}: not a list of changes in JSON; the file is damaged. ` +
        'Move it away to start with empty queues, or use another data directory',
    );
  }
}

function parseLine(line: string): JournalEntry[] | undefined {
  try {
    const entries = JSON.parse(line) as unknown;
    return Array.isArray(entries) ? entries : undefined;
  } catch {
    return undefined;
  }
}
