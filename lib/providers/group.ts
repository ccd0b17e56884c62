import type { Activity, AutoScalingGroup } from '@aws-sdk/client-auto-scaling';
import type { Nodegroup } from '@aws-sdk/client-eks';
import { CallError } from '../scaler/call-error.ts';
import type { Group } from '../scaler/observation.ts';
import { lifeOf } from '../scaler/pool/classes.ts';
import { clip, shown } from '../schema.ts';
import { PROVIDER_CALLS } from '../settings.ts';
import type { EpochMs } from '../time.ts';

/** A group as its provider has it, and the node group that it is of, where EKS was asked for it. */
export interface SeenGroup {
  readonly name: string;
  readonly group: AutoScalingGroup;
  readonly nodegroup?: Nodegroup;
}

/** While EKS creates, updates or deletes a node group it is the only one to change its machines. */
const STEADY_STATUSES: readonly string[] = ['ACTIVE', 'DEGRADED'];

/** Whether neither EKS nor Auto Scaling is about to change the group as a whole. */
export function isSteady({ group, nodegroup }: SeenGroup): boolean {
  // Auto Scaling gives a status to a group only while it is being deleted.
  if (group.Status !== undefined && group.Status !== '') return false;
  return nodegroup === undefined || STEADY_STATUSES.includes(nodegroup.status ?? '');
}

/** The group in the words of the scaler. Throws CallError where the answer lacks a size: taken for 0 it would empty the pool. */
export function groupOf(seen: SeenGroup, shortage?: string): Group {
  const { SuspendedProcesses = [] } = seen.group;
  return {
    steady: isSteady(seen),
    desired: sizeOf(seen, 'DesiredCapacity'),
    min: sizeOf(seen, 'MinSize'),
    max: sizeOf(seen, 'MaxSize'),
    instances: instancesOf(seen.group),
    terminateSuspended: SuspendedProcesses.some(({ ProcessName }) => ProcessName === 'Terminate'),
    ...(shortage === undefined ? {} : { shortage: clip(shortage, PROVIDER_CALLS.messageLength) }),
  };
}

function sizeOf({ name, group }: SeenGroup, field: 'DesiredCapacity' | 'MinSize' | 'MaxSize'): number {
  const size: unknown = group[field];
  if (Number.isSafeInteger(size) && (size as number) >= 0) return size as number;
  const message = `what Auto Scaling says of group ${name} has ${shown(size)} as ${field}: expected a whole number from 0`;
  throw new CallError('refused', 'EUNREADABLE', clip(message, PROVIDER_CALLS.messageLength));
}

/** State by instance id. */
function instancesOf({ Instances = [] }: AutoScalingGroup): ReadonlyMap<string, string> {
  return new Map(
    Instances.flatMap(({ InstanceId, LifecycleState }): [string, string][] =>
      InstanceId === undefined ? [] : [[InstanceId, LifecycleState ?? '']],
    ),
  );
}

/** Whether machines are wanted that the group does not have: then it may be unable to get them. */
export function lacksMachines({ group }: SeenGroup): boolean {
  const live = [...instancesOf(group).values()].filter((state) => lifeOf(state) === 'live').length;
  return (group.DesiredCapacity ?? 0) > live;
}

/**
 * Why machines could not be launched: what the last launch that came to an end failed with, if that was lately. A launch
 * that failed before one that did not is over. `activities`: the newest first.
 */
export function failedLaunchOf(activities: readonly Activity[], now: EpochMs): string | undefined {
  const ended = activities.filter(
    ({ Description = '', StatusCode = '' }) => Description.startsWith('Launching') && ENDED.includes(StatusCode),
  );
  const [last] = ended;
  if (last === undefined || last.StatusCode === 'Successful') return undefined;
  const at = (last.EndTime ?? last.StartTime)?.getTime() ?? now;
  if (now - at > PROVIDER_CALLS.shortageSeconds * 1000) return undefined;
  return last.StatusMessage ?? last.Cause ?? `a launch was ${last.StatusCode?.toLowerCase()}`;
}

const ENDED: readonly string[] = ['Successful', 'Failed', 'Cancelled'];

/** Issues of a node group that are about machines that do not start. */
const LAUNCH_ISSUES: readonly string[] = [
  'AsgInstanceLaunchFailures',
  'NodeCreationFailure',
  'InstanceLimitExceeded',
  'InsufficientFreeAddresses',
  'AutoScalingGroupRateLimitExceeded',
  'Ec2LaunchTemplateNotFound',
  'Ec2LaunchTemplateInvalidConfiguration',
  'Ec2SubnetInvalidConfiguration',
];

/** What EKS itself says of why machines do not start. */
export function launchIssueOf(nodegroup: Nodegroup | undefined): string | undefined {
  const issue = nodegroup?.health?.issues?.find(({ code = '' }) => LAUNCH_ISSUES.includes(code));
  return issue === undefined ? undefined : `${issue.code}: ${issue.message ?? ''}`;
}

/** Value of a tag; undefined: the group has no such tag. */
export function tagOf({ Tags = [] }: AutoScalingGroup, key: string): string | undefined {
  const tag = Tags.find(({ Key }) => Key === key);
  return tag === undefined ? undefined : (tag.Value ?? '');
}
