import type { AutoScalingGroups } from './auto-scaling-groups.ts';
import { type AwsServer, type AwsServerSettings, startAwsServer } from './aws-server.ts';
import { QUERY_ANSWERS, QueryForm } from './query-protocol.ts';
import type { Activity, Instance, ScalingGroup } from './scaling-group.ts';
import { ServiceError } from './service-error.ts';

interface Action {
  subject(form: QueryForm): string | undefined;
  answer(form: QueryForm, groups: AutoScalingGroups): unknown;
}

const ACTIONS: Readonly<Record<string, Action>> = {
  DescribeAutoScalingGroups: {
    subject: (form) => form.list('AutoScalingGroupNames')?.join(','),
    answer: describeGroups,
  },
  DescribeAutoScalingInstances: {
    subject: (form) => form.list('InstanceIds')?.join(','),
    answer: describeInstances,
  },
  DescribeScalingActivities: {
    subject: (form) => form.optional('AutoScalingGroupName'),
    answer: describeActivities,
  },
  SetDesiredCapacity: {
    subject: (form) => form.optional('AutoScalingGroupName'),
    answer: (form, groups) => {
      const desired = Number(form.required('DesiredCapacity'));
      groups.setDesiredCapacity(form.required('AutoScalingGroupName'), desired, form.boolean('HonorCooldown'));
    },
  },
  TerminateInstanceInAutoScalingGroup: {
    subject: (form) => form.optional('InstanceId'),
    answer: (form, groups) => {
      const id = form.required('InstanceId');
      form.required('ShouldDecrementDesiredCapacity');
      return { Activity: activityOf(groups.terminate(id, form.boolean('ShouldDecrementDesiredCapacity') === true)) };
    },
  },
};

/** EC2 Auto Scaling as far as a node scaler uses it, in the Query protocol of its SDK. */
export function startAutoScalingServer(groups: AutoScalingGroups, settings: AwsServerSettings): Promise<AwsServer> {
  return startAwsServer(
    {
      ...QUERY_ANSWERS,
      read: ({ body }) => {
        const form = new QueryForm(body);
        const operation = form.required('Action');
        const action = ACTIONS[operation];
        if (action === undefined) {
          const known = Object.keys(ACTIONS).join(', ');
          throw new ServiceError('InvalidAction', `${operation} is not taken here; what is: ${known}`);
        }
        return {
          service: 'autoscaling',
          operation,
          subject: action.subject(form) ?? '',
          answer: () => action.answer(form, groups),
        };
      },
    },
    settings,
  );
}

function describeGroups(form: QueryForm, groups: AutoScalingGroups): unknown {
  const names = form.list('AutoScalingGroupNames') ?? [];
  const filters = filtersOf(form);
  const found = groups
    .list()
    .filter(({ name }) => names.length === 0 || names.includes(name))
    .filter((group) => filters.every((matches) => matches(group)));
  const { items, next } = pageOf(found, form, { standard: 50, most: 100 });
  return { AutoScalingGroups: items.map(groupOf), NextToken: next };
}

/** Any value of a filter will do, and every filter must. */
function filtersOf(form: QueryForm): ((group: ScalingGroup) => boolean)[] {
  const filters: ((group: ScalingGroup) => boolean)[] = [];
  for (let at = 1; ; at += 1) {
    const name = form.optional(`Filters.member.${at}.Name`);
    if (name === undefined) return filters;
    const values = form.list(`Filters.member.${at}.Values`) ?? [];
    filters.push(({ tags }) => {
      if (name === 'tag-key') return values.some((value) => tags.has(value));
      if (name === 'tag-value') return [...tags.values()].some((value) => values.includes(value));
      if (name.startsWith('tag:')) return values.includes(tags.get(name.slice(4)) ?? '');
      throw new ServiceError(
        'ValidationError',
        `Filter type ${name} is not correct. Allowed Filter types are: tag-key, tag-value, tag:<key>`,
      );
    });
  }
}

function describeInstances(form: QueryForm, groups: AutoScalingGroups): unknown {
  const ids = form.list('InstanceIds') ?? [];
  if (ids.length > 50) {
    throw new ServiceError(
      'ValidationError',
      `The number of instance ids that may be passed in is limited to 50, ${ids.length} were`,
    );
  }
  const all = groups.list().flatMap((group) => [...group.instances.values()].map((instance) => ({ group, instance })));
  const found = all.filter(({ instance }) => ids.length === 0 || ids.includes(instance.id));
  const { items, next } = pageOf(found, form, { standard: 50, most: 50 });
  return {
    AutoScalingInstances: items.map(({ group, instance }) => ({
      AutoScalingGroupName: group.name,
      ...instanceOf(group, instance),
      // This action alone has the health in capitals.
      HealthStatus: instance.healthy ? 'HEALTHY' : 'UNHEALTHY',
    })),
    NextToken: next,
  };
}

function describeActivities(form: QueryForm, groups: AutoScalingGroups): unknown {
  const name = form.optional('AutoScalingGroupName');
  const chosen = groups.list().filter((group) => name === undefined || group.name === name);
  if (name !== undefined && chosen.length === 0) {
    throw new ServiceError('ValidationError', `AutoScalingGroup name not found - no such group: ${name}`);
  }
  const ids = form.list('ActivityIds') ?? [];
  const found = chosen.flatMap(({ activities }) => activities).filter(({ id }) => ids.length === 0 || ids.includes(id));
  const { items, next } = pageOf(found, form, { standard: 100, most: 100 });
  return { Activities: items.map(activityOf), NextToken: next };
}

/** A token is the place of the next page. */
function pageOf<T>(
  all: readonly T[],
  form: QueryForm,
  { standard, most }: { readonly standard: number; readonly most: number },
): { readonly items: readonly T[]; readonly next: string | undefined } {
  const size = form.integer('MaxRecords') ?? standard;
  if (size < 1 || size > most) {
    throw new ServiceError('ValidationError', `MaxRecords is ${size}, expected a number from 1 to ${most}`);
  }
  const token = form.optional('NextToken') ?? '0';
  if (!/^\d+$/.test(token)) throw new ServiceError('InvalidNextToken', `The token '${token}' is invalid.`);
  const end = Number(token) + size;
  return { items: all.slice(Number(token), end), next: end < all.length ? String(end) : undefined };
}

function groupOf(group: ScalingGroup): object {
  return {
    AutoScalingGroupName: group.name,
    AutoScalingGroupARN: `arn:aws:autoscaling:eu-central-1:000000000000:autoScalingGroup:0:autoScalingGroupName/${group.name}`,
    ...templateOf(group),
    MinSize: group.min,
    MaxSize: group.max,
    DesiredCapacity: group.desired,
    DefaultCooldown: 300,
    AvailabilityZones: group.zones,
    HealthCheckType: 'EC2',
    HealthCheckGracePeriod: 15,
    Instances: [...group.instances.values()].map((instance) => instanceOf(group, instance)),
    CreatedTime: new Date(0),
    SuspendedProcesses: [...group.suspended].map((process) => ({
      ProcessName: process,
      SuspensionReason: 'User suspended',
    })),
    Tags: [...group.tags].map(([key, value]) => ({
      ResourceId: group.name,
      ResourceType: 'auto-scaling-group',
      Key: key,
      Value: value,
      PropagateAtLaunch: true,
    })),
    TerminationPolicies: group.terminationPolicies,
    NewInstancesProtectedFromScaleIn: group.newInstancesProtected,
  };
}

function templateOf({ name, mixedInstancesPolicy }: ScalingGroup): object {
  if (mixedInstancesPolicy !== undefined) return { MixedInstancesPolicy: mixedInstancesPolicy };
  return { LaunchTemplate: { LaunchTemplateId: 'lt-0', LaunchTemplateName: name, Version: '1' } };
}

function instanceOf(group: ScalingGroup, instance: Instance): object {
  return {
    InstanceId: instance.id,
    InstanceType: group.instanceType,
    AvailabilityZone: instance.zone,
    LifecycleState: instance.state,
    HealthStatus: instance.healthy ? 'Healthy' : 'Unhealthy',
    ProtectedFromScaleIn: instance.protectedFromScaleIn,
  };
}

function activityOf(activity: Activity): object {
  return {
    ActivityId: activity.id,
    AutoScalingGroupName: activity.group,
    Description: activity.description,
    Cause: activity.cause,
    StartTime: new Date(activity.startedAt),
    EndTime: activity.endedAt === undefined ? undefined : new Date(activity.endedAt),
    StatusCode: activity.status,
    StatusMessage: activity.message,
    Progress: activity.status === 'InProgress' ? 50 : 100,
    Details: '{}',
  };
}
