import { createHash, createHmac } from 'node:crypto';
import { SignatureV4 } from '@smithy/signature-v4';
import { describe, expect, test } from 'vitest';
import type { EpochMs } from '../../lib/time.ts';
import { eksIdentity } from './eks-token.ts';

const AT = Date.parse('2027-03-01T08:00:00Z');

class Sha256 {
  readonly #hash;
  constructor(secret?: string | ArrayBuffer | ArrayBufferView) {
    this.#hash = secret === undefined ? createHash('sha256') : createHmac('sha256', secret as string);
  }
  update(data: string | ArrayBuffer | ArrayBufferView): void {
    this.#hash.update(data as string);
  }
  async digest(): Promise<Uint8Array> {
    return this.#hash.digest();
  }
  reset(): void {
    // Each is used once.
  }
}

interface Signing {
  readonly cluster?: string;
  readonly secret?: string;
  readonly session?: string;
  readonly action?: string;
  readonly at?: number;
  readonly expiresIn?: number;
  readonly hostname?: string;
}

async function tokenOf(signing: Signing = {}): Promise<string> {
  const {
    cluster = 'game',
    secret = 'secret',
    session,
    action = 'GetCallerIdentity',
    at = AT,
    expiresIn = 60,
  } = signing;
  const hostname = signing.hostname ?? 'sts.eu-central-1.amazonaws.com';
  const signer = new SignatureV4({
    service: 'sts',
    region: 'eu-central-1',
    credentials: { accessKeyId: 'AKID', secretAccessKey: secret, ...(session && { sessionToken: session }) },
    sha256: Sha256,
  });
  const headers = { host: hostname, 'x-k8s-aws-id': cluster };
  const query = { Action: action, Version: '2011-06-15' };
  const request = { method: 'GET', protocol: 'https:', hostname, path: '/', query, headers };
  const signed = await signer.presign(request, { signingDate: new Date(at), expiresIn });
  const url = `https://${hostname}/?${new URLSearchParams(signed.query as Record<string, string>)}`;
  return `k8s-aws-v1.${Buffer.from(url).toString('base64url')}`;
}

function identityOf(token: string, now = AT, cluster = 'game') {
  const secretOf = (id: string) => (id === 'AKID' ? 'secret' : undefined);
  return eksIdentity(token, { cluster, clock: () => now as EpochMs, secretOf, groups: ['berth:node-scaler'] });
}

describe('a token of EKS', () => {
  test.each<[string, Signing]>([
    ['as it is to be', {}],
    ['of a session', { session: 'a+session/token==' }],
    ['of the longest life', { expiresIn: 900 }],
  ])('%s says who has signed it', async (_, signing) => {
    const identity = identityOf(await tokenOf(signing));
    expect(identity?.groups).toEqual(['system:authenticated', 'berth:node-scaler']);
    expect(identity?.name).toContain('AKID');
  });

  test.each<[string, Signing]>([
    ['for another cluster', { cluster: 'other' }],
    ['signed with another key', { secret: 'other' }],
    ['for another action', { action: 'AssumeRole' }],
    ['sent elsewhere', { hostname: 'sts.example.com' }],
    ['that lasts longer than EKS takes', { expiresIn: 901 }],
    ['signed more than 15 minutes ago', { at: AT - 15 * 60_000 - 1000 }],
    ['signed more than 15 minutes ahead', { at: AT + 15 * 60_000 + 1000 }],
  ])('%s is good for nothing', async (_, signing) => {
    expect(identityOf(await tokenOf(signing))).toBeUndefined();
  });

  test('is good for the cluster that it was signed for', async () => {
    expect(identityOf(await tokenOf({ cluster: 'other' }), AT, 'other')).toBeDefined();
  });

  test('is good for 15 minutes whatever it says itself', async () => {
    const token = await tokenOf({ expiresIn: 60 });
    expect(identityOf(token, AT + 15 * 60_000)).toBeDefined();
    expect(identityOf(token, AT + 15 * 60_000 + 1)).toBeUndefined();
  });

  test.each(['', 'k8s-aws-v1.', 'k8s-aws-v1.bm8gdXJs', 'secret'])('is not %j', (token) => {
    expect(identityOf(token)).toBeUndefined();
  });
});
