import { createHash, createHmac } from 'node:crypto';
import type { Clock } from '../../lib/time.ts';
import type { Identity } from './authorization.ts';

const PREFIX = 'k8s-aws-v1.';
const CLUSTER_HEADER = 'x-k8s-aws-id';

/** From the time of signing, whatever X-Amz-Expires says (aws-iam-authenticator, pkg/token/token.go). */
const TOKEN_LIFE_MS = 15 * 60_000;
const MOST_EXPIRES_SECONDS = 900;

const STS_HOST = /^sts(-fips)?(\.[a-z0-9-]+)?\.amazonaws\.com(\.cn)?$/;

export interface EksTokenOptions {
  /** The cluster that a token must be signed for. */
  readonly cluster: string;
  readonly clock: Clock;
  /** Of an access key; undefined: one that STS does not know. */
  readonly secretOf: (accessKeyId: string) => string | undefined;
  /** Those that access entries of the cluster name. */
  readonly groups: readonly string[];
}

/**
 * Who has made a token of EKS; undefined: it is none that is good here. STS is not asked: the signature is made again as
 * STS would, so that a token for another cluster, or one that was changed, is refused.
 */
export function eksIdentity(
  token: string,
  { cluster, clock, secretOf, groups }: EksTokenOptions,
): Identity | undefined {
  if (!token.startsWith(PREFIX)) return undefined;
  const text = Buffer.from(token.slice(PREFIX.length), 'base64url').toString();
  if (!URL.canParse(text)) return undefined;
  const url = new URL(text);
  const query = url.searchParams;
  const expires = Number(query.get('X-Amz-Expires') ?? Number.NaN);
  const wellFormed =
    url.protocol === 'https:' &&
    STS_HOST.test(url.hostname) &&
    url.pathname === '/' &&
    query.get('Action') === 'GetCallerIdentity' &&
    query.get('X-Amz-SignedHeaders') === `host;${CLUSTER_HEADER}` &&
    expires >= 0 &&
    expires <= MOST_EXPIRES_SECONDS;
  const age = clock() - signedAt(query.get('X-Amz-Date') ?? '');
  if (!wellFormed || !(Math.abs(age) <= TOKEN_LIFE_MS)) return undefined;
  const [accessKeyId = ''] = (query.get('X-Amz-Credential') ?? '').split('/');
  const secret = secretOf(accessKeyId);
  if (secret === undefined || query.get('X-Amz-Signature') !== signatureOf(url, cluster, secret)) return undefined;
  return { name: `arn:aws:iam::000000000000:access-key/${accessKeyId}`, groups: ['system:authenticated', ...groups] };
}

/** `20270301T080000Z` in milliseconds since 1970. */
function signedAt(text: string): number {
  return Date.parse(text.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'));
}

/** Signature Version 4 of a presigned GET without a body, as a service computes it from what it has received. */
function signatureOf(url: URL, cluster: string, secret: string): string {
  const parameters = [...url.searchParams]
    .filter(([name]) => name !== 'X-Amz-Signature')
    .map(([name, value]) => `${encoded(name)}=${encoded(value)}`)
    .sort();
  const headers = [`host:${url.host}`, `${CLUSTER_HEADER}:${cluster}`, ''];
  const signedHeaders = url.searchParams.get('X-Amz-SignedHeaders') ?? '';
  const canonical = ['GET', '/', parameters.join('&'), ...headers, signedHeaders, sha256('')].join('\n');
  const [, ...scope] = (url.searchParams.get('X-Amz-Credential') ?? '').split('/');
  const date = url.searchParams.get('X-Amz-Date') ?? '';
  const toSign = ['AWS4-HMAC-SHA256', date, scope.join('/'), sha256(canonical)].join('\n');
  const key = scope.reduce<string | Buffer>((last, part) => hmac(last, part), `AWS4${secret}`);
  return hmac(key, toSign).toString('hex');
}

function encoded(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}
