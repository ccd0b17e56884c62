import { describe, expect, it } from 'vitest';
import {
  deletableOn,
  refuseCordon,
  refuseDrain,
  refuseMachine,
  refuseRemoval,
  refuseUncordon,
  refuseUnmark,
} from '../../lib/scaler/act/validate.ts';
import type { ObservedNode } from '../../lib/scaler/observation.ts';
import { MARKS } from '../../lib/scaler/pool/marks.ts';
import { aCordonedNode, aDrainingNode, aGamePod, aGroup, aNode, aServer, NOW, OBJECT } from './plain.ts';

/** What must still be so right before each deed, taken for itself: each condition alone refuses. */

const planned = aDrainingNode('n1');
const EMPTY = { pods: [], servers: [] };
const ours = (fields: Partial<ObservedNode> = {}, minutes = 10) => aCordonedNode('n1', minutes, fields);
const TAINT = { taints: ['ToBeDeletedByClusterAutoscaler'] };
const { annotations: MARKED } = ours();
const PENDING = { annotations: { ...MARKED, [MARKS.pendingDelete]: 'i-1' } };

const cordon = (fresh?: ObservedNode) => refuseCordon(fresh, planned, OBJECT);
const uncordon = (fresh?: ObservedNode) => refuseUncordon(fresh, planned, OBJECT);
const unmark = (fresh?: ObservedNode) => refuseUnmark(fresh, planned);
const drain = (fresh?: ObservedNode) => refuseDrain(fresh, planned, OBJECT);
const removal = (fresh?: ObservedNode) => refuseRemoval(fresh, EMPTY, planned, OBJECT, NOW);

describe.each([
  ['cordoned', cordon, aNode('n1')],
  ['brought back', uncordon, ours()],
  ['rid of marks', unmark, aNode('n1', { annotations: MARKED })],
  ['rid of servers', drain, ours()],
  ['removed', removal, ours()],
] as const)('a node is %s', (_, refuse, right) => {
  it('as it was seen', () => {
    expect(refuse(right)).toBeUndefined();
  });

  it('and not if it is gone, is another one, or is being deleted', () => {
    expect(refuse(undefined)).toBe('the node is gone');
    expect(refuse({ ...right, uid: 'uid-other' })).toBe('another node has its name');
    expect(refuse({ ...right, deleting: true })).toBe('the node is being deleted');
  });
});

it.each([
  ['cordoned', cordon, aNode('n1', { unschedulable: true }), 'somebody else cordoned it'],
  ['cordoned', cordon, aNode('n1', TAINT), 'another tool holds it'],
  ['cordoned again, to be dated', cordon, ours(), undefined],
  ['brought back', uncordon, ours({ unschedulable: false }), 'it is uncordoned already'],
  ['brought back', uncordon, ours({ annotations: {} }), 'its cordon is not ours any more'],
  ['brought back', uncordon, ours(PENDING), 'its machine is about to be ended'],
  ['brought back', uncordon, ours(TAINT), 'another tool holds it'],
  ['rid of marks', unmark, ours(), 'it is cordoned'],
  ['rid of servers', drain, ours({ unschedulable: false }), 'it is not cordoned by us any more'],
  ['rid of servers', drain, ours({ annotations: {} }), 'it is not cordoned by us any more'],
  ['rid of servers', drain, ours(TAINT), 'another tool holds it'],
  ['removed', removal, ours({ unschedulable: false }), 'it is not cordoned by us any more'],
  ['removed', removal, ours({}, 0), 'its cordon has not settled'],
  ['removed', removal, ours({ annotations: { [MARKS.cordonedBy]: OBJECT } }), 'its cordon has not settled'],
  ['removed', removal, ours(PENDING), undefined],
])('a node is %s: %s with %o is refused with %s', (_, refuse, fresh, reason) => {
  expect(refuse(fresh)).toBe(reason);
});

describe('a node is removed', () => {
  const refusalOf = (pods: readonly ReturnType<typeof aGamePod>[], servers: readonly ReturnType<typeof aServer>[]) =>
    refuseRemoval(ours(), { pods, servers }, planned, OBJECT, NOW);

  it('not while a pod of a game runs on it, or a server with a session names it', () => {
    expect(refusalOf([aGamePod('n1')], [])).toBe('games run on it');
    expect(refusalOf([], [aServer('g1', 'n1', 'Allocated')])).toBe('games run on it');
  });

  it('whatever has finished on it, holds no session, or is on another', () => {
    const servers = [aServer('g1', 'n1'), aServer('g2', 'n2', 'Allocated')];
    const development = { ...aServer('g3', 'n1', 'Allocated'), development: true };
    expect(refusalOf([aGamePod('n1', { phase: 'Succeeded' })], [...servers, development])).toBeUndefined();
  });
});

describe('a machine is ended', () => {
  const group = aGroup(['n1', 'n2'], { min: 1 });

  it.each([
    ['of a provider that cannot be asked', undefined, undefined],
    ['above the minimum', group, undefined],
    ['at the minimum', { ...group, min: 2 }, 'the group is at its minimum of 2'],
    ['of a group that its provider changes', { ...group, steady: false }, 'the provider is changing the group'],
    [
      'of a group that may end none',
      { ...group, terminateSuspended: true },
      'the process Terminate of the group is suspended',
    ],
    [
      'that is going by itself',
      { ...group, instances: new Map([['i-1', 'Terminating']]) },
      'its machine is going already',
    ],
  ])('%s: refused with %s', (_, now, reason) => {
    expect(refuseMachine('i-1', now)).toBe(reason);
  });

  it('not if nobody knows which it is', () => {
    expect(refuseMachine(undefined, group)).toBe('its machine is going already');
  });
});

it('servers go in the order of their names, those on the node that hold no session', () => {
  const other = { ...aServer('a', 'n1'), namespace: 'another' };
  const servers = [
    ...[aServer('g3', 'n1'), aServer('g1', 'n1'), aServer('g2', 'n1'), other],
    ...[aServer('g4', 'n2'), aServer('g5', 'n1', 'Reserved'), { ...aServer('g6', 'n1'), deleting: true }],
    { ...aServer('g7', 'n1'), development: true },
  ];
  expect(deletableOn('n1', servers).map(({ name }) => name)).toEqual(['a', 'g1', 'g2', 'g3']);
});
