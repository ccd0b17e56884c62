/** What a Kubernetes API server answers instead of an object: its `Status`, with the words of the real one. */

/** A field that is refused, as `kubectl` shows it. */
export interface Cause {
  /** As in `FieldValueInvalid`. */
  readonly reason: string;
  readonly message: string;
  /** As in `spec.replicas`. */
  readonly field: string;
}

export interface StatusDetails {
  readonly name?: string;
  readonly group?: string;
  /** The resource in plural; of 422 the kind. */
  readonly kind?: string;
  readonly uid?: string;
  readonly causes?: readonly Cause[];
  readonly retryAfterSeconds?: number;
}

export class ApiError extends Error {
  override readonly name = 'ApiError';
  /** The HTTP status code. */
  readonly status: number;
  /** As in `NotFound`, `Conflict`, `Expired`. */
  readonly reason: string;
  readonly details: StatusDetails | undefined;
  /** A token with which a list that has expired goes on from a later state. */
  readonly continueToken: string | undefined;

  constructor(status: number, reason: string, message: string, details?: StatusDetails, continueToken?: string) {
    super(message);
    this.status = status;
    this.reason = reason;
    this.details = details;
    this.continueToken = continueToken;
  }
}

/** The body of a failed request. */
export function statusOf(error: ApiError): object {
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: error.continueToken === undefined ? {} : { continue: error.continueToken },
    status: 'Failure',
    message: error.message,
    reason: error.reason,
    ...(error.details && { details: error.details }),
    code: error.status,
  };
}

/** What is asked for: `group` is empty for the core's. */
export interface Named {
  readonly group: string;
  readonly resource: string;
  readonly name: string;
}

function qualified({ group, resource }: Pick<Named, 'group' | 'resource'>): string {
  return group === '' ? resource : `${resource}.${group}`;
}

function detailsOf({ group, resource, name }: Named): StatusDetails {
  return { name, ...(group !== '' && { group }), kind: resource };
}

export function notFound(what: Named): ApiError {
  return new ApiError(404, 'NotFound', `${qualified(what)} "${what.name}" not found`, detailsOf(what));
}

export function alreadyExists(what: Named): ApiError {
  return new ApiError(409, 'AlreadyExists', `${qualified(what)} "${what.name}" already exists`, detailsOf(what));
}

export function conflict(what: Named, why: string): ApiError {
  const message = `Operation cannot be fulfilled on ${qualified(what)} "${what.name}": ${why}`;
  return new ApiError(409, 'Conflict', message, detailsOf(what));
}

export function badRequest(message: string): ApiError {
  return new ApiError(400, 'BadRequest', message);
}

/** What a webhook denied. The status is of its own choice; without one the API server takes 400, and most say 403. */
export function admissionDenied(webhook: string, why?: string, status = 403): ApiError {
  const denied = `admission webhook ${JSON.stringify(webhook)} denied the request`;
  const reason = status === 403 ? 'Forbidden' : '';
  return new ApiError(status, reason, why === undefined ? `${denied} without explanation` : `${denied}: ${why}`);
}

/** `kind` is qualified: `GameServerNode.stable.agones.dev`. */
export function invalid(kind: string, name: string, causes: readonly Cause[]): ApiError {
  const [word = '', ...group] = kind.split('.');
  const fields = causes.map(({ field, message }) => `${field}: ${message}`);
  const list = fields.length === 1 ? fields[0] : `[${fields.join(', ')}]`;
  const details = { name, ...(group.length > 0 && { group: group.join('.') }), kind: word, causes };
  return new ApiError(422, 'Invalid', `${kind} "${name}" is invalid: ${list}`, details);
}
