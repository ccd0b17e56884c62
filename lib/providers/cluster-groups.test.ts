import type { AutoScalingGroup } from '@aws-sdk/client-auto-scaling';
import { expect, it } from 'vitest';
import { groupNamed } from '../../cases/scaler/recorded-aws.ts';
import type { AwsCalls } from './aws-calls.ts';
import { ClusterGroups } from './cluster-groups.ts';

/** Groups by the names that are asked for together; `fails`: what the calls are answered with instead. */
function groups(...fails: readonly Error[]) {
  const asked: (readonly string[])[] = [];
  const left = [...fails];
  const calls = {
    groupsNamed: async (names: readonly string[]): Promise<AutoScalingGroup[]> => {
      asked.push(names);
      const failure = left.shift();
      if (failure !== undefined) throw failure;
      return names.filter((name) => name !== 'gone').map((name) => groupNamed(name, {}));
    },
  } as Partial<AwsCalls> as AwsCalls;
  return { asked, of: new ClusterGroups(calls) };
}

/** What a promise has come to after whatever is under way had its turn; undefined: nothing yet. */
async function soon<T>(promise: Promise<T>): Promise<T | undefined> {
  let value: T | undefined;
  promise.then(
    (settled) => {
      value = settled;
    },
    () => undefined,
  );
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
  return value;
}

it('asks for names that come together by one request, and for later ones by another', async () => {
  const { asked, of } = groups();
  const found = await soon(Promise.all([of.named('a'), of.named('b'), of.named('a'), of.named('gone')]));
  expect(found?.map((group) => group?.AutoScalingGroupName)).toEqual(['a', 'b', 'a', undefined]);
  expect((await soon(of.named('c')))?.AutoScalingGroupName).toBe('c');
  expect(asked).toEqual([['a', 'b', 'gone'], ['c']]);
});

it('hands a failure to all who waited for it, and asks again for who comes later', async () => {
  const { of } = groups(new Error('slower'));
  const both = await soon(Promise.allSettled([of.named('a'), of.named('b')]));
  expect(both?.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect((await soon(of.named('a')))?.AutoScalingGroupName).toBe('a');
});
