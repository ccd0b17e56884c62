import type { Group, ObservedNode, Whereabouts } from '../observation.ts';
import { type GameServerNodeSpec, selectorOf } from '../spec/spec.ts';

/** Which nodes are a pool's. */

const NODEGROUP_LABEL = 'eks.amazonaws.com/nodegroup';

/** Nodes that Agones keeps for itself are of no pool, whatever their labels say. */
const SYSTEM_TAINTS = ['agones.dev/agones-system', 'agones.dev/agones-metrics'];

const CONTROL_PLANE = 'node-role.kubernetes.io/control-plane';

/** The EC2 instance of a node: `aws:///eu-west-1a/i-0abc`. Undefined for Fargate, hybrid nodes and other providers. */
export function instanceOf({ providerId }: Pick<ObservedNode, 'providerId'>): string | undefined {
  return /^aws:\/\/\/[^/]+\/(i-[0-9a-zA-Z]+)$/.exec(providerId)?.[1];
}

/** Whether a node is of the pool, says it is and is not, or has nothing to do with it. */
export type Membership =
  | { readonly kind: 'member'; readonly instance?: string; readonly state?: string }
  /** Labelled as one, but its machine is another group's. */
  | { readonly kind: 'stray' }
  | { readonly kind: 'foreign' };

const FOREIGN: Membership = { kind: 'foreign' };

/** What the nodes of a pool have in common. */
export interface Selection {
  readonly spec: Pick<GameServerNodeSpec, 'provider' | 'config'>;
  /** Undefined where the provider cannot be read: then labels decide. */
  readonly group?: Group;
  /** Of instances that claim to be of the group and are not. */
  readonly whereabouts: ReadonlyMap<string, Whereabouts>;
}

/** With a group, whether the machine is in it decides; labels only tell whose absence is worth a word. */
export function membershipOf(node: ObservedNode, selection: Selection): Membership {
  if (isSystemNode(node)) return FOREIGN;
  if (selection.group === undefined) return isSelected(node, selection.spec) ? { kind: 'member' } : FOREIGN;
  const instance = instanceOf(node);
  if (instance === undefined) return FOREIGN;
  const state = selection.group.instances.get(instance);
  if (state !== undefined) return { kind: 'member', instance, state };
  if (!claimsMembership(node, selection.spec)) return FOREIGN;
  const where = selection.whereabouts.get(instance);
  // One that came after the group was read is counted as pending, as it was a moment before.
  if (where === undefined || where === 'here') return FOREIGN;
  return where === 'elsewhere' ? { kind: 'stray' } : { kind: 'member', instance };
}

/** Whether labels make a node the pool's. */
export function isSelected(node: ObservedNode, { provider, config }: Selection['spec']): boolean {
  if (isSystemNode(node) || (provider === 'custom' && node.labels[CONTROL_PLANE] !== undefined)) return false;
  if (config.nodegroup !== undefined && provider !== 'custom') return node.labels[NODEGROUP_LABEL] === config.nodegroup;
  const selector = selectorOf(config.nodeSelector) ?? new Map<string, string>();
  return [...selector].every(([label, value]) => node.labels[label] === value);
}

function isSystemNode({ taints }: ObservedNode): boolean {
  return taints.some((taint) => SYSTEM_TAINTS.includes(taint));
}

/** Whether labels say of a node that its machine is in the group; a pool without any such labels claims nothing. */
function claimsMembership(node: ObservedNode, spec: Selection['spec']): boolean {
  const { nodegroup, nodeSelector } = spec.config;
  return (nodegroup !== undefined || nodeSelector !== undefined) && isSelected(node, spec);
}

/** Whether a node may be of the pool of `spec`, as far as that can be told while its provider does not answer. */
export function isClaimed(node: ObservedNode, spec: Selection['spec']): boolean {
  const byLabels = spec.provider === 'custom' || spec.provider === 'minikube';
  return byLabels ? isSelected(node, spec) : !isSystemNode(node) && claimsMembership(node, spec);
}

/** Instances whose whereabouts have to be asked for: nodes claim them for the group, and it does not have them. */
export function unknownInstances(nodes: readonly ObservedNode[], spec: Selection['spec'], group: Group): string[] {
  return nodes.flatMap((node) => {
    const instance = instanceOf(node);
    return instance !== undefined && !group.instances.has(instance) && claimsMembership(node, spec) ? [instance] : [];
  });
}

/** What tells the pools of two objects apart: two of one key would cordon against each other. */
export function poolKeyOf({ config, provider }: Selection['spec']): string {
  // To a hook every key of config is its own affair, and says nothing of which nodes are meant.
  const grouped = provider !== 'custom';
  if (grouped && config.nodegroup !== undefined) return `nodegroup ${config.nodegroup}`;
  if (grouped && config.autoScalingGroup !== undefined) return `group ${config.autoScalingGroup}`;
  const selector = [...(selectorOf(config.nodeSelector) ?? [])].map(([label, value]) => `${label}=${value}`);
  return `nodes ${provider === 'auto' ? 'minikube' : provider} ${selector.sort().join(',')}`;
}
