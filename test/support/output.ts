import { vi } from 'vitest';

/** What a function writes while it runs: on Lambda every line of either stream is a line of its log. */
export interface Output {
  /** The lines that are JSON objects so far: those of the logger, and metrics in embedded format. */
  objects(): Record<string, unknown>[];
  /** The lines that are not. */
  texts(): string[];
}

/** Keeps what is written from here on, instead of writing it, until the test ends: spies are taken back then. */
export function keepOutput(): Output {
  let written = '';
  for (const stream of [process.stdout, process.stderr]) {
    vi.spyOn(stream, 'write').mockImplementation((chunk) => {
      written += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString();
      return true;
    });
  }
  const lines = () => written.split('\n').filter((line) => line !== '');
  return {
    objects: () => lines().flatMap((line) => (line.startsWith('{') ? [JSON.parse(line)] : [])),
    texts: () => lines().filter((line) => !line.startsWith('{')),
  };
}
