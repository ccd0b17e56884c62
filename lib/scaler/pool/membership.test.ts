import { describe, expect, it } from 'vitest';
import type { Group, ObservedNode } from '../observation.ts';
import { instanceOf, membershipOf, poolKeyOf, type Selection, unknownInstances } from './membership.ts';

const node = (fields: Partial<ObservedNode> = {}): ObservedNode => ({
  name: 'n1',
  uid: 'uid-n1',
  resourceVersion: '1',
  providerId: 'aws:///eu-west-1a/i-1',
  labels: { 'eks.amazonaws.com/nodegroup': 'games' },
  annotations: {},
  taints: [],
  unschedulable: false,
  ready: true,
  createdAt: 0 as ObservedNode['createdAt'],
  deleting: false,
  ineligible: false,
  allocatable: {},
  ...fields,
});

const group: Group = {
  steady: true,
  desired: 1,
  min: 0,
  max: 9,
  instances: new Map([['i-1', 'InService']]),
  terminateSuspended: false,
};

const eks: Selection = { spec: { provider: 'eks', config: { nodegroup: 'games' } }, group, whereabouts: new Map() };
const kindOf = (one: ObservedNode, selection: Selection = eks) => membershipOf(one, selection).kind;

describe('the instance of a node', () => {
  it.each([
    ['aws:///eu-west-1a/i-0abc', 'i-0abc'],
    ['aws:///eu-west-1a/0a1b/fargate-ip-10-0-0-1.eu-west-1.compute.internal', undefined],
    ['eks-hybrid:///eu-west-1/cluster/mi-1', undefined],
    ['gce://project/zone/name', undefined],
    ['', undefined],
  ])('of provider id "%s" is %s', (providerId, expected) => {
    expect(instanceOf({ providerId })).toBe(expected);
  });
});

describe('a node is', () => {
  it('a member where its machine is in the group, whatever its labels say', () => {
    expect(kindOf(node({ labels: {} }))).toBe('member');
  });

  it('a stray where it is labelled, and its machine is another group’s', () => {
    const elsewhere = { ...eks, whereabouts: new Map([['i-2', 'elsewhere' as const]]) };
    expect(kindOf(node({ providerId: 'aws:///a/i-2' }), elsewhere)).toBe('stray');
  });

  it('a member without a machine where that is gone', () => {
    const gone = { ...eks, whereabouts: new Map([['i-2', 'gone' as const]]) };
    expect(membershipOf(node({ providerId: 'aws:///a/i-2' }), gone)).toEqual({ kind: 'member', instance: 'i-2' });
  });

  it('not looked at where its machine came after the group was read: it is pending', () => {
    const here = { ...eks, whereabouts: new Map([['i-2', 'here' as const]]) };
    expect(kindOf(node({ providerId: 'aws:///a/i-2' }), here)).toBe('foreign');
  });

  it.each(['agones.dev/agones-system', 'agones.dev/agones-metrics'])('foreign with taint %s', (taint) => {
    expect(kindOf(node({ taints: [taint] }))).toBe('foreign');
  });

  it('selected by labels where the provider cannot be asked; never the control plane of a custom pool', () => {
    const custom: Selection = {
      spec: { provider: 'custom', config: { nodeSelector: 'role=game' } },
      whereabouts: new Map(),
    };
    expect(kindOf(node({ labels: { role: 'game' } }), custom)).toBe('member');
    expect(kindOf(node({ labels: { role: 'web' } }), custom)).toBe('foreign');
    const plane = { role: 'game', 'node-role.kubernetes.io/control-plane': '' };
    expect(kindOf(node({ labels: plane }), custom)).toBe('foreign');
  });
});

it('asks where machines are that nodes claim for the group and it does not have, and for no others', () => {
  const nodes = [
    node(),
    node({ providerId: 'aws:///a/i-2' }),
    node({ providerId: 'aws:///a/i-3', labels: {} }),
    node({ providerId: '' }),
  ];
  expect(unknownInstances(nodes, eks.spec, group)).toEqual(['i-2']);
});

it('tells pools apart by their group, or by their selector in whatever order', () => {
  const key = (provider: 'auto' | 'eks' | 'custom' | 'minikube', config: Record<string, string>) =>
    poolKeyOf({ provider, config });
  expect(key('auto', { nodegroup: 'a' })).toBe(key('eks', { nodegroup: 'a' }));
  expect(key('eks', { nodegroup: 'a' })).not.toBe(key('eks', { nodegroup: 'b' }));
  expect(key('custom', { nodeSelector: 'a=1,b=2' })).toBe(key('custom', { nodeSelector: 'b=2, a=1' }));
  expect(key('custom', { nodeSelector: 'a=1' })).not.toBe(key('custom', {}));
  expect(key('custom', { nodegroup: 'a' })).not.toBe(key('eks', { nodegroup: 'a' }));
});
