import { CallError, type CallErrorKind } from '../scaler/call-error.ts';
import { clip } from '../schema.ts';
import { PROVIDER_CALLS } from '../settings.ts';

/** Errors of EKS and EC2 Auto Scaling as ours. */

/** By code, without the `Exception` or `Fault` that some protocols and the SDK put after it. */
const KINDS: ReadonlyMap<string, CallErrorKind> = new Map([
  ['ResourceInUse', 'conflict'],
  ['ScalingActivityInProgress', 'conflict'],
  // Comes with status 500, and is no failure: the group is being changed.
  ['ResourceContention', 'conflict'],
  ['Throttling', 'throttled'],
  ['Throttled', 'throttled'],
  ['TooManyRequests', 'throttled'],
  ['RequestLimitExceeded', 'throttled'],
  ['AccessDenied', 'denied'],
  ['UnauthorizedOperation', 'denied'],
  ['UnrecognizedClient', 'denied'],
  ['InvalidClientTokenId', 'denied'],
  ['ExpiredToken', 'denied'],
  // Nothing was sent: there is nothing to sign with.
  ['CredentialsProviderError', 'denied'],
  // What EKS answers with 4xx is definite; ClientException is its word for a request that may not be made.
  ['InvalidParameter', 'refused'],
  ['InvalidRequest', 'refused'],
  ['ResourceNotFound', 'refused'],
  ['Client', 'refused'],
  ['ValidationError', 'refused'],
]);

/** `error` as one of ours. What is not known to have been refused may have been done. */
export function awsError(error: unknown): CallError {
  if (error instanceof CallError) return error;
  const { name, message, Code, $metadata } = detailsOf(error);
  const code = Code ?? name;
  const known = KINDS.get(code) ?? KINDS.get(code.replace(/(Exception|Fault)$/, ''));
  return new CallError(
    known ?? kindOfStatus($metadata?.httpStatusCode),
    code,
    clip(message, PROVIDER_CALLS.messageLength),
    {
      cause: error,
    },
  );
}

function kindOfStatus(status: number | undefined): CallErrorKind {
  if (status === undefined || status >= 500 || status < 400) return 'unknown';
  if (status === 429) return 'throttled';
  return status === 401 || status === 403 ? 'denied' : 'refused';
}

interface Details {
  readonly name: string;
  readonly message: string;
  /** What Auto Scaling itself said, where the SDK has a name of its own for it. */
  readonly Code?: string;
  readonly $metadata?: { readonly httpStatusCode?: number };
}

function detailsOf(error: unknown): Details {
  if (!(error instanceof Error)) return { name: 'Error', message: String(error) };
  const { name, message, code, Code, $metadata } = error as Error & { code?: unknown } & Details;
  // `TimeoutError` says less than the `ECONNRESET` that it stands for.
  const own = typeof code === 'string' ? code : name;
  return {
    name: own,
    message: message === '' ? own : message,
    ...(typeof Code === 'string' ? { Code } : {}),
    ...($metadata === undefined ? {} : { $metadata }),
  };
}

/** Whether Auto Scaling says that it knows no such instance: it is gone. */
export function isInstanceUnknown({ code, message }: CallError): boolean {
  return code === 'ValidationError' && /Instance Id not found/i.test(message);
}
