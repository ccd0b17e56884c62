import type { KubeObject } from '../kubernetes/kube-object.ts';
import { isBeingDeleted, isCordoned, isReady, isRunningGame, stateOf, taintsOf } from './cluster-objects.ts';

/** Where game servers go, and which of them are taken: as the scheduler and Agones's allocator choose. */

/** What a fleet asks of a node. */
export interface PlacementRules {
  /** Labels that a node must have. */
  readonly nodeSelector: Readonly<Record<string, string>>;
  /** Whether its pods tolerate every taint, and so are placed on cordoned nodes as well. */
  readonly toleratesAll: boolean;
  /** Packed: the fullest node that has room; Distributed: the emptiest. */
  readonly scheduling: 'Packed' | 'Distributed';
}

/** How many running games are on each node. */
export function gamesByNode(pods: readonly KubeObject[]): Map<string, number> {
  return countBy(pods.filter(isRunningGame).map(({ spec }) => spec?.nodeName ?? ''));
}

/** The node for one more game pod; undefined: none has room. Equally full ones by name. */
export function nodeFor(
  rules: PlacementRules,
  nodes: readonly KubeObject[],
  games: ReadonlyMap<string, number>,
  perNode: number,
): string | undefined {
  const sign = rules.scheduling === 'Packed' ? -1 : 1;
  const room = nodes
    .filter((node) => accepts(node, rules))
    .map(({ metadata: { name } }) => ({ name, games: games.get(name) ?? 0 }))
    .filter((node) => node.games < perNode)
    .sort((a, b) => sign * (a.games - b.games) || (a.name < b.name ? -1 : 1));
  return room[0]?.name;
}

function accepts(node: KubeObject, { nodeSelector, toleratesAll }: PlacementRules): boolean {
  if (!isReady(node) || isBeingDeleted(node)) return false;
  if (Object.entries(nodeSelector).some(([label, value]) => node.metadata.labels?.[label] !== value)) return false;
  const tainted = taintsOf(node).some(({ effect }) => effect !== 'PreferNoSchedule');
  return toleratesAll || !(isCordoned(node) || tainted);
}

/**
 * Ready servers in the order in which an allocation takes them: of the nodes with most Allocated, then most Ready ones.
 * Whether a node is cordoned is not looked at, as Agones does not.
 */
export function allocationOrder(servers: readonly KubeObject[]): KubeObject[] {
  const inState = (state: string) =>
    countBy(servers.filter((one) => stateOf(one) === state).map(({ status }) => status?.nodeName ?? ''));
  const [allocated, ready] = [inState('Allocated'), inState('Ready')];
  const count = (counts: ReadonlyMap<string, number>, { status }: KubeObject) =>
    counts.get(status?.nodeName ?? '') ?? 0;
  return servers
    .filter((one) => stateOf(one) === 'Ready' && !isBeingDeleted(one))
    .sort((a, b) => count(allocated, b) - count(allocated, a) || count(ready, b) - count(ready, a));
}

function countBy(names: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}
