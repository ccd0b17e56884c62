import { X509Certificate } from 'node:crypto';
import type { GameServerNodeSpec } from '../scaler/spec/spec.ts';
import { clip, type Problem } from '../schema.ts';
import type { HookService } from './context.ts';

/** Where a hook is, and how it is known to be the one. */
export interface HookEndpoint {
  readonly host: string;
  readonly port: number;
  /** Name that its certificate must be valid for. */
  readonly serverName: string;
  /** The certificates that may have signed it, PEM. */
  readonly ca: string;
}

type GrpcHook = NonNullable<GameServerNodeSpec['grpcHook']>;

/** Where the hook of a spec is, or why that cannot be told. */
export async function endpointOf(
  hook: GrpcHook,
  resolveService: (service: HookService) => Promise<string | undefined>,
): Promise<HookEndpoint | { readonly problem: Problem }> {
  const ca = Buffer.from(hook.caBundle, 'base64').toString('utf8');
  const unreadable = certificateProblem(ca);
  if (unreadable !== undefined) return { problem: { path: 'spec.grpcHook.caBundle', message: unreadable } };
  if (hook.service !== undefined) return serviceEndpoint(hook.service, hook.port, ca, resolveService);
  const [host = '', portText = ''] = (hook.address ?? '').split(':');
  const port = Number(portText);
  const path = 'spec.grpcHook.address';
  if (port < 1 || port > 65_535) {
    return { problem: { path, message: `expected host:port with a port from 1 to 65535, got "${hook.address}"` } };
  }
  if (isHost(host)) return { host, port, serverName: host, ca };
  const message = `expected a name or an address before the port, got "${host}", which is neither: mend it`;
  return { problem: { path, message } };
}

async function serviceEndpoint(
  { name, namespace, port: own }: NonNullable<GrpcHook['service']>,
  port: number,
  ca: string,
  resolveService: (service: HookService) => Promise<string | undefined>,
): Promise<HookEndpoint | { readonly problem: Problem }> {
  const service = { name, namespace, port: own ?? port };
  const host = await resolveService(service);
  if (host !== undefined && !isHost(host)) {
    const message = `the load balancer of service ${namespace}/${name} is at "${clip(host, 253)}", which is no name or address: look at its status, or set spec.grpcHook.address instead`;
    return { problem: { path: 'spec.grpcHook.service', message } };
  }
  // Whatever its load balancer is called: inside the cluster its certificate is of this name.
  if (host !== undefined) return { host, port: service.port, serverName: `${name}.${namespace}.svc`, ca };
  const message = `service ${namespace}/${name} has no address outside the cluster for port ${service.port}: make it of type LoadBalancer and wait for its address, or set spec.grpcHook.address instead`;
  return { problem: { path: 'spec.grpcHook.service', message } };
}

/** Whether a URL can have it: 999.999.999.999 is no name, though it has the characters of one. */
function isHost(host: string): boolean {
  return URL.canParse(`https://${host}`);
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** Why nothing can be checked against `pem`. */
function certificateProblem(pem: string): string | undefined {
  const certificates = pem.match(CERTIFICATE) ?? [];
  if (certificates.length === 0) {
    return 'expected base64 of one or more certificates in PEM, got none: make it with `base64 -w0 ca.pem`';
  }
  for (const [at, certificate] of certificates.entries()) {
    try {
      new X509Certificate(certificate);
    } catch (error) {
      return `certificate ${at + 1} of ${certificates.length} cannot be read (${(error as Error).message}): make it anew with \`base64 -w0 ca.pem\``;
    }
  }
  return undefined;
}
