import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { failure, type HttpsServer, type Reply, startHttpsServer } from '../../test/kubernetes/https-server.ts';
import type { ObservedGameServer, ObservedNode } from '../scaler/observation.ts';
import type { Cluster } from '../scaler/ports.ts';
import { connect, type KubernetesApi } from './api.ts';
import { clusterOf, listNodes } from './cluster.ts';

let server: HttpsServer;
let api: KubernetesApi;
let cluster: Cluster;
beforeAll(async () => {
  server = await startHttpsServer();
});
beforeEach(() => {
  api = connect({ server: server.url, ca: server.caPem }, {});
  cluster = clusterOf(api);
});
afterEach(() => api.close());
afterAll(() => server.close());

const meta = { uid: 'u1', resourceVersion: '7', creationTimestamp: '2027-03-01T08:00:00Z' };
const NODE = { metadata: { ...meta, name: 'n1' }, spec: {}, status: {} };
const POD = { metadata: { name: 'g1', namespace: 'games' }, spec: { nodeName: 'n1' }, status: { phase: 'Running' } };
const SERVER = { metadata: { ...meta, name: 'g1', namespace: 'games' }, status: { state: 'Ready', nodeName: 'n1' } };
const observedNode = { name: 'n1', uid: 'u1', resourceVersion: '7' } as ObservedNode;
const observedServer = { namespace: 'games', name: 'g1', uid: 'u1', resourceVersion: '7' } as ObservedGameServer;

const listOf = (...items: unknown[]): Reply => ({ json: { metadata: { resourceVersion: '9' }, items } });
const GONE = failure(404, 'NotFound');

/** What the server has, by path; everything else is not there. */
function answer(replies: Readonly<Record<string, Reply>>): void {
  server.answer(({ path }) => replies[path] ?? GONE);
}

const lists = {
  '/api/v1/nodes': listOf(NODE),
  '/api/v1/pods': listOf(POD),
  '/apis/agones.dev/v1/gameservers': listOf(SERVER),
};

describe('a snapshot', () => {
  it('is three lists: nodes, game pods, game servers', async () => {
    answer(lists);
    expect(await cluster.snapshot()).toMatchObject({
      nodes: [{ name: 'n1' }],
      pods: [{ namespace: 'games', name: 'g1', nodeName: 'n1' }],
      gameServers: [{ namespace: 'games', name: 'g1', state: 'Ready' }],
    });
    const asked = server.requests.map(({ method, path, query }) => [method, path, query]);
    expect(asked).toHaveLength(3);
    expect(asked).toEqual(
      expect.arrayContaining([
        ['GET', '/api/v1/nodes', { limit: '500' }],
        ['GET', '/api/v1/pods', { limit: '500', labelSelector: 'agones.dev/role=gameserver' }],
        ['GET', '/apis/agones.dev/v1/gameservers', { limit: '500' }],
      ]),
    );
  });

  it('has no servers where there is no Agones', async () => {
    answer({ ...lists, '/apis/agones.dev/v1/gameservers': { status: 404, text: '404 page not found' } });
    expect((await cluster.snapshot()).gameServers).toEqual([]);
    expect(await cluster.listGameServers()).toEqual([]);
  });

  it('fails where the servers of game pods are said not to exist', async () => {
    const ownerReferences = [{ kind: 'GameServer', controller: true }];
    const pod = { ...POD, metadata: { ...POD.metadata, ownerReferences } };
    answer({ ...lists, '/api/v1/pods': listOf(pod), '/apis/agones.dev/v1/gameservers': GONE });
    await expect(cluster.snapshot()).rejects.toThrow(/no gameservers.agones.dev, but pod games\/g1 is of one/);
  });

  it.each(['/api/v1/nodes', '/api/v1/pods'])('fails where the server knows no %s', async (path) => {
    answer({ ...lists, [path]: GONE });
    await expect(cluster.snapshot()).rejects.toThrow(/the server knows no (nodes|pods)/);
  });

  it('fails with one of its lists, and then asks for no further page of another', async () => {
    server.answer(({ path }) =>
      path === '/api/v1/nodes' ? failure(500, 'InternalError') : { hang: true, beginning: '{' },
    );
    // Otherwise this would take the ten seconds that a request may.
    const started = server.requests;
    await expect(cluster.snapshot()).rejects.toMatchObject({ code: '500' });
    expect(started.length).toBeLessThanOrEqual(3);
  });
});

describe('a single look', () => {
  it('is at a node, or at none', async () => {
    answer({ '/api/v1/nodes/n1': { json: NODE } });
    expect(await cluster.readNode('n1')).toMatchObject({ name: 'n1', uid: 'u1' });
    expect(await cluster.readNode('n2')).toBeUndefined();
  });

  it('is at a game server, or at none', async () => {
    answer({ '/apis/agones.dev/v1/namespaces/games/gameservers/g1': { json: SERVER } });
    expect(await cluster.readGameServer({ namespace: 'games', name: 'g1' })).toMatchObject({ state: 'Ready' });
    expect(await cluster.readGameServer({ namespace: 'games', name: 'g2' })).toBeUndefined();
  });

  it('is at all pods of a node, in all namespaces', async () => {
    answer(lists);
    expect(await cluster.podsOn('n1')).toHaveLength(1);
    expect(server.requests).toMatchObject([
      { path: '/api/v1/pods', query: { limit: '500', fieldSelector: 'spec.nodeName=n1' } },
    ]);
    expect(server.requests[0]?.query).not.toHaveProperty('labelSelector');
  });
});

describe('the nodes alone', () => {
  it('are one list, of which every page is asked for', async () => {
    const second = { ...NODE, metadata: { ...NODE.metadata, name: 'n2' } };
    server.answer(({ query }) =>
      query.continue === 'more'
        ? listOf(second)
        : { json: { metadata: { resourceVersion: '9', continue: 'more' }, items: [NODE] } },
    );
    expect(await listNodes(api)).toMatchObject([{ name: 'n1' }, { name: 'n2' }]);
    expect(server.requests.map(({ path, query }) => [path, query])).toEqual([
      ['/api/v1/nodes', { limit: '500' }],
      ['/api/v1/nodes', { limit: '500', continue: 'more' }],
    ]);
  });

  it('are none that are not whole', async () => {
    answer({ '/api/v1/nodes': GONE });
    await expect(listNodes(api)).rejects.toThrow(/the server knows no nodes/);
  });
});

describe('a change of a node', () => {
  it('is of the node and the version that were seen, in one patch', async () => {
    answer({ '/api/v1/nodes/n1': { json: { ...NODE, metadata: { ...NODE.metadata, resourceVersion: '8' } } } });
    const after = await cluster.patchNode(observedNode, {
      unschedulable: true,
      annotations: { mark: 'game', old: null },
    });
    expect(after).toMatchObject({ name: 'n1', resourceVersion: '8' });
    expect(server.requests).toMatchObject([
      { method: 'PATCH', path: '/api/v1/nodes/n1', query: { fieldManager: 'berth-node-scaler' } },
    ]);
    expect(server.requests[0]?.headers['content-type']).toBe('application/merge-patch+json');
    expect(server.requests[0]?.body).toEqual({
      metadata: { uid: 'u1', resourceVersion: '7', annotations: { mark: 'game', old: null } },
      spec: { unschedulable: true },
    });
  });

  it('leaves alone what it does not name', async () => {
    answer({ '/api/v1/nodes/n1': { json: NODE } });
    await cluster.patchNode(observedNode, { annotations: {} });
    expect(server.requests[0]?.body).toEqual({ metadata: { uid: 'u1', resourceVersion: '7', annotations: {} } });
  });

  it.each([
    ['of another version', failure(409, 'Conflict')],
    ['of another uid', failure(422, 'Invalid')],
    ['gone', GONE],
  ])('is a conflict where the node is %s', async (_, reply) => {
    answer({ '/api/v1/nodes/n1': reply });
    await expect(cluster.patchNode(observedNode, { annotations: {} })).rejects.toMatchObject({ kind: 'conflict' });
  });

  it('whose answer cannot be read may have been made', async () => {
    answer({ '/api/v1/nodes/n1': { json: { metadata: {} } } });
    await expect(cluster.patchNode(observedNode, { annotations: {} })).rejects.toMatchObject({ kind: 'unknown' });
  });
});

describe('a deletion', () => {
  const PATHS = { server: '/apis/agones.dev/v1/namespaces/games/gameservers/g1', node: '/api/v1/nodes/n1' };
  const DONE = { json: { kind: 'Status', status: 'Success' } };
  const options = { apiVersion: 'v1', kind: 'DeleteOptions', propagationPolicy: 'Background' };

  it('of a game server is of the very one that was seen, as it was then', async () => {
    answer({ [PATHS.server]: DONE });
    await cluster.deleteGameServer(observedServer);
    expect(server.requests).toMatchObject([{ method: 'DELETE', path: PATHS.server }]);
    expect(server.requests[0]?.body).toEqual({ ...options, preconditions: { uid: 'u1', resourceVersion: '7' } });
  });

  it('of a node is of the very one, however it is now', async () => {
    answer({ [PATHS.node]: DONE });
    await cluster.deleteNode(observedNode);
    expect(server.requests).toMatchObject([{ method: 'DELETE', path: PATHS.node }]);
    expect(server.requests[0]?.body).toEqual({ ...options, preconditions: { uid: 'u1' } });
  });

  it('is done where nothing is left', async () => {
    answer({});
    await cluster.deleteGameServer(observedServer);
    await cluster.deleteNode(observedNode);
    expect(server.requests).toHaveLength(2);
  });

  it('is a conflict where it is another one by now', async () => {
    answer({ [PATHS.server]: failure(409, 'Conflict'), [PATHS.node]: failure(409, 'Conflict') });
    await expect(cluster.deleteGameServer(observedServer)).rejects.toMatchObject({ kind: 'conflict' });
    await expect(cluster.deleteNode(observedNode)).rejects.toMatchObject({ kind: 'conflict' });
  });
});
