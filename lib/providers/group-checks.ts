import type { AutoScalingGroup } from '@aws-sdk/client-auto-scaling';
import type { Validation } from '../scaler/ports.ts';
import type { Problem } from '../schema.ts';
import { type SeenGroup, tagOf } from './group.ts';

/** What must be right with a group, and what games may suffer from that is right with it all the same. */

export interface Checked {
  /** Name of the cluster whose pool it is to be. */
  readonly cluster: string;
  /** Whether EKS manages it. */
  readonly managed: boolean;
  /** Where the spec names it: `spec.config.nodegroup`. */
  readonly path: string;
}

/** What is to be said of the group of a pool. */
export function checkGroup(seen: SeenGroup, checked: Checked): Validation {
  return { problems: problemsOf(seen, checked), warnings: warningsOf(seen, checked) };
}

function problemsOf({ name, group }: SeenGroup, { cluster, managed, path }: Checked): Problem[] {
  const problems: Problem[] = [];
  const nodegroup = tagOf(group, 'eks:nodegroup-name');
  if (!managed && nodegroup !== undefined) {
    const message = `group ${name} is of the managed node group ${nodegroup}, which EKS changes too: set provider to eks and config.nodegroup to ${nodegroup}`;
    problems.push({ path, message });
  }
  const owners = (group.Tags ?? []).flatMap(({ Key = '' }) => /^kubernetes\.io\/cluster\/(.+)$/.exec(Key)?.[1] ?? []);
  if (!managed && owners.length > 0 && !owners.includes(cluster)) {
    const message = `group ${name} is tagged as one of cluster ${owners.join(', ')}, and this is ${cluster}: name a group of this cluster, or mend its tag kubernetes.io/cluster/…`;
    problems.push({ path, message });
  }
  if (!countsMachines(group)) {
    const message = `the capacity of group ${name} is counted in ${unitOf(group)}, and not in machines: take DesiredCapacityType and WeightedCapacity out of it, or name another group`;
    problems.push({ path, message });
  }
  return problems;
}

/** A target of nodes means nothing to a group that counts in processors or weights. */
function countsMachines(group: AutoScalingGroup): boolean {
  return unitOf(group) === 'units';
}

function unitOf({ DesiredCapacityType = 'units', MixedInstancesPolicy }: AutoScalingGroup): string {
  if (DesiredCapacityType !== 'units') return DesiredCapacityType;
  const overrides = MixedInstancesPolicy?.LaunchTemplate?.Overrides ?? [];
  const weighted = overrides.some(({ WeightedCapacity = '1' }) => WeightedCapacity !== '1');
  return weighted ? 'weights' : 'units';
}

const NODEGROUP = 'aws eks update-nodegroup-config';
const GROUP = 'aws autoscaling update-auto-scaling-group';

/** Each says what may happen, and what to do. */
function warningsOf(seen: SeenGroup, checked: Checked): string[] {
  return [
    ...spotWarnings(seen, checked),
    ...balanceWarnings(seen, checked),
    ...limitWarnings(seen, checked),
    ...processWarnings(seen),
    ...rivalWarnings(seen, checked),
  ];
}

function spotWarnings({ name, group, nodegroup }: SeenGroup, { managed }: Checked): string[] {
  const share = group.MixedInstancesPolicy?.InstancesDistribution?.OnDemandPercentageAboveBaseCapacity ?? 100;
  if (share >= 100 && nodegroup?.capacityType !== 'SPOT') return [];
  const remedy = managed
    ? 'make a node group with `aws eks create-nodegroup --capacity-type ON_DEMAND` for games'
    : `set OnDemandPercentageAboveBaseCapacity to 100 with \`${GROUP} --auto-scaling-group-name ${name} --mixed-instances-policy …\``;
  return [`group ${name} may run Spot instances, which AWS ends with two minutes' notice, games and all: ${remedy}`];
}

function balanceWarnings({ name, group }: SeenGroup, { managed }: Checked): string[] {
  const { AvailabilityZones = [], Instances = [], NewInstancesProtectedFromScaleIn } = group;
  if (AvailabilityZones.length < 2 || isSuspended(group, 'AZRebalance')) {
    // EKS places the nodes of a new version by it.
    if (!managed || !isSuspended(group, 'AZRebalance')) return [];
    const resume = `aws autoscaling resume-processes --auto-scaling-group-name ${name} --scaling-processes AZRebalance`;
    return [
      `AZRebalance of group ${name} is suspended, and updates of its node group may fail for that: protect the instances from scale-in instead, and run \`${resume}\``,
    ];
  }
  const bare = Instances.filter(({ ProtectedFromScaleIn }) => ProtectedFromScaleIn !== true).length;
  if (NewInstancesProtectedFromScaleIn === true && bare === 0) return [];
  const fresh = `${GROUP} --auto-scaling-group-name ${name} --new-instances-protected-from-scale-in`;
  const old = `aws autoscaling set-instance-protection --auto-scaling-group-name ${name} --protected-from-scale-in --instance-ids …`;
  return [
    `group ${name} balances its zones by ending instances of its own choice, games and all, and ${bare} of ${Instances.length} are not protected from it: run \`${fresh}\`, and \`${old}\` for those that run`,
  ];
}

function limitWarnings({ name, group, nodegroup }: SeenGroup, { cluster, managed }: Checked): string[] {
  if (group.MinSize !== group.MaxSize) return [];
  const managedName = nodegroup?.nodegroupName ?? tagOf(group, 'eks:nodegroup-name') ?? '…';
  const remedy = managed
    ? `${NODEGROUP} --cluster-name ${cluster} --nodegroup-name ${managedName} --scaling-config minSize=…,maxSize=…`
    : `${GROUP} --auto-scaling-group-name ${name} --min-size … --max-size …`;
  return [
    `minimum and maximum of group ${name} are both ${group.MaxSize}, so it can neither grow nor shrink: run \`${remedy}\``,
  ];
}

/** What comes of it that a process is suspended. Those that do no harm while they are, are left out. */
const PROCESSES: readonly (readonly [process: string, effect: string])[] = [
  ['Launch', 'machines that are ordered do not start'],
  ['Terminate', 'empty nodes are not removed'],
  ['HealthCheck', 'machines that are broken stay, and count'],
  ['ReplaceUnhealthy', 'machines that are broken stay, and count'],
];

function processWarnings({ name, group }: SeenGroup): string[] {
  return PROCESSES.filter(([process]) => isSuspended(group, process)).map(([process, effect]) => {
    const resume = `aws autoscaling resume-processes --auto-scaling-group-name ${name} --scaling-processes ${process}`;
    return `the process ${process} of group ${name} is suspended, so ${effect}: run \`${resume}\``;
  });
}

const AUTOSCALER = 'k8s.io/cluster-autoscaler/';

function rivalWarnings({ name, group }: SeenGroup, { managed }: Checked): string[] {
  const warnings: string[] = [];
  const tags = (group.Tags ?? []).flatMap(({ Key = '' }) => (Key.startsWith(`${AUTOSCALER}enabled`) ? [Key] : []));
  const [tag] = tags;
  if (tag !== undefined) {
    const why = managed ? ' (EKS puts it on every node group)' : '';
    const remedy = `aws autoscaling delete-tags --tags ResourceId=${name},ResourceType=auto-scaling-group,Key=${tag}`;
    warnings.push(
      `group ${name} has the tag ${tag}${why}, by which a Cluster Autoscaler takes it for its own and may end nodes with games: if one runs in this cluster, run \`${remedy}\``,
    );
  }
  const operator = group.Operator?.Principal;
  if (operator !== undefined) {
    warnings.push(
      `only ${operator} may change group ${name}, so orders and removals will be refused: name a group that is yours, as \`aws autoscaling describe-auto-scaling-groups\` lists them`,
    );
  }
  return warnings;
}

function isSuspended({ SuspendedProcesses = [] }: AutoScalingGroup, process: string): boolean {
  return SuspendedProcesses.some(({ ProcessName }) => ProcessName === process);
}
