import { SignatureV4 } from '@smithy/signature-v4';
import { awsError } from '../providers/aws-errors.ts';
import { CallError } from '../scaler/call-error.ts';
import { KUBERNETES } from '../settings.ts';
import type { Clock } from '../time.ts';
import type { BearerToken } from './api.ts';

type Signing = ConstructorParameters<typeof SignatureV4>[0];
/** AWS credentials, or where they come from. */
export type Credentials = Signing['credentials'];

export interface TokenOf {
  /** Name of the cluster in EKS. */
  readonly cluster: string;
  readonly region: string;
  readonly credentials: Credentials;
  /** SHA-256 of the SDK. */
  readonly sha256: Signing['sha256'];
  readonly clock: Clock;
}

interface Made {
  readonly token: Promise<string>;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/**
 * Tokens by credentials, region and cluster. They outlive a connection, since EKS asks STS about every token that it has not
 * seen yet, and STS throttles; they end with whoever holds the credentials.
 */
const made = new WeakMap<object, Map<string, Made>>();

/** The token by which EKS knows the holder of AWS credentials: a request to STS, signed and not sent. */
export function eksToken(of: TokenOf): BearerToken {
  const tokens = made.get(of.credentials) ?? new Map<string, Made>();
  made.set(of.credentials, tokens);
  const key = `${of.region}/${of.cluster}`;

  async function make(): Promise<string> {
    const next: Made = { token: presigned(of), at: of.clock() };
    tokens.set(key, next);
    try {
      return await next.token;
    } catch (error) {
      if (tokens.get(key) === next) tokens.delete(key);
      throw unsigned(error, of.cluster);
    }
  }

  return {
    async get() {
      const last = tokens.get(key);
      const age = last === undefined ? Number.NaN : of.clock() - last.at;
      // A clock that was set back says nothing of the token's age.
      return last !== undefined && age >= 0 && age < KUBERNETES.tokenSeconds * 1000 ? last.token : make();
    },
    async renew(token) {
      const last = await tokens.get(key)?.token.catch(() => undefined);
      // Another request has made one since.
      return last !== undefined && last !== token ? last : make();
    },
  };
}

function unsigned(error: unknown, cluster: string): CallError {
  const { kind, code, message } = awsError(error);
  return new CallError(kind, code, `no token for cluster ${cluster} could be signed: ${message}`, { cause: error });
}

/** As aws-iam-authenticator makes it (pkg/token/token.go): the cluster's name is signed, so it is good for no other. */
async function presigned({ cluster, region, credentials, sha256, clock }: TokenOf): Promise<string> {
  const hostname = `sts.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`;
  const signer = new SignatureV4({ service: 'sts', region, credentials, sha256 });
  const request = {
    method: 'GET',
    protocol: 'https:',
    hostname,
    path: '/',
    query: { Action: 'GetCallerIdentity', Version: '2011-06-15' },
    headers: { host: hostname, 'x-k8s-aws-id': cluster },
  };
  const signed = await signer.presign(request, {
    expiresIn: KUBERNETES.tokenExpires,
    signingDate: new Date(clock()),
  });
  const query = new URLSearchParams(signed.query as Record<string, string>);
  return `k8s-aws-v1.${Buffer.from(`https://${hostname}/?${query}`).toString('base64url')}`;
}
