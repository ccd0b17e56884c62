import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { failure, type HttpsServer, startHttpsServer } from '../../test/kubernetes/https-server.ts';
import type { ClusterEvent, Objects } from '../scaler/ports.ts';
import type { EpochMs } from '../time.ts';
import { connect, type KubernetesApi } from './api.ts';
import { objectsOf } from './objects.ts';
import { serviceAddress } from './services.ts';

let server: HttpsServer;
let api: KubernetesApi;
let objects: Objects;
beforeAll(async () => {
  server = await startHttpsServer();
});
beforeEach(() => {
  api = connect({ server: server.url, ca: server.caPem }, {});
  objects = objectsOf(api);
});
afterEach(() => api.close());
afterAll(() => server.close());

const PATH = '/apis/stable.agones.dev/v1alpha1/gameservernodes';
const GAME = { name: 'game', uid: 'u1' };
const metadata = { ...GAME, resourceVersion: '7', generation: 2, creationTimestamp: '2027-03-01T08:00:00Z' };

describe('the GameServerNodes', () => {
  it('are listed as they are, the wrong ones among them', async () => {
    server.answer(() => ({
      json: { metadata: { resourceVersion: '9' }, items: [{ metadata, spec: { replicas: -1 } }] },
    }));
    expect(await objects.list()).toMatchObject([{ name: 'game', generation: 2, spec: { replicas: -1 } }]);
    expect(server.requests).toMatchObject([{ method: 'GET', path: PATH, query: { limit: '500' } }]);
  });

  it('are undefined where there is no such kind', async () => {
    server.answer(() => ({ status: 404, text: '404 page not found' }));
    expect(await objects.list()).toBeUndefined();
  });
});

describe('a status', () => {
  it('takes the place of the one before, of this very object', async () => {
    server.answer(() => ({ json: {} }));
    await objects.writeStatus(GAME, { nodes: { active: 3 }, conditions: [] });
    expect(server.requests).toMatchObject([{ method: 'PATCH', path: `${PATH}/game/status` }]);
    expect(server.requests[0]?.headers['content-type']).toBe('application/json-patch+json');
    expect(server.requests[0]?.body).toEqual([
      { op: 'test', path: '/metadata/uid', value: 'u1' },
      { op: 'add', path: '/status', value: { nodes: { active: 3 }, conditions: [] } },
    ]);
  });

  it.each([
    ['nothing of the name is there', () => failure(404, 'NotFound')],
    [
      'the name is another object’s',
      (method: string) =>
        method === 'PATCH' ? failure(422, 'Invalid') : { json: { metadata: { ...metadata, uid: 'u2' } } },
    ],
    [
      'the object goes while it is looked at',
      (method: string) => (method === 'PATCH' ? failure(422, 'Invalid') : failure(404, 'NotFound')),
    ],
  ])('is done with where %s', async (_, reply) => {
    server.answer(({ method }) => reply(method));
    await expect(objects.writeStatus(GAME, {})).resolves.toBeUndefined();
  });

  it('that the schema refuses is an error', async () => {
    server.answer(({ method }) =>
      method === 'PATCH' ? failure(422, 'Invalid', 'status.nodes') : { json: { metadata } },
    );
    await expect(objects.writeStatus(GAME, {})).rejects.toMatchObject({ kind: 'conflict', code: '422' });
  });
});

describe('an event', () => {
  const event: ClusterEvent = {
    object: GAME,
    type: 'Normal',
    reason: 'NodeCordoned',
    message: 'node n1 is cordoned',
    at: Date.UTC(2027, 2, 1, 8, 0, 0, 250) as EpochMs,
  };
  const told = () => server.requests.map(({ body }) => body as { message: string; metadata: { name: string } });

  it('is of the object, in the namespace for objects that have none', async () => {
    server.answer(() => ({ status: 201, json: {} }));
    await objects.tell(event);
    expect(server.requests).toMatchObject([{ method: 'POST', path: '/api/v1/namespaces/default/events' }]);
    expect(told()).toEqual([
      {
        apiVersion: 'v1',
        kind: 'Event',
        metadata: { name: expect.stringMatching(/^game\.[0-9a-f]{16}$/), namespace: 'default' },
        involvedObject: { apiVersion: 'stable.agones.dev/v1alpha1', kind: 'GameServerNode', ...GAME },
        type: 'Normal',
        reason: 'NodeCordoned',
        message: 'node n1 is cordoned',
        source: { component: 'berth-node-scaler' },
        reportingComponent: 'berth-node-scaler',
        count: 1,
        firstTimestamp: '2027-03-01T08:00:00Z',
        lastTimestamp: '2027-03-01T08:00:00Z',
      },
    ]);
  });

  it('has a name of its own, and the same one when it is told again', async () => {
    server.answer(() => ({ status: 201, json: {} }));
    const others: Partial<ClusterEvent>[] = [
      { message: 'node n2 is cordoned' },
      { at: (event.at + 1) as EpochMs },
      { reason: 'NodeUncordoned' },
      { object: { ...GAME, uid: 'u2' } },
    ];
    for (const other of [{}, ...others, {}]) await objects.tell({ ...event, ...other });
    const names = told().map(({ metadata: { name } }) => name);
    expect(new Set(names).size).toBe(5);
    expect(names[5]).toBe(names[0]);
  });

  it('fits the server, however long its object and its message', async () => {
    server.answer(() => ({ status: 201, json: {} }));
    const name = `${'a'.repeat(235)}.${'b'.repeat(17)}`;
    await objects.tell({ ...event, object: { ...GAME, name }, message: 'x'.repeat(5_000) });
    const [{ message, metadata: made } = { message: '', metadata: { name: '' } }] = told();
    expect(message).toHaveLength(1_024);
    expect(made.name).toMatch(/^a{235}\.[0-9a-f]{16}$/);
  });

  it('that was told before is told', async () => {
    server.answer(() => failure(409, 'AlreadyExists'));
    await expect(objects.tell(event)).resolves.toBeUndefined();
  });

  it('that may not be told is an error', async () => {
    server.answer(() => failure(403, 'Forbidden'));
    await expect(objects.tell(event)).rejects.toMatchObject({ kind: 'denied' });
  });
});

describe('the address of a service', () => {
  const hook = { namespace: 'games', name: 'hook', port: 443 };
  const address = () => serviceAddress(api, hook);

  it('is that of its load balancer', async () => {
    server.answer(() => ({ json: { status: { loadBalancer: { ingress: [{ hostname: 'lb.example' }] } } } }));
    expect(await address()).toBe('lb.example');
    expect(server.requests).toMatchObject([{ method: 'GET', path: '/api/v1/namespaces/games/services/hook' }]);
  });

  it.each([
    ['the service is', failure(404, 'NotFound')],
    ['its load balancer is', { json: { status: { loadBalancer: {} } } }],
  ])('is not there while %s not there', async (_, reply) => {
    server.answer(() => reply);
    expect(await address()).toBeUndefined();
  });

  it('that may not be read says what to do', async () => {
    server.answer(() => failure(403, 'Forbidden'));
    await expect(address()).rejects.toMatchObject({
      kind: 'denied',
      message: expect.stringContaining('apply deploy/kubernetes/rbac-hook-service.yaml in namespace games'),
    });
  });
});
