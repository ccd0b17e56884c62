import { DescribeClusterCommand, type EKSClient } from '@aws-sdk/client-eks';
import { abortable } from '../aws/requests.ts';
import { awsError } from '../providers/aws-errors.ts';
import { CallError } from '../scaler/call-error.ts';
import type { Clock } from '../time.ts';
import { connect, type KubernetesApi } from './api.ts';
import type { Bounds, Endpoint } from './exchange.ts';
import { type Credentials, eksToken } from './token.ts';

export interface EksCluster {
  /** Its name in EKS. */
  readonly cluster: string;
  readonly region: string;
  /** Of the cluster's account. */
  readonly eks: EKSClient;
  /** Of a role that an access entry of the cluster names. The same object next time makes that its token is used again. */
  readonly credentials: Credentials;
  readonly clock: Clock;
  /** Gives up every request. */
  readonly signal?: AbortSignal;
  /** Left out: those of the settings. */
  readonly bounds?: Partial<Bounds>;
}

/**
 * A client of an EKS cluster's API server, at the endpoint and with the certificates that EKS names. Throws CallError where
 * EKS does not answer, or has none to name; whether the cluster itself answers, the first request shows.
 */
export async function connectToEks(of: EksCluster): Promise<KubernetesApi> {
  const { cluster, region, eks, credentials, clock, signal, bounds } = of;
  const endpoint = await endpointOf(cluster, eks, signal);
  return connect(endpoint, {
    token: eksToken({ cluster, region, credentials, sha256: eks.config.sha256, clock }),
    ...(signal === undefined ? {} : { signal }),
    ...(bounds === undefined ? {} : { bounds }),
  });
}

async function endpointOf(name: string, eks: EKSClient, signal: AbortSignal | undefined): Promise<Endpoint> {
  const { cluster } = await eks
    .send(new DescribeClusterCommand({ name }), abortable(signal))
    .catch((error: unknown) => {
      const { kind, code, message } = awsError(error);
      throw new CallError(kind, code, `DescribeCluster of ${name}: ${message}`, { cause: error });
    });
  const data = cluster?.certificateAuthority?.data;
  if (!cluster?.endpoint || !data) {
    const code = String(cluster?.status);
    throw new CallError('refused', code, `cluster ${name} has no endpoint, its status is ${code}`);
  }
  return { server: cluster.endpoint, ca: Buffer.from(data, 'base64').toString('utf8') };
}
