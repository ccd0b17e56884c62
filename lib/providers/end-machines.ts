import { CallError } from '../scaler/call-error.ts';
import { lifeOf } from '../scaler/pool/classes.ts';
import type { AwsCalls } from './aws-calls.ts';
import { awsError, isInstanceUnknown } from './aws-errors.ts';

/**
 * Ends `instances` of the group `name`, one after the other, each lowering the group's size by one. Auto Scaling would
 * end one of any group: so all are looked up first. One that is gone or going is done. What became of each that is not,
 * by instance; one failure holds up no other.
 */
export async function endMachines(
  calls: Pick<AwsCalls, 'instances' | 'terminate'>,
  name: string,
  instances: readonly string[],
): Promise<ReadonlyMap<string, CallError>> {
  const found = await calls.instances(instances);
  const failures = new Map<string, CallError>();
  for (const instance of instances) {
    const known = found.find(({ InstanceId }) => InstanceId === instance);
    if (known === undefined) continue;
    const { AutoScalingGroupName = '', LifecycleState } = known;
    if (AutoScalingGroupName !== name) {
      const message = `instance ${instance} is of group ${AutoScalingGroupName}, and not of ${name}: it is left alone`;
      failures.set(instance, new CallError('refused', 'InstanceNotInGroup', message));
      continue;
    }
    const life = /^Detach/.test(LifecycleState ?? '') ? 'held' : lifeOf(LifecycleState);
    if (life === 'leaving') continue;
    if (life === 'held') {
      const message = `instance ${instance} is ${LifecycleState}, and does not count in the size that would be lowered: bring it into service, or end it by hand`;
      failures.set(instance, new CallError('refused', 'InstanceHeld', message));
      continue;
    }
    const failure = await terminate(calls, instance);
    if (failure !== undefined) failures.set(instance, failure);
  }
  return failures;
}

async function terminate(calls: Pick<AwsCalls, 'terminate'>, instance: string): Promise<CallError | undefined> {
  try {
    await calls.terminate(instance);
    return undefined;
  } catch (error) {
    const ours = awsError(error);
    return isInstanceUnknown(ours) ? undefined : ours;
  }
}
