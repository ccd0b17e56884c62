import { CallError } from '../scaler/call-error.ts';
import type { KubernetesApi } from './api.ts';
import { readObject } from './read-object.ts';
import { SERVICES } from './shapes.ts';

/**
 * Host name or IP address at which the load balancer of a Service is reached from outside the cluster. Undefined: there is no such
 * Service, or none of type LoadBalancer, or its load balancer is not there yet.
 */
export async function serviceAddress(
  api: KubernetesApi,
  { namespace, name }: { readonly namespace: string; readonly name: string },
): Promise<string | undefined> {
  try {
    const path = ['api', 'v1', 'namespaces', namespace, 'services', name];
    const [address] = readObject(SERVICES, await api.request({ method: 'GET', path }));
    return address;
  } catch (error) {
    if (!(error instanceof CallError)) throw error;
    if (error.code === '404') return undefined;
    throw error.code === '403' ? withAdvice(error, namespace) : error;
  }
}

function withAdvice(error: CallError, namespace: string): CallError {
  const message = `${error.message}: apply deploy/kubernetes/rbac-hook-service.yaml in namespace ${namespace}`;
  return new CallError(error.kind, error.code, message, { cause: error });
}
