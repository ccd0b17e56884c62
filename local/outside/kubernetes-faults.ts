import { ApiError, admissionDenied } from '../kubernetes/api-error.ts';
import type { ApiRequest } from '../kubernetes/api-request.ts';
import type { Fault as ApiFault } from '../kubernetes/server.ts';
import type { Fault, OutsideRequest } from './faults.ts';

/** Faults that are ordered for any server, in the words of the Kubernetes API server. */

/** The subject of a list of the pods of a node is the node. */
export function requestOf(cluster: string, request: ApiRequest): OutsideRequest {
  const { verb, resource, subresource, name, path, query } = request;
  const whole = subresource === '' ? resource : `${resource}/${subresource}`;
  const node = /^spec\.nodeName=(.+)$/.exec(query.fieldSelector ?? '')?.[1];
  const operation = `${verb} ${resource === '' ? path : whole}`;
  return { service: 'kubernetes', cluster, operation, subject: name ?? node ?? '' };
}

/** Reasons that the API server has, with the status that each comes with. */
const STATUS: Readonly<Record<string, number>> = {
  BadRequest: 400,
  Unauthorized: 401,
  Forbidden: 403,
  NotFound: 404,
  AlreadyExists: 409,
  Conflict: 409,
  Expired: 410,
  Gone: 410,
  Invalid: 422,
  TooManyRequests: 429,
  InternalError: 500,
  ServerTimeout: 500,
  ServiceUnavailable: 503,
  Timeout: 504,
};

export async function apiFaultOf(fault: Fault | undefined): Promise<ApiFault | undefined> {
  switch (fault?.kind) {
    case undefined:
      return undefined;
    case 'refuse':
      return { kind: 'answer', when: 'before', error: errorOf(fault) };
    case 'cut':
      return { kind: 'cut', when: fault.effect ? 'after' : 'before' };
    case 'late':
      return { kind: 'delay', until: fault.until };
    case 'meanwhile':
      if (!fault.after) {
        await fault.act();
        return undefined;
      }
      // The server acts in the turn in which it is told of the fault, so the next turn is after it.
      return {
        kind: 'delay',
        until: new Promise((resolve, reject) => {
          setImmediate(() => Promise.resolve().then(fault.act).then(resolve, reject));
        }),
      };
  }
}

/** Name of the webhook that denies what it is ordered to. */
const WEBHOOK = 'guard.example.com';

function errorOf({ code, message, status, retryAfterSeconds }: Extract<Fault, { kind: 'refuse' }>): ApiError {
  if (code === 'AdmissionDenied') return admissionDenied(WEBHOOK, message, status);
  const known = status ?? STATUS[code];
  if (known === undefined) {
    throw new Error(`a request is to be refused with reason ${code}, of which no status is known: say which`);
  }
  return new ApiError(
    known,
    code,
    message ?? code,
    retryAfterSeconds === undefined ? undefined : { retryAfterSeconds },
  );
}
