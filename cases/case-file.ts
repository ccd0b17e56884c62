import { readFileSync } from 'node:fs';
import { shown } from '../lib/schema.ts';

/** One case of a file, as it stands there. What its kind makes of the rest is for whoever runs that kind. */
export interface AnyCase {
  readonly id: string;
  /** Undefined where the file names none: those of the reaper and of the scaler. */
  readonly kind: string | undefined;
  readonly content: Readonly<Record<string, unknown>>;
}

/** Thrown when a file cannot be read as cases: names it and says what is wrong. Nothing of it was run. */
export class CaseFileError extends Error {
  override readonly name = 'CaseFileError';
}

/** The cases of `file`: a JSON array of objects with an `id` each. Throws CaseFileError. */
export function readCaseFile(file: string): AnyCase[] {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    throw new CaseFileError(`${file}: ${code === 'ENOENT' ? 'there is no such file' : message}`, { cause });
  }
  return casesOf(text, file);
}

/** The cases in `text`; `file` names it in errors. */
export function casesOf(text: string, file: string): AnyCase[] {
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch (cause) {
    throw new CaseFileError(`${file}: not JSON: ${(cause as Error).message}`, { cause });
  }
  if (!Array.isArray(content)) {
    throw new CaseFileError(`${file}: expected a JSON array of cases, got ${shown(content)}`);
  }
  return content.map((one: unknown, at) => {
    if (typeof one !== 'object' || one === null || Array.isArray(one)) {
      throw new CaseFileError(`${file}: [${at}]: expected a case, an object with an id, got ${shown(one)}`);
    }
    const { id, kind } = one as { id?: unknown; kind?: unknown };
    if (typeof id !== 'string' || id === '') {
      throw new CaseFileError(`${file}: [${at}].id: expected a text that names the case, got ${shown(id)}`);
    }
    return {
      id,
      kind: kind === undefined ? undefined : typeof kind === 'string' ? kind : JSON.stringify(kind),
      content: one as AnyCase['content'],
    };
  });
}
