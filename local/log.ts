import { closeSync, existsSync, openSync, renameSync, writeSync } from 'node:fs';
import { type EpochMs, isoTime } from '../lib/time.ts';

/** One line of what happens. */
export interface LogLine {
  readonly at: EpochMs;
  /** Name of the function, or `engine`. */
  readonly source: string;
  /** What a handler printed, or what its surroundings have to say: an exception, a time-out, a batch that comes again. */
  readonly stream: 'stdout' | 'stderr' | 'platform';
  /** The invocation in which it was printed; missing while the bundle is loaded. */
  readonly requestId?: string | undefined;
  readonly line: string;
}

export function formatLogLine({ at, source, stream, line }: LogLine): string {
  return `${isoTime(at)} ${source}${stream === 'platform' ? '!' : ':'} ${line}`;
}

/** Writes the log of one run to a file; the log of the run before is kept beside it, with `.1` behind its name. */
export class LogFile {
  readonly #descriptor: number;

  constructor(file: string) {
    if (existsSync(file)) renameSync(file, `${file}.1`);
    this.#descriptor = openSync(file, 'a');
  }

  write(line: LogLine): void {
    writeSync(this.#descriptor, `${formatLogLine(line)}\n`);
  }

  close(): void {
    closeSync(this.#descriptor);
  }
}
