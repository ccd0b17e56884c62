import type { Group, ObservedNode } from './observation.ts';
import { isClaimed, membershipOf } from './pool/membership.ts';
import type { PoolClaim } from './spec/spec.ts';

/** What an object says of which nodes are its own. */
export interface Claim {
  readonly name: string;
  /** Undefined: it is wrong in itself, and claims nothing that can be read. */
  readonly spec: PoolClaim | undefined;
  /** Left out where its provider did not answer: then it keeps what its labels claim. Undefined: there is none to ask. */
  readonly group?: Group | undefined;
}

/** A node, and the older object that has it. */
export interface Shared {
  readonly node: string;
  readonly ruler: string;
}

/**
 * The objects of which a node is an older one's as well, by name. Two that share nodes would cordon against each other, and
 * each would order what the other has cordoned, up to the maximum.
 */
export function sharedNodes(
  oldestFirst: readonly Claim[],
  nodes: readonly ObservedNode[],
): ReadonlyMap<string, Shared> {
  const rulers = new Map<string, string>();
  const shared = new Map<string, Shared>();
  for (const claim of oldestFirst) {
    const own = nodes.filter((node) => isOf(node, claim));
    const taken = own.find(({ name }) => rulers.has(name));
    if (taken !== undefined) shared.set(claim.name, { node: taken.name, ruler: rulers.get(taken.name) ?? '' });
    else for (const { name } of own) rulers.set(name, claim.name);
  }
  return shared;
}

function isOf(node: ObservedNode, claim: Claim): boolean {
  const { spec, group } = claim;
  if (spec === undefined) return false;
  if (!('group' in claim)) return isClaimed(node, spec);
  return membershipOf(node, { spec, whereabouts: new Map(), ...(group && { group }) }).kind === 'member';
}
