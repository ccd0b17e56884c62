import { expect, it } from 'vitest';
import { groupNamed, managedTags } from '../../cases/scaler/recorded-aws.ts';
import { checkGroup } from './group-checks.ts';

type Group = Parameters<typeof groupNamed>[2];
type Nodegroup = NonNullable<Parameters<typeof checkGroup>[0]['nodegroup']>;

function check(managed: boolean, more: Group, nodegroup?: Nodegroup) {
  const group = groupNamed('g', { 'i-1': 'InService' }, more);
  const seen = { name: 'g', group, ...(nodegroup === undefined ? {} : { nodegroup }) };
  return checkGroup(seen, { cluster: 'game', managed, path: 'spec.config.it' });
}

const managed = (more: Group, nodegroup?: Nodegroup) =>
  check(true, { ...more, Tags: [...managedTags('game', 'fast'), ...(more?.Tags ?? [])] }, nodegroup).warnings;
const own = (more: Group) => check(false, more);

it('says nothing of a group that is as it should be', () => {
  expect(own({})).toEqual({ problems: [], warnings: [] });
  expect(managed({})).toEqual([]);
});

const OVERRIDES = { LaunchTemplate: { Overrides: [{ InstanceType: 'm7i.large', WeightedCapacity: '4' }] } };

it.each([
  [
    'Spot by its policy',
    { MixedInstancesPolicy: { InstancesDistribution: { OnDemandPercentageAboveBaseCapacity: 50 } } },
    /Spot .*OnDemandPercentageAboveBaseCapacity/,
  ],
  ['minimum and maximum', { MinSize: 3, MaxSize: 3 }, /both 3.*aws autoscaling update-auto-scaling-group .*--min-size/],
  [
    'zones that are balanced',
    { AvailabilityZones: ['a', 'b'] },
    /1 of 1 are not protected.*--new-instances-protected-from-scale-in.*set-instance-protection/,
  ],
  [
    'Launch',
    { SuspendedProcesses: [{ ProcessName: 'Launch' }] },
    /Launch .*do not start.*aws autoscaling resume-processes/,
  ],
  [
    'Terminate',
    { SuspendedProcesses: [{ ProcessName: 'Terminate' }] },
    /Terminate .*not removed.*aws autoscaling resume-processes/,
  ],
  ['ReplaceUnhealthy', { SuspendedProcesses: [{ ProcessName: 'ReplaceUnhealthy' }] }, /broken stay/],
  [
    'another autoscaler',
    { Tags: [{ Key: 'k8s.io/cluster-autoscaler/enabled', Value: 'true' }] },
    /Cluster Autoscaler .*aws autoscaling delete-tags/,
  ],
  ['an operator', { Operator: { Principal: 'ec2.example' } }, /only ec2\.example may change.*aws autoscaling describe/],
] as const)('warns of %s, and says what to do', (_, more, warning) => {
  expect(own(more as Group)).toEqual({ problems: [], warnings: [expect.stringMatching(warning)] });
});

it('warns of a managed group in the words of EKS', () => {
  expect(managed({ MinSize: 3, MaxSize: 3 })).toEqual([
    expect.stringContaining('aws eks update-nodegroup-config --cluster-name game --nodegroup-name fast'),
  ]);
  expect(managed({}, { capacityType: 'SPOT' })).toEqual([expect.stringContaining('--capacity-type ON_DEMAND')]);
  expect(managed({ AvailabilityZones: ['a', 'b'], SuspendedProcesses: [{ ProcessName: 'AZRebalance' }] })).toEqual([
    expect.stringMatching(/AZRebalance .*updates .* may fail/),
  ]);
  expect(managed({ Tags: [{ Key: 'k8s.io/cluster-autoscaler/enabled' }] })).toEqual([
    expect.stringContaining('EKS puts it on every node group'),
  ]);
});

it('does not warn of zones where nothing can be ended to balance them', () => {
  const zones = { AvailabilityZones: ['a', 'b'] };
  const group = groupNamed('g', { 'i-1': 'InService' });
  const Instances = (group.Instances ?? []).map((one) => ({ ...one, ProtectedFromScaleIn: true }));

  expect(own({ ...zones, SuspendedProcesses: [{ ProcessName: 'AZRebalance' }] }).warnings).toEqual([]);
  expect(own({ ...zones, Instances, NewInstancesProtectedFromScaleIn: true }).warnings).toEqual([]);
  expect(own({ ...zones, Instances }).warnings).toHaveLength(1);
});

it.each([
  ['of a managed node group', { Tags: managedTags('game', 'fast') }, /node group fast.*set provider to eks/],
  [
    'of another cluster',
    { Tags: [{ Key: 'kubernetes.io/cluster/other', Value: 'owned' }] },
    /one of cluster other, and this is game/,
  ],
  ['that counts processors', { DesiredCapacityType: 'vcpu' }, /counted in vcpu/],
  ['that counts weights', { MixedInstancesPolicy: OVERRIDES }, /counted in weights/],
] as const)('has a problem with a group %s', (_, more, problem) => {
  expect(own(more as unknown as Group).problems).toEqual([
    { path: 'spec.config.it', message: expect.stringMatching(problem) },
  ]);
});

it('takes a group that this cluster shares with another', () => {
  const Tags = [{ Key: 'kubernetes.io/cluster/other' }, { Key: 'kubernetes.io/cluster/game' }];
  expect(own({ Tags }).problems).toEqual([]);
});
