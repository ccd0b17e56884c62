import { describe, expect, it } from 'vitest';
import { readObject } from './read-object.ts';
import { GAME_SERVER_NODES, GAME_SERVERS, NODES, PODS, SERVICES } from './shapes.ts';

const created = '2027-03-01T08:00:00Z';
const metadata = { name: 'n1', uid: 'u1', resourceVersion: '7', creationTimestamp: created };

it.each(['', '..', 'a/b', 'a%2fb', 'a\nb', 'a\u001b[2J', '\ud800', 'x'.repeat(254)])(
  'no object has the name %j, which would go into paths, keys and messages',
  (name) => {
    const object = { metadata: { ...metadata, name, namespace: 'games', generation: 1 } };
    for (const shape of [NODES, GAME_SERVERS, PODS, GAME_SERVER_NODES] as const) {
      expect(() => readObject<unknown>(shape, object)).toThrow(/metadata\.name: expected a name of 1 to 253/);
    }
    const inside = { metadata: { ...metadata, namespace: name } };
    for (const shape of [GAME_SERVERS, PODS] as const) {
      expect(() => readObject<unknown>(shape, inside)).toThrow(/metadata\.namespace: expected a name/);
    }
  },
);

describe('a node', () => {
  it('is what decides about it, and nothing else', () => {
    const node = readObject(NODES, {
      kind: 'Node',
      metadata: { ...metadata, labels: { l: '1' }, annotations: { a: '2' }, managedFields: [{ manager: 'kubelet' }] },
      spec: {
        providerID: 'aws:///eu-central-1a/i-1',
        unschedulable: true,
        taints: [{ key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' }],
      },
      status: {
        conditions: [
          { type: 'MemoryPressure', status: 'False' },
          { type: 'Ready', status: 'True', reason: 'KubeletReady' },
        ],
        allocatable: { cpu: '3920m' },
        nodeInfo: { machineID: 'm', systemUUID: 's', bootID: 'b' },
        images: [{ names: ['x'] }],
      },
    });
    expect(node).toEqual({
      name: 'n1',
      uid: 'u1',
      resourceVersion: '7',
      providerId: 'aws:///eu-central-1a/i-1',
      machineId: 's/m',
      labels: { l: '1' },
      annotations: { a: '2' },
      taints: ['node.kubernetes.io/unschedulable'],
      unschedulable: true,
      ready: true,
      createdAt: Date.parse(created),
      deleting: false,
      ineligible: false,
      allocatable: { cpu: '3920m' },
    });
  });

  it('may have just come', () => {
    expect(readObject(NODES, { metadata, spec: {}, status: null })).toMatchObject({
      providerId: '',
      labels: {},
      annotations: {},
      taints: [],
      unschedulable: false,
      ready: false,
      allocatable: {},
    });
  });

  it('does not say which machine it is by half of that', () => {
    const status = { nodeInfo: { machineID: 'cloned', systemUUID: '' } };
    expect(readObject(NODES, { metadata, status })).not.toHaveProperty('machineId');
  });

  it('may be going', () => {
    expect(readObject(NODES, { metadata: { ...metadata, deletionTimestamp: created } }).deleting).toBe(true);
  });

  it.each([['False'], ['Unknown']])('whose condition Ready is %s is not ready', (status) => {
    expect(readObject(NODES, { metadata, status: { conditions: [{ type: 'Ready', status }] } }).ready).toBe(false);
  });

  it.each([
    [
      { metadata: { ...metadata, uid: undefined } },
      'nodes "n1" cannot be read: metadata.uid: expected a text, it is missing',
    ],
    [
      { metadata: { ...metadata, creationTimestamp: 'once' } },
      'metadata.creationTimestamp: expected a time as in RFC 3339, got "once"',
    ],
    [{ metadata, spec: { unschedulable: 'yes' } }, 'spec.unschedulable: expected true or false, got "yes"'],
    [{ metadata, spec: { taints: {} } }, 'spec.taints: expected a list, got an object'],
    [{ metadata: { ...metadata, labels: { a: 1 } } }, 'metadata.labels.a: expected a text, got 1'],
    [null, 'nodes without a name cannot be read: the whole: expected an object, got null'],
  ])('that is not as expected is told with its name and the field', (object, message) => {
    expect(() => readObject(NODES, object)).toThrow(message);
  });
});

describe('a pod', () => {
  const pod = { name: 'g1', namespace: 'games' };

  it('has the kind of the owner that controls it', () => {
    const ownerReferences = [
      { kind: 'Node', name: 'n1' },
      { kind: 'GameServer', name: 'g1', controller: true },
    ];
    const object = {
      metadata: { ...pod, ownerReferences },
      spec: { nodeName: 'n1', containers: [{}] },
      status: { phase: 'Running' },
    };
    expect(readObject(PODS, object)).toEqual({
      namespace: 'games',
      name: 'g1',
      nodeName: 'n1',
      labels: {},
      ownerKind: 'GameServer',
      phase: 'Running',
    });
  });

  it.each([[undefined], [''], [null]])('with %j for a node is bound to none', (nodeName) => {
    expect(readObject(PODS, { metadata: pod, spec: { nodeName } })).not.toHaveProperty('nodeName');
  });

  it('that does not say how it is has not finished', () => {
    expect(readObject(PODS, { metadata: pod }).phase).toBe('');
  });
});

describe('a game server', () => {
  const server = { ...metadata, name: 'g1', namespace: 'games' };

  it.each(['Allocated', 'Ready', 'SomethingNew'])('may be %s', (state) => {
    expect(readObject(GAME_SERVERS, { metadata: server, status: { state, nodeName: 'n1', ports: [] } })).toEqual({
      namespace: 'games',
      name: 'g1',
      uid: 'u1',
      resourceVersion: '7',
      nodeName: 'n1',
      state,
      deleting: false,
      development: false,
      createdAt: Date.parse(created),
    });
  });

  it.each([undefined, null, 'yesterday', 7])('is read where it was made at %j, which decides about nothing', (at) => {
    const read = readObject(GAME_SERVERS, { metadata: { ...server, creationTimestamp: at } });
    expect(read).not.toHaveProperty('createdAt');
  });

  it('that nobody has looked at has no state that is known', () => {
    const read = readObject(GAME_SERVERS, { metadata: server });
    expect(read.state).toBe('');
    expect(read).not.toHaveProperty('nodeName');
  });

  it('may be for development, and going', () => {
    const annotations = { 'agones.dev/dev-address': '10.0.0.1' };
    const object = { metadata: { ...server, annotations, deletionTimestamp: created } };
    expect(readObject(GAME_SERVERS, object)).toMatchObject({ development: true, deleting: true });
  });

  it('whose state is no text cannot be read', () => {
    expect(() => readObject(GAME_SERVERS, { metadata: server, status: { state: 1 } })).toThrow(
      /status.state: expected a text/,
    );
  });
});

describe('a GameServerNode', () => {
  it('keeps spec and status as they came', () => {
    const spec = { replicas: 'many', what: [1] };
    expect(readObject(GAME_SERVER_NODES, { metadata: { ...metadata, generation: 3 }, spec, status: 7 })).toEqual({
      name: 'n1',
      uid: 'u1',
      resourceVersion: '7',
      generation: 3,
      createdAt: Date.parse(created),
      spec,
      status: 7,
    });
  });
});

describe('a Service', () => {
  it.each([
    [
      'a host name',
      { loadBalancer: { ingress: [{ hostname: 'lb.example' }, { ip: '10.0.0.1' }] } },
      ['lb.example', '10.0.0.1'],
    ],
    ['an address', { loadBalancer: { ingress: [{ ip: '10.0.0.1', hostname: '' }] } }, ['10.0.0.1']],
    ['nothing yet', { loadBalancer: {} }, []],
    ['no load balancer', undefined, []],
  ])('has %s', (_, status, addresses) => {
    expect(readObject(SERVICES, { metadata, status })).toEqual(addresses);
  });
});
