import { CommanderError } from 'commander';
import { InvalidInputError } from '../client/index.ts';
import { BadInputError, EXIT, type ExitStatus } from './io.ts';
import { NoAnswerError } from './patience.ts';

/** What a failure comes to for whoever typed the command. */
export interface Failure {
  readonly status: ExitStatus;
  /** Empty: it was said already. */
  readonly message: string;
}

/** Errors of AWS that have one cause in most cases, by a part of their text, and what to look at. */
const HINTS: readonly (readonly [RegExp, string])[] = [
  [/AccessDenied|not authorized/, 'does the policy of docs/policies/operator.json belong to these credentials?'],
  [/ResourceNotFound|QueueDoesNotExist|NonExistentQueue/, 'check --prefix or the variables BERTH_*, and AWS_REGION'],
  [
    /UnrecognizedClient|InvalidSignature|ExpiredToken|Credential/,
    'check the credentials and the clock of this machine',
  ],
  [/Region is missing/, 'set AWS_REGION'],
  [
    /ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|TimeoutError/,
    'is the endpoint right, and is the local engine running?',
  ],
];

/** The status and the message of an error. Never a stack trace. */
export function failureOf(error: unknown): Failure {
  if (error instanceof CommanderError) {
    // Commander has said what is wrong, or what there is.
    return { status: error.exitCode === 0 ? EXIT.done : EXIT.badInput, message: '' };
  }
  if (error instanceof BadInputError || error instanceof InvalidInputError) {
    return { status: EXIT.badInput, message: error.message };
  }
  if (!(error instanceof Error)) return { status: EXIT.failed, message: String(error) };
  if (error instanceof NoAnswerError) return { status: EXIT.failed, message: error.message };
  const message = error.message || error.name;
  const known = `${error.name} ${textsOf(error)}`;
  const hint = HINTS.find(([pattern]) => pattern.test(known))?.[1];
  return { status: EXIT.failed, message: hint === undefined ? message : `${message}\n${hint}` };
}

/** Names, codes and messages of an error and of what it wraps. */
function textsOf(error: unknown): string {
  if (typeof error !== 'object' || error === null) return '';
  const { name, code, message, cause, errors } = error as Record<string, unknown>;
  const inner = [cause, ...(Array.isArray(errors) ? errors : [])].map(textsOf);
  return [name, code, message, ...inner].filter((part) => part !== undefined && part !== '').join(' ');
}
