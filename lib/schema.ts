import * as z from 'zod/mini';
import { RESULTS } from './settings.ts';
import type { EpochMs } from './time.ts';

/** What the schemas of plans, nodes, pools and tasks have in common. */

/** A problem with one value of an input: where, what was expected, what came. */
export interface Problem {
  /** Path of the value: `placements[3].resources.cpu`; empty for the whole. */
  readonly path: string;
  readonly message: string;
}

const QUANTITY = 'a whole number from 0 to 9007199254740991';

/** An amount of a resource: a non-negative safe integer, since DynamoDB, JSON and JavaScript agree on no other. */
export const quantity = z
  .number({ error: QUANTITY })
  .check(
    z.int({ error: QUANTITY }),
    z.gte(0, { error: QUANTITY }),
    z.lte(Number.MAX_SAFE_INTEGER, { error: QUANTITY }),
  );

/** A whole number from `min` to `max`, both included. */
export function integer(min: number, max: number) {
  const expected = `a whole number from ${min} to ${max}`;
  return z
    .number({ error: expected })
    .check(z.int({ error: expected }), z.gte(min, { error: expected }), z.lte(max, { error: expected }));
}

/** Half of a pair that stands for one character: a text with one is no UTF-8, and comes back from DynamoDB as another. */
const LONE_SURROGATES = /\p{Cs}/gu;
const NO_LONE_SURROGATE = /^\P{Cs}*$/u;

/** A text of at most `max` characters, with at least `min`; a character is a code point, as in JSON Schema. */
export function text(min: number, max: number) {
  const expected = `a text of ${min} to ${max} characters`;
  return z
    .string({ error: expected })
    .check(
      z.minLength(min, { error: expected }),
      z.maxLength(max, { error: expected }),
      z.regex(NO_LONE_SURROGATE, { error: 'a text of whole characters, without lone surrogates (U+D800 to U+DFFF)' }),
    );
}

/** An object of these fields and no others. */
export function objectOf<T extends z.core.$ZodLooseShape>(shape: T) {
  return z.strictObject(shape, { error: ({ code }) => (code === 'invalid_type' ? 'an object' : undefined) });
}

/** An object of at most `max` values by name. */
export function recordOf<V extends z.ZodMiniType>(
  name: z.ZodMiniType<string, string>,
  value: V,
  max: number,
  expected: string,
) {
  const record = z.record(name, value, { error: expected }).register(z.globalRegistry, { maxProperties: max });
  // zod counts the names only after it has looked at each, and drops a `__proto__` without a word.
  const guard = z.transform((input: unknown, { issues }) => {
    if (typeof input !== 'object' || input === null) return input;
    if (Object.hasOwn(input, '__proto__')) {
      issues.push({ code: 'custom', path: ['__proto__'], input, message: 'no name that can be used: take it out' });
    }
    const count = Object.keys(input).length;
    if (count > max) issues.push({ code: 'custom', input, message: `expected at most ${max} names, got ${count}` });
    return input;
  });
  return z.pipe(guard, record) as unknown as z.ZodMiniType<Record<string, z.output<V>>, Record<string, z.input<V>>>;
}

const TIME = 'a time in milliseconds since 1970';

/** A time; at most the latest that a Date can hold. */
export const epochMs = z
  .number({ error: TIME })
  .check(
    z.int({ error: TIME }),
    z.gte(0, { error: TIME }),
    z.lte(8_640_000_000_000_000, { error: TIME }),
  ) as unknown as z.ZodMiniType<EpochMs, EpochMs>;

/** One of `values`. */
export function oneOf<const V extends readonly [string, ...string[]]>(values: V) {
  return z.enum(values, { error: `one of ${values.join(', ')}` });
}

/** A list of at most `max` of `item`. */
export function listOf<S extends z.ZodMiniType>(item: S, max: number) {
  return z.array(item, { error: 'a list' }).check(z.maxLength(max, { error: `at most ${max} entries` }));
}

/** true or false. */
export const flag = z.boolean({ error: 'true or false' });

/** `placements[3].resources.cpu` from the parts of a path. */
export function pathText(parts: readonly PropertyKey[]): string {
  let path = '';
  for (const part of parts) {
    if (typeof part === 'number') path += `[${part}]`;
    else path += path === '' ? clip(String(part), 80) : `.${clip(String(part), 80)}`;
  }
  return path;
}

/**
 * `text` cut to `length` UTF-16 units, so that a message never carries an input of a megabyte, and with every half of a
 * character replaced, its own cut included: what is stored is UTF-8.
 */
export function clip(text: string, length: number): string {
  const cut = text.length <= length ? text : `${text.slice(0, length - 1)}…`;
  return cut.replace(LONE_SURROGATES, '\uFFFD');
}

/** What a terminal takes for an order: control characters, and those that turn the direction of writing. */
const CONTROL = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu;

/**
 * `text` as one line of at most `length` UTF-16 units that a terminal and a log show as it is: line breaks and tabs are
 * blanks, of other control characters it is seen that there was one. For whatever was said by somebody outside.
 */
export function oneLine(text: string, length: number): string {
  return clip(text, length).replace(CONTROL, (one) => (/\s/.test(one) ? ' ' : '\uFFFD'));
}

/** `text` with every control character but line breaks and tabs as JSON escapes it. In JSON it stays the same value. */
export function printable(text: string): string {
  return text.replace(CONTROL, (one) =>
    one === '\n' || one === '\t' ? one : `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** How a value that was not expected is shown in a problem. */
export function shown(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (typeof value === 'string') return JSON.stringify(clip(value, 60));
  if (typeof value === 'number' || typeof value === 'boolean' || value === null) return String(value);
  if (Array.isArray(value)) return `a list of ${value.length}`;
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  let value: unknown = input;
  for (const part of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined;
    value = (value as Record<PropertyKey, unknown>)[part];
  }
  return value;
}

/**
 * The problems that a schema found with `input`, each with its path, what was expected and what came; bounded. `at` is
 * the path of `input` itself.
 */
export function problemsOf(error: z.core.$ZodError, input: unknown, at: readonly PropertyKey[] = []): Problem[] {
  return boundedProblems(problemsIn(error, input, at));
}

function* problemsIn(error: z.core.$ZodError, input: unknown, at: readonly PropertyKey[]): Generator<Problem> {
  let last: Problem | undefined;
  for (const issue of error.issues) {
    const path = pathText([...at, ...issue.path]);
    if (issue.code === 'unrecognized_keys') {
      for (const key of issue.keys) {
        yield {
          path: pathText([...at, ...issue.path, key]),
          message: 'unknown field: take it out, or check its spelling',
        };
      }
    } else if (issue.code === 'invalid_key') {
      yield { path, message: `name expected to be ${issue.issues[0]?.message ?? issue.message}` };
    } else if (issue.code === 'custom') {
      yield { path, message: issue.message };
    } else {
      const value = valueAt(input, issue.path);
      const got = value === undefined ? 'it is missing' : `got ${shown(value)}`;
      const message = `expected ${issue.message}, ${got}`;
      // A value may break several rules that are told in one sentence: a number that is neither whole nor small enough.
      if (path !== last?.path || message !== last.message) yield { path, message };
      last = { path, message };
    }
  }
}

/** At most `RESULTS.maxProblems` of `problems`, and that there are more. */
export function boundedProblems(problems: Iterable<Problem>): Problem[] {
  const kept: Problem[] = [];
  for (const { path, message } of problems) {
    if (kept.length === RESULTS.maxProblems) {
      kept.push({ path: '', message: `and more: ${RESULTS.maxProblems} problems are listed` });
      break;
    }
    kept.push({ path: clip(path, RESULTS.maxMessageLength), message: clip(message, RESULTS.maxMessageLength) });
  }
  return kept;
}

/** Thrown when a value that a caller hands in is not of its shape: names every problem with its path. */
export class InvalidInputError extends Error {
  override readonly name = 'InvalidInputError';
  readonly problems: readonly Problem[];

  constructor(what: string, problems: readonly Problem[]) {
    super(
      `${what} is invalid: ${problems.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)).join('; ')}`,
    );
    this.problems = problems;
  }
}

/** `input` as `schema` has it, or an InvalidInputError that names `what`. */
export function parsed<S extends z.ZodMiniType>(schema: S, input: unknown, what: string): z.output<S> {
  const outcome = schema.safeParse(input);
  if (outcome.success) return outcome.data;
  throw new InvalidInputError(what, problemsOf(outcome.error, input));
}
