import { ADMISSION_DENIED, CallError, type CallErrorKind } from '../scaler/call-error.ts';
import { clip } from '../schema.ts';
import { KUBERNETES } from '../settings.ts';
import { isAdmissionDenial } from './admission-denial.ts';
import { type Answer, agentOf, type Bounds, type Endpoint, ExchangeError, exchange } from './exchange.ts';

/** An API server, as somebody who is known to it. */
export interface KubernetesApi {
  /**
   * What the server answers, parsed; undefined where it answers nothing. Throws CallError: `denied` for 401 and 403, `conflict`
   * for 409 and 422, `throttled` for 429; `unknown` for a write that may have been done; `refused` for everything else, a read
   * that came to nothing among it. Its code is the status (`404`) or the network's (`ECONNREFUSED`); of a write that a webhook
   * or a policy denied, whatever the status, `refused` and ADMISSION_DENIED. Writes are never
   * repeated, but for one that was not looked at, since its token was refused.
   */
  request(request: KubernetesRequest): Promise<unknown>;
  /** Ends all connections. Idle ones keep no process alive. */
  close(): void;
}

export interface KubernetesRequest {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Parts of the path, each as it is: `['api', 'v1', 'nodes', name]`. */
  readonly path: readonly string[];
  readonly query?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body?: object;
  /** Left out: `application/json`. */
  readonly contentType?: string;
  /** Gives up this request alone. */
  readonly signal?: AbortSignal;
}

/** What a server knows its client by, where that is no certificate. */
export interface BearerToken {
  get(): Promise<string>;
  /** Another one, since the server refused `token`; undefined: there is no other. */
  renew(token: string): Promise<string | undefined>;
}

export interface ConnectOptions {
  readonly token?: BearerToken;
  /** Gives up every request. */
  readonly signal?: AbortSignal;
  /** Left out: those of the settings. */
  readonly bounds?: Partial<Bounds>;
}

/** A client of the API server at `endpoint`. Connects when it is first asked. */
export function connect(endpoint: Endpoint, { token, signal, bounds }: ConnectOptions): KubernetesApi {
  const url = addressOf(endpoint.server);
  const agent = agentOf(endpoint);
  const within: Bounds = { ...KUBERNETES, ...bounds };

  async function ask(request: KubernetesRequest, bearer: string | undefined): Promise<Answer> {
    const { method, body, contentType = 'application/json' } = request;
    const text = body === undefined ? undefined : JSON.stringify(body);
    const headers = {
      accept: 'application/json',
      // Pages come by the megabyte: compressing them costs the API server more than a network of a cloud does.
      'accept-encoding': 'identity',
      'user-agent': 'berth-node-scaler',
      ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }),
      ...(text === undefined ? {} : { 'content-type': contentType, 'content-length': String(Buffer.byteLength(text)) }),
    };
    const signals = [signal, request.signal].filter((one) => one !== undefined);
    const path = url.pathname.replace(/\/$/, '') + pathOf(request);
    const outgoing = { method, path, headers, signals, ...(text === undefined ? {} : { body: text }) };
    try {
      return await exchange(url, agent, outgoing, within);
    } catch (error) {
      if (!isReset(error) || method !== 'GET') throw error;
      return exchange(url, agent, outgoing, within);
    }
  }

  return {
    async request(request) {
      let bearer = await token?.get();
      try {
        let answer = await ask(request, bearer);
        if (answer.status === 401 && token && bearer !== undefined) {
          const other = await token.renew(bearer);
          if (other !== undefined) {
            bearer = other;
            answer = await ask(request, bearer);
          }
        }
        return contentOf(answer, request);
      } catch (error) {
        throw callError(error, request, url, bearer);
      }
    },
    close: () => agent.destroy(),
  };
}

function addressOf(server: string): URL {
  const url = URL.canParse(server) ? new URL(server) : undefined;
  if (url?.protocol === 'https:') return url;
  const told = clip(server, KUBERNETES.messageLength);
  throw new CallError('refused', 'ENOTLS', `${told} is no address with TLS: expected https://`);
}

function pathOf({ path, query }: KubernetesRequest): string {
  const text = path.map((part) => `/${encodeURIComponent(part)}`).join('');
  return query === undefined ? text : `${text}?${new URLSearchParams(query)}`;
}

/** Whether a connection was cut, as one is that has been idle for too long. */
function isReset(error: unknown): boolean {
  return error instanceof ExchangeError && (error.code === 'ECONNRESET' || error.code === 'EPIPE');
}

/** What is thrown for an answer that is none that was asked for, before it is known whose request it was. */
class AnswerError extends Error {
  readonly kind: CallErrorKind;
  readonly code: string;

  constructor(kind: CallErrorKind, code: string, message: string) {
    super(message);
    this.kind = kind;
    this.code = code;
  }
}

function contentOf({ status, body }: Answer, request: KubernetesRequest): unknown {
  if (status < 200 || status > 299) {
    const { reason, message } = failureIn(body);
    const told = [reason, message].filter((part) => part !== '').join(': ') || body.trim();
    const isDenied = request.method !== 'GET' && isAdmissionDenial(message);
    const [kind, code]: [CallErrorKind, string] = isDenied
      ? ['refused', ADMISSION_DENIED]
      : [kindOf(status, request), String(status)];
    throw new AnswerError(kind, code, `${status} ${told}`.trim());
  }
  if (body === '') return undefined;
  const content = parsedJson(body);
  if (content === undefined) throw new AnswerError(uncertain(request), 'EJSON', 'its answer is no JSON');
  return content;
}

/** Undefined: it is no JSON. The parser's words are not told, since they hold a piece of it. */
function parsedJson(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

/** By section 8.7 of the facts. */
function kindOf(status: number, request: KubernetesRequest): CallErrorKind {
  if (status === 401 || status === 403) return 'denied';
  if (status === 409 || status === 422) return 'conflict';
  if (status === 429) return 'throttled';
  // Below 500 the server says that it did nothing; a redirect is not followed, since the token is for this server alone.
  return status >= 500 ? uncertain(request) : 'refused';
}

/** Of a request that came to no answer that says whether it was done. Nothing is done by a read. */
function uncertain({ method }: KubernetesRequest): CallErrorKind {
  return method === 'GET' ? 'refused' : 'unknown';
}

/** What the server gives as the reason: a Status of Kubernetes. Both are empty where it is whatever a proxy before it says. */
function failureIn(body: string): { readonly reason: string; readonly message: string } {
  const { reason, message } = (parsedJson(body) ?? {}) as { reason?: unknown; message?: unknown };
  return {
    reason: typeof reason === 'string' ? reason : '',
    message: typeof message === 'string' ? message : '',
  };
}

function callError(error: unknown, request: KubernetesRequest, url: URL, bearer: string | undefined): CallError {
  if (error instanceof CallError) return error;
  const told = (message: string) => {
    const text = `${request.method} ${pathOf({ ...request, query: {} }).replace(/\?$/, '')} of ${url.host}: ${message}`;
    // A proxy that echoes what it was sent must not bring the token into a log.
    return clip(bearer === undefined ? text : text.replaceAll(bearer, '…'), KUBERNETES.messageLength);
  };
  if (error instanceof AnswerError) return new CallError(error.kind, error.code, told(error.message));
  if (error instanceof ExchangeError) {
    const kind = error.sent ? uncertain(request) : 'refused';
    return new CallError(kind, error.code, told(`${error.code}: ${error.message}`), { cause: error });
  }
  throw error;
}
