/**
 * The errors of the database and of the queues as four of ours, told apart by what the caller must do: try again later, look again, park the
 * message, or stop, since the code is wrong. An error that is not in these tables is a bug, never an answer.
 */

/** The database is busy or away: the same request may pass later. */
export class RetryError extends Error {
  override readonly name = 'RetryError';
  /** Least pause in milliseconds before the next try, where the database names one. */
  readonly afterMs: number;

  constructor(message: string, options?: ErrorOptions & { afterMs?: number }) {
    super(message, options);
    this.afterMs = options?.afterMs ?? 0;
  }
}

/** Somebody else wrote in between, or a condition did not hold: look again and decide again. */
export class ConflictError extends Error {
  override readonly name = 'ConflictError';
}

/** The request can never pass as it is: park what asked for it. */
export class PermanentError extends Error {
  override readonly name = 'PermanentError';
}

/** What nobody foresaw: the code or the deployment is wrong. Never turned into an answer. */
export class BugError extends Error {
  override readonly name = 'BugError';
}

export type StoreError = RetryError | ConflictError | PermanentError | BugError;
type Kind = 'retry' | 'conflict' | 'permanent' | 'bug';

/** A map, since an object answers to `constructor` too. */
function table<K>(kinds: Readonly<Record<string, K>>): ReadonlyMap<string, K> {
  return new Map(Object.entries(kinds));
}

/** Names of exceptions (DynamoDB API reference, common errors, SDK). */
const EXCEPTIONS: ReadonlyMap<string, Kind> = table({
  ConditionalCheckFailedException: 'conflict',
  TransactionConflictException: 'conflict',
  ReplicatedWriteConflictException: 'conflict',
  TransactionInProgressException: 'retry',
  ProvisionedThroughputExceededException: 'retry',
  ThrottlingException: 'retry',
  RequestLimitExceeded: 'retry',
  // SQS: too many requests of one queue, or of the key that its messages are encrypted with.
  RequestThrottled: 'retry',
  KmsThrottled: 'retry',
  LimitExceededException: 'retry',
  InternalServerError: 'retry',
  InternalFailure: 'retry',
  ServiceUnavailable: 'retry',
  ServiceUnavailableException: 'retry',
  // Clocks: a frozen environment wakes up with a signature from before (aws/aws-sdk-js-v3#7605).
  InvalidSignatureException: 'retry',
  RequestExpired: 'retry',
  ExpiredTokenException: 'retry',
  ExpiredToken: 'retry',
  // The network, under the names that Node and the SDK give its failures.
  TimeoutError: 'retry',
  RequestTimeout: 'retry',
  AbortError: 'retry',
  NetworkingError: 'retry',
  ECONNREFUSED: 'retry',
  ECONNRESET: 'retry',
  EPIPE: 'retry',
  ETIMEDOUT: 'retry',
  ENOTFOUND: 'retry',
  EAI_AGAIN: 'retry',
  EHOSTUNREACH: 'retry',
  ENETUNREACH: 'retry',
  ValidationException: 'permanent',
  ItemCollectionSizeLimitExceededException: 'permanent',
  IdempotentParameterMismatchException: 'bug',
  ResourceNotFoundException: 'bug',
  AccessDeniedException: 'bug',
  UnrecognizedClientException: 'bug',
});

/** Codes of `CancellationReasons` (DynamoDB API reference, TransactWriteItems). */
const REASONS: ReadonlyMap<string, Kind | 'none'> = table({
  None: 'none',
  ConditionalCheckFailed: 'conflict',
  TransactionConflict: 'conflict',
  ProvisionedThroughputExceeded: 'retry',
  ThrottlingError: 'retry',
  ItemCollectionSizeLimitExceeded: 'permanent',
  ValidationError: 'permanent',
});

/** AWS advises at least this long before a transaction that is still under way is asked for again. */
const IN_PROGRESS_MS = 5_000;

/** One cancellation reason; the item is there if the action asked for it. */
export interface CancellationReason {
  readonly Code?: string | undefined;
  readonly Message?: string | undefined;
  readonly Item?: Record<string, unknown> | undefined;
}

/** The reasons of a cancelled transaction, one an action in the order of the request; undefined for any other error. */
export function cancellationReasons(error: unknown): readonly CancellationReason[] | undefined {
  if (!(error instanceof Error) || error.name !== 'TransactionCanceledException') return undefined;
  const { CancellationReasons } = error as { CancellationReasons?: readonly CancellationReason[] };
  return CancellationReasons ?? [];
}

/** `error` as one of ours, with the original as its cause. One of ours comes back as it is. */
export function storeError(error: unknown): StoreError {
  if (isStoreError(error)) return error;
  const reasons = cancellationReasons(error);
  const message = describe(error);
  if (reasons) return make(worstOf(reasons), message, error);
  const kind = namesOf(error)
    .map((name) => EXCEPTIONS.get(name))
    .find((found) => found !== undefined);
  return make(kind ?? (isServerFault(error) ? 'retry' : 'bug'), message, error);
}

/** What `request` comes to; what it throws, as one of the four. */
export async function ours<T>(request: Promise<T>): Promise<T> {
  try {
    return await request;
  } catch (error) {
    throw storeError(error);
  }
}

/** Codes of the errors of single statements that reasons of cancelled transactions are not (DynamoDB API reference, BatchStatementError). */
const STATEMENTS: ReadonlyMap<string, Kind> = table({
  RequestLimitExceeded: 'retry',
  InternalServerError: 'retry',
  ResourceNotFound: 'bug',
  AccessDenied: 'bug',
  DuplicateItem: 'bug',
});

/** What one statement of a batch has failed with, as one of ours. */
export function statementError({ Code, Message }: Pick<CancellationReason, 'Code' | 'Message'>): StoreError {
  const kind = STATEMENTS.get(Code ?? '') ?? REASONS.get(Code ?? '') ?? 'bug';
  return make(kind === 'none' ? 'bug' : kind, `${Code}: ${Message}`, undefined);
}

/** Whether `error` is one of the four. By name, so that two copies of this module agree. */
export function isStoreError(error: unknown): error is StoreError {
  return error instanceof Error && ['RetryError', 'ConflictError', 'PermanentError', 'BugError'].includes(error.name);
}

/**
 * What a cancelled transaction comes to. A reason that nobody knows outweighs all; what can never pass outweighs what
 * may pass later; throttling outweighs a conflict, since trying at once would make it worse (antiwork/gumroad#7454).
 */
function worstOf(reasons: readonly CancellationReason[]): Kind {
  const kinds = reasons.map(({ Code }) => REASONS.get(Code ?? 'None') ?? 'bug');
  for (const kind of ['bug', 'permanent', 'retry', 'conflict'] as const) if (kinds.includes(kind)) return kind;
  return 'bug';
}

function make(kind: Kind, message: string, cause: unknown): StoreError {
  switch (kind) {
    case 'retry':
      return new RetryError(message, {
        cause,
        afterMs: message.startsWith('TransactionInProgress') ? IN_PROGRESS_MS : 0,
      });
    case 'conflict':
      return new ConflictError(message, { cause });
    case 'permanent':
      return new PermanentError(message, { cause });
    case 'bug':
      return new BugError(message, { cause });
  }
}

/** The names that an error goes by: its own, its code, and those of what it wraps (a connection refused on every address). */
function namesOf(error: unknown): string[] {
  if (typeof error !== 'object' || error === null) return [];
  const { name, code, errors, cause } = error as { name?: unknown; code?: unknown; errors?: unknown; cause?: unknown };
  const own = [name, code].filter((value): value is string => typeof value === 'string');
  const inner = [...(Array.isArray(errors) ? errors : []), ...(cause === undefined ? [] : [cause])];
  return [...own, ...inner.flatMap(namesOf)];
}

function isServerFault(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false;
  const { $metadata, $retryable } = error as { $metadata?: { httpStatusCode?: number }; $retryable?: unknown };
  return $retryable !== undefined || ($metadata?.httpStatusCode ?? 0) >= 500;
}

/** One line for the log: what it was, and where DynamoDB says so, which table or index was throttled and why. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const counts = new Map<string, number>();
  for (const { Code, Message } of cancellationReasons(error) ?? []) {
    if (Code === undefined || Code === 'None') continue;
    // A validation error says what is wrong with the request; a failed condition says nothing that is not known.
    const reason = REASONS.get(Code) === 'permanent' && Message ? `${Code} (${Message})` : Code;
    counts.set(reason, (counts.get(reason) ?? 0) + 1);
  }
  const cancelled = [...counts].map(([code, count]) => `${count} ${code}`).join(', ');
  // ThrottlingException spells them otherwise than the older exceptions.
  type Reasons = readonly { reason?: string; resource?: string }[];
  const { ThrottlingReasons, throttlingReasons = ThrottlingReasons ?? [] } = error as Error & {
    ThrottlingReasons?: Reasons;
    throttlingReasons?: Reasons;
  };
  const throttled = throttlingReasons.map(({ reason, resource }) => `${reason} on ${resource}`).join(', ');
  return `${error.name}: ${cancelled || error.message}${throttled && ` (${throttled})`}`;
}
