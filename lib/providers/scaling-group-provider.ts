import { CallError } from '../scaler/call-error.ts';
import type { Group, Whereabouts } from '../scaler/observation.ts';
import type { Provider, Validation } from '../scaler/ports.ts';
import type { Problem } from '../schema.ts';
import type { EpochMs } from '../time.ts';
import type { AwsCalls } from './aws-calls.ts';
import { placeProblems } from './config-place.ts';
import { endMachines } from './end-machines.ts';
import { failedLaunchOf, groupOf, isSteady, lacksMachines, launchIssueOf, type SeenGroup } from './group.ts';
import { checkGroup } from './group-checks.ts';

/** What looking for the group of a pool comes to. */
export type Look =
  | { readonly kind: 'seen'; readonly seen: SeenGroup }
  /** EKS has a node group and no group for it, or none any more: not to be touched. */
  | { readonly kind: 'unsettled'; readonly status: string; readonly group: Group; readonly warning?: string }
  | { readonly kind: 'missing'; readonly problem: Problem };

/** Where the group of a pool is found: by its own name, or through EKS. */
export interface GroupSource {
  /** The group as the one look at all groups of the cluster has it. */
  look(): Promise<Look>;
  /** The group asked for anew and alone, and EKS with it, where EKS manages it. */
  lookAnew(): Promise<Look>;
  /** Whether EKS manages it. */
  readonly managed: boolean;
  /** Path of the value that names it. */
  readonly path: string;
}

/** The cluster that a pool is of, and the config of its object. */
export interface PoolPlace {
  readonly cluster: string;
  readonly config: Readonly<Record<string, string>>;
}

/** A pool whose machines an Auto Scaling group keeps. */
export class ScalingGroupProvider implements Provider {
  readonly capabilities = { readsSize: true, changesSize: true };
  readonly #calls: AwsCalls;
  readonly #source: GroupSource;
  readonly #place: PoolPlace;
  readonly #now: () => EpochMs;
  #first: Promise<Look> | undefined;
  /** Of the group that was seen last. */
  #name: string | undefined;

  constructor(calls: AwsCalls, source: GroupSource, place: PoolPlace, now: () => EpochMs) {
    this.#calls = calls;
    this.#source = source;
    this.#place = place;
    this.#now = now;
  }

  async validate(): Promise<Validation> {
    const { cluster, config } = this.#place;
    const { managed, path } = this.#source;
    const problems = await placeProblems(config, cluster, this.#calls);
    if (problems.length > 0) return { problems, warnings: [] };
    const look = await this.#look();
    if (look.kind === 'missing') return { problems: [look.problem], warnings: [] };
    if (look.kind === 'seen') return checkGroup(look.seen, { cluster, managed, path });
    return { problems: [], warnings: look.warning === undefined ? [] : [look.warning] };
  }

  async describe(): Promise<Group> {
    return this.#told(await this.#look());
  }

  async inspect(): Promise<Group> {
    return this.#told(await this.#lookAnew());
  }

  async locate(instances: readonly string[]): Promise<ReadonlyMap<string, Whereabouts>> {
    const name = await this.#groupName();
    const found = new Map((await this.#calls.instances(instances)).map((one) => [one.InstanceId, one]));
    return new Map(
      instances.map((instance): [string, Whereabouts] => {
        const group = found.get(instance)?.AutoScalingGroupName;
        if (group === undefined) return [instance, 'gone'];
        return [instance, group === name ? 'here' : 'elsewhere'];
      }),
    );
  }

  /** Never lowers: an increase that is reckoned from what was seen some time ago may be a decrease. */
  async increase({ by, from }: { readonly by: number; readonly from?: number }): Promise<void> {
    if (!Number.isSafeInteger(by) || by <= 0) {
      throw new CallError('refused', 'FieldValueInvalid', `increase_size: expected a whole number from 1, got ${by}`);
    }
    const { seen, name } = changeable(await this.#lookAnew());
    const { desired, max } = groupOf(seen);
    if (from !== undefined && desired !== from) {
      const message = `the desired capacity of group ${name} was ${from} and is ${desired}: somebody else changes it`;
      throw new CallError('conflict', 'DesiredCapacityChanged', message);
    }
    if (desired + by > max) {
      const message = `increase_size: ${desired} and ${by} more are above the maximum of ${max} of group ${name}`;
      throw new CallError('refused', 'FieldValueInvalid', message);
    }
    await this.#calls.setDesired(name, desired + by);
  }

  async endMachine({ node, instance }: { readonly node: string; readonly instance?: string }): Promise<void> {
    if (instance === undefined) {
      const message = `node ${node} has no provider id of an instance (aws:///zone/i-…): end its machine by hand`;
      throw new CallError('refused', 'InstanceUnknown', message);
    }
    const failures = await endMachines(this.#calls, await this.#groupName(), [instance]);
    const failure = failures.get(instance);
    if (failure !== undefined) throw failure;
  }

  #look(): Promise<Look> {
    this.#first ??= this.#source.look();
    return this.#remembered(this.#first);
  }

  #lookAnew(): Promise<Look> {
    return this.#remembered(this.#source.lookAnew());
  }

  async #remembered(looking: Promise<Look>): Promise<Look> {
    const look = await looking;
    if (look.kind === 'seen') this.#name = look.seen.name;
    return look;
  }

  async #groupName(): Promise<string> {
    if (this.#name === undefined) changeable(await this.#look());
    return this.#name ?? '';
  }

  async #told(look: Look): Promise<Group> {
    if (look.kind === 'unsettled') return look.group;
    const { seen } = found(look);
    if (!lacksMachines(seen)) return groupOf(seen);
    return groupOf(seen, (await this.#failedLaunch(seen.name)) ?? launchIssueOf(seen.nodegroup));
  }

  /** Only a reason to be told: that it cannot be read keeps nothing from being done. */
  async #failedLaunch(name: string): Promise<string | undefined> {
    try {
      return failedLaunchOf(await this.#calls.activities(name), this.#now());
    } catch (error) {
      if (error instanceof CallError) return undefined;
      throw error;
    }
  }
}

function found(look: Exclude<Look, { kind: 'unsettled' }>): { readonly seen: SeenGroup; readonly name: string } {
  if (look.kind === 'seen') return { seen: look.seen, name: look.seen.name };
  throw new CallError('refused', 'GroupNotFound', look.problem.message);
}

/** A group that may be changed now. */
function changeable(look: Look): { readonly seen: SeenGroup; readonly name: string } {
  if (look.kind === 'unsettled') {
    throw new CallError('conflict', 'GroupNotSteady', `the node group is ${look.status}: it is left to EKS until then`);
  }
  const { seen, name } = found(look);
  if (isSteady(seen)) return { seen, name };
  const status = seen.nodegroup?.status ?? seen.group.Status ?? '';
  throw new CallError('conflict', 'GroupNotSteady', `group ${name} is ${status}: it is left alone until that is over`);
}
