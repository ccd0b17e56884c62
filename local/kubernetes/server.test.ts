import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type ApiTestBed, gameServer, manifests, node, pod, pool, startApiTestBed } from './api-test-bed.ts';

let bed: ApiTestBed;
beforeEach(async () => {
  bed = await startApiTestBed({ manifests: await manifests('crd.yaml') });
});
afterEach(() => bed.close());

const MERGE = 'application/merge-patch+json';
const JSON_PATCH = 'application/json-patch+json';
const STRATEGIC = 'application/strategic-merge-patch+json';
const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json';
const POOLS = '/apis/stable.agones.dev/v1alpha1/gameservernodes';

describe('lists', () => {
  test('20,000 pods come in pages of 500, all of one state, each once', async () => {
    for (let n = 0; n < 20_000; n += 1)
      bed.store.create('pods', pod(`pod-${n}`, `node-${n % 100}`, { n: String(n % 2) }));
    const names = new Set<string>();
    const versions = new Set<string>();
    let token: string | undefined = '';
    let pages = 0;
    while (token !== undefined) {
      const path = `/api/v1/pods?limit=500&continue=${encodeURIComponent(token)}`;
      const { body } = await bed.call('GET', path);
      for (const { metadata } of body.items) names.add(metadata.name);
      versions.add(body.metadata.resourceVersion);
      token = body.metadata.continue;
      bed.store.delete('pods', `pod-${pages}`, { namespace: 'default' });
      pages += 1;
    }
    expect({ names: names.size, versions: versions.size, pages }).toEqual({ names: 20_000, versions: 1, pages: 40 });
  });

  test('are of what selectors and namespace say', async () => {
    bed.store.create('pods', pod('a', 'node-a', { role: 'game' }));
    bed.store.create('pods', pod('b', 'node-b', { role: 'game' }));
    bed.store.create('pods', { ...pod('c', 'node-a'), metadata: { name: 'c', namespace: 'kube-system' } });
    const names = async (path: string) =>
      (await bed.call('GET', path)).body.items.map((it: { metadata: { name: string } }) => it.metadata.name);
    expect(await names('/api/v1/pods?fieldSelector=spec.nodeName%3Dnode-a')).toEqual(['a', 'c']);
    expect(await names('/api/v1/pods?labelSelector=role%20in%20(game),role')).toEqual(['a', 'b']);
    expect(await names('/api/v1/namespaces/kube-system/pods')).toEqual(['c']);
  });

  test('with a token that is too old are answered 410, with one that goes on', async () => {
    for (const name of ['a', 'b', 'c']) bed.store.create('nodes', node(name));
    const first = await bed.call('GET', '/api/v1/nodes?limit=1');
    bed.advance(5 * 60_000);
    const late = await bed.call('GET', `/api/v1/nodes?limit=1&continue=${first.body.metadata.continue}`);
    expect(late).toMatchObject({ status: 410, body: { kind: 'Status', reason: 'Expired', code: 410 } });
    const rest = await bed.call('GET', `/api/v1/nodes?continue=${late.body.metadata.continue}`);
    expect(rest.body.items).toHaveLength(2);
  });

  test('are a table for those who ask for one', async () => {
    bed.store.create('gameservers', gameServer('gs', 'node-a', 'Allocated'));
    bed.advance(125_000);
    const { body } = await bed.call('GET', '/apis/agones.dev/v1/gameservers', { accept: TABLE });
    expect(body.columnDefinitions.map(({ name }: { name: string }) => name)).toEqual([
      'Name',
      'State',
      'Address',
      'Port',
      'Node',
      'Age',
    ]);
    expect(body.rows[0].cells).toEqual(['gs', 'Allocated', '203.0.113.1', 7000, 'node-a', '2m5s']);
    expect(body.rows[0].object).toMatchObject({ kind: 'PartialObjectMetadata', metadata: { name: 'gs' } });
  });
});

describe('a definition', () => {
  test('makes its resource be served, and that goes with it', async () => {
    expect((await bed.call('POST', POOLS, { body: pool('game') })).status).toBe(201);
    const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/gameservernodes.stable.agones.dev';
    const { body } = await bed.call('GET', path);
    expect(body.status.conditions).toContainEqual(expect.objectContaining({ type: 'Established', status: 'True' }));
    await bed.call('DELETE', path);
    expect(await bed.call('GET', POOLS)).toMatchObject({ status: 404, body: { reason: 'NotFound' } });
    expect(bed.store.list('gameservernodes')).toEqual([]);
  });

  test('refuses what its schema does not allow, with the field named', async () => {
    const { status, body } = await bed.call('POST', POOLS, { body: pool('game', { replicas: -1, provider: 'gke' }) });
    expect({ status, reason: body.reason }).toEqual({ status: 422, reason: 'Invalid' });
    expect(body.details).toMatchObject({ name: 'game', group: 'stable.agones.dev', kind: 'GameServerNode' });
    expect(body.details.causes.map(({ field }: { field: string }) => field).sort()).toEqual([
      'spec.provider',
      'spec.replicas',
    ]);
    expect(bed.store.list('gameservernodes')).toEqual([]);
  });

  test('takes unknown fields out with a warning, or refuses them where that is asked for', async () => {
    const body = pool('game', { replicas: 1, replica: 2 });
    const strict = await bed.call('POST', `${POOLS}?fieldValidation=Strict`, { body });
    expect(strict).toMatchObject({
      status: 400,
      body: { message: expect.stringContaining('unknown field "spec.replica"') },
    });
    const { status, headers, body: made } = await bed.call('POST', POOLS, { body });
    expect({ status, spec: made.spec }).toEqual({ status: 201, spec: { replicas: 1 } });
    expect(headers.warning).toContain('spec.replica');
  });

  test('with a status subresource keeps status and the rest apart', async () => {
    await bed.call('POST', POOLS, { body: { ...pool('game'), status: { effectiveTarget: 9 } } });
    expect(bed.store.get('gameservernodes', 'game')?.status).toBeUndefined();
    const body = { spec: { replicas: 5 }, status: { effectiveTarget: 4 } };
    await bed.call('PATCH', `${POOLS}/game/status`, { body, contentType: MERGE });
    expect(bed.store.get('gameservernodes', 'game')).toMatchObject({
      metadata: { generation: 1 },
      spec: { replicas: 3 },
      status: { effectiveTarget: 4 },
    });
    await bed.call('PATCH', `${POOLS}/game`, { body: { ...body, status: { effectiveTarget: 7 } }, contentType: MERGE });
    expect(bed.store.get('gameservernodes', 'game')).toMatchObject({
      metadata: { generation: 2 },
      spec: { replicas: 5 },
      status: { effectiveTarget: 4 },
    });
  });

  test('with a scale subresource can be scaled, within its schema', async () => {
    const created = await bed.call('POST', POOLS, { body: pool('game') });
    const { body: scale } = await bed.call('GET', `${POOLS}/game/scale`);
    expect(scale).toMatchObject({
      kind: 'Scale',
      apiVersion: 'autoscaling/v1',
      spec: { replicas: 3 },
      status: { replicas: 0 },
    });
    const put = (replicas: number, resourceVersion?: string) =>
      bed.call('PUT', `${POOLS}/game/scale`, {
        body: { ...scale, metadata: { ...scale.metadata, resourceVersion }, spec: { replicas } },
      });
    expect((await put(4)).body.spec.replicas).toBe(4);
    expect((await put(5, created.body.metadata.resourceVersion)).status).toBe(409);
    expect((await put(10_001)).body.details.causes[0].field).toBe('spec.replicas');
    expect(bed.store.get('gameservernodes', 'game')?.spec).toEqual({ replicas: 4 });
  });

  test('shows its schema, from which clients know that unknown fields are found here', async () => {
    const { body } = await bed.call('GET', '/openapi/v3');
    const { serverRelativeURL } = body.paths['apis/stable.agones.dev/v1alpha1'];
    const { body: schemas } = await bed.call('GET', serverRelativeURL);
    const schema = schemas.components.schemas['stable.agones.dev.v1alpha1.GameServerNode'];
    expect(schema.properties.spec.properties.replicas.maximum).toBe(10_000);
    expect(JSON.stringify(schemas.paths)).toContain('fieldValidation');
  });
});

describe('a write', () => {
  test('of a version that is gone is a conflict: PUT and merge patch 409, a test of a JSON patch 422', async () => {
    const { metadata } = bed.store.create('nodes', node('a'));
    bed.store.updateStatus('nodes', { ...node('a'), status: { phase: 'x' } });
    const stale = { metadata: { resourceVersion: metadata.resourceVersion }, spec: { unschedulable: true } };
    const put = await bed.call('PUT', '/api/v1/nodes/a', { body: { ...node('a'), metadata: { ...metadata } } });
    expect(put).toMatchObject({ status: 409, body: { reason: 'Conflict', details: { name: 'a', kind: 'nodes' } } });
    expect((await bed.call('PATCH', '/api/v1/nodes/a', { body: stale, contentType: MERGE })).status).toBe(409);
    const operations = [{ op: 'test', path: '/metadata/resourceVersion', value: metadata.resourceVersion }];
    const tested = await bed.call('PATCH', '/api/v1/nodes/a', { body: operations, contentType: JSON_PATCH });
    expect(tested).toMatchObject({ status: 422, body: { reason: 'Invalid' } });
    expect(bed.store.get('nodes', 'a')?.spec).toEqual({});
  });

  test('that cordons a node gives it the taint, and one that uncordons it takes that away', async () => {
    bed.store.create('nodes', node('a', { taints: [{ key: 'mine', effect: 'NoSchedule' }] }));
    const cordon = (unschedulable: boolean | null) =>
      bed.call('PATCH', '/api/v1/nodes/a', { body: { spec: { unschedulable } }, contentType: STRATEGIC });
    const taints = () => bed.store.get('nodes', 'a')?.spec.taints.map(({ key }: { key: string }) => key);
    await cordon(true);
    expect(taints()).toEqual(['mine', 'node.kubernetes.io/unschedulable']);
    await cordon(null);
    expect(taints()).toEqual(['mine']);
  });

  test('on trial changes nothing', async () => {
    const { status } = await bed.call('POST', `${POOLS}?dryRun=All`, { body: pool('game') });
    expect({ status, stored: bed.store.list('gameservernodes') }).toEqual({ status: 201, stored: [] });
  });

  test('of a custom resource needs its version, and takes no strategic merge patch', async () => {
    await bed.call('POST', POOLS, { body: pool('game') });
    const put = await bed.call('PUT', `${POOLS}/game`, { body: pool('game') });
    expect(put.body.message).toContain('metadata.resourceVersion: Invalid value: 0x0: must be specified for an update');
    expect((await bed.call('PATCH', `${POOLS}/game`, { body: {}, contentType: STRATEGIC })).status).toBe(415);
  });

  test('that applies creates or merges', async () => {
    const apply = (spec: object) =>
      bed.call('PATCH', `${POOLS}/game?fieldManager=test`, {
        body: pool('game', spec),
        contentType: 'application/apply-patch+yaml',
      });
    expect((await apply({ replicas: 1 })).status).toBe(201);
    expect((await apply({ replicas: 2, paused: true })).body).toMatchObject({
      metadata: { generation: 2 },
      spec: { replicas: 2 },
    });
  });

  test('into a namespace that is not there is refused', async () => {
    const path = '/apis/agones.dev/v1/namespaces/nowhere/gameservers';
    const body = { ...gameServer('gs', 'a', 'Ready'), metadata: { name: 'gs' } };
    expect(await bed.call('POST', path, { body })).toMatchObject({
      status: 404,
      body: { message: 'namespaces "nowhere" not found' },
    });
  });

  test('of an event must be where its object is', async () => {
    const event = (namespace: string) => ({
      metadata: { generateName: 'x.' },
      involvedObject: { kind: 'Node', name: 'a', namespace },
    });
    const post = (namespace: string, body: object) =>
      bed.call('POST', `/api/v1/namespaces/${namespace}/events`, { body });
    expect((await post('default', event(''))).status).toBe(201);
    expect((await post('kube-system', event(''))).body.details.causes[0].field).toBe('involvedObject.namespace');
  });
});

describe('deleting', () => {
  const GS = '/apis/agones.dev/v1/namespaces/default/gameservers/gs';

  test('with preconditions is a conflict where somebody was faster', async () => {
    const { metadata } = bed.store.create('gameservers', gameServer('gs', 'a', 'Ready'));
    bed.store.update('gameservers', gameServer('gs', 'a', 'Allocated'));
    const preconditions = { uid: metadata.uid, resourceVersion: metadata.resourceVersion };
    const refused = await bed.call('DELETE', GS, { body: { kind: 'DeleteOptions', apiVersion: 'v1', preconditions } });
    expect(refused).toMatchObject({
      status: 409,
      body: { reason: 'Conflict', message: expect.stringContaining('might have been modified') },
    });
    const other = await bed.call('DELETE', GS, { body: { preconditions: { uid: 'other' } } });
    expect(other.body.message).toContain('might have been deleted and then recreated');
    expect(bed.store.get('gameservers', 'gs', 'default')).toBeDefined();
  });

  test('answers with the object while finalizers hold it, with success once it is gone', async () => {
    const input = gameServer('gs', 'a', 'Ready');
    bed.store.create('gameservers', {
      ...input,
      metadata: { ...input.metadata, finalizers: ['agones.dev/controller'] },
    });
    const marked = await bed.call('DELETE', GS);
    expect(marked).toMatchObject({
      status: 200,
      body: { kind: 'GameServer', metadata: { deletionTimestamp: '2027-03-01T08:00:00Z' } },
    });
    const patch = { body: { metadata: { finalizers: null } }, contentType: MERGE };
    expect((await bed.call('PATCH', GS, patch)).status).toBe(200);
    expect(await bed.call('DELETE', GS)).toMatchObject({
      status: 404,
      body: { message: 'gameservers.agones.dev "gs" not found' },
    });
  });

  test('a collection takes those that are selected', async () => {
    for (const name of ['a', 'b']) bed.store.create('pods', pod(name, 'node', { name }));
    await bed.call('DELETE', '/api/v1/namespaces/default/pods?labelSelector=name%3Da');
    expect(bed.store.list('pods').map(({ metadata }) => metadata.name)).toEqual(['b']);
  });
});

test('a pod that is bound goes when the kubelet says so, where somebody plays the kubelets', async () => {
  await bed.close();
  bed = await startApiTestBed({ kubelets: true });
  bed.store.create('pods', pod('a', 'node'));
  const path = '/api/v1/namespaces/default/pods/a';
  expect((await bed.call('DELETE', path)).body.metadata.deletionTimestamp).toBe('2027-03-01T08:00:30Z');
  expect(bed.store.get('pods', 'a', 'default')).toBeDefined();
  await bed.call('DELETE', `${path}?gracePeriodSeconds=0`);
  expect(bed.store.get('pods', 'a', 'default')).toBeUndefined();
});

test('requests are kept with what they wrote and how they ended, and counted', async () => {
  await bed.call('GET', '/api/v1/nodes?limit=5');
  await bed.call('DELETE', '/api/v1/nodes/none', { body: { preconditions: { uid: 'u' } } });
  expect(bed.api.requests).toMatchObject([
    {
      method: 'GET',
      path: '/api/v1/nodes',
      verb: 'list',
      resource: 'nodes',
      query: { limit: '5' },
      status: 200,
      user: 'kubernetes-admin',
    },
    { method: 'DELETE', verb: 'delete', name: 'none', body: { preconditions: { uid: 'u' } }, status: 404 },
  ]);
  expect(Object.fromEntries(bed.api.counts)).toEqual({ 'list nodes': 1, 'delete nodes': 1 });
});

test('a path that leads nowhere is 404, a body that is no JSON 400', async () => {
  expect((await bed.call('GET', '/apis/nothing/v1/x')).body).toMatchObject({ kind: 'Status', code: 404 });
  expect((await bed.call('GET', '/nothing')).status).toBe(404);
  expect((await bed.call('POST', POOLS, { body: 'text' })).status).toBe(400);
  expect((await bed.call('POST', POOLS, { body: {}, contentType: 'text/plain' })).status).toBe(415);
  expect((await bed.call('PUT', '/api/v1/nodes', { body: {} })).status).toBe(405);
});
