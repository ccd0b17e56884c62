import { describe, expect, it } from 'vitest';
import type { Ledger, ObservedNode } from '../../lib/scaler/observation.ts';
import { classify, isDetached, lifeOf } from '../../lib/scaler/pool/classes.ts';
import { MARKS } from '../../lib/scaler/pool/marks.ts';
import type { Selection } from '../../lib/scaler/pool/membership.ts';
import { aCordonedNode, aGamePod, aGroup, ago, aNode, aServer, aSnapshot, aSpec, NOW, OBJECT } from './plain.ts';

/** What a tick makes of each node and machine of a pool, taken for itself. */

const EMPTY: Ledger = { version: 1, pendingDeletions: [] };

function poolOf(
  nodes: readonly ObservedNode[],
  group = aGroup(nodes.map(({ name }) => name)),
  ledger: Ledger = EMPTY,
  rest: Partial<ReturnType<typeof aSnapshot>> = {},
) {
  const selection: Selection = { spec: aSpec(), group, whereabouts: new Map() };
  return classify(OBJECT, aSnapshot({ nodes, ...rest }), ledger, selection, NOW);
}

const classOf = (node: ObservedNode, ledger?: Ledger) => poolOf([node], aGroup([node.name]), ledger).nodes[0]?.class;

describe('a word of Auto Scaling for the state of a machine', () => {
  it.each([
    ['InService', 'live'],
    ['Pending', 'live'],
    ['Pending:Wait', 'live'],
    ['Terminating', 'leaving'],
    ['Terminating:Wait', 'leaving'],
    ['Detaching', 'leaving'],
    [undefined, 'leaving'],
    ['Standby', 'held'],
    ['Warmed:Pending', 'held'],
    // Of the warm pool, which the desired capacity does not count.
    ['Warmed:Terminating', 'held'],
    ['PendingElsewhere', 'held'],
  ] as const)('%s means %s', (state, life) => {
    expect(lifeOf(state)).toBe(life);
  });

  it('tells of a machine that is taken out of its group that it runs on', () => {
    const { instances } = aGroup(['n1'], {
      instances: new Map([
        ['i-1', 'Detaching'],
        ['i-2', 'Terminating'],
      ]),
    });
    expect(['i-1', 'i-2', 'i-3', undefined].map((one) => isDetached(one, { instances }))).toEqual([
      ...[true, false, false, false],
    ]);
  });
});

describe('a node is', () => {
  it.each([
    ['active', 'nobody has cordoned it', aNode('n1')],
    ['draining', 'this object has cordoned it', aCordonedNode('n1')],
    ['held', 'somebody else has cordoned it', aNode('n1', { unschedulable: true })],
    ['held', 'another tool is about to remove it', aCordonedNode('n1', 10, { taints: ['karpenter.sh/disrupted'] })],
    ['leaving', 'it is being deleted, whoever cordoned it', aNode('n1', { unschedulable: true, deleting: true })],
    ['leaving', 'its machine is about to be ended', aCordonedNode('n1', 10, marked(MARKS.pendingDelete))],
  ] as const)('%s where %s', (expected, _, node) => {
    expect(classOf(node)).toBe(expected);
  });

  it('leaving where the ledger has its end, by its uid, though the mark was not written', () => {
    const entry = (uid: string) => ({ ...EMPTY, pendingDeletions: [{ node: 'n1', uid, since: NOW }] });
    expect(classOf(aCordonedNode('n1'), entry('uid-n1'))).toBe('leaving');
    expect(classOf(aCordonedNode('n1'), entry('uid-other'))).toBe('draining');
  });

  it('leaving where its machine is, though it is not cordoned', () => {
    const group = aGroup(['n1'], { instances: new Map([['i-1', 'Terminating']]) });
    expect(poolOf([aNode('n1')], group).nodes[0]).toMatchObject({ class: 'leaving', live: false });
  });

  it('seen with what is on it: pods that have not finished, and servers with a session', () => {
    const pods = [
      ...[aGamePod('n1'), aGamePod('n1', { phase: 'Pending' }), aGamePod('n2')],
      ...[aGamePod('n1', { phase: 'Succeeded' }), aGamePod('n1', { phase: 'Failed' })],
      ...[aGamePod('n1', { labels: { 'agones.dev/role': 'sidecar' } }), aGamePod('n1', { ownerKind: 'ReplicaSet' })],
    ];
    const gameServers = [aServer('g1', 'n1'), aServer('g2', 'n1', 'Allocated'), aServer('g3', 'n2', 'Reserved')];
    const { nodes } = poolOf([aNode('n1')], undefined, EMPTY, { pods, gameServers });
    expect(nodes).toEqual([
      {
        ...{ node: aNode('n1'), class: 'active', instance: 'i-1', live: true, ours: false },
        ...{ gamePods: 2, servers: gameServers.slice(0, 2), protectedServers: 1 },
      },
    ]);
  });

  it('cordoned at a time only where the cordon is ours', () => {
    const [ours, theirs, stale] = poolOf([
      ...[aCordonedNode('n1', 7), aCordonedNode('n2', 7, marked(MARKS.cordonedAt))],
      aCordonedNode('n3', 7, { unschedulable: false }),
    ]).nodes;
    expect(ours).toMatchObject({ ours: true, cordonedAt: ago(7) });
    for (const one of [theirs, stale]) {
      expect(one?.ours).toBe(false);
      expect(one).not.toHaveProperty('cordonedAt');
    }
  });

  /** The annotations of a node that has, of the marks, `mark`, and besides what tells whose it is where that is another. */
  function marked(mark: string): Partial<ObservedNode> {
    const by = mark === MARKS.pendingDelete ? { [MARKS.cordonedBy]: OBJECT } : {};
    return { annotations: { ...by, [mark]: mark === MARKS.pendingDelete ? 'i-1' : '2026-01-15T11:00:00Z' } };
  }
});

describe('on their way', () => {
  const entry = (name: string, instance: string | undefined = `i-${name.slice(1)}`) => ({
    ...{ node: name, uid: `uid-${name}`, since: NOW },
    ...(instance === '' ? {} : { instance }),
  });

  it('are the machines that the group is to have, without those that have a node or are to be ended', () => {
    const group = aGroup(['n1', 'n2', 'n3'], { desired: 5 });
    const ledger = { ...EMPTY, pendingDeletions: [entry('n3')] };
    const { pending, orphans } = poolOf([aNode('n1'), aNode('n2')], group, ledger);
    expect({ pending, orphans }).toEqual({ pending: 2, orphans: [entry('n3')] });
  });

  it('to their end are machines of the ledger that live and have no node', () => {
    const again = aNode('n2', { uid: 'uid-again' });
    const group = aGroup(['n1', 'n2', 'n3', 'n4'], {
      instances: new Map([...aGroup(['n1', 'n2', 'n3']).instances, ['i-4', 'Terminating']]),
    });
    const pendingDeletions = ['n1', 'n2', 'n3', 'n4', 'n5'].map((name) => entry(name));
    const ledger = { ...EMPTY, pendingDeletions: [...pendingDeletions, entry('n6', '')] };
    expect(poolOf([aCordonedNode('n1'), again], group, ledger).orphans).toEqual([entry('n3')]);
  });

  it('to their end are none whose nodes are there, though these have no provider id yet', () => {
    const ledger = { ...EMPTY, pendingDeletions: [entry('n1')] };
    expect(poolOf([aCordonedNode('n1', 10, { providerId: '' })], aGroup(['n1']), ledger).orphans).toEqual([]);
  });

  it('to their end are none of a provider that cannot be asked, whatever the ledger has of one before', () => {
    const ledger = { ...EMPTY, pendingDeletions: [entry('n1')] };
    const selection = { spec: { provider: 'custom' as const, config: {} }, whereabouts: new Map() };
    expect(classify(OBJECT, aSnapshot(), ledger, selection, NOW)).toMatchObject({ orphans: [], pending: 0 });
  });

  it('from a hook are as many as were ordered, without those that have joined since, for a quarter of an hour', () => {
    const pending = (minutes: number) => {
      const pendingIncrease = { count: 3, since: ago(minutes), baseline: ['uid-n1'] };
      const spec = { provider: 'custom' as const, config: {} };
      const nodes = [aNode('n1'), aNode('n2')];
      const ledger = { ...EMPTY, pendingIncrease };
      return classify(OBJECT, aSnapshot({ nodes }), ledger, { spec, whereabouts: new Map() }, NOW).pending;
    };
    expect([pending(0), pending(14.99), pending(15)]).toEqual([2, 2, 0]);
  });
});
