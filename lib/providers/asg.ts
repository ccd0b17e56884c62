import type { AutoScalingGroup } from '@aws-sdk/client-auto-scaling';
import type { AwsCalls } from './aws-calls.ts';
import type { ClusterGroups } from './cluster-groups.ts';
import type { GroupSource, Look } from './scaling-group-provider.ts';

const PATH = 'spec.config.autoScalingGroup';

/** A group that is named itself, and that EKS knows nothing of. */
export class NamedGroupSource implements GroupSource {
  readonly managed = false;
  readonly path = PATH;
  readonly #calls: AwsCalls;
  readonly #groups: ClusterGroups;
  readonly #name: string;

  constructor(calls: AwsCalls, groups: ClusterGroups, name: string) {
    this.#calls = calls;
    this.#groups = groups;
    this.#name = name;
  }

  async look(): Promise<Look> {
    return this.#of(await this.#groups.named(this.#name));
  }

  async lookAnew(): Promise<Look> {
    const [group] = await this.#calls.groupsNamed([this.#name]);
    return this.#of(group);
  }

  async #of(group: AutoScalingGroup | undefined): Promise<Look> {
    const name = this.#name;
    if (group !== undefined) return { kind: 'seen', seen: { name, group } };
    const message = `there is no Auto Scaling group ${name} in ${await this.#calls.region()}: mend the name, or make it`;
    return { kind: 'missing', problem: { path: PATH, message } };
  }
}
