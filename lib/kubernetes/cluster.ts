import { CallError } from '../scaler/call-error.ts';
import type { ObservedGameServer, ObservedNode, ObservedPod } from '../scaler/observation.ts';
import type { Cluster } from '../scaler/ports.ts';
import type { KubernetesApi, KubernetesRequest } from './api.ts';
import { listAll } from './list-all.ts';
import { readObject } from './read-object.ts';
import { GAME_SERVERS, NODES, PODS, type Shape } from './shapes.ts';

/** Who a change is by, in an object's managedFields. */
export const FIELD_MANAGER = 'berth-node-scaler';

const NODES_PATH = ['api', 'v1', 'nodes'];
const PODS_PATH = ['api', 'v1', 'pods'];
const GAME_SERVERS_PATH = ['apis', 'agones.dev', 'v1', 'gameservers'];
const GAME_PODS = { labelSelector: 'agones.dev/role=gameserver' };

const nodePath = (name: string) => [...NODES_PATH, name];
const gameServerPath = ({ namespace, name }: Pick<ObservedGameServer, 'namespace' | 'name'>) => [
  'apis',
  'agones.dev',
  'v1',
  'namespaces',
  namespace,
  'gameservers',
  name,
];

/** All nodes, of one state, and nothing else. Throws CallError. */
export function listNodes(api: KubernetesApi): Promise<ObservedNode[]> {
  return known(NODES, listAll(api, NODES, { path: NODES_PATH }));
}

/** The nodes, game pods and game servers behind an API server. */
export function clusterOf(api: KubernetesApi): Cluster {
  return {
    async snapshot() {
      const stop = new AbortController();
      const { signal } = stop;
      try {
        const [nodes, pods, gameServers] = await Promise.all([
          known(NODES, listAll(api, NODES, { path: NODES_PATH, signal })),
          known(PODS, listAll(api, PODS, { path: PODS_PATH, query: GAME_PODS, signal })),
          listAll(api, GAME_SERVERS, { path: GAME_SERVERS_PATH, signal }),
        ]);
        return { nodes, pods, gameServers: gameServers ?? noServers(pods) };
      } finally {
        // Once one list has failed, the pages of the others are of no use.
        stop.abort();
      }
    },

    readNode: (name) => found(api, NODES, nodePath(name)),

    podsOn: (node) =>
      known(PODS, listAll(api, PODS, { path: PODS_PATH, query: { fieldSelector: `spec.nodeName=${node}` } })),

    async listGameServers() {
      return (await listAll(api, GAME_SERVERS, { path: GAME_SERVERS_PATH })) ?? [];
    },

    readGameServer: (server) => found(api, GAME_SERVERS, gameServerPath(server)),

    async patchNode({ name, uid, resourceVersion }, { annotations, unschedulable }) {
      const metadata = { uid, resourceVersion, annotations };
      const request: KubernetesRequest = {
        method: 'PATCH',
        path: nodePath(name),
        query: { fieldManager: FIELD_MANAGER },
        contentType: 'application/merge-patch+json',
        body: { metadata, ...(unschedulable === undefined ? {} : { spec: { unschedulable } }) },
      };
      try {
        return readObject(NODES, await api.request(request));
      } catch (error) {
        throw patchError(error, name);
      }
    },

    async deleteGameServer(server) {
      const { uid, resourceVersion } = server;
      await remove(api, gameServerPath(server), { uid, resourceVersion });
    },

    async deleteNode({ name, uid }) {
      await remove(api, nodePath(name), { uid });
    },
  };
}

/** A 404 is of a path then, not of an object. */
async function known<T>({ kind }: Shape<T>, list: Promise<T[] | undefined>): Promise<T[]> {
  const objects = await list;
  if (objects !== undefined) return objects;
  throw new CallError('refused', '404', `the server knows no ${kind}: check that its address is that of Kubernetes`);
}

/** Without Agones there are no servers; with pods of servers there is an Agones, and the answer is not to be trusted. */
function noServers(pods: readonly ObservedPod[]): ObservedGameServer[] {
  const pod = pods.find(({ ownerKind }) => ownerKind === 'GameServer');
  if (pod === undefined) return [];
  const message = `the server knows no gameservers.agones.dev, but pod ${pod.namespace}/${pod.name} is of one`;
  throw new CallError('refused', '404', `${message}: install Agones's definitions, or delete the pod`);
}

async function found<T>(api: KubernetesApi, shape: Shape<T>, path: readonly string[]): Promise<T | undefined> {
  try {
    return readObject(shape, await api.request({ method: 'GET', path }));
  } catch (error) {
    if (isGone(error)) return undefined;
    throw error;
  }
}

/** Done as well if it is gone. */
async function remove(
  api: KubernetesApi,
  path: readonly string[],
  preconditions: { readonly uid: string; readonly resourceVersion?: string },
): Promise<void> {
  try {
    await api.request({
      method: 'DELETE',
      path,
      body: { apiVersion: 'v1', kind: 'DeleteOptions', propagationPolicy: 'Background', preconditions },
    });
  } catch (error) {
    if (!isGone(error)) throw error;
  }
}

function isGone(error: unknown): boolean {
  return error instanceof CallError && error.code === '404';
}

function patchError(error: unknown, name: string): unknown {
  if (!(error instanceof CallError)) return error;
  if (isGone(error)) return new CallError('conflict', '404', `node ${name} is gone`, { cause: error });
  // It has been patched; what it is like now cannot be said.
  if (error.code === 'EUNREADABLE') return new CallError('unknown', error.code, error.message, { cause: error });
  return error;
}
