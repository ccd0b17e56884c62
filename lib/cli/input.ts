import { createReadStream } from 'node:fs';
import { BadInputError, type Io } from './io.ts';

/** One JSON value of an input, and where it stands: `plans.jsonl:3`, `nodes.json[2]`. */
export interface Document {
  readonly where: string;
  readonly value: unknown;
}

export interface InputLimits {
  /** What one document is, for messages: `a plan`. */
  readonly what: string;
  /** Bytes of one document as JSON. */
  readonly each: number;
}

/** Bytes of an input, however many documents it has. */
const MOST_BYTES = 64 * 1024 * 1024;

/** The documents of a file, or of the standard input for `-`: one JSON object, a list of them, or one a line. */
export async function readDocuments(file: string, io: Io, limits: InputLimits): Promise<Document[]> {
  const { where, text } = await readText(file, io, MOST_BYTES);
  if (text.trim() === '') throw new BadInputError(`${where} is empty; expected ${limits.what} as JSON`);
  const documents = documentsOf(text, where, limits.what);
  for (const { where: at, value } of documents) {
    const bytes = Buffer.byteLength(JSON.stringify(value));
    if (bytes > limits.each) {
      throw new BadInputError(`${at} is ${bytes} bytes as JSON; ${limits.what} has at most ${limits.each}: split it`);
    }
  }
  return documents;
}

/**
 * The text of a file, or of the standard input for `-`, and what messages call it. A BadInputError if it cannot be read, or
 * is longer than `most` bytes, of which no more are held.
 */
export async function readText(
  file: string,
  io: Io,
  most: number,
): Promise<{ readonly where: string; readonly text: string }> {
  const where = file === '-' ? 'standard input' : file;
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of file === '-' ? io.input : createReadStream(file)) {
      const buffer = Buffer.from(chunk as Uint8Array);
      bytes += buffer.length;
      if (bytes > most) throw new BadInputError(`${where} is longer than ${most} bytes; split it`);
      chunks.push(buffer);
    }
  } catch (error) {
    if (error instanceof BadInputError) throw error;
    const { code = '', message } = error as NodeJS.ErrnoException;
    const why = { ENOENT: 'there is no such file', EISDIR: 'it is a directory', EACCES: 'it may not be read' }[code];
    throw new BadInputError(`cannot read ${where}: ${why ?? message}; name a file, or - for standard input`, {
      cause: error,
    });
  }
  return { where, text: Buffer.concat(chunks).toString('utf8') };
}

function documentsOf(text: string, where: string, what: string): Document[] {
  const whole = parsedJson(text);
  if ('value' in whole) {
    if (!Array.isArray(whole.value)) return [{ where, value: whole.value }];
    if (whole.value.length === 0) throw new BadInputError(`${where} is an empty list; expected ${what} as JSON`);
    return whole.value.map((value, at) => ({ where: `${where}[${at}]`, value }));
  }
  const lines = text.split('\n').flatMap((line, at) => (line.trim() === '' ? [] : [{ line, number: at + 1 }]));
  const documents = lines.map(({ line, number }) => ({ where: `${where}:${number}`, outcome: parsedJson(line) }));
  // Where the first line is a document of its own, the file is one of lines, and what is wrong is a line.
  const asLines = lines.length > 1 && documents[0] !== undefined && 'value' in documents[0].outcome;
  return documents.map(({ where: at, outcome }) => {
    if ('value' in outcome) return { where: at, value: outcome.value };
    const problem = asLines ? `${at} is not JSON: ${outcome.problem}` : `${where} is not JSON: ${whole.problem}`;
    throw new BadInputError(`${problem}; expected ${what} as JSON, a list of them, or one a line`);
  });
}

function parsedJson(text: string): { readonly value: unknown } | { readonly problem: string } {
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    return { problem: (error as Error).message };
  }
}
