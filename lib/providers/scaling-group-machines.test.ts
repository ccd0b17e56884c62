import { expect, it } from 'vitest';
import { groupNamed, serviceError } from '../../cases/scaler/recorded-aws.ts';
import { asg, contextOf, world } from '../../test/support/provider-bed.ts';
import { locateMachines } from './providers.ts';

it('ends a machine of the group, and lowers the size with it', async () => {
  const aws = world();
  await asg(aws).endMachine({ node: 'n', instance: 'i-8' });

  expect(aws.calls.at(-1)).toMatchObject({
    op: 'TerminateInstanceInAutoScalingGroup',
    params: { InstanceId: 'i-8', ShouldDecrementDesiredCapacity: true },
  });
  expect(aws.groups.get('own')?.DesiredCapacity).toBe(0);
});

it('leaves a machine alone that is of another group, stands by, or cannot be told', async () => {
  const aws = world();
  await expect(asg(aws).endMachine({ node: 'n', instance: 'i-1' })).rejects.toMatchObject({
    kind: 'refused',
    code: 'InstanceNotInGroup',
  });
  await expect(asg(aws).endMachine({ node: 'n', instance: 'i-9' })).rejects.toMatchObject({ code: 'InstanceHeld' });
  await expect(asg(aws).endMachine({ node: 'n' })).rejects.toMatchObject({ code: 'InstanceUnknown' });
  expect(aws.operations).not.toContain('TerminateInstanceInAutoScalingGroup');
});

it.each(['Terminating', 'Terminating:Wait', 'Terminated', undefined])(
  'has ended a machine that is %s',
  async (state) => {
    const aws = world();
    aws.groups.set('own', groupNamed('own', state === undefined ? {} : { 'i-8': state }));

    await asg(aws).endMachine({ node: 'n', instance: 'i-8' });

    expect(aws.operations).not.toContain('TerminateInstanceInAutoScalingGroup');
  },
);

it('has ended a machine that Auto Scaling knows no more by the time that it is asked', async () => {
  const aws = world();
  const message = 'Instance Id not found - No managed instance found for instance ID i-8';
  aws.faults.set('TerminateInstanceInAutoScalingGroup', { error: serviceError('ValidationError', message) });
  await expect(asg(aws).endMachine({ node: 'n', instance: 'i-8' })).resolves.toBeUndefined();
});

it('says of instances whether they are here, elsewhere or gone, fifty by one request', async () => {
  const aws = world();
  const many = Array.from({ length: 60 }, (_, at) => `i-gone${at}`);

  const whereabouts = await asg(aws).locate(['i-8', 'i-1', ...many]);

  expect([...whereabouts].slice(0, 3)).toEqual([
    ['i-8', 'here'],
    ['i-1', 'elsewhere'],
    ['i-gone0', 'gone'],
  ]);
  expect(whereabouts.size).toBe(62);
  const asked = aws.calls.filter(({ op }) => op === 'DescribeAutoScalingInstances');
  expect(asked.map(({ params }) => (params.InstanceIds as string[]).length)).toEqual([50, 12]);
});

it('says of machines of whatever group whether they are in one', async () => {
  const whereabouts = await locateMachines(contextOf(world()), ['i-8', 'i-1', 'i-7']);

  expect([...whereabouts]).toEqual([
    ['i-8', 'elsewhere'],
    ['i-1', 'elsewhere'],
    ['i-7', 'gone'],
  ]);
});
