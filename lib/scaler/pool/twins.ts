import type { ObservedNode } from '../observation.ts';
import { instanceOf } from './membership.ts';

/** A node whose machine other Nodes name as well. */
export interface Twin {
  /** Names of the others. */
  readonly others: readonly string[];
  /** Whether it is the one that the machine counts as: the others add nothing to the pool. */
  readonly counts: boolean;
}

/**
 * Nodes of which several name one machine, by uid. A kubelet that comes back under another name registers another Node, and
 * the cloud's controller keeps the first for as long as the machine lives: what is empty by its own pods may be full of games
 * by those of the other. The one that is ready counts, of several the youngest.
 */
export function twinsOf(nodes: readonly ObservedNode[]): ReadonlyMap<string, Twin> {
  const byMachine = new Map<string, ObservedNode[]>();
  for (const node of nodes) {
    const instance = instanceOf(node);
    if (instance === undefined) continue;
    const same = byMachine.get(instance);
    if (same) same.push(node);
    else byMachine.set(instance, [node]);
  }
  const twins = new Map<string, Twin>();
  for (const same of byMachine.values()) {
    if (same.length < 2) continue;
    const [first] = [...same].sort(byLikelihood);
    for (const node of same) {
      const others = same.filter((one) => one !== node).map(({ name }) => name);
      twins.set(node.uid, { others, counts: node === first });
    }
  }
  return twins;
}

function byLikelihood(a: ObservedNode, b: ObservedNode): number {
  return Number(b.ready) - Number(a.ready) || b.createdAt - a.createdAt || (a.name < b.name ? -1 : 1);
}
