import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generate } from 'selfsigned';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { failure, type HttpsServer, startHttpsServer } from '../../test/kubernetes/https-server.ts';
import { connectToKubeconfig } from './kubeconfig.ts';

let folder: string;
let server: HttpsServer;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'berth-kubeconfig-'));
  server = await startHttpsServer();
});
afterAll(async () => {
  await server.close();
  await rm(folder, { recursive: true });
});

const base64 = (text: string) => Buffer.from(text).toString('base64');
const READ = { method: 'GET', path: ['version'] } as const;

interface Parts {
  readonly cluster?: object;
  readonly user?: object;
  readonly more?: object;
}

/** A kubeconfig of one context, which JSON is as good as YAML for. */
async function write({ cluster = {}, user = { token: 's3cret' }, more = {} }: Parts = {}): Promise<string> {
  const file = join(folder, 'config');
  const content = {
    'current-context': 'here',
    contexts: [{ name: 'here', context: { cluster: 'c', user: 'u', namespace: 'default' } }],
    clusters: [
      { name: 'c', cluster: { server: server.url, 'certificate-authority-data': base64(server.caPem), ...cluster } },
    ],
    users: [{ name: 'u', user }],
    ...more,
  };
  await writeFile(file, JSON.stringify(content));
  return file;
}

/** What the server has been told by a client of `file`. */
async function authorization(file: string, context?: string): Promise<unknown> {
  server.answer(() => ({ json: {} }));
  const api = await connectToKubeconfig(file, context);
  try {
    await api.request(READ);
  } finally {
    api.close();
  }
  return server.requests[0]?.headers.authorization;
}

describe('a file that is none', () => {
  const lines = Array.from(
    { length: 9 },
    (_, at) => `a${at + 1}: &a${at + 1} [${Array(10).fill(`*a${at}`).join(',')}]`,
  );
  it.each([
    ['aliases that would fill the memory', ['a0: &a0 [x]', ...lines].join('\n'), 'aliases'],
    ['an alias of nothing', 'contexts: *x', 'aliases'],
    ['bytes of a picture', '\u0089PNG\r\n\u001a\n\0\0', 'kubeconfig'],
    ['brackets without end', '['.repeat(20_000), 'is no YAML'],
  ])('is told as that: %s', async (_, content, told) => {
    const file = join(folder, 'none');
    await writeFile(file, content);
    await expect(connectToKubeconfig(file)).rejects.toMatchObject({
      name: 'InvalidInputError',
      message: expect.stringContaining(told),
    });
  });

  it('is named, though it is a directory', async () => {
    await expect(connectToKubeconfig(folder)).rejects.toMatchObject({ code: 'EISDIR', path: folder });
  });

  it.each([
    ['a certificate', { 'client-certificate-data': 1, 'client-key-data': 1 }],
    ['a token', { token: 's3cret\nmore' }],
  ])('of %s that cannot be used is an answer like any other, without what it holds', async (_, user) => {
    const pem = base64('-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n');
    const filled = Object.fromEntries(Object.entries(user).map(([key, value]) => [key, value === 1 ? pem : value]));
    const api = await connectToKubeconfig(await write({ user: filled }));
    const answer = await api.request(READ).catch((error: unknown) => error);
    api.close();
    expect(answer).toMatchObject({ name: 'CallError', kind: 'refused', code: expect.stringMatching(/^ERR_/) });
    expect(String(answer)).not.toContain('s3cret');
  });
});

describe('a kubeconfig', () => {
  it('is YAML, and its current context counts', async () => {
    const file = join(folder, 'yaml');
    await writeFile(
      file,
      `apiVersion: v1
kind: Config
current-context: here
contexts:
  - { name: there, context: { cluster: nowhere, user: nobody } }
  - name: here
    context: { cluster: c, user: u }
clusters:
  - name: c
    cluster:
      server: ${server.url}
      certificate-authority-data: ${base64(server.caPem)}
users:
  - name: u
    user: { token: s3cret }
`,
    );
    expect(await authorization(file)).toBe('Bearer s3cret');
  });

  it('may be asked for another context', async () => {
    const contexts = [{ name: 'other', context: { cluster: 'c', user: 'v' } }];
    const users = [{ name: 'v', user: { token: 'other' } }];
    expect(await authorization(await write({ more: { contexts, users } }), 'other')).toBe('Bearer other');
  });

  it('may name files, beside it or anywhere', async () => {
    await writeFile(join(folder, 'ca.pem'), server.caPem);
    await writeFile(join(folder, 'token'), 'from a file\n');
    const cluster = { 'certificate-authority-data': undefined, 'certificate-authority': 'ca.pem' };
    const user = { tokenFile: join(folder, 'token') };
    expect(await authorization(await write({ cluster, user }))).toBe('Bearer from a file');
  });

  it('whose token is in a file has another one when the file has', async () => {
    await writeFile(join(folder, 'token'), 'old');
    const api = await connectToKubeconfig(await write({ user: { tokenFile: 'token' } }));
    server.answer(({ headers }) =>
      headers.authorization === 'Bearer new' ? { json: {} } : failure(401, 'Unauthorized'),
    );
    await expect(api.request(READ)).rejects.toMatchObject({ kind: 'denied' });
    expect(server.requests).toHaveLength(1);
    await writeFile(join(folder, 'token'), 'new');
    expect(await api.request(READ)).toEqual({});
    api.close();
  });

  it('may have a client certificate', async () => {
    const me = await generate([{ name: 'commonName', value: 'berth' }], { keyType: 'ec', algorithm: 'sha256' });
    const strict = await startHttpsServer({ requestCert: true, rejectUnauthorized: true, ca: me.cert });
    strict.answer(() => ({ json: { ok: true } }));
    const cluster = { server: strict.url, 'certificate-authority-data': base64(strict.caPem) };
    const user = { 'client-certificate-data': base64(me.cert), 'client-key-data': base64(me.private) };
    const api = await connectToKubeconfig(await write({ cluster, user }));
    expect(await api.request(READ)).toEqual({ ok: true });
    api.close();
    await strict.close();
  });

  it('may say another name for the certificate', async () => {
    expect(await authorization(await write({ cluster: { 'tls-server-name': 'localhost' } }))).toBe('Bearer s3cret');
    const wrong = await write({ cluster: { 'tls-server-name': 'other.example' } });
    await expect(authorization(wrong)).rejects.toMatchObject({ kind: 'refused' });
  });

  it.each<[string, Parts, RegExp]>([
    ['a command', { user: { exec: { command: 'aws' } } }, /users\[u\]\.user\.exec: is not used: expected token/],
    ['a plugin', { user: { 'auth-provider': { name: 'gcp' } } }, /users\[u\]\.user\.auth-provider: is not used/],
    ['a password', { user: { username: 'a', password: 's3cret' } }, /users\[u\]\.user\.username: is not used/],
    ['nobody', { user: {} }, /users\[u\]\.user: expected token, tokenFile/],
    ['half a certificate', { user: { 'client-key-data': base64('-----BEGIN s3cret') } }, /or neither, got one of them/],
    ['no PEM', { user: { 'client-key-data': base64('s3cret') } }, /client-key: expected base64 of PEM/],
    ['no checks', { cluster: { 'insecure-skip-tls-verify': true } }, /certificates are always checked/],
    [
      'no authority',
      { cluster: { 'certificate-authority-data': '' } },
      /certificate-authority-data: expected base64 of PEM, it is missing/,
    ],
    ['no TLS', { cluster: { server: 'http://127.0.0.1' } }, /server: expected an address that begins with https/],
    ['a proxy', { cluster: { 'proxy-url': 'http://127.0.0.1' } }, /proxy-url: no proxy is used/],
    ['an unknown context', { more: { 'current-context': 'gone' } }, /expected one of the name "gone", there are: here/],
    ['no context', { more: { 'current-context': undefined, contexts: [] } }, /there are: none/],
    [
      'an unknown cluster',
      { more: { clusters: [] } },
      /clusters: expected one of the name "c", which context here names/,
    ],
    ['an unknown user', { more: { users: [] } }, /users: expected one of the name "u"/],
    ['a token that is no text', { user: { token: 12345 } }, /users\[0\]\.user\.token: expected a text/],
    ['no lists', { more: { users: 's3cret' } }, /users: expected a list/],
  ])('with %s is refused, without a word of what is secret in it', async (_, parts, message) => {
    const file = await write(parts);
    const error = await connectToKubeconfig(file).catch((thrown: unknown) => thrown as Error);
    expect(error).toMatchObject({ name: 'InvalidInputError', message: expect.stringMatching(message) });
    expect(String(error)).toContain(`kubeconfig ${file} is invalid`);
    expect(String(error)).not.toMatch(/s3cret|12345/);
  });

  it('that is no YAML is told by its line, without the line', async () => {
    const file = join(folder, 'broken');
    await writeFile(file, 'users:\n  - name: u\n    user: { token: s3cret ]\n');
    const error = await connectToKubeconfig(file).catch((thrown: unknown) => thrown as Error);
    expect(error).toMatchObject({ name: 'InvalidInputError', message: expect.stringMatching(/line 3: is no YAML/) });
    expect(String(error)).not.toContain('s3cret');
  });
});
