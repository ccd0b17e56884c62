import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { text } from 'node:stream/consumers';
import { parse } from 'yaml';
import type { Clock } from '../../lib/time.ts';
import { listenOnLoopback } from '../loopback-server.ts';
import { ApiError, badRequest, statusOf } from './api-error.ts';
import { type ApiRequest, type Target, targetOf, verbOf } from './api-request.ts';
import { ADMINISTRATORS, authorize, type Identity } from './authorization.ts';
import { makeCertificates } from './certificates.ts';
import { ChangeLog } from './change-log.ts';
import { keepCordonTaints } from './cordon-taint.ts';
import { keepDefinitions, ResourceTypes } from './custom-resources.ts';
import { discover } from './discovery.ts';
import type { ObjectInput } from './kube-object.ts';
import { kubeconfigText } from './kubeconfig.ts';
import { type ApiAnswer, nothingThere, ObjectApi } from './object-api.ts';
import type { ObjectStore } from './object-store.ts';
import { openApiV3 } from './openapi.ts';
import { PagedLists } from './paged-lists.ts';
import { streamWatch } from './watch-stream.ts';

/**
 * What a request is met with instead of its answer. answer: with this error, before or after it has taken effect. cut:
 * the connection ends. delay: it takes effect at once and is answered when `until` is fulfilled.
 */
export type Fault =
  | { readonly kind: 'answer'; readonly when: 'before' | 'after'; readonly error: ApiError }
  | { readonly kind: 'cut'; readonly when: 'before' | 'after' }
  | { readonly kind: 'delay'; readonly until: Promise<unknown> };

export interface RecordedRequest extends ApiRequest {
  readonly user: string | undefined;
  /** Of the answer; undefined: there is none yet, or the connection was cut. */
  readonly status: number | undefined;
}

export interface KubernetesApiOptions {
  readonly store: ObjectStore;
  /** For ages and for how long lists can be gone on with. */
  readonly clock: Clock;
  /** Name of the context in the kubeconfig. Default `local`. */
  readonly cluster?: string;
  /** What is in the store from the beginning: definitions, roles and bindings. What is there already stays. */
  readonly manifests?: readonly ObjectInput[];
  /** Who comes with a token that is not the administrator's; undefined: 401. Default: nobody. */
  readonly authenticate?: (token: string) => Identity | undefined;
  /** Called with every request of somebody who is known, before anything is done. */
  readonly before?: (request: ApiRequest) => Promise<Fault | undefined> | Fault | undefined;
  /** Whether somebody plays the kubelets, that is ends pods that are marked as deleted. Default false: they go at once. */
  readonly kubelets?: boolean;
}

export interface KubernetesApi {
  /** `https://127.0.0.1:<port>`. */
  readonly url: string;
  /** Of the authority that the server's certificate is from. */
  readonly caPem: string;
  /** Of the administrator. */
  readonly token: string;
  /** The last ten thousand at most, the newest last. */
  readonly requests: readonly RecordedRequest[];
  /** How many there were, by verb and resource: `list nodes`, `patch gameservernodes/status`. */
  readonly counts: ReadonlyMap<string, number>;
  /** The text of a kubeconfig file, with the administrator's token. */
  kubeconfig(): string;
  /** What compaction does: no list can be gone on with, no watch can begin at what was seen before. */
  compact(): void;
  close(): Promise<void>;
}

/** Requests that are kept. */
const MOST_REQUESTS = 10_000;

/** Bytes of one request (etcd takes 1.5 MiB). */
const MOST_BYTES = 3 * 1024 * 1024;

const NAMESPACES = ['default', 'kube-node-lease', 'kube-system'];

/** A Kubernetes API server over `store`, on a free port of the loopback address. */
export async function startKubernetesApi(options: KubernetesApiOptions): Promise<KubernetesApi> {
  const { store, clock, cluster = 'local', manifests = [], authenticate, before, kubelets = false } = options;
  const { caPem, certificatePem, keyPem } = await makeCertificates();
  const token = randomBytes(24).toString('base64url');
  const types = new ResourceTypes(store);
  const lists = new PagedLists(store, clock);
  const log = new ChangeLog(store);
  const api = new ObjectApi({ store, types, lists, clock, kubelets });
  const listeners = [keepDefinitions(store, clock), keepCordonTaints(store, clock)];
  prepare(store, types, manifests);

  const requests: { -readonly [K in keyof RecordedRequest]: RecordedRequest[K] }[] = [];
  const counts = new Map<string, number>();

  function record(request: ApiRequest, user: Identity | undefined): (typeof requests)[number] {
    const { verb, resource, subresource, path } = request;
    const what = resource === '' ? path : subresource === '' ? resource : `${resource}/${subresource}`;
    counts.set(`${verb} ${what}`, (counts.get(`${verb} ${what}`) ?? 0) + 1);
    if (requests.length >= MOST_REQUESTS) requests.splice(0, MOST_REQUESTS / 10);
    const recorded = { ...request, user: user?.name, status: undefined };
    requests.push(recorded);
    return recorded;
  }

  function identify(authorization: string | undefined): Identity | undefined {
    const given = authorization?.replace(/^Bearer /i, '');
    if (given === token) return { name: 'kubernetes-admin', groups: [ADMINISTRATORS, 'system:authenticated'] };
    return given === undefined ? undefined : authenticate?.(given);
  }

  async function serve(message: IncomingMessage, response: ServerResponse): Promise<void> {
    const request = await readRequest(message);
    const user = identify(message.headers.authorization);
    const recorded = record(request, user);
    const answer = (given: ApiAnswer): void => {
      recorded.status = given.status;
      send(response, given);
    };
    try {
      if (!user) throw new ApiError(401, 'Unauthorized', 'Unauthorized');
      const fault = (await before?.(request)) ?? undefined;
      if (fault?.kind === 'answer' && fault.when === 'before') throw fault.error;
      if (fault?.kind === 'cut' && fault.when === 'before') return void message.socket.destroy();
      authorize(store, user, request);
      if (request.verb === 'watch' && request.resource !== '' && fault === undefined) {
        recorded.status = 200;
        return streamWatch(api, log, request, response);
      }
      const given = attempt(() => (request.resource === '' ? describe(request, types) : api.handle(request)));
      if (fault?.kind === 'cut') return void message.socket.destroy();
      if (fault?.kind === 'answer') throw fault.error;
      if (fault?.kind === 'delay') await fault.until;
      answer(given);
    } catch (error) {
      answer(failed(error));
    }
  }

  const server = createServer({ key: keyPem, cert: certificatePem }, (message, response) => {
    serve(message, response).catch((error: unknown) => send(response, failed(error)));
  });
  const url = (await listenOnLoopback(server)).replace('http:', 'https:');
  return {
    url,
    caPem,
    token,
    requests,
    counts,
    kubeconfig: () => kubeconfigText({ name: cluster, url, caPem, token }),
    compact() {
      lists.expire();
      log.expire();
    },
    close: () =>
      new Promise((resolve) => {
        log.close();
        for (const end of listeners) end();
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function prepare(store: ObjectStore, types: ResourceTypes, manifests: readonly ObjectInput[]): void {
  const namespaces: ObjectInput[] = NAMESPACES.map((name) => ({
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name, labels: { 'kubernetes.io/metadata.name': name } },
    status: { phase: 'Active' },
  }));
  for (const object of [...namespaces, ...manifests]) {
    const type = types.all().find(({ kind }) => kind === object.kind);
    if (!type) throw new Error(`${object.kind} ${object.metadata.name} is of a kind that is not served here`);
    const namespace = type.namespaced ? (object.metadata.namespace ?? 'default') : undefined;
    if (store.get(type.resource, object.metadata.name ?? '', namespace)) continue;
    store.create(type.resource, { ...object, metadata: { ...object.metadata, ...(namespace && { namespace }) } });
  }
}

async function readRequest(message: IncomingMessage): Promise<ApiRequest> {
  const { method = 'GET', headers } = message;
  const url = new URL(message.url ?? '/', 'https://127.0.0.1');
  const query = Object.fromEntries(url.searchParams);
  const target: Target = targetOf(url.pathname);
  const contentType = (headers['content-type'] ?? 'application/json').split(';')[0] as string;
  if (Number(headers['content-length'] ?? 0) > MOST_BYTES) {
    throw new ApiError(413, 'RequestEntityTooLarge', `Request entity too large: limit is ${MOST_BYTES}`);
  }
  const sent = await text(message);
  const verb = verbOf(method, target, query);
  if (verb === undefined)
    throw new ApiError(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource');
  const body = sent === '' ? undefined : parsed(sent, contentType);
  const accept = headers.accept ?? '*/*';
  return { ...target, method, path: url.pathname, verb, query, body, contentType, accept };
}

function parsed(sent: string, contentType: string): unknown {
  if (!/json|yaml/.test(contentType)) {
    const message =
      'the body of the request was in an unknown format - accepted media types include: application/json, application/yaml';
    throw new ApiError(415, 'UnsupportedMediaType', message);
  }
  try {
    return contentType.endsWith('yaml') ? parse(sent) : JSON.parse(sent);
  } catch (error) {
    throw badRequest(`the object provided is unrecognized: ${(error as Error).message}`);
  }
}

/** Everything that is about no resource. */
function describe({ path, accept }: ApiRequest, types: ResourceTypes): ApiAnswer {
  if (['/healthz', '/livez', '/readyz'].includes(path)) return { status: 200, body: { ok: true } };
  if (path === '/openapi/v2') return { status: 200, body: accept.includes('protobuf') ? NO_SCHEMAS : OPENAPI_V2 };
  const body = path.startsWith('/openapi/v3') ? openApiV3(path, types.all()) : discover(path, types.all());
  if (!body) throw nothingThere();
  return { status: 200, body };
}

const OPENAPI_V2 = { swagger: '2.0', info: { title: 'Kubernetes', version: 'v1.32.0' }, paths: {}, definitions: {} };

/** An empty message is a document without schemas: kubectl before 1.27 then leaves checking to the server. */
const NO_SCHEMAS = Buffer.alloc(0);

const PROTOBUF = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';

function attempt(act: () => ApiAnswer): ApiAnswer {
  try {
    return act();
  } catch (error) {
    return failed(error);
  }
}

function failed(error: unknown): ApiAnswer {
  if (error instanceof ApiError) return { status: error.status, body: statusOf(error) };
  const message = `Internal error occurred: ${error instanceof Error ? error.stack : error}`;
  return { status: 500, body: statusOf(new ApiError(500, 'InternalError', message)) };
}

function send(response: ServerResponse, { status, body, warnings = [] }: ApiAnswer): void {
  const { details } = body as { details?: { retryAfterSeconds?: number } };
  const binary = Buffer.isBuffer(body);
  response.setHeader('content-type', binary ? PROTOBUF : 'application/json');
  if (warnings.length > 0)
    response.setHeader(
      'warning',
      warnings.map((warning) => `299 - ${JSON.stringify(warning)}`),
    );
  if (details?.retryAfterSeconds !== undefined) response.setHeader('retry-after', details.retryAfterSeconds);
  response.writeHead(status).end(binary ? body : JSON.stringify(body));
}
