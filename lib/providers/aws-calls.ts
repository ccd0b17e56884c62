import {
  type Activity,
  type AutoScalingGroup,
  type AutoScalingInstanceDetails,
  DescribeAutoScalingGroupsCommand,
  type DescribeAutoScalingGroupsCommandInput,
  DescribeAutoScalingInstancesCommand,
  DescribeScalingActivitiesCommand,
  SetDesiredCapacityCommand,
  TerminateInstanceInAutoScalingGroupCommand,
} from '@aws-sdk/client-auto-scaling';
import { DescribeNodegroupCommand, type Nodegroup } from '@aws-sdk/client-eks';
import { abortable } from '../aws/requests.ts';
import { PROVIDER_CALLS } from '../settings.ts';
import { awsError } from './aws-errors.ts';
import type { ProviderContext } from './context.ts';
import { once } from './once.ts';

/** Every request that the scaler makes to EKS and EC2 Auto Scaling. All throw CallError. */
export class AwsCalls {
  readonly #context: ProviderContext;

  constructor(context: ProviderContext) {
    this.#context = context;
  }

  /** Where the groups are looked for, for messages. */
  async region(): Promise<string> {
    return this.#context.autoScaling.config.region();
  }

  /** The groups that EKS has made for the cluster's node groups. */
  managedGroups(): Promise<AutoScalingGroup[]> {
    return this.#groups({ Filters: [{ Name: 'tag:eks:cluster-name', Values: [this.#context.cluster] }] });
  }

  /** Those of the groups of these names that there are. */
  async groupsNamed(names: readonly string[]): Promise<AutoScalingGroup[]> {
    const { groupsPerPage: size } = PROVIDER_CALLS;
    const found: AutoScalingGroup[] = [];
    for (let at = 0; at < names.length; at += size) {
      found.push(...(await this.#groups({ AutoScalingGroupNames: names.slice(at, at + size) })));
    }
    return found;
  }

  async #groups(input: DescribeAutoScalingGroupsCommandInput): Promise<AutoScalingGroup[]> {
    const found: AutoScalingGroup[] = [];
    let NextToken: string | undefined;
    do {
      const page = await this.#answer(
        this.#context.autoScaling.send(
          new DescribeAutoScalingGroupsCommand({ ...input, MaxRecords: PROVIDER_CALLS.groupsPerPage, NextToken }),
          this.#options,
        ),
      );
      found.push(...(page.AutoScalingGroups ?? []));
      NextToken = page.NextToken;
    } while (NextToken !== undefined && NextToken !== '');
    return found;
  }

  /** What Auto Scaling knows of these instances; it says nothing of those it does not know. */
  async instances(ids: readonly string[]): Promise<AutoScalingInstanceDetails[]> {
    const { instancesPerRequest: size } = PROVIDER_CALLS;
    const found: AutoScalingInstanceDetails[] = [];
    for (let at = 0; at < ids.length; at += size) {
      const InstanceIds = ids.slice(at, at + size);
      const page = await this.#answer(
        this.#context.autoScaling.send(new DescribeAutoScalingInstancesCommand({ InstanceIds }), this.#options),
      );
      found.push(...(page.AutoScalingInstances ?? []));
    }
    return found;
  }

  /** The last that a group has done or tried, the newest first. */
  async activities(group: string): Promise<readonly Activity[]> {
    const command = new DescribeScalingActivitiesCommand({
      AutoScalingGroupName: group,
      MaxRecords: PROVIDER_CALLS.activities,
    });
    const { Activities } = await this.#answer(this.#context.autoScaling.send(command, this.#options));
    return Activities ?? [];
  }

  /** Undefined: EKS knows no such node group, or no such cluster. */
  async nodegroup(name: string): Promise<Nodegroup | undefined> {
    const command = new DescribeNodegroupCommand({ clusterName: this.#context.cluster, nodegroupName: name });
    try {
      const { nodegroup } = await this.#answer(this.#context.eks.send(command, this.#options));
      return nodegroup;
    } catch (error) {
      const ours = awsError(error);
      if (ours.code === 'ResourceNotFoundException') return undefined;
      throw ours;
    }
  }

  /** Sent once: whether a request that was not answered has been carried out is for the next tick to see. */
  async setDesired(group: string, desired: number): Promise<void> {
    const command = new SetDesiredCapacityCommand({
      AutoScalingGroupName: group,
      DesiredCapacity: desired,
      HonorCooldown: false,
    });
    await this.#answer(this.#context.autoScaling.send(once(command), this.#options));
  }

  /** Ends the instance and lowers its group's desired capacity by one. Sent once: twice might lower it twice. */
  async terminate(instance: string): Promise<void> {
    const command = new TerminateInstanceInAutoScalingGroupCommand({
      InstanceId: instance,
      ShouldDecrementDesiredCapacity: true,
    });
    await this.#answer(this.#context.autoScaling.send(once(command), this.#options));
  }

  get #options() {
    return abortable(this.#context.signal);
  }

  async #answer<T>(request: Promise<T>): Promise<T> {
    try {
      return await request;
    } catch (error) {
      throw awsError(error);
    }
  }
}
