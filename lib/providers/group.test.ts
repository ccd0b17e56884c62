import type { Activity, AutoScalingGroup } from '@aws-sdk/client-auto-scaling';
import { describe, expect, it } from 'vitest';
import { groupNamed } from '../../cases/scaler/recorded-aws.ts';
import { CallError } from '../scaler/call-error.ts';
import type { EpochMs } from '../time.ts';
import { endMachines } from './end-machines.ts';
import { failedLaunchOf, groupOf, isSteady, lacksMachines, launchIssueOf, tagOf } from './group.ts';
import { checkGroup } from './group-checks.ts';

const NOW = Date.parse('2026-01-15T12:00:00Z') as EpochMs;

type More = Partial<AutoScalingGroup>;
const seen = (more: More = {}, instances: Record<string, string> = { 'i-1': 'InService' }) => ({
  name: 'g',
  group: groupNamed('g', instances, more as Parameters<typeof groupNamed>[2]),
});
/** As an answer may be that leaves out what is empty. */
const bare: AutoScalingGroup = {
  ...{ AutoScalingGroupName: 'g', MinSize: 0, MaxSize: 1, DesiredCapacity: 0, DefaultCooldown: 300 },
  ...{ AvailabilityZones: undefined, HealthCheckType: 'EC2', CreatedTime: new Date(NOW) },
} as unknown as AutoScalingGroup;

describe('a group', () => {
  it('is steady with no status, and with one that is empty', () => {
    expect([isSteady(seen()), isSteady(seen({ Status: '' }))]).toEqual([true, true]);
    expect(isSteady({ ...seen(), nodegroup: {} })).toBe(false);
  });

  it('of which an answer says no more than sizes has no machines, tags or processes that are suspended', () => {
    const group = { steady: true, desired: 0, min: 0, max: 1, instances: new Map(), terminateSuspended: false };
    expect(groupOf({ name: 'g', group: bare })).toEqual(group);
    expect(lacksMachines({ name: 'g', group: bare })).toBe(false);
    expect(tagOf(bare, 'any')).toBeUndefined();
    const checked = { cluster: 'game', managed: false, path: 'p' };
    expect(checkGroup({ name: 'g', group: bare }, checked)).toEqual({ problems: [], warnings: [] });
  });

  it('ends machines though another process is suspended', () => {
    expect(groupOf(seen({ SuspendedProcesses: [{ ProcessName: 'Launch' }] })).terminateSuspended).toBe(false);
  });

  it('has no size below zero', () => {
    expect(() => groupOf(seen({ MinSize: -1 }))).toThrow('has -1 as MinSize: expected a whole number from 0');
  });

  it('has the machines that have an id', () => {
    const nameless = { InstanceId: undefined, LifecycleState: 'Pending' } as never;
    expect(groupOf(seen({ Instances: [nameless, { InstanceId: 'i-2' } as never] })).instances).toEqual(
      new Map([['i-2', '']]),
    );
  });

  it('lacks machines where fewer live than are wanted, whatever else it has', () => {
    expect(lacksMachines(seen({ DesiredCapacity: 1 }))).toBe(false);
    expect(lacksMachines(seen({ DesiredCapacity: 1 }, { 'i-1': 'Terminating', 'i-2': 'Standby' }))).toBe(true);
    expect(lacksMachines(seen({ DesiredCapacity: 2 }))).toBe(true);
  });
});

describe('a launch that failed', () => {
  const minutes = (ago: number) => new Date(NOW - ago * 60_000);
  const launch = (fields: Partial<Activity> = {}): Activity => ({
    ...{ ActivityId: '1', AutoScalingGroupName: 'g', Cause: undefined, Description: 'Launching a new EC2 instance' },
    ...{ StartTime: minutes(5), StatusCode: 'Failed' },
    ...(fields as Activity),
  });

  it.each<[string, Partial<Activity>]>([
    ['no room', { StatusMessage: 'no room', Cause: 'a change' }],
    ['a change', { Cause: 'a change' }],
    ['a launch was cancelled', { StatusCode: 'Cancelled' }],
  ])('is told as "%s"', (told, fields) => {
    expect(failedLaunchOf([launch(fields)], NOW)).toBe(told);
  });

  it('is told by its end, else by its beginning, and as of now where it has neither', () => {
    const told = (fields: Partial<Activity>) => failedLaunchOf([launch({ StatusMessage: 'no', ...fields })], NOW);
    expect(told({ StartTime: minutes(500), EndTime: minutes(1) })).toBe('no');
    expect(told({ StartTime: minutes(1), EndTime: minutes(500) })).toBeUndefined();
    expect(told({ StartTime: minutes(500) })).toBeUndefined();
    expect(told({ StartTime: undefined })).toBe('no');
  });

  it('is over after a launch that worked, and is not one that is under way', () => {
    const failure = launch({ StatusMessage: 'no' });
    expect(failedLaunchOf([launch({ StatusCode: 'Successful' }), failure], NOW)).toBeUndefined();
    expect(failedLaunchOf([launch({ StatusCode: 'InProgress', StatusMessage: 'soon' }), failure], NOW)).toBe('no');
  });

  it('is told by EKS among other issues, and by nobody where there are none', () => {
    const issues = [{ code: 'AccessDenied' as const }, { code: 'InstanceLimitExceeded' as const, message: 'full' }];
    expect(launchIssueOf({ health: { issues } })).toBe('InstanceLimitExceeded: full');
    for (const one of [undefined, {}, { health: {} }, { health: { issues: issues.slice(0, 1) } }]) {
      expect(launchIssueOf(one)).toBeUndefined();
    }
  });
});

describe('machines are ended', () => {
  function callsOf(states: Readonly<Record<string, string | undefined>>, failure?: Error) {
    const ended: string[] = [];
    const calls = {
      instances: async (asked: readonly string[]) =>
        asked.flatMap((InstanceId) =>
          InstanceId in states
            ? [{ InstanceId, AutoScalingGroupName: 'g', LifecycleState: states[InstanceId] } as never]
            : [],
        ),
      terminate: async (instance: string) => {
        ended.push(instance);
        if (failure !== undefined) throw failure;
      },
    };
    return { calls, ended };
  }

  it('that live, each by its own state; what stands by or is detached stays and is told', async () => {
    const { calls, ended } = callsOf({
      ...{ 'i-1': 'InService', 'i-2': 'Standby', 'i-3': 'Terminating', 'i-4': 'Detaching', 'i-5': 'Pending' },
    });
    const failures = await endMachines(calls, 'g', ['i-1', 'i-2', 'i-3', 'i-4', 'i-5', 'i-gone']);
    expect(ended).toEqual(['i-1', 'i-5']);
    expect([...failures].map(([instance, { code }]) => [instance, code])).toEqual([
      ['i-2', 'InstanceHeld'],
      ['i-4', 'InstanceHeld'],
    ]);
  });

  it('and one that is not holds up no other', async () => {
    const refused = Object.assign(new Error('busy'), { name: 'ScalingActivityInProgress' });
    const { calls, ended } = callsOf({ 'i-1': 'InService', 'i-2': 'InService' }, refused);
    const failures = await endMachines(calls, 'g', ['i-1', 'i-2']);
    expect(ended).toEqual(['i-1', 'i-2']);
    for (const instance of ended) expect(failures.get(instance)).toBeInstanceOf(CallError);
  });
});

describe('what is told of a group', () => {
  const check = (more: More, instances?: Record<string, string>) =>
    checkGroup(seen(more, instances), { cluster: 'game', managed: false, path: 'p' });
  const tags = (...keys: readonly string[]) => ({ Tags: keys.map((Key) => ({ Key })) }) as More;

  it('is no tag that only has something like the name of another cluster in it', () => {
    expect(check(tags('backup/kubernetes.io/cluster/other', 'kubernetes.io/cluster/')).problems).toEqual([]);
    expect(check(tags('kubernetes.io/cluster/other\nmore', 'kubernetes.io/cluster/game')).problems).toEqual([]);
    expect(check(tags('my-k8s.io/cluster-autoscaler/enabled')).warnings).toEqual([]);
    expect(check(tags('k8s.io/cluster-autoscaler/enabled-here')).warnings).toHaveLength(1);
  });

  it('is no weight of one', () => {
    const Overrides = [{ WeightedCapacity: '1' }, {}];
    expect(check({ MixedInstancesPolicy: { LaunchTemplate: { Overrides } } }).problems).toEqual([]);
    expect(check({ MixedInstancesPolicy: {} }).problems).toEqual([]);
  });

  it('is that old machines are not protected, though new ones are', () => {
    const zones = { AvailabilityZones: ['a', 'b'], NewInstancesProtectedFromScaleIn: true };
    expect(check(zones).warnings).toEqual([expect.stringContaining('1 of 1 are not protected')]);
    expect(check(zones, {}).warnings).toEqual([]);
  });
});
