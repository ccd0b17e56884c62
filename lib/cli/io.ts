import type { SingleBar } from 'cli-progress';
import { printable } from '../schema.ts';

/** What the command has of the process that runs it. */
export interface Io {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  readonly input: AsyncIterable<Uint8Array | string>;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Where somebody watches how it goes on; undefined: nobody does. */
  readonly terminal?: NodeJS.WritableStream | undefined;
}

/** `io` whose terminal takes no orders from what is printed: names and messages are other people's. */
export function readableIo(io: Io): Io {
  return { ...io, out: (text) => io.out(printable(text)), err: (text) => io.err(printable(text)) };
}

/** Exit statuses, as docs/operators.md has them. */
export const EXIT = {
  done: 0,
  /** It could not be done: what is named is not there, what is there does not allow it, or AWS could not be reached. */
  failed: 1,
  /** The command line, a file or the environment is wrong; nothing was sent. */
  badInput: 2,
  /** It was done, and the answer is no: a plan not applied in full, an account that drifted, a message that stays. */
  no: 3,
} as const;
export type ExitStatus = (typeof EXIT)[keyof typeof EXIT];

/** Thrown when what somebody typed, or a file or variable that it names, cannot be used. Says what, where, and what to do instead. */
export class BadInputError extends Error {
  override readonly name = 'BadInputError';
}

/** Thrown when what somebody names is not there. Says what, where it may be instead, and how to see what is there. */
export class NotThereError extends Error {
  override readonly name = 'NotThereError';
}

/**
 * Whether somebody says yes to `question`, on the next line of the input. Throws BadInputError if nobody watches who could be
 * asked.
 */
export async function confirmed({ terminal, err, input }: Io, question: string): Promise<boolean> {
  if (!terminal) throw new BadInputError(`nobody is there to be asked: ${question}? Add --yes to say so beforehand`);
  err(`${question}? [y/N] `);
  let answer = '';
  for await (const chunk of input) {
    answer += String(chunk);
    if (answer.includes('\n')) break;
  }
  return /^\s*y(es)?\s*(\n|$)/i.test(answer);
}

/** A line that shows how far something has come. */
export interface Progress {
  at(value: number, of?: number): void;
  end(): void;
}

/** Shows progress on the terminal, if there is one. `done` says what is counted: `tasks read`. */
export async function showProgress({ terminal }: Io, done: string): Promise<Progress> {
  if (!terminal) return { at: () => undefined, end: () => undefined };
  const { default: progress } = await import('cli-progress');
  const bar: SingleBar = new progress.SingleBar({
    stream: terminal,
    hideCursor: true,
    clearOnComplete: true,
    stopOnComplete: false,
    format: (_options, { value, total }) => (total > 0 ? `${value} of ${total} ${done}` : `${value} ${done}`),
  });
  bar.start(0, 0);
  return {
    at(value, of = 0) {
      bar.setTotal(of);
      bar.update(value);
    },
    end: () => bar.stop(),
  };
}
