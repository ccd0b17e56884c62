import type { EpochMs } from '../../lib/time.ts';

/** An EC2 Auto Scaling group as data, and what can be told from one. */

export interface Instance {
  readonly id: string;
  readonly zone: string;
  readonly launchedAt: EpochMs;
  /** `LifecycleState`, in the service's words. */
  state: string;
  healthy: boolean;
  protectedFromScaleIn: boolean;
}

export interface Activity {
  readonly id: string;
  readonly group: string;
  /** The instance that is launched or terminated; undefined: none came of it. */
  readonly instance?: string;
  readonly description: string;
  readonly cause: string;
  readonly startedAt: EpochMs;
  endedAt?: EpochMs;
  status: 'InProgress' | 'Successful' | 'Failed' | 'Cancelled';
  message?: string;
}

export interface ScalingGroup {
  readonly name: string;
  /** The cluster that its machines join; undefined: none. */
  readonly cluster?: string;
  /** The managed node group that it is of; undefined: it is self-managed. */
  readonly nodegroup?: string;
  readonly zones: readonly [string, ...string[]];
  readonly tags: ReadonlyMap<string, string>;
  readonly instanceType: string;
  /** As `MixedInstancesPolicy` is told, where a group has one in place of a launch template. */
  readonly mixedInstancesPolicy?: object;
  readonly terminationPolicies: readonly string[];
  min: number;
  max: number;
  desired: number;
  readonly instances: Map<string, Instance>;
  suspended: Set<string>;
  newInstancesProtected: boolean;
  /** Whether the process AZRebalance acts where zones are out of balance. */
  rebalances: boolean;
  /** Why launches fail; undefined: they do not. */
  shortage: string | undefined;
  /** Whether whoever ends an instance is told ScalingActivityInProgress. */
  busy: boolean;
  /** The latest first. */
  readonly activities: Activity[];
}

export interface GroupSettings {
  readonly name: string;
  readonly cluster?: string;
  readonly nodegroup?: string;
  /** Default 0. */
  readonly min?: number;
  readonly max: number;
  /** Default: what is live of `instances`, and not below the minimum. */
  readonly desired?: number;
  /** Default eu-central-1a alone. */
  readonly zones?: readonly [string, ...string[]];
  readonly tags?: Readonly<Record<string, string>>;
  readonly instanceType?: string;
  readonly mixedInstancesPolicy?: object;
  readonly terminationPolicies?: readonly string[];
  readonly instances?: readonly InstanceSettings[];
  readonly suspended?: readonly string[];
  readonly newInstancesProtected?: boolean;
  readonly rebalances?: boolean;
  readonly shortage?: string;
  /** Older ones, the latest first. */
  readonly activities?: readonly { readonly status: Activity['status']; readonly message?: string }[];
}

export interface InstanceSettings {
  readonly id: string;
  /** Default InService. */
  readonly state?: string;
  /** Default the group's first. */
  readonly zone?: string;
  readonly protectedFromScaleIn?: boolean;
  readonly launchedAt?: EpochMs;
}

export function scalingGroupOf(settings: GroupSettings, now: EpochMs): ScalingGroup {
  const { name, min = 0, max, zones = ['eu-central-1a'], newInstancesProtected = false } = settings;
  const instances = (settings.instances ?? []).map((one): Instance => {
    const { id, state = 'InService', zone = zones[0], protectedFromScaleIn = newInstancesProtected } = one;
    return { id, state, zone, protectedFromScaleIn, healthy: true, launchedAt: one.launchedAt ?? now };
  });
  return {
    name,
    ...(settings.cluster === undefined ? {} : { cluster: settings.cluster }),
    ...(settings.nodegroup === undefined ? {} : { nodegroup: settings.nodegroup }),
    ...(settings.mixedInstancesPolicy && { mixedInstancesPolicy: settings.mixedInstancesPolicy }),
    zones,
    tags: new Map(Object.entries({ ...ownTags(settings), ...settings.tags })),
    instanceType: settings.instanceType ?? 'c6i.xlarge',
    terminationPolicies: settings.terminationPolicies ?? ['Default'],
    min,
    max,
    desired: settings.desired ?? Math.max(min, instances.filter(isLive).length),
    instances: new Map(instances.map((one) => [one.id, one])),
    suspended: new Set(settings.suspended),
    newInstancesProtected,
    rebalances: settings.rebalances ?? false,
    shortage: settings.shortage,
    busy: false,
    activities: (settings.activities ?? []).map((one, at) => ({
      ...one,
      id: `${name}-before-${at}`,
      group: name,
      description: 'Launching a new EC2 instance',
      cause: `At ${new Date(now).toISOString()} an instance was started in response to a difference between desired and actual capacity.`,
      startedAt: now,
      endedAt: now,
    })),
  };
}

/** The tags that EKS gives the group of a managed node group. */
function ownTags({ cluster, nodegroup }: GroupSettings): Record<string, string> {
  if (cluster === undefined) return {};
  return {
    [`kubernetes.io/cluster/${cluster}`]: 'owned',
    ...(nodegroup === undefined ? {} : { 'eks:cluster-name': cluster, 'eks:nodegroup-name': nodegroup }),
  };
}

/** Whether an instance is one that desired capacity counts. */
function isLive({ state }: Pick<Instance, 'state'>): boolean {
  return state === 'InService' || /^Pending(:|$)/.test(state);
}

/** Whether an instance is on its way out of the group. */
export function isLeaving({ state }: Pick<Instance, 'state'>): boolean {
  return /^(Terminating|Terminated|Detaching|Detached)(:|$)/.test(state);
}

export function liveOf(group: ScalingGroup): Instance[] {
  return [...group.instances.values()].filter(isLive);
}

/** The zones of a group with how many of its live instances are in each, the emptiest first. */
export function zonesOf(group: ScalingGroup): { readonly zone: string; readonly live: number }[] {
  const live = liveOf(group);
  return group.zones
    .map((zone) => ({ zone, live: live.filter((one) => one.zone === zone).length }))
    .sort((a, b) => a.live - b.live);
}

/**
 * Whom the group ends by itself when it has too many, undefined: nobody, since all are protected. The fullest zone's
 * oldest, as the default policy comes to with one launch template: on a pool of games, the one with the most sessions.
 */
export function victimOf(group: ScalingGroup): Instance | undefined {
  const candidates = liveOf(group).filter(({ protectedFromScaleIn }) => !protectedFromScaleIn);
  const inZone = (zone: string) => liveOf(group).filter((one) => one.zone === zone).length;
  return candidates.sort(
    (a, b) => inZone(b.zone) - inZone(a.zone) || a.launchedAt - b.launchedAt || (a.id < b.id ? -1 : 1),
  )[0];
}
