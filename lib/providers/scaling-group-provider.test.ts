import type { AutoScalingGroup } from '@aws-sdk/client-auto-scaling';
import { expect, it } from 'vitest';
import { groupNamed, managedTags, RecordedAws, serviceError } from '../../cases/scaler/recorded-aws.ts';
import { asg, contextOf, eks, NOW, specOf, world } from '../../test/support/provider-bed.ts';
import { providersOf } from './providers.ts';

it('tells a managed group by one look at the groups of the cluster, and asks EKS before it is changed', async () => {
  const aws = world();
  const provider = eks(aws);

  const seen = await provider.describe();

  expect(seen).toEqual({
    steady: true,
    desired: 2,
    min: 1,
    max: 4,
    instances: new Map([
      ['i-1', 'InService'],
      ['i-2', 'InService'],
    ]),
    terminateSuspended: false,
  });
  expect(aws.calls).toMatchObject([
    { op: 'DescribeAutoScalingGroups', params: { Filters: [{ Name: 'tag:eks:cluster-name', Values: ['game'] }] } },
  ]);
  expect(await provider.inspect()).toEqual(seen);
  expect(aws.operations.slice(1)).toEqual(['DescribeNodegroup', 'DescribeAutoScalingGroups']);
});

it.each([
  ['UPDATING', false],
  ['DELETING', false],
  ['CREATING', false],
  ['DEGRADED', true],
  ['ACTIVE', true],
] as const)('is steady while EKS says %s: %s', async (status, steady) => {
  const aws = world();
  aws.nodegroups.set('fast', { ...aws.nodegroups.get('fast'), status });

  expect(await eks(aws).inspect()).toMatchObject({ steady });
  const order = eks(aws).increase({ by: 1, from: 2 });

  if (steady) await order;
  else await expect(order).rejects.toMatchObject({ kind: 'conflict', message: expect.stringContaining(status) });
  expect(aws.operations.includes('SetDesiredCapacity')).toBe(steady);
});

it.each([
  ['DesiredCapacity', undefined],
  ['MinSize', undefined],
  ['MaxSize', undefined],
  ['MaxSize', Number.NaN],
  ['MaxSize', '20'],
] as const)(
  'cannot be read where the answer has %s as %s: taken for 0 it would empty the pool',
  async (field, size) => {
    const aws = world();
    aws.groups.set('eks-fast', { ...aws.groups.get('eks-fast'), [field]: size } as AutoScalingGroup);

    const looks = [eks(aws).describe(), eks(aws).inspect(), eks(aws).increase({ by: 1, from: 2 })];

    for (const look of looks) {
      await expect(look).rejects.toMatchObject({ code: 'EUNREADABLE', message: expect.stringContaining(field) });
    }
    expect(aws.operations).not.toContain('SetDesiredCapacity');
  },
);

it('is not steady while Auto Scaling deletes the group', async () => {
  const aws = world({ Status: 'Delete in progress' });
  expect(await eks(aws).describe()).toMatchObject({ steady: false });
});

it('sees that Terminate is suspended', async () => {
  const aws = world({ SuspendedProcesses: [{ ProcessName: 'Terminate' }] });
  expect(await eks(aws).describe()).toMatchObject({ terminateSuspended: true });
});

it('takes a group that EKS names and tags do not', async () => {
  const aws = world({ Tags: [] });
  expect(await eks(aws).validate()).toMatchObject({ problems: [] });
  expect(await eks(aws).describe()).toMatchObject({ desired: 2 });
});

it('has EKS decide between two groups with the tags of one node group', async () => {
  const aws = world();
  aws.groups.set('copy', groupNamed('copy', {}, { MaxSize: 99, Tags: managedTags('game', 'fast') }));
  expect(await eks(aws).describe()).toMatchObject({ max: 4 });
});

it('has a problem with a node group that there is not, and changes nothing', async () => {
  const aws = world();
  const provider = eks(aws, { nodegroup: 'slow' });
  const { problems } = await provider.validate();

  expect(problems).toEqual([
    { path: 'spec.config.nodegroup', message: expect.stringContaining('cluster game has no node group slow') },
  ]);
  await expect(provider.inspect()).rejects.toMatchObject({ kind: 'refused' });
  await expect(provider.increase({ by: 1 })).rejects.toMatchObject({ kind: 'refused' });
  expect(aws.operations).not.toContain('SetDesiredCapacity');
});

it('leaves a node group that is being made to EKS, and says what is wrong with one that could not be', async () => {
  const aws = world();
  aws.nodegroups.set('new', {
    nodegroupName: 'new',
    status: 'CREATING',
    scalingConfig: { minSize: 1, maxSize: 5, desiredSize: 2 },
  });
  aws.nodegroups.set('broken', {
    nodegroupName: 'broken',
    status: 'CREATE_FAILED',
    health: { issues: [{ code: 'AccessDenied', message: 'no' }] },
  });

  const made = eks(aws, { nodegroup: 'new' });
  expect(await made.validate()).toEqual({ problems: [], warnings: [] });
  expect(await made.describe()).toEqual({
    steady: false,
    desired: 2,
    min: 1,
    max: 5,
    instances: new Map(),
    terminateSuspended: false,
  });
  await expect(made.increase({ by: 1 })).rejects.toMatchObject({ kind: 'conflict' });
  const { warnings } = await eks(aws, { nodegroup: 'broken' }).validate();
  expect(warnings).toEqual([expect.stringMatching(/broken is CREATE_FAILED .*AccessDenied: no/)]);
});

it('has a problem with the name of another cluster or region, and asks for nothing then', async () => {
  const aws = world();

  const { problems } = await eks(aws, { cluster: 'other', region: 'us-east-1' }).validate();

  expect(problems.map(({ path }) => path)).toEqual(['spec.config.cluster', 'spec.config.region']);
  expect(aws.calls).toEqual([]);
  expect(await eks(aws, { cluster: 'game', region: 'eu-central-1' }).validate()).toMatchObject({ problems: [] });
});

it('has a problem with a group that there is not', async () => {
  const aws = world();
  aws.groups.delete('own');
  expect(await asg(aws).validate()).toEqual({
    problems: [
      {
        path: 'spec.config.autoScalingGroup',
        message: expect.stringContaining('no Auto Scaling group own in eu-central-1'),
      },
    ],
    warnings: [],
  });
  await expect(asg(aws).describe()).rejects.toMatchObject({ kind: 'refused' });
});

it('says why machines do not start, if a launch failed lately and none has worked since', async () => {
  const aws = world({ DesiredCapacity: 3 });
  const launch = (StatusCode: 'Failed' | 'Successful' | 'InProgress', minutesAgo: number) => ({
    ActivityId: '1',
    AutoScalingGroupName: 'eks-fast',
    Cause: '',
    Description: 'Launching a new EC2 instance.  Status Reason: none left',
    StartTime: new Date(NOW - minutesAgo * 60_000),
    EndTime: new Date(NOW - minutesAgo * 60_000),
    StatusCode,
    StatusMessage: 'We currently do not have sufficient m7i.large capacity',
  });
  const shortage = async (...activities: ReturnType<typeof launch>[]) => {
    aws.activities.set('eks-fast', activities);
    return (await eks(aws).describe())?.shortage;
  };

  expect(await shortage(launch('InProgress', 0), launch('Failed', 5))).toMatch(/sufficient m7i.large capacity/);
  expect(await shortage(launch('Successful', 1), launch('Failed', 5))).toBeUndefined();
  expect(await shortage(launch('Failed', 90))).toBeUndefined();
  expect(await shortage({ ...launch('Failed', 5), Description: 'Terminating EC2 instance: i-1' })).toBeUndefined();
  expect(await shortage()).toBeUndefined();
});

it('says what EKS says of machines that do not start, and goes on where the activities cannot be read', async () => {
  const aws = world({ DesiredCapacity: 3 });
  aws.faults.set('DescribeScalingActivities', { error: serviceError('AccessDenied', 'no', 403) });
  const issue = { code: 'AsgInstanceLaunchFailures' as const, message: 'no room' };
  aws.nodegroups.set('fast', { ...aws.nodegroups.get('fast'), health: { issues: [issue] } });

  expect(await eks(aws).describe()).not.toHaveProperty('shortage');
  expect(await eks(aws).inspect()).toMatchObject({ shortage: 'AsgInstanceLaunchFailures: no room' });
});

it('asks as much for twenty-five idle pools as for one', async () => {
  const requests = async (pools: number, provider: 'eks' | 'asg') => {
    const aws = new RecordedAws();
    const provide = providersOf(contextOf(aws));
    const names = Array.from({ length: pools }, (_, at) => `pool${at}`);
    for (const name of names) {
      const Tags = provider === 'eks' ? managedTags('game', name) : [];
      aws.groups.set(name, groupNamed(name, { [`i-${name}`]: 'InService' }, { Tags }));
    }
    const config = (name: string) => (provider === 'eks' ? { nodegroup: name } : { autoScalingGroup: name });
    await Promise.all(
      names.map(async (name) => {
        const one = provide(name, specOf({ provider, config: config(name) }));
        expect((await one.validate()).problems).toEqual([]);
        expect((await one.describe())?.instances.has(`i-${name}`)).toBe(true);
      }),
    );
    return aws.operations;
  };

  for (const provider of ['eks', 'asg'] as const) {
    expect(await requests(1, provider)).toEqual(['DescribeAutoScalingGroups']);
    expect(await requests(25, provider)).toEqual(['DescribeAutoScalingGroups']);
  }
});

it('reads all pages of the groups', async () => {
  const aws = world();
  aws.pageSize = 1;
  for (const name of ['a', 'b', 'c']) {
    aws.groups.set(name, groupNamed(name, {}, { MaxSize: 7, Tags: managedTags('game', name) }));
  }
  expect(await eks(aws, { nodegroup: 'c' }).describe()).toMatchObject({ max: 7 });
  expect(aws.operations).toEqual(Array.from({ length: 4 }, () => 'DescribeAutoScalingGroups'));
});
