import type { DetectedProvider, ObservedNode } from '../observation.ts';
import type { GameServerNodeSpec } from '../spec/spec.ts';
import { isSelected } from './membership.ts';

/**
 * What `auto` comes to: the provider of the pool's nodes, by the beginning of their provider ids, and for those of AWS by the group
 * that config names, since ids do not tell whether EKS manages it. Otherwise why it cannot be told, and what to do.
 */
export function detectProvider(
  nodes: readonly ObservedNode[],
  spec: GameServerNodeSpec,
): { readonly provider: DetectedProvider } | { readonly problem: string } {
  const found = new Set(nodes.filter((node) => isSelected(node, spec)).map(({ providerId }) => schemeOf(providerId)));
  const [scheme, ...others] = [...found].sort();
  if (scheme === undefined) return { problem: 'the pool has no node to tell the provider from: name the provider' };
  if (others.length > 0) {
    return { problem: `the nodes of the pool are of several providers (${[scheme, ...others].join(', ')}): name one` };
  }
  if (scheme === 'minikube' || scheme === 'kind') return { provider: 'minikube' };
  if (scheme !== 'aws') return { problem: `nodes of ${scheme}:// have no provider here: use custom, with a hook` };
  if (spec.config.nodegroup !== undefined) return { provider: 'eks' };
  if (spec.config.autoScalingGroup !== undefined) return { provider: 'asg' };
  return {
    problem:
      'the nodes are of AWS, and config names no group of theirs: set config.nodegroup (a managed node group, provider eks) or config.autoScalingGroup (any other group, provider asg)',
  };
}

/**
 * Whether what was found once still is what `config` asks for, and may be trusted without a look at the nodes. Never
 * minikube: a node that has joined a moment ago may have no provider id yet, and is of AWS with the next look.
 */
export function isLasting(provider: DetectedProvider, { config }: Pick<GameServerNodeSpec, 'config'>): boolean {
  if (provider === 'minikube') return false;
  return (provider === 'eks' ? config.nodegroup : config.autoScalingGroup) !== undefined;
}

/** `aws` of `aws:///…`. Minikube sets no provider id. */
function schemeOf(providerId: string): string {
  return providerId === '' ? 'minikube' : (/^([a-z0-9-]+):\/\//.exec(providerId)?.[1] ?? providerId);
}
