import { readFile } from 'node:fs/promises';
import { Agent, request as send } from 'node:https';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { parseAllDocuments } from 'yaml';
import type { EpochMs } from '../../lib/time.ts';
import type { ObjectInput } from './kube-object.ts';
import { ObjectStore } from './object-store.ts';
import { type KubernetesApi, type KubernetesApiOptions, startKubernetesApi } from './server.ts';

export interface CallOptions {
  readonly body?: unknown;
  readonly contentType?: string;
  readonly accept?: string;
  /** Default: the administrator's. */
  readonly token?: string;
}

export interface CallAnswer {
  readonly status: number;
  readonly headers: NodeJS.Dict<string | string[]>;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever comes.
  readonly body: any;
}

export interface ApiTestBed {
  readonly store: ObjectStore;
  readonly api: KubernetesApi;
  /** Moves the clock on. */
  advance(ms: number): void;
  call(method: string, path: string, options?: CallOptions): Promise<CallAnswer>;
  close(): Promise<void>;
}

/** What is applied to a cluster, as it is in the repository. */
export async function manifests(...names: readonly string[]): Promise<ObjectInput[]> {
  const files = names.map((name) => fileURLToPath(new URL(`../../deploy/kubernetes/${name}`, import.meta.url)));
  const texts = await Promise.all(files.map((file) => readFile(file, 'utf8')));
  return texts.flatMap((file) => parseAllDocuments(file).map((document) => document.toJS() as ObjectInput));
}

/** An API server with a client that checks its certificate, at 2027-03-01T08:00:00Z. */
export async function startApiTestBed(options: Partial<KubernetesApiOptions> = {}): Promise<ApiTestBed> {
  let now = Date.parse('2027-03-01T08:00:00Z');
  const clock = () => now as EpochMs;
  const store = new ObjectStore({ clock, seed: 'test' });
  const api = await startKubernetesApi({ store, clock, ...options });
  const agent = new Agent({ ca: api.caPem, keepAlive: true });
  return {
    store,
    api,
    advance(ms) {
      now += ms;
    },
    call: (method, path, { body, contentType = 'application/json', accept = 'application/json', token } = {}) =>
      new Promise((resolve, reject) => {
        const sent = body === undefined ? '' : JSON.stringify(body);
        // Said, or node:http sends the body of a DELETE without its length, as if it were the next request.
        const headers = {
          authorization: `Bearer ${token ?? api.token}`,
          accept,
          'content-type': contentType,
          'content-length': Buffer.byteLength(sent),
        };
        const message = send(api.url + path, { method, headers, agent }, (response) => {
          const { statusCode: status = 0, headers: given } = response;
          text(response)
            .then((received) => resolve({ status, headers: given, body: JSON.parse(received) }))
            .catch(reject);
        });
        message.on('error', reject).end(sent);
      }),
    async close() {
      agent.destroy();
      await api.close();
    },
  };
}

export function node(name: string, spec: object = {}): ObjectInput {
  const status = {
    conditions: [{ type: 'Ready', status: 'True', reason: 'KubeletReady', message: 'kubelet is posting ready status' }],
    addresses: [{ type: 'InternalIP', address: '10.0.0.1' }],
    nodeInfo: { kubeletVersion: 'v1.32.0', osImage: 'Amazon Linux 2023' },
    capacity: { cpu: '4', memory: '16Gi', pods: '58' },
    allocatable: { cpu: '3920m', memory: '15Gi', pods: '58' },
  };
  const metadata = { name, labels: { 'eks.amazonaws.com/nodegroup': 'game', 'kubernetes.io/hostname': name } };
  return { apiVersion: 'v1', kind: 'Node', metadata, spec, status };
}

export function pod(name: string, nodeName: string, labels: Readonly<Record<string, string>> = {}): ObjectInput {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', labels },
    spec: { nodeName, containers: [{ name: 'game', image: 'game' }] },
    status: {
      phase: 'Running',
      podIP: '10.1.0.1',
      containerStatuses: [{ name: 'game', ready: true, restartCount: 0 }],
    },
  };
}

export function gameServer(name: string, nodeName: string, state: string): ObjectInput {
  return {
    apiVersion: 'agones.dev/v1',
    kind: 'GameServer',
    metadata: { name, namespace: 'default' },
    spec: {},
    status: { state, nodeName, address: '203.0.113.1', ports: [{ name: 'default', port: 7000 }] },
  };
}

export function pool(name: string, spec: object = { replicas: 3 }): ObjectInput {
  return { apiVersion: 'stable.agones.dev/v1alpha1', kind: 'GameServerNode', metadata: { name }, spec };
}
