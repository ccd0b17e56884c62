import { stringify } from 'yaml';

export interface KubeconfigInput {
  /** Name of cluster, user and context. */
  readonly name: string;
  readonly url: string;
  readonly caPem: string;
  readonly token: string;
}

/** The text of a kubeconfig file with one context. */
export function kubeconfigText({ name, url, caPem, token }: KubeconfigInput): string {
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name, cluster: { server: url, 'certificate-authority-data': Buffer.from(caPem).toString('base64') } }],
    users: [{ name, user: { token } }],
    contexts: [{ name, context: { cluster: name, user: name, namespace: 'default' } }],
    'current-context': name,
  });
}
