import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { cells, Kubectl } from '../../test/support/kubectl.ts';
import { type ApiTestBed, gameServer, manifests, node, pod, pool, startApiTestBed } from './api-test-bed.ts';

// What people do with a cluster they do with kubectl: it is the judge of whether this is an API server.

let folder: string;
let bed: ApiTestBed;
let kubectl: Kubectl;

function deployed(file: string): string {
  return fileURLToPath(new URL(`../../deploy/kubernetes/${file}`, import.meta.url));
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'berth-kubectl-'));
  kubectl = new Kubectl(folder);
});
afterAll(() => rm(folder, { recursive: true, force: true }));
beforeEach(async () => {
  bed = await startApiTestBed({ manifests: await manifests('crd.yaml') });
  kubectl.use(bed.api.kubeconfig());
});
afterEach(() => bed.close());

describe('nodes', () => {
  beforeEach(() => {
    bed.store.create('nodes', node('node-a', { providerID: 'aws:///eu-central-1a/i-0123' }));
    bed.store.create('nodes', node('node-b'));
  });

  test('are shown', async () => {
    bed.advance(3 * 60_000);
    expect(cells(await kubectl.say('get', 'nodes'))).toEqual([
      ['NAME', 'STATUS', 'ROLES', 'AGE', 'VERSION'],
      ['node-a', 'Ready', '<none>', '3m', 'v1.32.0'],
      ['node-b', 'Ready', '<none>', '3m', 'v1.32.0'],
    ]);
    expect(await kubectl.say('get', 'nodes', '-o', 'wide')).toContain('Amazon Linux 2023');
    expect(await kubectl.say('get', 'node', 'node-a', '-o', 'yaml')).toContain(
      'providerID: aws:///eu-central-1a/i-0123',
    );
    expect(await kubectl.say('get', 'nodes', '-l', 'kubernetes.io/hostname in (node-b)', '-o', 'name')).toBe(
      'node/node-b\n',
    );
  });

  test('are cordoned and uncordoned', async () => {
    await kubectl.say('cordon', 'node-a');
    expect(cells(await kubectl.say('get', 'nodes'))[1]?.[1]).toBe('Ready,SchedulingDisabled');
    expect(await kubectl.say('describe', 'node', 'node-a')).toMatch(
      /Taints: +node.kubernetes.io\/unschedulable:NoSchedule/,
    );
    await kubectl.say('uncordon', 'node-a');
    expect(bed.store.get('nodes', 'node-a')?.spec).toEqual({ providerID: 'aws:///eu-central-1a/i-0123' });
  });

  test('are described with their pods, and drained on trial', async () => {
    bed.store.create('pods', pod('game-1', 'node-a'));
    bed.store.create('pods', pod('game-2', 'node-b'));
    const description = await kubectl.say('describe', 'node', 'node-a');
    expect(description).toContain('game-1');
    expect(description).not.toContain('game-2');
    expect(await kubectl.say('drain', 'node-a', '--dry-run=client', '--force')).toContain(
      'node/node-a drained (dry run)',
    );
  });

  test('are labelled and deleted', async () => {
    await kubectl.say('label', 'node', 'node-a', 'pool=game');
    expect(bed.store.get('nodes', 'node-a')?.metadata.labels?.pool).toBe('game');
    expect(await kubectl.say('delete', 'node', 'node-b')).toContain('node "node-b" deleted');
    expect(bed.store.list('nodes')).toHaveLength(1);
  });
});

test('pods and game servers are shown in all namespaces', async () => {
  bed.store.create('pods', pod('game-1', 'node-a'));
  bed.store.create('gameservers', gameServer('game-1', 'node-a', 'Allocated'));
  expect(cells(await kubectl.say('get', 'pods', '-A')).slice(0, 2)).toEqual([
    ['NAMESPACE', 'NAME', 'READY', 'STATUS', 'RESTARTS', 'AGE'],
    ['default', 'game-1', '1/1', 'Running', '0', '0s'],
  ]);
  expect(cells(await kubectl.say('get', 'gs'))).toEqual([
    ['NAME', 'STATE', 'ADDRESS', 'PORT', 'NODE', 'AGE'],
    ['game-1', 'Allocated', '203.0.113.1', '7000', 'node-a', '0s'],
  ]);
});

describe('a pool', () => {
  beforeEach(async () => {
    await kubectl.say('apply', '-f', deployed('example.yaml'));
  });

  test('is applied once, and again without a change', async () => {
    expect(await kubectl.say('apply', '-f', deployed('example.yaml'))).toContain(
      'gameservernode.stable.agones.dev/game unchanged',
    );
    expect(bed.store.get('gameservernodes', 'game')).toMatchObject({
      metadata: { generation: 1 },
      spec: { replicas: 3 },
    });
  });

  test('is shown in the columns of its definition, and described', async () => {
    const status = {
      effectiveTarget: 4,
      nodes: { active: 3, pending: 1, draining: 0 },
      provider: { name: 'eks' },
      conditions: [
        { type: 'Valid', status: 'True', message: 'nothing is wrong' },
        { type: 'Degraded', status: 'True', reason: 'CapacityShortage' },
      ],
    };
    bed.store.updateStatus('gameservernodes', { ...pool('game'), status });
    expect(cells(await kubectl.say('get', 'gsn'))).toEqual([
      ['NAME', 'TARGET', 'ACTIVE', 'PENDING', 'DRAINING', 'PROVIDER', 'VALID', 'HEALTH', 'AGE'],
      ['game', '4', '3', '1', '0', 'eks', 'True', 'CapacityShortage', '0s'],
    ]);
    expect(await kubectl.say('get', 'gsn', 'game', '-o', 'yaml')).toContain('timezone: Europe/Berlin');
    const uid = bed.store.get('gameservernodes', 'game')?.metadata.uid;
    bed.store.create('events', {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: 'game.1', namespace: 'default' },
      involvedObject: { kind: 'GameServerNode', apiVersion: 'stable.agones.dev/v1alpha1', name: 'game', uid },
      type: 'Normal',
      reason: 'NodeCordoned',
      message: 'node-a was cordoned',
      source: { component: 'berth-node-scaler' },
      firstTimestamp: '2027-03-01T08:00:00Z',
      lastTimestamp: '2027-03-01T08:00:00Z',
      count: 1,
    });
    const description = await kubectl.say('describe', 'gsn', 'game');
    expect(description).toContain('nothing is wrong');
    expect(description).toContain('NodeCordoned');
    expect(cells(await kubectl.say('get', 'events'))[1]?.slice(1)).toEqual([
      'Normal',
      'NodeCordoned',
      'gameservernode/game',
      'node-a was cordoned',
    ]);
  });

  test('is scaled, patched and edited', async () => {
    await kubectl.say('scale', 'gsn', 'game', '--replicas', '5');
    expect(bed.store.get('gameservernodes', 'game')?.spec.replicas).toBe(5);
    await kubectl.say('patch', 'gsn', 'game', '--type', 'merge', '--patch', '{"spec":{"paused":true}}');
    expect(bed.store.get('gameservernodes', 'game')?.spec).toMatchObject({ replicas: 5, paused: true });
    const { code, stdout } = await kubectl.edit('gsn', 'game', 's/^  replicas: 5$/  replicas: 7/');
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'gameservernode.stable.agones.dev/game edited\n' });
    expect(bed.store.get('gameservernodes', 'game')?.spec.replicas).toBe(7);
  });

  test('is not made what its schema does not allow, and the field is named', async () => {
    expect(await kubectl.refusal('scale', 'gsn', 'game', '--replicas', '10001')).toContain(
      'spec.replicas: Invalid value: 10001',
    );
    const patch = '{"spec":{"schedules":[{"name":"x","cron":"* * * * *","durationMinutes":0,"replicas":1}]}}';
    const said = await kubectl.refusal('patch', 'gsn', 'game', '--type', 'merge', '--patch', patch);
    expect(said).toContain('spec.schedules[0].timezone: Required value');
    expect(said).toContain('spec.schedules[0].durationMinutes: Invalid value: 0');
    expect(bed.store.get('gameservernodes', 'game')?.metadata.generation).toBe(1);
  });

  test('is waited for, by a condition and until it is gone', async () => {
    const waiting = kubectl.say('wait', '--for=condition=Valid', 'gsn/game', '--timeout=60s');
    await expect.poll(() => bed.api.counts.get('watch gameservernodes'), { timeout: 60_000 }).toBeGreaterThan(0);
    bed.store.updateStatus('gameservernodes', {
      ...pool('game'),
      status: { conditions: [{ type: 'Valid', status: 'True' }] },
    });
    expect(await waiting).toContain('condition met');
    const held = bed.store.get('gameservernodes', 'game');
    if (!held) throw new Error('there is no pool');
    const { metadata } = bed.store.update('gameservernodes', {
      ...held,
      metadata: { ...held.metadata, finalizers: ['test/held'] },
    });
    const before = bed.api.counts.get('watch gameservernodes') ?? 0;
    const deleting = kubectl.say('delete', 'gsn', 'game', '--timeout=60s');
    await expect.poll(() => bed.api.counts.get('watch gameservernodes'), { timeout: 60_000 }).toBeGreaterThan(before);
    bed.store.update('gameservernodes', {
      ...held,
      metadata: { ...metadata, resourceVersion: undefined as never, finalizers: [] },
    });
    expect(await deleting).toContain('deleted');
    expect(cells(await kubectl.say('get', 'gsn', '-o', 'name'))).toEqual([['']]);
  });
});

test('definition and roles are applied, and served from then on until they are deleted', async () => {
  await kubectl.say('delete', '-f', deployed('crd.yaml'));
  expect(await kubectl.refusal('get', 'gameservernodes.v1alpha1.stable.agones.dev')).toMatch(
    /could not find|doesn't have a resource type/,
  );
  await kubectl.say('apply', '-f', deployed('crd.yaml'), '-f', deployed('rbac.yaml'));
  await kubectl.say('wait', '--for=condition=established', 'crd/gameservernodes.stable.agones.dev', '--timeout=60s');
  await kubectl.say('apply', '-f', deployed('example.yaml'));
  expect(await kubectl.say('get', 'gsn', '-o', 'name')).toBe('gameservernode.stable.agones.dev/game\n');
  expect(bed.store.get('clusterroles', 'berth-node-scaler')).toBeDefined();
});

test('what changes is watched', async () => {
  bed.store.create('nodes', node('node-a'));
  const child = kubectl.start(['get', 'nodes', '--watch']);
  let shown = '';
  child.stdout.setEncoding('utf8').on('data', (part: string) => (shown += part));
  try {
    await expect.poll(() => bed.api.counts.get('watch nodes'), { timeout: 60_000 }).toBe(1);
    bed.store.create('nodes', node('node-b'));
    await expect.poll(() => shown, { timeout: 60_000 }).toContain('node-b');
  } finally {
    const closed = new Promise((resolve) => child.once('close', resolve));
    child.kill();
    await closed;
  }
});
