import { EKSClient } from '@aws-sdk/client-eks';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { connect, type KubernetesApi } from '../../lib/kubernetes/api.ts';
import { clusterOf } from '../../lib/kubernetes/cluster.ts';
import { objectsOf } from '../../lib/kubernetes/objects.ts';
import { eksToken } from '../../lib/kubernetes/token.ts';
import type { Cluster, Objects } from '../../lib/scaler/ports.ts';
import type { EpochMs } from '../../lib/time.ts';
import { type ApiTestBed, manifests, node, startApiTestBed } from '../../local/kubernetes/api-test-bed.ts';
import { eksIdentity } from '../../local/kubernetes/eks-token.ts';

/** The client with its token, the manifests and the simulated API server, which checks all three: they fit each other. */

const NOW = Date.parse('2027-03-01T08:00:00Z') as EpochMs;
const KEYS = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret' };

let bed: ApiTestBed;
let api: KubernetesApi;
let cluster: Cluster;
let objects: Objects;

beforeEach(async () => {
  const clock = () => NOW;
  bed = await startApiTestBed({
    manifests: await manifests('crd.yaml', 'rbac.yaml', 'example.yaml'),
    authenticate: (token) =>
      eksIdentity(token, {
        ...{ cluster: 'game', clock, groups: ['berth:node-scaler'] },
        secretOf: (id) => (id === KEYS.accessKeyId ? KEYS.secretAccessKey : undefined),
      }),
  });
  const { sha256 } = new EKSClient({ region: 'eu-central-1' }).config;
  const token = eksToken({ cluster: 'game', region: 'eu-central-1', credentials: { ...KEYS }, sha256, clock });
  api = connect({ server: bed.api.url, ca: bed.api.caPem }, { token });
  cluster = clusterOf(api);
  objects = objectsOf(api);
});
afterEach(async () => {
  api.close();
  await bed.close();
});

describe('the rights of the node scaler', () => {
  it('are enough for all that it asks of nodes', async () => {
    bed.store.create('nodes', node('n1'));
    const seen = (await cluster.snapshot()).nodes.find(({ name }) => name === 'n1');
    if (seen === undefined) throw new Error('node n1 is not in the snapshot');
    const patched = await cluster.patchNode(seen, {
      unschedulable: true,
      annotations: { 'stable.agones.dev/mark': 'x' },
    });
    expect(patched).toMatchObject({ unschedulable: true, annotations: { 'stable.agones.dev/mark': 'x' } });
    await expect(cluster.patchNode(seen, { annotations: {} })).rejects.toMatchObject({ kind: 'conflict', code: '409' });
    expect(await cluster.readNode('n1')).toMatchObject({ uid: seen.uid, unschedulable: true });
    expect(await cluster.podsOn('n1')).toEqual([]);
    await expect(cluster.deleteNode({ name: 'n1', uid: 'another' })).rejects.toMatchObject({ kind: 'conflict' });
    await cluster.deleteNode(seen);
    await cluster.deleteNode(seen);
    expect(await cluster.readNode('n1')).toBeUndefined();
  });

  it('are enough for all that it asks of GameServerNodes', async () => {
    const [game] = (await objects.list()) ?? [];
    if (game === undefined) throw new Error('the example is not there');
    const condition = { type: 'Valid', status: 'True', reason: 'Accepted', message: '' };
    await objects.writeStatus(game, { effectiveTarget: 3, targetSource: 'base', conditions: [condition] });
    await objects.writeStatus(game, { conditions: [condition] });
    expect((await objects.list())?.[0]).toMatchObject({
      name: 'game',
      generation: game.generation,
      status: { conditions: [condition] },
    });
    expect((await objects.list())?.[0]?.status).not.toHaveProperty('effectiveTarget');
    await objects.writeStatus({ name: 'game', uid: 'another' }, {});
    await objects.writeStatus({ name: 'nothing', uid: 'another' }, {});
    await expect(objects.writeStatus(game, { nodes: 7 })).rejects.toMatchObject({ code: '422' });
    expect((await objects.list())?.[0]?.status).toEqual({ conditions: [condition] });

    const event = { object: game, type: 'Normal', reason: 'NodeCordoned', message: 'n1', at: NOW } as const;
    await objects.tell(event);
    await objects.tell(event);
    expect(bed.store.list('events')).toMatchObject([
      { involvedObject: { name: 'game', uid: game.uid }, reason: 'NodeCordoned' },
    ]);
  });

  it.each([
    ['a pod', 'DELETE', ['api', 'v1', 'namespaces', 'default', 'pods', 'p']],
    ['the GameServerNode itself', 'PATCH', ['apis', 'stable.agones.dev', 'v1alpha1', 'gameservernodes', 'game']],
    ['a Service', 'GET', ['api', 'v1', 'namespaces', 'default', 'services', 'hook']],
  ] as const)('are not enough for %s', async (_, method, path) => {
    const body =
      method === 'GET'
        ? {}
        : { body: {}, contentType: method === 'PATCH' ? 'application/merge-patch+json' : 'application/json' };
    await expect(api.request({ method, path, ...body })).rejects.toMatchObject({ kind: 'denied', code: '403' });
  });
});

describe('a token', () => {
  it('for another cluster is no good', async () => {
    const { sha256 } = new EKSClient({ region: 'eu-central-1' }).config;
    const of = { cluster: 'other', region: 'eu-central-1', credentials: { ...KEYS }, sha256, clock: () => NOW };
    const stranger = connect({ server: bed.api.url, ca: bed.api.caPem }, { token: eksToken(of) });
    await expect(clusterOf(stranger).readNode('n1')).rejects.toMatchObject({ kind: 'denied', code: '401' });
    stranger.close();
  });
});
