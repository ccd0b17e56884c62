import { expect, it } from 'vitest';
import { groupNamed, serviceError } from '../../cases/scaler/recorded-aws.ts';
import { eks, world } from '../../test/support/provider-bed.ts';

it('orders by raising what it has just read', async () => {
  const aws = world();
  await eks(aws).increase({ by: 2, from: 2 });

  expect(aws.calls.at(-1)).toEqual({
    service: 'autoscaling',
    op: 'SetDesiredCapacity',
    params: { AutoScalingGroupName: 'eks-fast', DesiredCapacity: 4, HonorCooldown: false },
  });
});

it.each([
  ['up', 3],
  ['down', 1],
])('does not order on what somebody has changed meanwhile, %s', async (_, desired) => {
  const aws = world();
  const provider = eks(aws);
  await provider.describe();
  aws.groups.set('eks-fast', { ...groupNamed('eks-fast', {}), DesiredCapacity: desired });

  await expect(provider.increase({ by: 1, from: 2 })).rejects.toMatchObject({
    kind: 'conflict',
    code: 'DesiredCapacityChanged',
  });
  expect(aws.operations).not.toContain('SetDesiredCapacity');
});

it('refuses to order more than fits, none, or less', async () => {
  const aws = world();
  for (const by of [3, 0, -1, 1.5, Number.NaN]) {
    aws.calls = [];
    await expect(eks(aws).increase({ by })).rejects.toMatchObject({
      kind: 'refused',
      code: 'FieldValueInvalid',
      message: expect.stringMatching(/^increase_size: /),
    });
    expect(aws.operations).toEqual(by === 3 ? ['DescribeNodegroup', 'DescribeAutoScalingGroups'] : []);
  }
});

it.each([
  ['SetDesiredCapacity', serviceError('ResourceContention', 'busy', 500), 'conflict'],
  ['SetDesiredCapacity', serviceError('ScalingActivityInProgressFault', 'busy'), 'conflict'],
  ['SetDesiredCapacity', serviceError('InternalFailure', 'broken', 500), 'unknown'],
  ['SetDesiredCapacity', Object.assign(new Error('hang up'), { name: 'TimeoutError', code: 'ECONNRESET' }), 'unknown'],
  ['SetDesiredCapacity', serviceError('Throttling', 'slower'), 'throttled'],
  ['SetDesiredCapacity', serviceError('AccessDenied', 'no', 403), 'denied'],
  ['SetDesiredCapacity', serviceError('ValidationError', 'value 3 is above max value 2'), 'refused'],
  ['DescribeNodegroup', serviceError('ThrottlingException', 'slower', 429), 'throttled'],
  ['DescribeNodegroup', serviceError('ServerException', 'broken', 500), 'unknown'],
  ['DescribeNodegroup', serviceError('ResourceInUseException', 'busy', 409), 'conflict'],
  ['DescribeNodegroup', serviceError('SomethingNew', 'what', 404), 'refused'],
] as const)('tells by %s, answered with %s, that it is %s', async (op, error, kind) => {
  const aws = world();
  aws.faults.set(op, { error });
  await expect(eks(aws).increase({ by: 1, from: 2 })).rejects.toMatchObject({ name: 'CallError', kind });
});
