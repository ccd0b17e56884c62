import { createHash, createHmac } from 'node:crypto';
import { inspect } from 'node:util';
import { EKSClient } from '@aws-sdk/client-eks';
import { describe, expect, it } from 'vitest';
import type { EpochMs } from '../time.ts';
import { eksToken } from './token.ts';

const { sha256 } = new EKSClient({ region: 'eu-central-1' }).config;
const KEYS = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' };
const START = Date.UTC(2027, 2, 1, 8) as EpochMs;

function bed(more: { readonly credentials?: object; readonly region?: string; readonly cluster?: string } = {}) {
  const state = { now: START };
  const of = {
    cluster: 'game',
    region: 'eu-central-1',
    credentials: { ...KEYS, sessionToken: 'session+/=' },
    ...more,
    sha256,
    clock: () => state.now,
  } as Parameters<typeof eksToken>[0];
  return { state, of, token: eksToken(of) };
}

function urlIn(token: string): URL {
  expect(token).toMatch(/^k8s-aws-v1\.[A-Za-z0-9_-]+$/);
  return new URL(Buffer.from(token.slice('k8s-aws-v1.'.length), 'base64url').toString('utf8'));
}

/** Signature Version 4 of a presigned GET, by its specification, as STS checks it. */
function signatureOf(url: URL, headers: Readonly<Record<string, string>>): string {
  const escaped = (text: string) =>
    encodeURIComponent(text).replace(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`);
  const query = [...url.searchParams]
    .filter(([name]) => name !== 'X-Amz-Signature')
    .map(([name, value]) => `${escaped(name)}=${escaped(value)}`)
    .sort()
    .join('&');
  const names = Object.keys(headers).sort();
  const hash = (text: string) => createHash('sha256').update(text).digest('hex');
  const lines = names.map((name) => `${name}:${headers[name]}\n`).join('');
  const canonical = ['GET', '/', query, lines, names.join(';'), hash('')].join('\n');
  const [, ...scope] = (url.searchParams.get('X-Amz-Credential') ?? '').split('/');
  const toSign = ['AWS4-HMAC-SHA256', url.searchParams.get('X-Amz-Date'), scope.join('/'), hash(canonical)].join('\n');
  const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest();
  const key = scope.reduce<string | Buffer>(hmac, `AWS4${KEYS.secretAccessKey}`);
  return hmac(key, toSign).toString('hex');
}

describe('a token', () => {
  it('is a request to STS that is signed together with the name of the cluster', async () => {
    const url = urlIn(await bed().token.get());
    expect(url.origin + url.pathname).toBe('https://sts.eu-central-1.amazonaws.com/');
    expect(Object.fromEntries(url.searchParams)).toEqual({
      Action: 'GetCallerIdentity',
      Version: '2011-06-15',
      'X-Amz-Algorithm': 'AWS4-HMAC-SHA256',
      'X-Amz-Credential': 'AKIDEXAMPLE/20270301/eu-central-1/sts/aws4_request',
      'X-Amz-Date': '20270301T080000Z',
      'X-Amz-Expires': '60',
      'X-Amz-Security-Token': 'session+/=',
      'X-Amz-SignedHeaders': 'host;x-k8s-aws-id',
      'X-Amz-Signature': signatureOf(url, { host: url.host, 'x-k8s-aws-id': 'game' }),
    });
    // No name twice, as the server wants it.
    expect(new Set(url.searchParams.keys()).size).toBe([...url.searchParams.keys()].length);
  });

  it('is below what the server takes, with a session token of its usual kilobyte', async () => {
    const token = await bed({ credentials: { ...KEYS, sessionToken: 'x'.repeat(1_200) } }).token.get();
    expect(token.length).toBeLessThan(4_096);
  });

  it('of China is of the STS there', async () => {
    expect(urlIn(await bed({ region: 'cn-north-1' }).token.get()).host).toBe('sts.cn-north-1.amazonaws.com.cn');
  });

  it('is used for less than 14 minutes, by whoever connects with the same credentials', async () => {
    const { state, of, token } = bed();
    const first = await token.get();
    state.now = (START + 14 * 60_000 - 1) as EpochMs;
    expect(await token.get()).toBe(first);
    expect(await eksToken(of).get()).toBe(first);
    state.now = (START + 14 * 60_000) as EpochMs;
    expect(await token.get()).not.toBe(first);
  });

  it('is not used where the clock says that it is of the future', async () => {
    const { state, token } = bed();
    const first = await token.get();
    state.now = (START - 1_000) as EpochMs;
    expect(await token.get()).not.toBe(first);
  });

  it.each([{ cluster: 'other' }, { region: 'us-east-1' }, { credentials: { ...KEYS } }])(
    'is another one for %j',
    async (other) => {
      const { of, token } = bed();
      const theirs = eksToken({ ...of, ...other });
      expect(await theirs.get()).not.toBe(await token.get());
    },
  );

  it('is made anew when it was refused, once for all who were refused', async () => {
    const { state, token } = bed();
    const first = await token.get();
    state.now = (START + 1_000) as EpochMs;
    const second = await token.renew(first);
    state.now = (START + 2_000) as EpochMs;
    expect(second).not.toBe(first);
    expect(await token.renew(first)).toBe(second);
    expect(await token.get()).toBe(second);
  });

  it('is made once for all who ask at the same time', async () => {
    let asked = 0;
    const credentials = async () => {
      asked += 1;
      return KEYS;
    };
    const { token } = bed({ credentials });
    const [a, b] = await Promise.all([token.get(), token.get()]);
    expect(a).toBe(b);
    expect(asked).toBe(1);
  });

  it('that cannot be signed is an error, and is tried again', async () => {
    let asked = 0;
    const credentials = async () => {
      asked += 1;
      if (asked === 1) throw Object.assign(new Error('role may not be assumed'), { name: 'AccessDenied' });
      return KEYS;
    };
    const { token } = bed({ credentials });
    await expect(token.get()).rejects.toMatchObject({
      name: 'CallError',
      kind: 'denied',
      message: 'no token for cluster game could be signed: role may not be assumed',
    });
    expect(await token.get()).toContain('k8s-aws-v1.');
  });

  it('shows nothing of itself when it is looked at', async () => {
    const { token } = bed();
    const made = await token.get();
    expect(inspect(token, { depth: 9, showHidden: true })).not.toContain(made);
  });
});
