import { describe, expect, it } from 'vitest';
import { detectProvider, isLasting } from '../../lib/scaler/pool/detect-provider.ts';
import { cordonedAtOf, MARKS } from '../../lib/scaler/pool/marks.ts';
import { instanceOf, isClaimed, membershipOf, poolKeyOf, unknownInstances } from '../../lib/scaler/pool/membership.ts';
import { byReturn } from '../../lib/scaler/pool/order.ts';
import { aGroup, ago, aNode, aPoolNode, aSpec, NOW } from './plain.ts';

/** Whose a node is, and which comes first. */

const auto = (config: Record<string, string>) => aSpec({ provider: 'auto', config });
const nodeBy = (name: string, providerId: string) => aNode(name, { providerId });

describe('what auto comes to', () => {
  it.each([
    ['eks', { nodegroup: 'games' }, ['aws:///a/i-1', 'aws:///b/i-2']],
    ['asg', { autoScalingGroup: 'own' }, ['aws:///a/i-1']],
    ['minikube', {}, ['']],
    ['minikube', {}, ['kind://docker/kind/kind-worker']],
  ])('is %s with %o and nodes of %o', (provider, config, ids) => {
    const nodes = ids.map((id, at) => nodeBy(`n${at}`, id));
    expect(detectProvider(nodes, auto(config))).toEqual({ provider });
  });

  it.each([
    ['the pool has no node to tell the provider from: name the provider', {}, []],
    ['the nodes of the pool are of several providers (aws, minikube): name one', {}, ['', 'aws:///a/i-1']],
    ['nodes of gce:// have no provider here: use custom, with a hook', {}, ['gce://p/z/n']],
    ['nodes of Metal+aws://x:// have no provider here: use custom, with a hook', {}, ['Metal+aws://x']],
    ['nodes of bare:// have no provider here: use custom, with a hook', {}, ['bare']],
    [
      'the nodes are of AWS, and config names no group of theirs: set config.nodegroup (a managed node group, provider eks) or config.autoScalingGroup (any other group, provider asg)',
      {},
      ['aws:///a/i-1'],
    ],
  ])('is not known: %s', (problem, config, ids) => {
    const nodes = ids.map((id, at) => nodeBy(`n${at}`, id));
    expect(detectProvider(nodes, auto(config))).toEqual({ problem });
  });

  it('is told by the nodes of the pool alone', () => {
    const nodes = [aNode('n1'), nodeBy('n2', 'gce://p/z/n')].map((node, at) => ({
      ...node,
      labels: { role: `${at}` },
    }));
    expect(detectProvider(nodes, auto({ autoScalingGroup: 'own', nodeSelector: 'role=0' }))).toEqual({
      provider: 'asg',
    });
  });

  it('lasts as long as config names what it is of, and never of minikube', () => {
    const [named, own] = [{ config: { nodegroup: 'games' } }, { config: { autoScalingGroup: 'own' } }];
    expect([isLasting('eks', named), isLasting('eks', own)]).toEqual([true, false]);
    expect([isLasting('asg', named), isLasting('asg', own)]).toEqual([false, true]);
    expect(isLasting('minikube', { config: { ...named.config, ...own.config } })).toBe(false);
  });
});

describe('the time of a cordon', () => {
  const timeOf = (at: number) => cordonedAtOf({ annotations: { [MARKS.cordonedAt]: new Date(at).toISOString() } }, NOW);

  it('may be ahead by as much as clocks differ, a minute, and no more', () => {
    expect(timeOf(ago(-0.5))).toBe(ago(-0.5));
    expect(timeOf(ago(-1))).toBe(ago(-1));
    expect(timeOf(ago(-1) + 1)).toBeUndefined();
  });
});

describe('a node', () => {
  const group = aGroup(['n1']);

  it.each(['xaws:///eu-west-1a/i-1', 'aws:///eu-west-1a/i-1/more'])('of %s has no instance', (providerId) => {
    expect(instanceOf({ providerId })).toBeUndefined();
  });

  it('that claims nothing is asked after in no way: with no selector all nodes of the cluster would', () => {
    const spec = aSpec({ provider: 'asg', config: { autoScalingGroup: 'own' } });
    expect(unknownInstances([aNode('n2')], spec, group)).toEqual([]);
    const whereabouts = new Map([['i-2', 'gone' as const]]);
    expect(membershipOf(aNode('n2'), { spec, group, whereabouts })).toEqual({ kind: 'foreign' });
  });

  it('claims by a selector what it has no node group for', () => {
    const spec = aSpec({ provider: 'asg', config: { autoScalingGroup: 'own', nodeSelector: 'role=game' } });
    const nodes = [aNode('n2', { labels: { role: 'game' } }), aNode('n3', { labels: { role: 'web' } })];
    expect(unknownInstances(nodes, spec, group)).toEqual(['i-2']);
  });

  it('that is labelled and whose machine nobody has been asked for is of nobody for now', () => {
    expect(membershipOf(aNode('n2'), { spec: aSpec(), group, whereabouts: new Map() })).toEqual({ kind: 'foreign' });
    const hybrid = aNode('n2', { providerId: 'eks-hybrid:///eu-west-1/c/mi-1' });
    expect(membershipOf(hybrid, { spec: aSpec(), group, whereabouts: new Map() })).toEqual({ kind: 'foreign' });
  });

  it('of the control plane is of no pool of a hook, and may be one of minikube, where there is no other', () => {
    const plane = aNode('n1', { labels: { 'node-role.kubernetes.io/control-plane': '' } });
    const selection = (provider: 'custom' | 'minikube') => ({ spec: { provider, config: {} }, whereabouts: new Map() });
    expect(membershipOf(plane, selection('minikube')).kind).toBe('member');
    expect(membershipOf(plane, selection('custom')).kind).toBe('foreign');
  });

  it('is selected for a hook by labels, whatever else stands in config', () => {
    const spec = { provider: 'custom' as const, config: { nodegroup: 'other', nodeSelector: 'role=game' } };
    const node = aNode('n1', { labels: { role: 'game' } });
    expect(membershipOf(node, { spec, whereabouts: new Map() }).kind).toBe('member');
  });

  it.each([
    ['custom', {}, true],
    ['minikube', {}, true],
    ['asg', { autoScalingGroup: 'own' }, false],
    ['eks', { nodegroup: 'games' }, true],
  ] as const)(
    'that nobody has been asked for is claimed by an object of %s with %o: %s',
    (provider, config, claimed) => {
      expect(isClaimed(aNode('n1'), { provider, config })).toBe(claimed);
      expect(isClaimed(aNode('n1', { taints: ['agones.dev/agones-system'] }), { provider, config })).toBe(false);
    },
  );
});

it('pools of one group, of one selector, or of minikube and what auto may come to, are one', () => {
  const key = (provider: 'auto' | 'asg' | 'custom' | 'minikube', config: Record<string, string>) =>
    poolKeyOf({ provider, config });
  expect(key('auto', { autoScalingGroup: 'own' })).toBe(key('asg', { autoScalingGroup: 'own' }));
  expect(key('asg', { autoScalingGroup: 'own' })).not.toBe(key('asg', { autoScalingGroup: 'other' }));
  expect(key('custom', { autoScalingGroup: 'own' })).toBe(key('custom', {}));
  expect(key('auto', {})).toBe(key('minikube', {}));
  expect(key('custom', {})).not.toBe(key('minikube', {}));
  expect(key('minikube', {})).toBe('nodes minikube ');
  // Of an object that is wrong, which keeps what it can be said to claim.
  expect(key('minikube', { nodeSelector: '=' })).toBe('nodes minikube ');
});

it('nodes come back that are eligible, then those with most games, with most sessions, the oldest, the first by name', () => {
  const of = (name: string, node: object, more: object = {}) => aPoolNode(name, { node: aNode(name, node), ...more });
  const ordered = [
    of('n9', {}, { gamePods: 2 }),
    of('n8', {}, { gamePods: 1, protectedServers: 1 }),
    of('n7', { createdAt: ago(900) }, { gamePods: 1 }),
    ...[of('n1', {}, { gamePods: 1 }), of('n2', {}, { gamePods: 1 })],
    of('n0', { ineligible: true }, { gamePods: 9 }),
  ];
  expect([...ordered].reverse().sort(byReturn)).toEqual(ordered);
});
