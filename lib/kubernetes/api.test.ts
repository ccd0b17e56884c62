import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { inspect } from 'node:util';
import { generate } from 'selfsigned';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { makeCertificates } from '../../local/kubernetes/certificates.ts';
import { failure, type HttpsServer, startHttpsServer } from '../../test/kubernetes/https-server.ts';
import { CallError } from '../scaler/call-error.ts';
import { type BearerToken, type ConnectOptions, connect, type KubernetesApi, type KubernetesRequest } from './api.ts';
import type { Endpoint } from './exchange.ts';

let server: HttpsServer;
beforeAll(async () => {
  server = await startHttpsServer();
});
afterAll(() => server.close());

const open: KubernetesApi[] = [];
afterEach(() => {
  for (const api of open.splice(0)) api.close();
});

function client(options: ConnectOptions = {}, endpoint: Partial<Endpoint> = {}): KubernetesApi {
  const api = connect({ server: server.url, ca: server.caPem, ...endpoint }, options);
  open.push(api);
  return api;
}

const READ: KubernetesRequest = { method: 'GET', path: ['api', 'v1', 'nodes', 'n1'] };
const WRITE: KubernetesRequest = {
  method: 'DELETE',
  path: ['api', 'v1', 'nodes', 'n1'],
  body: { kind: 'DeleteOptions' },
};

async function errorOf(promise: Promise<unknown>): Promise<CallError> {
  const error = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error instanceof CallError) return error;
  throw new Error(`expected a CallError, got ${inspect(error)}`);
}

/** Tokens one after the other; asked for anew they are the next. */
function tokens(...all: string[]): BearerToken {
  let at = 0;
  return {
    get: async () => all[at] ?? '',
    renew: async () => {
      at += 1;
      return all[at];
    },
  };
}

describe('a request', () => {
  it('is sent as it is, and what is answered is parsed', async () => {
    server.answer(() => ({ json: { metadata: { name: 'n1' } } }));
    const answer = await client({ token: tokens('t1') }).request({
      method: 'PATCH',
      path: ['api', 'v1', 'nodes', 'n/ä?1'],
      query: { fieldManager: 'a&b' },
      contentType: 'application/merge-patch+json',
      body: { metadata: { annotations: { ä: null } } },
    });
    expect(answer).toEqual({ metadata: { name: 'n1' } });
    expect(server.requests).toMatchObject([
      {
        method: 'PATCH',
        path: '/api/v1/nodes/n%2F%C3%A4%3F1',
        query: { fieldManager: 'a&b' },
        headers: { authorization: 'Bearer t1', 'content-type': 'application/merge-patch+json' },
        body: { metadata: { annotations: { ä: null } } },
      },
    ]);
  });

  it('goes to the path that a proxy has the API server under', async () => {
    server.answer(() => ({ json: {} }));
    await client({}, { server: `${server.url}/clusters/game/` }).request(READ);
    expect(server.requests.map(({ path }) => path)).toEqual(['/clusters/game/api/v1/nodes/n1']);
  });

  it('uses a connection again', async () => {
    server.answer(() => ({ json: {} }));
    const api = client();
    await api.request(READ);
    await api.request(READ);
    expect(new Set(server.requests.map(({ connection }) => connection)).size).toBe(1);
  });

  it.each(['ascii', 'Grüße, 世界 🎮'])('is answered in UTF-8: %s', async (text) => {
    server.answer(() => ({ json: { text } }));
    expect(await client().request(READ)).toEqual({ text });
  });

  it('may be answered with nothing', async () => {
    server.answer(() => ({ status: 200, text: '' }));
    expect(await client().request(WRITE)).toBeUndefined();
  });
});

describe('a certificate', () => {
  it.each([
    ['of an authority that is not known', async () => ({ ca: (await makeCertificates()).caPem })],
    ['of another host', async () => ({ serverName: 'kubernetes.example' })],
  ])('%s is refused, whatever the environment says, before anything is sent', async (_, endpoint) => {
    server.answer(() => ({ json: {} }));
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
    const error = await errorOf(client({ token: tokens('t1') }, await endpoint()).request(WRITE));
    expect(error.kind).toBe('refused');
    expect(error.message).toMatch(/certificate|altnames/);
    expect(server.requests).toEqual([]);
  });

  it('is checked for the name that is given', async () => {
    server.answer(() => ({ json: {} }));
    expect(await client({}, { serverName: 'localhost' }).request(READ)).toEqual({});
  });

  it.each(['', 'eks', 'https://'])('is wanted of an address: "%s" is none', (address) => {
    expect(() => connect({ server: address, ca: '' }, {})).toThrow(/expected https:\/\//);
  });

  it('is wanted: an address without TLS is refused', () => {
    expect(() => client({}, { server: 'http://127.0.0.1:1' })).toThrow(/expected https/);
  });

  it('of the client shows who it is', async () => {
    const me = await generate([{ name: 'commonName', value: 'berth' }], { keyType: 'ec', algorithm: 'sha256' });
    const strict = await startHttpsServer({ requestCert: true, rejectUnauthorized: true, ca: me.cert });
    strict.answer(() => ({ json: { ok: true } }));
    const endpoint = { server: strict.url, ca: strict.caPem };
    const known = client({}, { ...endpoint, client: { cert: me.cert, key: me.private } });
    const stranger = client({}, endpoint);
    expect(await known.request(READ)).toEqual({ ok: true });
    await expect(stranger.request(READ)).rejects.toThrow(CallError);
    known.close();
    await strict.close();
  });

  it('of a server that speaks nothing newer than TLS 1.1 is not even looked at', async () => {
    const old = await startHttpsServer({ minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' });
    const error = await errorOf(client({}, { server: old.url, ca: old.caPem }).request(READ));
    expect(error).toMatchObject({ kind: 'refused', message: expect.stringMatching(/protocol version|alert/i) });
    await old.close();
  });
});

describe('a token', () => {
  it('that is refused is made anew once, and the request sent again', async () => {
    server.answer(({ headers }) =>
      headers.authorization === 'Bearer t2' ? { json: {} } : failure(401, 'Unauthorized'),
    );
    expect(await client({ token: tokens('t1', 't2') }).request(WRITE)).toEqual({});
    expect(server.requests.map(({ headers }) => headers.authorization)).toEqual(['Bearer t1', 'Bearer t2']);
  });

  it.each([
    ['twice', tokens('t1', 't2', 't3'), 2],
    ['and is the only one', tokens('t1'), 1],
  ])('that is refused %s means denied', async (_, token, times) => {
    server.answer(() => failure(401, 'Unauthorized'));
    expect(await errorOf(client({ token }).request(WRITE))).toMatchObject({ kind: 'denied', code: '401' });
    expect(server.requests).toHaveLength(times);
  });

  it('is in no message, not even if the server says it', async () => {
    server.answer(({ headers }) => ({ status: 400, text: `bad header ${headers.authorization}` }));
    const error = await errorOf(client({ token: tokens('t0p-secret') }).request(READ));
    expect(error.message).toContain('bad header Bearer …');
    expect(inspect(error, { depth: 9, showHidden: true })).not.toContain('t0p-secret');
  });

  it('is in no error of the network', async () => {
    server.answer(() => ({ cut: true }));
    const error = await errorOf(client({ token: tokens('t0p-secret') }).request(WRITE));
    expect(inspect(error, { depth: 9, showHidden: true })).not.toContain('t0p-secret');
  });

  it('is not taken to where a redirect points', async () => {
    const other = await startHttpsServer();
    other.answer(() => ({ json: {} }));
    server.answer(() => ({ status: 307, headers: { location: `${other.url}/api/v1/nodes/n1` } }));
    const error = await errorOf(client({ token: tokens('t1') }).request(READ));
    expect(error).toMatchObject({ kind: 'refused', code: '307' });
    expect(other.requests).toEqual([]);
    await other.close();
  });
});

describe('an answer', () => {
  it.each([
    [400, 'refused', 'refused'],
    [403, 'denied', 'denied'],
    [404, 'refused', 'refused'],
    [409, 'conflict', 'conflict'],
    [410, 'refused', 'refused'],
    [422, 'conflict', 'conflict'],
    [429, 'throttled', 'throttled'],
    [500, 'refused', 'unknown'],
    [503, 'refused', 'unknown'],
    [504, 'refused', 'unknown'],
  ])('%d makes a read %s, and a write %s', async (status, read, write) => {
    server.answer(() => failure(status, 'Reason', 'why'));
    expect(await errorOf(client().request(READ))).toMatchObject({ kind: read, code: String(status) });
    const error = await errorOf(client().request(WRITE));
    expect(error).toMatchObject({ kind: write, code: String(status) });
    expect(error.message).toBe(`DELETE /api/v1/nodes/n1 of ${new URL(server.url).host}: ${status} Reason: why`);
    expect(server.requests).toHaveLength(2);
  });

  it.each([
    [403, 'admission webhook "keep.example.com" denied the request: the match goes on'],
    [400, 'admission webhook "keep.example.com" denied the request without explanation'],
    // Taken for what it says, a node would be gone, a tick be throttled, and a deed be done or not.
    ...[404, 409, 422, 429, 500].map((status): [number, string] => [
      status,
      'admission webhook "keep.example.com" denied the request: no',
    ]),
    [422, "nodes \"n1\" is forbidden: ValidatingAdmissionPolicy 'keep' with binding 'all' denied request: no"],
    [403, 'nodes "n1" is forbidden: ValidatingAdmissionPolicy \'keep\' denied request: no'],
  ])('%d that a webhook or a policy gives a write is about that object alone: %s', async (status, message) => {
    server.answer(() => failure(status, 'Forbidden', message));
    const error = await errorOf(client().request(WRITE));
    expect(error).toMatchObject({ kind: 'refused', code: 'AdmissionDenied' });
    expect(error.message).toContain(`${status} Forbidden: ${message}`);
    expect(server.requests).toHaveLength(1);
  });

  it.each([
    'nodes "n1" is forbidden: User "berth" cannot delete resource "nodes" in API group "" at the cluster scope',
    'nodes "n1" is forbidden: User "admission webhook "x" denied the request" cannot delete resource "nodes"',
    'nodes "n1" is forbidden: User "ValidatingAdmissionPolicy \'x\' denied request" cannot delete resource "nodes"',
  ])('403 that is about rights stays that, whatever a user is called: %s', async (message) => {
    server.answer(() => failure(403, 'Forbidden', message));
    expect(await errorOf(client().request(WRITE))).toMatchObject({ kind: 'denied', code: '403' });
  });

  it('a read is denied by no webhook', async () => {
    server.answer(() => failure(403, 'Forbidden', 'admission webhook "keep.example.com" denied the request: no'));
    expect(await errorOf(client().request(READ))).toMatchObject({ kind: 'denied', code: '403' });
  });

  it('that is no JSON says nothing of whether a write was done, and is not told on', async () => {
    server.answer(() => ({ text: '<html>hidden' }));
    expect(await errorOf(client().request(WRITE))).toMatchObject({ kind: 'unknown', code: 'EJSON' });
    const error = await errorOf(client().request(READ));
    expect(error).toMatchObject({ kind: 'refused', code: 'EJSON' });
    expect(error.message).not.toContain('hidden');
  });

  it('of a megabyte makes no message of a megabyte', async () => {
    server.answer(() => ({ status: 502, text: 'x'.repeat(1_000_000) }));
    expect((await errorOf(client().request(READ))).message.length).toBeLessThanOrEqual(400);
  });

  it('that is too large is not read to its end', async () => {
    server.answer(() => ({ hang: true, beginning: 'x'.repeat(2_000) }));
    const api = client({ bounds: { answerBytes: 1_999 } });
    expect(await errorOf(api.request(READ))).toMatchObject({ kind: 'refused', code: 'ETOOLARGE' });
    expect(await errorOf(api.request(WRITE))).toMatchObject({ kind: 'unknown', code: 'ETOOLARGE' });
  });
});

describe('a connection', () => {
  it.each([
    ['before the answer', undefined],
    ['in the middle of the answer', '{"kind":'],
  ])('that is cut %s: a read is sent once more, a write never', async (_, beginning) => {
    const cut = { cut: true, ...(beginning === undefined ? {} : { beginning }) } as const;
    server.answer((_request, count) => (count === 1 ? cut : { json: { kind: 'Node' } }));
    expect(await client().request(READ)).toEqual({ kind: 'Node' });

    server.answer(() => cut);
    expect(await errorOf(client().request(WRITE))).toMatchObject({ kind: 'unknown', code: 'ECONNRESET' });
    expect(server.requests).toHaveLength(1);

    server.answer(() => cut);
    expect(await errorOf(client().request(READ))).toMatchObject({ kind: 'refused', code: 'ECONNRESET' });
    expect(server.requests).toHaveLength(2);
  });

  it('that nobody accepts means that nothing was done', async () => {
    const gone = createServer().listen(0, '127.0.0.1');
    await once(gone, 'listening');
    const { port } = gone.address() as AddressInfo;
    gone.close();
    await once(gone, 'close');
    const error = await errorOf(client({}, { server: `https://127.0.0.1:${port}` }).request(WRITE));
    expect(error).toMatchObject({ kind: 'refused', code: 'ECONNREFUSED' });
  });

  it('on which nobody speaks is given up, and nothing was done', async () => {
    const silent = createServer((socket) => socket.on('error', () => socket.destroy()).resume()).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    const api = client({ bounds: { connectMs: 20 } }, { server: `https://127.0.0.1:${port}` });
    expect(await errorOf(api.request(WRITE))).toMatchObject({
      kind: 'refused',
      code: 'ETIMEDOUT',
      message: expect.stringContaining('no connection within 20 ms'),
    });
    silent.close();
    await once(silent, 'close');
  });

  it.each([
    ['nothing', undefined],
    ['a part of the answer', '{"kind":'],
  ])('on which %s comes is given up after a while', async (_, beginning) => {
    server.answer(() => ({ hang: true, ...(beginning === undefined ? {} : { beginning }) }));
    const api = client({ bounds: { requestMs: 200 } });
    expect(await errorOf(api.request(READ))).toMatchObject({ kind: 'refused', code: 'ETIMEDOUT' });
    const error = await errorOf(api.request(WRITE));
    expect(error).toMatchObject({ kind: 'unknown', code: 'ETIMEDOUT' });
    expect(error.message).toContain('no whole answer within 200 ms');
  });

  it.each(['of all requests', 'of one request'])('is given up by the signal %s', async (whose) => {
    const stop = new AbortController();
    server.answer(() => {
      stop.abort();
      return { hang: true };
    });
    const api = client(whose === 'of all requests' ? { signal: stop.signal } : {});
    const request = whose === 'of all requests' ? WRITE : { ...WRITE, signal: stop.signal };
    expect(await errorOf(api.request(request))).toMatchObject({ kind: 'unknown', code: 'ABORTED' });
    expect(await errorOf(api.request(request))).toMatchObject({ kind: 'refused', code: 'ABORTED' });
    expect(server.requests).toHaveLength(1);
  });
});
