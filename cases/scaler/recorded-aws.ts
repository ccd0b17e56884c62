import {
  type Activity,
  AutoScalingClient,
  type AutoScalingGroup,
  type AutoScalingInstanceDetails,
} from '@aws-sdk/client-auto-scaling';
import { EKSClient, type Nodegroup } from '@aws-sdk/client-eks';

/** One request, as the SDK was handed it. */
export interface RecordedCall {
  readonly service: 'eks' | 'autoscaling';
  readonly op: string;
  readonly params: Readonly<Record<string, unknown>>;
}

/** An error as the SDK throws them. */
export function serviceError(name: string, message: string, httpStatusCode = 400): Error {
  return Object.assign(new Error(message), { name, $metadata: { httpStatusCode } });
}

/** Whatever one of the requests may have. */
interface Params {
  readonly nodegroupName?: string;
  readonly AutoScalingGroupName?: string;
  readonly AutoScalingGroupNames?: readonly string[];
  readonly Filters?: readonly { readonly Name: string; readonly Values: readonly string[] }[];
  readonly NextToken?: string;
  readonly InstanceIds?: readonly string[];
  readonly InstanceId?: string;
  readonly DesiredCapacity?: number;
}

/**
 * EKS and EC2 Auto Scaling as far as providers ask them, behind the `send` of real clients: what is asked for is noted,
 * answered from what is there, and done at once.
 */
export class RecordedAws {
  readonly groups = new Map<string, AutoScalingGroup>();
  readonly nodegroups = new Map<string, Nodegroup>();
  readonly activities = new Map<string, readonly Activity[]>();
  /** Groups of a page. */
  pageSize = 100;
  calls: RecordedCall[] = [];
  /** Thrown instead of an answer, by operation; before or after it was carried out. */
  readonly faults = new Map<string, { readonly error: Error; readonly done?: boolean }>();
  readonly eks: EKSClient;
  readonly autoScaling: AutoScalingClient;

  constructor(region = 'eu-central-1') {
    // Nothing is signed, since nothing is sent.
    const credentials = { accessKeyId: 'none', secretAccessKey: 'none' };
    this.eks = new EKSClient({ region, credentials });
    this.autoScaling = new AutoScalingClient({ region, credentials });
    this.eks.send = this.#sender('eks') as EKSClient['send'];
    this.autoScaling.send = this.#sender('autoscaling') as AutoScalingClient['send'];
  }

  /** Operations that were asked for, in order. */
  get operations(): string[] {
    return this.calls.map(({ op }) => op);
  }

  #sender(service: RecordedCall['service']) {
    return async (command: { readonly constructor: { readonly name: string }; readonly input: object }) => {
      const op = command.constructor.name.replace(/Command$/, '');
      this.calls.push({ service, op, params: command.input as RecordedCall['params'] });
      const fault = this.faults.get(op);
      if (fault !== undefined && !fault.done) throw fault.error;
      const answer = this.#answers[op]?.(command.input as Params);
      if (answer === undefined) throw new Error(`nobody foresaw ${service}:${op}`);
      if (fault !== undefined) throw fault.error;
      // Some time passes before there is an answer.
      await new Promise((resolve) => setImmediate(resolve));
      return structuredClone(answer);
    };
  }

  readonly #answers: Readonly<Record<string, (params: Params) => object>> = {
    DescribeNodegroup: ({ nodegroupName }) => {
      const nodegroup = this.nodegroups.get(nodegroupName ?? '');
      if (nodegroup !== undefined) return { nodegroup };
      throw serviceError('ResourceNotFoundException', `No node group found for name: ${nodegroupName}.`, 404);
    },
    DescribeAutoScalingGroups: (params) => this.#describeGroups(params),
    DescribeAutoScalingInstances: ({ InstanceIds = [] }) => ({
      AutoScalingInstances: this.#instances().filter(({ InstanceId }) => InstanceIds.includes(InstanceId ?? '')),
    }),
    DescribeScalingActivities: ({ AutoScalingGroupName = '' }) => ({
      Activities: this.activities.get(AutoScalingGroupName) ?? [],
    }),
    SetDesiredCapacity: ({ AutoScalingGroupName = '', DesiredCapacity }) => {
      const group = this.groups.get(AutoScalingGroupName);
      if (group !== undefined) group.DesiredCapacity = DesiredCapacity;
      return {};
    },
    TerminateInstanceInAutoScalingGroup: ({ InstanceId = '' }) => this.#terminate(InstanceId),
  };

  #describeGroups({ AutoScalingGroupNames: names, Filters = [], NextToken = '0' }: Params): object {
    const all = [...this.groups.values()].filter(
      ({ AutoScalingGroupName = '', Tags = [] }) =>
        (names?.includes(AutoScalingGroupName) ?? true) &&
        Filters.every(({ Name, Values }) =>
          Tags.some(({ Key, Value = '' }) => Name === `tag:${Key}` && Values.includes(Value)),
        ),
    );
    const from = Number(NextToken);
    const next = from + this.pageSize;
    return {
      AutoScalingGroups: all.slice(from, next),
      ...(next < all.length ? { NextToken: String(next) } : {}),
    };
  }

  #instances(): Partial<AutoScalingInstanceDetails>[] {
    return [...this.groups.values()].flatMap(({ AutoScalingGroupName, Instances = [] }) =>
      Instances.map((instance) => ({ ...instance, AutoScalingGroupName })),
    );
  }

  #terminate(id: string): object {
    for (const group of this.groups.values()) {
      const instance = group.Instances?.find(({ InstanceId }) => InstanceId === id);
      if (instance === undefined) continue;
      if ((group.DesiredCapacity ?? 0) <= (group.MinSize ?? 0)) {
        throw serviceError(
          'ValidationError',
          `Currently, desiredSize equals minSize (${group.MinSize}). Terminating instance without replacement will violate group's min size constraint. Either set shouldDecrementDesiredCapacity flag to false or lower group's min size.`,
        );
      }
      instance.LifecycleState = 'Terminating';
      group.DesiredCapacity = (group.DesiredCapacity ?? 0) - 1;
      return { Activity: {} };
    }
    const message = `Instance Id not found - No managed instance found for instance ID ${id}`;
    throw serviceError('ValidationError', message);
  }
}

/** A group of machines, each with its state; `more` is what else is to be said of it. */
export function groupNamed(
  name: string,
  machines: Readonly<Record<string, string>>,
  more: Partial<AutoScalingGroup> = {},
): AutoScalingGroup {
  return {
    AutoScalingGroupName: name,
    MinSize: 0,
    MaxSize: 10,
    DesiredCapacity: Object.keys(machines).length,
    DefaultCooldown: 300,
    AvailabilityZones: ['eu-central-1a'],
    HealthCheckType: 'EC2',
    CreatedTime: new Date(0),
    Instances: Object.entries(machines).map(([InstanceId, LifecycleState]) => ({
      InstanceId,
      LifecycleState: LifecycleState as 'InService',
      AvailabilityZone: 'eu-central-1a',
      HealthStatus: 'Healthy',
      ProtectedFromScaleIn: false,
    })),
    ...more,
  };
}

/** The tags that EKS gives to the group of a node group. */
export function managedTags(cluster: string, nodegroup: string): NonNullable<AutoScalingGroup['Tags']> {
  return [
    { Key: 'eks:cluster-name', Value: cluster },
    { Key: 'eks:nodegroup-name', Value: nodegroup },
  ];
}
