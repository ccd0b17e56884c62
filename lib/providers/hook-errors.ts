import { Code, ConnectError } from '@connectrpc/connect';
import { CallError, type CallErrorKind } from '../scaler/call-error.ts';
import { clip } from '../schema.ts';
import { PROVIDER_CALLS } from '../settings.ts';
import type { HookEndpoint } from './hook-endpoint.ts';

/** What a hook is asked for, or to do. */
export type HookCall = 'Validate' | 'Size' | 'Increase' | 'Delete';

/** What a hook's own status says of what it was asked to do. What is not here may have been done. */
const KINDS: ReadonlyMap<Code, CallErrorKind> = new Map([
  [Code.InvalidArgument, 'refused'],
  [Code.FailedPrecondition, 'refused'],
  [Code.NotFound, 'refused'],
  [Code.OutOfRange, 'refused'],
  [Code.AlreadyExists, 'refused'],
  [Code.ResourceExhausted, 'refused'],
  [Code.Unimplemented, 'refused'],
  [Code.Aborted, 'conflict'],
  [Code.PermissionDenied, 'denied'],
  [Code.Unauthenticated, 'denied'],
]);

/** What a call to a hook failed with, as one of ours. */
export function hookError(error: unknown, call: HookCall, endpoint: HookEndpoint): CallError {
  const failure = ConnectError.from(error);
  const where = `hook ${endpoint.host}:${endpoint.port}`;
  const answered = failure.metadata.has('grpc-status') || failure.metadata.has('grpc-status-details-bin');
  if (answered) {
    const message = `${where} answered ${call} with ${nameOf(failure.code)}: ${failure.rawMessage}`;
    return make(kindOf(failure.code, call), nameOf(failure.code), message, error);
  }
  // No word of the hook's: whatever the library calls it, nobody knows what has become of the call.
  const why = whyUnreached(failure, endpoint);
  return make('unknown', unansweredName(failure.code), `${where} did not answer ${call}: ${why}`, error);
}

function make(kind: CallErrorKind, code: string, message: string, cause: unknown): CallError {
  return new CallError(kind, code, clip(message, PROVIDER_CALLS.messageLength), { cause });
}

function kindOf(code: Code, call: HookCall): CallErrorKind {
  // The contract: of Delete alone it says that nothing was done. An order is rather waited for than made twice.
  if (code === Code.Internal && call === 'Delete') return 'refused';
  return KINDS.get(code) ?? 'unknown';
}

/** `RESOURCE_EXHAUSTED`, as gRPC writes it. */
function nameOf(code: Code): string {
  if (code === Code.Canceled) return 'CANCELLED';
  return (Code[code] ?? String(code)).replace(/(?!^)([A-Z])/g, '_$1').toUpperCase();
}

function unansweredName(code: Code): string {
  return code === Code.DeadlineExceeded || code === Code.Canceled ? nameOf(code) : 'UNAVAILABLE';
}

const REFUSED = 'nobody listens there: start the hook, and look at the address and at what filters the network';
const NO_HOST = 'there is no such host: mend the address, or the name server';
const NO_TLS = 'it does not speak TLS: give it a certificate and a key';

/** What to do about it, by the codes that Node has for how a connection fails. */
function remedies({ serverName }: HookEndpoint): Readonly<Record<string, string>> {
  const issuer = `its certificate is of none of those in spec.grpcHook.caBundle: put the one there that signed it, and give the hook its whole chain`;
  return {
    ECONNREFUSED: REFUSED,
    ENOTFOUND: NO_HOST,
    EAI_AGAIN: NO_HOST,
    ERR_TLS_CERT_ALTNAME_INVALID: `its certificate is not for ${serverName}: make one with that among its subject alternative names`,
    CERT_HAS_EXPIRED: 'its certificate has expired: renew it',
    CERT_NOT_YET_VALID: 'its certificate is not valid yet: look at its dates, and at the clock of the hook',
    DEPTH_ZERO_SELF_SIGNED_CERT: issuer,
    SELF_SIGNED_CERT_IN_CHAIN: issuer,
    UNABLE_TO_VERIFY_LEAF_SIGNATURE: issuer,
    UNABLE_TO_GET_ISSUER_CERT: issuer,
    UNABLE_TO_GET_ISSUER_CERT_LOCALLY: issuer,
    CERT_SIGNATURE_FAILURE: issuer,
    ERR_SSL_WRONG_VERSION_NUMBER: NO_TLS,
    ERR_SSL_PACKET_LENGTH_TOO_LONG: NO_TLS,
  };
}

function whyUnreached(failure: ConnectError, endpoint: HookEndpoint): string {
  if (failure.code === Code.DeadlineExceeded) return 'its time is up: look at what it waits for';
  const known = remedies(endpoint);
  for (let at: unknown = failure, depth = 0; at instanceof Error && depth < 8; at = at.cause, depth += 1) {
    const { code } = at as Error & { code?: unknown };
    const remedy = typeof code === 'string' && Object.hasOwn(known, code) ? known[code] : undefined;
    if (remedy !== undefined) return `${remedy} (${code})`;
  }
  return failure.rawMessage;
}
