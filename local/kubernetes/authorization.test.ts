import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type ApiTestBed, gameServer, manifests, node, pod, pool, startApiTestBed } from './api-test-bed.ts';

let bed: ApiTestBed;
beforeEach(async () => {
  bed = await startApiTestBed({
    manifests: await manifests('crd.yaml', 'rbac.yaml'),
    authenticate: (token) => ({ name: token, groups: token === 'scaler' ? ['berth:node-scaler'] : [] }),
  });
  bed.store.create('nodes', node('a'));
  bed.store.create('pods', pod('p', 'a'));
  bed.store.create('gameservers', gameServer('gs', 'a', 'Ready'));
  bed.store.create('gameservernodes', pool('game'));
});
afterEach(() => bed.close());

const EVENT = { metadata: { generateName: 'x.' }, involvedObject: { kind: 'GameServerNode', name: 'game' } };
const GS = '/apis/agones.dev/v1/namespaces/default/gameservers/gs';
const POOL = '/apis/stable.agones.dev/v1alpha1/gameservernodes/game';

describe('the group of the node scaler may, by the manifest that is applied,', () => {
  test.each<[string, string, object?]>([
    ['GET', '/api/v1/nodes'],
    ['GET', '/api/v1/nodes/a'],
    ['PATCH', '/api/v1/nodes/a', { spec: { unschedulable: true } }],
    ['DELETE', '/api/v1/nodes/a'],
    ['GET', '/api/v1/pods'],
    ['GET', '/apis/agones.dev/v1/gameservers'],
    ['DELETE', GS],
    ['GET', '/apis/stable.agones.dev/v1alpha1/gameservernodes'],
    ['PATCH', `${POOL}/status`, { status: { effectiveTarget: 1 } }],
    ['POST', '/api/v1/namespaces/default/events', EVENT],
    ['GET', '/version'],
  ])('%s %s', async (method, path, body) => {
    const contentType = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
    const { status } = await bed.call(method, path, { token: 'scaler', body, contentType });
    expect(status).toBeLessThan(300);
  });
});

describe('it may not', () => {
  test.each<[string, string]>([
    ['DELETE', '/api/v1/namespaces/default/pods/p'],
    ['DELETE', '/api/v1/nodes'],
    ['PUT', '/api/v1/nodes/a'],
    ['PATCH', POOL],
    ['PATCH', GS],
    ['DELETE', POOL],
    ['GET', '/api/v1/configmaps'],
    ['GET', '/api/v1/nodes?watch=true'],
    ['GET', '/api/v1/namespaces/default/services/hook'],
  ])('%s %s', async (method, path) => {
    expect(await bed.call(method, path, { token: 'scaler' })).toMatchObject({
      status: 403,
      body: { reason: 'Forbidden' },
    });
  });
});

test('what is refused is told in the words of Kubernetes', async () => {
  const { body } = await bed.call('DELETE', '/api/v1/namespaces/default/pods/p', { token: 'scaler' });
  expect(body.message).toBe(
    'pods "p" is forbidden: User "scaler" cannot delete resource "pods" in API group "" in the namespace "default"',
  );
  const { body: status } = await bed.call('PUT', `${POOL}/status`, { token: 'scaler' });
  expect(status.message).toBe(
    'gameservernodes.stable.agones.dev "game" is forbidden: User "scaler" cannot update resource "gameservernodes/status" in API group "stable.agones.dev" at the cluster scope',
  );
});

test('a role that is bound in a namespace counts there alone', async () => {
  for (const object of await manifests('rbac-hook-service.yaml')) {
    const resource = `${object.kind.toLowerCase()}s`;
    bed.store.create(resource, { ...object, metadata: { ...object.metadata, namespace: 'default' } });
  }
  const read = async (namespace: string) =>
    (await bed.call('GET', `/api/v1/namespaces/${namespace}/services/hook`, { token: 'scaler' })).status;
  expect([await read('default'), await read('kube-system')]).toEqual([404, 403]);
});

test('whoever is known but of no group may do nothing but look around', async () => {
  expect((await bed.call('GET', '/api/v1/nodes', { token: 'somebody' })).status).toBe(403);
  expect((await bed.call('GET', '/apis', { token: 'somebody' })).status).toBe(200);
});

test('whoever is not known is told nothing', async () => {
  await bed.close();
  bed = await startApiTestBed();
  const answer = await bed.call('GET', '/api/v1/nodes', { token: 'nobody' });
  expect(answer).toMatchObject({ status: 401, body: { reason: 'Unauthorized', message: 'Unauthorized' } });
  expect(bed.api.requests).toMatchObject([{ user: undefined, status: 401 }]);
});
