import { describe, expect, it } from 'vitest';
import { cordonsOfTheGone, leftoversOf } from '../../lib/scaler/plan/leftovers.ts';
import { planDown } from '../../lib/scaler/plan/plan-down.ts';
import { MARKS } from '../../lib/scaler/pool/marks.ts';
import { twinsOf } from '../../lib/scaler/pool/twins.ts';
import {
  aCordonedNode,
  aDrainingNode,
  aGroup,
  ago,
  aNode,
  aPool,
  aPoolNode,
  aScene,
  aSnapshot,
  instanceOn,
} from './plain.ts';

/** What only people can set right, taken for itself. */

const by = (object: string) => ({ annotations: { [MARKS.cordonedBy]: object } });
const toldOf = (...of: Parameters<typeof leftoversOf>) => leftoversOf(...of).map(({ message }) => message);

describe('a cordon that nobody finishes is told', () => {
  const left = (...nodes: ReturnType<typeof aNode>[]) => toldOf(aScene({ snapshot: aSnapshot({ nodes }) }), aPool([]));

  it('of ours, on a node that is not of the pool any more', () => {
    expect(left(aCordonedNode('n1'))).toEqual([expect.stringContaining('not of its pool any more: n1. Nobody')]);
  });

  it.each([
    ['that is not cordoned', aCordonedNode('n1', 10, { unschedulable: false })],
    ['that somebody else cordoned', aNode('n1', { unschedulable: true })],
    ['that is not ready', aCordonedNode('n1', 10, { ready: false })],
    ['that is being deleted', aCordonedNode('n1', 10, { deleting: true })],
  ])('not of a node %s', (_, node) => {
    expect(left(node)).toEqual([]);
  });

  it('with a few of the nodes by name', () => {
    const nodes = ['n1', 'n2', 'n3', 'n4', 'n5', 'n6', 'n7'].map((name) => aCordonedNode(name));
    expect(left(...nodes.slice(0, 5))[0]).toContain('any more: n1, n2, n3, n4, n5. Nobody');
    expect(left(...nodes)[0]).toContain('any more: n1, n2, n3, n4, n5 and 2 more. Nobody');
  });

  it('of another object, on a node of the pool that is left alone for it', () => {
    const held = (fields: object, more: object = {}) =>
      aPoolNode('n1', { class: 'held', node: aNode('n1', { unschedulable: true, ...fields }), ...more });
    const told = (node: ReturnType<typeof held>) => toldOf(aScene(), aPool([node]));
    expect(told(held(by('other')))).toEqual([expect.stringContaining('n1 (by other). Bring')]);
    expect(told(held({}))).toEqual([]);
    // Held by a tool that is about to remove it, whoever cordoned it before.
    expect(told(held(by('game')))).toEqual([]);
    expect(told(held({ ...by('other'), unschedulable: false }))).toEqual([]);
    expect(told(held(by('other'), { class: 'leaving' }))).toEqual([]);
  });
});

describe('a cordon of an object that is gone', () => {
  const left = (...nodes: ReturnType<typeof aNode>[]) => [
    ...cordonsOfTheGone(nodes, new Set(['there']), (object, { name }) => object === 'gone' && name === 'going'),
  ];
  const cordoned = (name: string, object: string, fields: object = {}) =>
    aNode(name, { unschedulable: true, ...by(object), ...fields });

  it('is found, by object and by name', () => {
    const nodes = [cordoned('n2', 'gone'), cordoned('n3', 'also'), cordoned('n1', 'gone')];
    expect(left(...nodes)).toEqual([
      ['also', ['n3']],
      ['gone', ['n1', 'n2']],
    ]);
  });

  it.each([
    ['that an object has which is there', cordoned('n1', 'there')],
    ['that nobody of ours has cordoned', aNode('n1', { unschedulable: true })],
    ['that is not cordoned any more', cordoned('n1', 'gone', { unschedulable: false })],
    ['that is not ready', cordoned('n1', 'gone', { ready: false })],
    ['that is being deleted', cordoned('n1', 'gone', { deleting: true })],
    ['whose machine is being ended', cordoned('going', 'gone')],
  ])('is not of a node %s', (_, node) => {
    expect(left(node)).toEqual([]);
  });
});

describe('of nodes that name one machine', () => {
  const on = (name: string, fields: object = {}) => aNode(name, { providerId: 'aws:///a/i-1', ...fields });
  const counting = (...nodes: ReturnType<typeof aNode>[]) => {
    return [...twinsOf(nodes)].filter(([, { counts }]) => counts).map(([uid]) => uid);
  };

  it.each([
    ['is ready', on('n2'), on('n1', { ready: false, createdAt: ago(1) })],
    ['is younger', on('n2', { createdAt: ago(1) }), on('n1', { createdAt: ago(9) })],
    ['is the first by name', on('n2'), on('n3')],
  ])('the one counts that %s, in whatever order they come', (_, one, other) => {
    expect(counting(one, other)).toEqual([one.uid]);
    expect(counting(other, one)).toEqual([one.uid]);
  });

  it('each is told the others, and nodes alone on a machine, or on none that is known, are none of them', () => {
    const twins = twinsOf([
      on('n1'),
      aNode('n5'),
      on('n2'),
      aNode('n6', { providerId: '' }),
      aNode('n7', { providerId: '' }),
    ]);
    expect([...twins].map(([uid, { others }]) => [uid, others])).toEqual([
      ['uid-n1', ['n2']],
      ['uid-n2', ['n1']],
    ]);
  });
});

describe('a group with more machines than it is to have', () => {
  const nodes = ['n1', 'n2', 'n3'].map((name) => aPoolNode(name));
  const findings = (desired: number, min: number, target: number, pool = aPool(nodes)) =>
    planDown(aScene({ group: aGroup(['n1', 'n2', 'n3'], { desired, min }) }), pool, target).findings;

  it('is told of where not all that are too many can go for that', () => {
    expect(findings(2, 1, 1)).toMatchObject([
      { reason: 'TerminateRefused', message: expect.stringContaining('has 3 machines') },
    ]);
  });

  it('is not told of where all of them can, or it has no more than it is to have', () => {
    expect(findings(2, 0, 1)).toEqual([]);
    expect(findings(3, 1, 0)).toEqual([]);
  });

  it('counts those that have no node and are to be ended', () => {
    const orphans = [{ node: 'n9', uid: 'uid-n9', instance: instanceOn('n9'), since: ago(1) }];
    expect(findings(3, 2, 1, aPool([...nodes.slice(0, 2), aDrainingNode('n3')], { orphans }))).toHaveLength(1);
  });
});
