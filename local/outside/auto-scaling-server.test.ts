import {
  AutoScalingClient,
  DescribeAutoScalingGroupsCommand,
  type DescribeAutoScalingGroupsCommandInput,
  DescribeAutoScalingInstancesCommand,
  DescribeScalingActivitiesCommand,
  PutScalingPolicyCommand,
  SetDesiredCapacityCommand,
  TerminateInstanceInAutoScalingGroupCommand,
} from '@aws-sdk/client-auto-scaling';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { EpochMs } from '../../lib/time.ts';
import { Agenda } from './agenda.ts';
import { AutoScalingGroups } from './auto-scaling-groups.ts';
import { startAutoScalingServer } from './auto-scaling-server.ts';
import type { AwsServer } from './aws-server.ts';
import { Faults } from './faults.ts';

let groups: AutoScalingGroups;
let faults: Faults;
let server: AwsServer;
let client: AutoScalingClient;
let now = Date.parse('2026-01-15T12:00:00Z') as EpochMs;

beforeEach(async () => {
  const agenda = new Agenda({ clock: () => now, dynamics: true });
  groups = new AutoScalingGroups(agenda);
  faults = new Faults(() => agenda.now());
  server = await startAutoScalingServer(groups, { faults, settle: () => agenda.settle() });
  client = new AutoScalingClient({ endpoint: server.url, maxAttempts: 1 });
});
afterEach(async () => {
  client.destroy();
  await server.close();
});

function pass(seconds: number): void {
  now = (now + seconds * 1000) as EpochMs;
}

async function describe(input: DescribeAutoScalingGroupsCommandInput = {}) {
  const { AutoScalingGroups: found = [], NextToken } = await client.send(new DescribeAutoScalingGroupsCommand(input));
  return { found, names: found.map((group) => group.AutoScalingGroupName), NextToken };
}

function setDesired(name: string, desired: number) {
  return client.send(new SetDesiredCapacityCommand({ AutoScalingGroupName: name, DesiredCapacity: desired }));
}

function terminate(id: string, decrement = true) {
  const input = { InstanceId: id, ShouldDecrementDesiredCapacity: decrement };
  return client.send(new TerminateInstanceInAutoScalingGroupCommand(input));
}

const inService = (...ids: string[]) => ids.map((id) => ({ id }));

test('a group is told with all that a scaler asks of it', async () => {
  groups.add({
    name: 'games',
    cluster: 'game',
    nodegroup: 'gameserver',
    min: 1,
    max: 5,
    desired: 2,
    zones: ['eu-central-1a', 'eu-central-1b'],
    tags: { team: 'a & <b>' },
    suspended: ['AZRebalance'],
    newInstancesProtected: true,
    instances: [
      { id: 'i-1', zone: 'eu-central-1b' },
      { id: 'i-2', state: 'Warmed:Stopped' },
    ],
  });
  const { found } = await describe({ AutoScalingGroupNames: ['games', 'other'] });
  expect(found).toHaveLength(1);
  expect(found[0]).toMatchObject({
    AutoScalingGroupName: 'games',
    MinSize: 1,
    MaxSize: 5,
    DesiredCapacity: 2,
    AvailabilityZones: ['eu-central-1a', 'eu-central-1b'],
    NewInstancesProtectedFromScaleIn: true,
    LaunchTemplate: { LaunchTemplateName: 'games' },
    SuspendedProcesses: [{ ProcessName: 'AZRebalance' }],
    Instances: [
      {
        InstanceId: 'i-1',
        AvailabilityZone: 'eu-central-1b',
        LifecycleState: 'InService',
        HealthStatus: 'Healthy',
        ProtectedFromScaleIn: true,
      },
      { InstanceId: 'i-2', LifecycleState: 'Warmed:Stopped' },
      { LifecycleState: 'Pending' },
    ],
  });
  const tags = Object.fromEntries((found[0]?.Tags ?? []).map(({ Key, Value }) => [Key, Value]));
  expect(tags).toEqual({
    'kubernetes.io/cluster/game': 'owned',
    'eks:cluster-name': 'game',
    'eks:nodegroup-name': 'gameserver',
    team: 'a & <b>',
  });
});

test('groups are found by tags: any value of a filter, every filter', async () => {
  groups.add({ name: 'a', max: 1, tags: { pool: 'x', owner: 'me' } });
  groups.add({ name: 'b', max: 1, tags: { pool: 'y' } });
  groups.add({ name: 'c', max: 1 });
  const by = async (...filters: [string, ...string[]][]) =>
    (await describe({ Filters: filters.map(([Name, ...Values]) => ({ Name, Values })) })).names;
  expect(await by(['tag:pool', 'x', 'y'])).toEqual(['a', 'b']);
  expect(await by(['tag:pool', 'x', 'y'], ['tag-key', 'owner'])).toEqual(['a']);
  expect(await by(['tag-value', 'y'])).toEqual(['b']);
  await expect(by(['name', 'a'])).rejects.toThrow('Filter type name is not correct');
});

test('groups, instances and activities come in pages, of no more than the service takes', async () => {
  for (let n = 10; n < 15; n += 1) groups.add({ name: `g${n}`, max: 2, instances: inService(`i-${n}`) });
  const first = await describe({ MaxRecords: 3 });
  const second = await describe({ MaxRecords: 3, ...(first.NextToken && { NextToken: first.NextToken }) });
  expect([first.names, second.names, second.NextToken]).toEqual([['g10', 'g11', 'g12'], ['g13', 'g14'], undefined]);
  await expect(describe({ MaxRecords: 101 })).rejects.toThrow('from 1 to 100');
  await expect(describe({ NextToken: 'nonsense' })).rejects.toMatchObject({ name: 'InvalidNextToken' });
  const page = await client.send(new DescribeAutoScalingInstancesCommand({ InstanceIds: ['i-12', 'i-14', 'i-99'] }));
  expect(
    page.AutoScalingInstances?.map((one) => [one.InstanceId, one.AutoScalingGroupName, one.LifecycleState]),
  ).toEqual([
    ['i-12', 'g12', 'InService'],
    ['i-14', 'g14', 'InService'],
  ]);
  const tooMany = Array.from({ length: 51 }, (_, at) => `i-${at}`);
  await expect(client.send(new DescribeAutoScalingInstancesCommand({ InstanceIds: tooMany }))).rejects.toThrow(
    'limited to 50',
  );
});

test('a raised desired capacity launches, in the zone with fewest', async () => {
  groups.add({ name: 'games', max: 4, zones: ['a', 'b'], instances: inService('i-1') });
  await setDesired('games', 3);
  const { found } = await describe();
  expect(found[0]?.DesiredCapacity).toBe(3);
  expect(found[0]?.Instances?.map((one) => [one.LifecycleState, one.AvailabilityZone])).toEqual([
    ['InService', 'a'],
    ['Pending', 'b'],
    ['Pending', 'a'],
  ]);
});

test('a desired capacity beyond the bounds is refused in the words of the service', async () => {
  groups.add({ name: 'games', min: 1, max: 2 });
  await expect(setDesired('games', 3)).rejects.toMatchObject({
    name: 'ValidationError',
    message: 'New SetDesiredCapacity value 3 is above max value 2 for the AutoScalingGroup.',
  });
  await expect(setDesired('games', 0)).rejects.toThrow('value 0 is below min value 1 for');
  await expect(setDesired('other', 1)).rejects.toThrow('AutoScalingGroup name not found');
  expect((await describe()).found[0]?.DesiredCapacity).toBe(1);
});

test('a lowered desired capacity ends whom the group chooses, and nobody who is protected', async () => {
  groups.add({
    name: 'games',
    max: 5,
    zones: ['a', 'b'],
    instances: [
      { id: 'i-1', zone: 'a', launchedAt: 5 as EpochMs },
      { id: 'i-2', zone: 'b', launchedAt: 2 as EpochMs },
      { id: 'i-3', zone: 'b', launchedAt: 3 as EpochMs },
      { id: 'i-4', zone: 'b', launchedAt: 1 as EpochMs, protectedFromScaleIn: true },
    ],
  });
  const ending = async () =>
    (await describe()).found[0]?.Instances?.flatMap((one) =>
      one.LifecycleState === 'Terminating' ? [one.InstanceId] : [],
    );
  await setDesired('games', 3);
  expect(await ending()).toEqual(['i-2']);
  await setDesired('games', 0);
  expect(await ending()).toEqual(['i-1', 'i-2', 'i-3']);
  const { Activities } = await client.send(new DescribeScalingActivitiesCommand({ AutoScalingGroupName: 'games' }));
  expect(Activities?.[0]).toMatchObject({ StatusCode: 'Cancelled', Description: expect.stringContaining('protected') });
});

test('an instance is ended by id, with or without one less wanted', async () => {
  groups.add({ name: 'games', min: 1, max: 3, instances: inService('i-1', 'i-2', 'i-3') });
  const { Activity } = await terminate('i-2');
  expect(Activity).toMatchObject({
    AutoScalingGroupName: 'games',
    StatusCode: 'InProgress',
    Description: 'Terminating EC2 instance: i-2',
  });
  expect((await describe()).found[0]).toMatchObject({ DesiredCapacity: 2 });
  await terminate('i-1', false);
  const { found } = await describe();
  expect(found[0]?.DesiredCapacity).toBe(2);
  expect(found[0]?.Instances?.map((one) => one.LifecycleState)).toEqual([
    'Terminating',
    'Terminating',
    'InService',
    'Pending',
  ]);
});

test('ending an instance asks for both parameters, a known instance, a size above the minimum and a quiet group', async () => {
  const group = groups.add({ name: 'games', min: 3, max: 4, instances: inService('i-1', 'i-2', 'i-3') });
  const half = { InstanceId: 'i-1' } as { InstanceId: string; ShouldDecrementDesiredCapacity: boolean };
  await expect(client.send(new TerminateInstanceInAutoScalingGroupCommand(half))).rejects.toThrow(
    "'shouldDecrementDesiredCapacity'",
  );
  await expect(terminate('i-9')).rejects.toMatchObject({
    name: 'ValidationError',
    message: 'Instance Id not found - No managed instance found for instance ID i-9',
  });
  await expect(terminate('i-1')).rejects.toThrow(
    "Currently, desiredSize equals minSize (3). Terminating instance without replacement will violate group's min size constraint. Either set shouldDecrementDesiredCapacity flag to false or lower group's min size.",
  );
  group.min = 0;
  group.busy = true;
  await expect(terminate('i-1')).rejects.toMatchObject({ name: expect.stringContaining('ScalingActivityInProgress') });
  group.busy = false;
  group.suspended.add('Terminate');
  await expect(terminate('i-1')).rejects.toThrow('Terminate is suspended');
  expect((await describe()).found[0]?.Instances?.map((one) => one.LifecycleState)).toEqual(Array(3).fill('InService'));
});

test('ending an instance twice costs another one', async () => {
  groups.add({ name: 'games', max: 4, instances: inService('i-1', 'i-2', 'i-3') });
  await terminate('i-3');
  await terminate('i-3');
  const { found } = await describe();
  expect(found[0]?.DesiredCapacity).toBe(1);
  expect(found[0]?.Instances?.map((one) => one.LifecycleState)).toEqual(['Terminating', 'InService', 'Terminating']);
});

test('a launch that fails is told as an activity, and tried again', async () => {
  const group = groups.add({ name: 'games', max: 3, shortage: 'InsufficientInstanceCapacity - no c6i.xlarge' });
  await setDesired('games', 2);
  pass(150);
  const { Activities } = await client.send(new DescribeScalingActivitiesCommand({ AutoScalingGroupName: 'games' }));
  expect(Activities?.map((one) => [one.StatusCode, one.StatusMessage])).toEqual(
    Array(3).fill(['Failed', 'InsufficientInstanceCapacity - no c6i.xlarge']),
  );
  expect((await describe()).found[0]).toMatchObject({ DesiredCapacity: 2, Instances: [] });
  group.shortage = undefined;
  pass(60);
  expect((await describe()).found[0]?.Instances).toHaveLength(2);
});

test('AZRebalance ends somebody else when zones are out of balance, unless it is suspended', async () => {
  for (const name of ['acts', 'suspended']) {
    groups.add({
      name,
      max: 6,
      zones: ['a', 'b'],
      rebalances: true,
      suspended: name === 'acts' ? [] : ['AZRebalance'],
      instances: ['a', 'a', 'a', 'b', 'b'].map((zone, at) => ({ id: `i-${name}${at}`, zone })),
    });
    await terminate(`i-${name}3`);
  }
  pass(61);
  const { found } = await describe();
  const states = found.map(({ Instances }) => Instances?.map((one) => `${one.AvailabilityZone} ${one.LifecycleState}`));
  expect(states[0]).toEqual([
    'a Terminating',
    'a InService',
    'a InService',
    'b Terminating',
    'b InService',
    'b Pending',
  ]);
  expect(states[1]).toEqual(['a InService', 'a InService', 'a InService', 'b Terminating', 'b InService']);
});

test('an action that is not known here is refused by its name', async () => {
  const put = client.send(new PutScalingPolicyCommand({ AutoScalingGroupName: 'games', PolicyName: 'p' }));
  await expect(put).rejects.toThrow('PutScalingPolicy is not taken here; what is: DescribeAutoScalingGroups,');
});

test('a request is refused, cut before or after its effect, or answered late, as it was ordered', async () => {
  groups.add({ name: 'games', max: 9 });
  const desired = () => groups.get('games')?.desired;
  const rule = { service: 'autoscaling', operation: 'SetDesiredCapacity', subject: 'games' } as const;

  faults.add({ ...rule, nth: 2, fault: { kind: 'refuse', code: 'Throttling', message: 'Rate exceeded' } });
  await setDesired('games', 1);
  await expect(setDesired('games', 2)).rejects.toMatchObject({ name: 'Throttling', message: 'Rate exceeded' });
  expect(desired()).toBe(1);

  faults.add({ ...rule, fault: { kind: 'cut', effect: false } });
  await expect(setDesired('games', 3)).rejects.toThrow();
  expect(desired()).toBe(1);

  faults.add({ ...rule, fault: { kind: 'cut', effect: true } });
  await expect(setDesired('games', 4)).rejects.toThrow();
  expect(desired()).toBe(4);

  let release: (() => void) | undefined;
  const until = new Promise<void>((resolve) => {
    release = resolve;
  });
  faults.add({ ...rule, fault: { kind: 'late', until } });
  let answered = false;
  const sent = setDesired('games', 5).then(() => {
    answered = true;
  });
  await describe();
  expect([desired(), answered]).toEqual([5, false]);
  release?.();
  await sent;

  const seen: unknown[] = [];
  faults.add({ ...rule, fault: { kind: 'meanwhile', act: () => seen.push(desired()) } });
  faults.add({ ...rule, nth: 2, fault: { kind: 'meanwhile', act: () => seen.push(desired()), after: true } });
  await setDesired('games', 6);
  await setDesired('games', 7);
  expect(seen).toEqual([5, 7]);

  expect(faults.requests.map(({ operation, fault }) => fault ?? operation)).toEqual([
    'SetDesiredCapacity',
    'refuse',
    'cut',
    'cut',
    'late',
    'DescribeAutoScalingGroups',
    'meanwhile',
    'meanwhile',
  ]);
});

test('random faults strike a share of the requests, the same for the same seed', () => {
  const struck = (seed: number) => {
    const some = new Faults(() => now);
    some.addRandom({
      seed,
      share: 0.25,
      faults: [
        { kind: 'cut', effect: true },
        { kind: 'refuse', code: 'Throttling' },
      ],
    });
    return Array.from({ length: 400 }, () => some.strike({ service: 'eks', operation: 'x', subject: '' })?.kind ?? '-');
  };
  const first = struck(1);
  expect(struck(1)).toEqual(first);
  expect(struck(2)).not.toEqual(first);
  expect(new Set(first)).toEqual(new Set(['-', 'cut', 'refuse']));
  const share = first.filter((kind) => kind !== '-').length;
  expect(share).toBeGreaterThan(60);
  expect(share).toBeLessThan(140);
});
