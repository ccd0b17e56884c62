import type { AutoScalingGroup } from '@aws-sdk/client-auto-scaling';
import type { Validation } from '../scaler/ports.ts';
import type { Problem } from '../schema.ts';
import type { AwsCalls } from './aws-calls.ts';
import type { ClusterGroups } from './cluster-groups.ts';
import { placeProblems } from './config-place.ts';
import type { SeenGroup } from './group.ts';
import { checkGroup } from './group-checks.ts';
import type { GroupSource, Look } from './scaling-group-provider.ts';

const PATH = 'spec.config.autoScalingGroup';

interface Named {
  readonly cluster: string;
  readonly name: string;
  readonly config: Readonly<Record<string, string>>;
}

/** A group that is named itself, and that EKS knows nothing of. */
export class NamedGroupSource implements GroupSource {
  readonly #calls: AwsCalls;
  readonly #groups: ClusterGroups;
  readonly #named: Named;

  constructor(calls: AwsCalls, groups: ClusterGroups, named: Named) {
    this.#calls = calls;
    this.#groups = groups;
    this.#named = named;
  }

  configProblems(): Promise<readonly Problem[]> {
    return placeProblems(this.#named.config, this.#named.cluster, this.#calls);
  }

  check(seen: SeenGroup): Validation {
    return checkGroup(seen, { cluster: this.#named.cluster, managed: false, path: PATH });
  }

  async look(): Promise<Look> {
    return this.#of(await this.#groups.named(this.#named.name));
  }

  async lookAnew(): Promise<Look> {
    const [group] = await this.#calls.groupsNamed([this.#named.name]);
    return this.#of(group);
  }

  async #of(group: AutoScalingGroup | undefined): Promise<Look> {
    const { name } = this.#named;
    if (group !== undefined) return { kind: 'seen', seen: { name, group } };
    const message = `there is no Auto Scaling group ${name} in ${await this.#calls.region()}: mend the name, or make it`;
    return { kind: 'missing', problem: { path: PATH, message } };
  }
}
