import { describe, expect, it } from 'vitest';
import { groupNamed, managedTags, RecordedAws, serviceError } from '../../cases/scaler/recorded-aws.ts';
import { cronTimes } from '../cron/croner.ts';
import { readSpec } from '../scaler/spec/spec.ts';
import type { EpochMs } from '../time.ts';
import { providersOf } from './providers.ts';

/** Where the group of a pool is found, and what comes of it where that is not all as it should be. */

function providerOf(aws: RecordedAws, provider: 'eks' | 'asg', config: Record<string, string>) {
  const read = readSpec({ replicas: 1, provider, config }, cronTimes);
  if (!('spec' in read)) throw new Error(JSON.stringify(read.problems));
  const { eks, autoScaling } = aws;
  const context = { cluster: 'game', eks, autoScaling, resolveService: async () => undefined };
  return providersOf({ ...context, clock: () => 0 as EpochMs })('game', read.spec);
}

const eks = (aws: RecordedAws) => providerOf(aws, 'eks', { nodegroup: 'fast' });
const asg = (aws: RecordedAws) => providerOf(aws, 'asg', { autoScalingGroup: 'own' });

function world(): RecordedAws {
  const aws = new RecordedAws();
  const limits = { MinSize: 1, MaxSize: 4 };
  aws.groups.set(
    'eks-fast',
    groupNamed('eks-fast', { 'i-1': 'InService' }, { ...limits, Tags: managedTags('game', 'fast') }),
  );
  aws.groups.set('own', groupNamed('own', { 'i-8': 'InService' }, limits));
  const resources = { autoScalingGroups: [{ name: 'eks-fast' }] };
  aws.nodegroups.set('fast', { nodegroupName: 'fast', status: 'ACTIVE', resources });
  return aws;
}

describe('a group that is named itself', () => {
  it('is asked for alone before it is changed, and of EKS nothing is asked', async () => {
    const aws = world();
    const provider = asg(aws);
    expect(await provider.inspect()).toMatchObject({ desired: 1, min: 1, max: 4 });
    await provider.increase({ by: 2, from: 1 });
    expect(aws.groups.get('own')?.DesiredCapacity).toBe(3);
    expect(aws.calls[0]?.params).toMatchObject({ AutoScalingGroupNames: ['own'] });
    expect(aws.operations).not.toContain('DescribeNodegroup');
    expect(provider.capabilities).toEqual({ readsSize: true, changesSize: true });
  });

  it('is looked at by its provider with all that may be wrong with it, in the words of Auto Scaling', async () => {
    const aws = world();
    aws.groups.set('own', groupNamed('own', {}, { MinSize: 2, MaxSize: 2, Tags: managedTags('game', 'fast') }));
    const { problems, warnings } = await asg(aws).validate();
    expect(problems).toEqual([
      { path: 'spec.config.autoScalingGroup', message: expect.stringContaining('node group fast') },
    ]);
    expect(warnings).toEqual([expect.stringContaining('aws autoscaling update-auto-scaling-group')]);
  });

  it('is not there for an order or a machine either, where there is none of that name', async () => {
    const aws = world();
    aws.groups.delete('own');
    await expect(asg(aws).inspect()).rejects.toMatchObject({ code: 'GroupNotFound' });
    await expect(asg(aws).endMachine({ node: 'n', instance: 'i-8' })).rejects.toMatchObject({ code: 'GroupNotFound' });
  });

  it('that is being deleted is left alone, and its status said', async () => {
    const aws = world();
    aws.groups.set('own', groupNamed('own', {}, { Status: 'Delete in progress', MaxSize: 4 }));
    await expect(asg(aws).increase({ by: 1 })).rejects.toMatchObject({
      ...{ code: 'GroupNotSteady', message: 'group own is Delete in progress: it is left alone until that is over' },
    });
  });

  it('is looked up again where a look before failed', async () => {
    const aws = world();
    aws.faults.set('DescribeAutoScalingGroups', { error: serviceError('Throttling', 'slower') });
    const provide = asg(aws);
    await expect(provide.describe()).rejects.toMatchObject({ kind: 'throttled' });
    aws.faults.clear();
    expect(await provide.inspect()).toMatchObject({ desired: 1 });
  });
});

describe('a managed node group', () => {
  it('is looked at by its provider with all that games may suffer from, in the words of EKS', async () => {
    const aws = world();
    aws.groups.set(
      'eks-fast',
      groupNamed('eks-fast', {}, { MinSize: 2, MaxSize: 2, Tags: managedTags('game', 'fast') }),
    );
    expect(await eks(aws).validate()).toEqual({
      problems: [],
      warnings: [expect.stringContaining('aws eks update-nodegroup-config')],
    });
  });

  it('is the one that EKS names where two groups have its tags, or none has', async () => {
    const aws = world();
    aws.groups.delete('eks-fast');
    for (const [name, max] of [
      ['copy', 9],
      ['eks-fast', 4],
    ] as const) {
      aws.groups.set(name, groupNamed(name, {}, { MaxSize: max, Tags: managedTags('game', 'fast') }));
    }
    expect(await eks(aws).describe()).toMatchObject({ max: 4 });
    for (const group of aws.groups.values()) group.Tags = [];
    expect(await eks(aws).describe()).toMatchObject({ max: 4 });
  });

  it.each([
    ['no group yet', {}],
    ['a list of none', { resources: { autoScalingGroups: [] } }],
    ['a group without a name', { resources: { autoScalingGroups: [{}] } }],
    ['a group that is gone', { resources: { autoScalingGroups: [{ name: 'gone' }] } }],
  ])('with %s is not to be touched, and that is told', async (_, fields) => {
    const aws = world();
    aws.groups.clear();
    aws.nodegroups.set('fast', { nodegroupName: 'fast', status: 'ACTIVE', ...fields });
    expect(await eks(aws).describe()).toMatchObject({ steady: false, desired: 0, min: 0, max: 0 });
    expect((await eks(aws).validate()).warnings).toEqual([
      'node group fast is ACTIVE and has no group of machines, so nothing is done: mend it, or make another',
    ]);
  });

  it.each(['CREATING', 'DELETING'] as const)(
    'that is %s has no group for good reason, and nothing is told',
    async (status) => {
      const aws = world();
      aws.groups.clear();
      aws.nodegroups.set('fast', { nodegroupName: 'fast', status });
      expect(await eks(aws).validate()).toEqual({ problems: [], warnings: [] });
    },
  );
});
