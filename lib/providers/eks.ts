import type { Nodegroup } from '@aws-sdk/client-eks';
import type { Group } from '../scaler/observation.ts';
import type { AwsCalls } from './aws-calls.ts';
import type { ClusterGroups } from './cluster-groups.ts';
import type { GroupSource, Look } from './scaling-group-provider.ts';

const PATH = 'spec.config.nodegroup';

interface Named {
  readonly cluster: string;
  readonly nodegroup: string;
}

/** The group of a managed node group. EKS says which it is, and when it is not to be touched. */
export class NodegroupSource implements GroupSource {
  readonly managed = true;
  readonly path = PATH;
  readonly #calls: AwsCalls;
  readonly #groups: ClusterGroups;
  readonly #named: Named;

  constructor(calls: AwsCalls, groups: ClusterGroups, named: Named) {
    this.#calls = calls;
    this.#groups = groups;
    this.#named = named;
  }

  /** Tags are enough as long as they name one group; otherwise EKS tells why. */
  async look(): Promise<Look> {
    const [group, ...others] = await this.#groups.ofNodegroup(this.#named.nodegroup);
    const name = group?.AutoScalingGroupName;
    if (group === undefined || name === undefined || others.length > 0) return this.lookAnew();
    return { kind: 'seen', seen: { name, group } };
  }

  async lookAnew(): Promise<Look> {
    const nodegroup = await this.#calls.nodegroup(this.#named.nodegroup);
    if (nodegroup === undefined) return this.#missing();
    // A managed node group has one group; the API has a list for times to come.
    const name = nodegroup.resources?.autoScalingGroups?.[0]?.name;
    if (name === undefined) return unsettled(nodegroup);
    const [group] = await this.#calls.groupsNamed([name]);
    return group === undefined ? unsettled(nodegroup) : { kind: 'seen', seen: { name, group, nodegroup } };
  }

  #missing(): Look {
    const { nodegroup, cluster } = this.#named;
    const message = `cluster ${cluster} has no node group ${nodegroup}: mend the name, or make it (\`aws eks list-nodegroups --cluster-name ${cluster}\` lists those that there are)`;
    return { kind: 'missing', problem: { path: PATH, message } };
  }
}

/** A node group without a group of machines: being made, being deleted, or broken. */
function unsettled(nodegroup: Nodegroup): Look {
  const { nodegroupName = '', status = 'in no state', scalingConfig, health } = nodegroup;
  const group: Group = {
    steady: false,
    desired: scalingConfig?.desiredSize ?? 0,
    min: scalingConfig?.minSize ?? 0,
    max: scalingConfig?.maxSize ?? 0,
    instances: new Map(),
    terminateSuspended: false,
  };
  if (status === 'CREATING' || status === 'DELETING') return { kind: 'unsettled', status, group };
  const why = (health?.issues ?? []).map(({ code, message }) => `${code}: ${message}`).join('; ');
  const warning = `node group ${nodegroupName} is ${status} and has no group of machines, so nothing is done${why && ` (${why})`}: mend it, or make another`;
  return { kind: 'unsettled', status, group, warning };
}
