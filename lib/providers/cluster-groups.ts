import type { AutoScalingGroup } from '@aws-sdk/client-auto-scaling';
import type { AwsCalls } from './aws-calls.ts';
import { tagOf } from './group.ts';

/**
 * The groups of a cluster as one look has them, shared by all its pools: what a tick asks does not grow with their
 * number. Of one tick: nothing is looked up a second time.
 */
export class ClusterGroups {
  readonly #calls: AwsCalls;
  #managed: Promise<readonly AutoScalingGroup[]> | undefined;
  /** Names that are asked for next, each with who waits for it. */
  #wanted = new Map<string, Waiting>();
  #asking: Promise<void> | undefined;

  constructor(calls: AwsCalls) {
    this.#calls = calls;
  }

  /** The groups that EKS has made for a node group: one, as a rule. */
  async ofNodegroup(nodegroup: string): Promise<readonly AutoScalingGroup[]> {
    this.#managed ??= this.#calls.managedGroups();
    const groups = await this.#managed;
    return groups.filter((group) => tagOf(group, 'eks:nodegroup-name') === nodegroup);
  }

  /** The group of that name; undefined: there is none. Names that are asked for while another request runs go together in the next. */
  named(name: string): Promise<AutoScalingGroup | undefined> {
    const waiting = this.#wanted.get(name) ?? waitingFor();
    this.#wanted.set(name, waiting);
    this.#asking ??= this.#askForAll().finally(() => {
      this.#asking = undefined;
    });
    return waiting.group;
  }

  async #askForAll(): Promise<void> {
    // Pools that begin together are to be asked for together.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#wanted.size > 0) {
      const wanted = this.#wanted;
      this.#wanted = new Map();
      try {
        const groups = await this.#calls.groupsNamed([...wanted.keys()]);
        const byName = new Map(groups.map((group) => [group.AutoScalingGroupName, group]));
        for (const [name, { resolve }] of wanted) resolve(byName.get(name));
      } catch (error) {
        for (const { reject } of wanted.values()) reject(error);
      }
    }
  }
}

interface Waiting {
  readonly group: Promise<AutoScalingGroup | undefined>;
  resolve(group: AutoScalingGroup | undefined): void;
  reject(error: unknown): void;
}

function waitingFor(): Waiting {
  let resolve: Waiting['resolve'] = () => undefined;
  let reject: Waiting['reject'] = () => undefined;
  const group = new Promise<AutoScalingGroup | undefined>((onGroup, onError) => {
    resolve = onGroup;
    reject = onError;
  });
  return { group, resolve, reject };
}
