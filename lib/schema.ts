import * as z from 'zod/mini';
import { RESULTS } from './settings.ts';

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

/** A text of at most `max` characters, with at least `min`. */
export function text(min: number, max: number) {
  const expected = `a text of ${min} to ${max} characters`;
  return z
    .string({ error: expected })
    .check(z.minLength(min, { error: expected }), z.maxLength(max, { error: expected }));
}

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

/** `text` cut to `length` characters, so that a message never carries an input of a megabyte. */
export function clip(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`;
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

/** The problems that a schema found with `input`, each with its path, what was expected and what came; bounded. */
export function problemsOf(error: z.core.$ZodError, input: unknown): Problem[] {
  const problems: Problem[] = [];
  for (const issue of error.issues) {
    if (issue.code === 'unrecognized_keys') {
      for (const key of issue.keys) {
        problems.push({
          path: pathText([...issue.path, key]),
          message: 'unknown field: take it out, or check its spelling',
        });
      }
    } else if (issue.code === 'invalid_key') {
      problems.push({
        path: pathText(issue.path),
        message: `name expected to be ${issue.issues[0]?.message ?? issue.message}`,
      });
    } else if (issue.code === 'custom') {
      problems.push({ path: pathText(issue.path), message: issue.message });
    } else {
      const value = valueAt(input, issue.path);
      const got = value === undefined ? 'it is missing' : `got ${shown(value)}`;
      problems.push({ path: pathText(issue.path), message: `expected ${issue.message}, ${got}` });
    }
  }
  return boundedProblems(problems);
}

/** At most `RESULTS.maxProblems` of `problems`, and how many more there are. */
export function boundedProblems(problems: readonly Problem[]): Problem[] {
  const kept = problems
    .slice(0, RESULTS.maxProblems)
    .map(({ path, message }) => ({
      path: clip(path, RESULTS.maxMessageLength),
      message: clip(message, RESULTS.maxMessageLength),
    }));
  const more = problems.length - kept.length;
  if (more > 0) kept.push({ path: '', message: `and ${more} more` });
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
