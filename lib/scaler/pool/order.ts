import type { PoolNode } from './classes.ts';

/** Which nodes come first. Total orders, so that a tick that is repeated chooses the same. */

type Compare = (a: PoolNode, b: PoolNode) => number;

function by(...keys: readonly ((one: PoolNode) => number | string)[]): Compare {
  return (a, b) => {
    for (const key of keys) {
      const [x, y] = [key(a), key(b)];
      if (x !== y) return x < y ? -1 : 1;
    }
    return 0;
  };
}

const createdAt = ({ node }: PoolNode) => node.createdAt;
const name = ({ node }: PoolNode) => node.name;

/** Whom to bring back first: the node with most games, since it would be the last to empty. */
export const byReturn: Compare = by(
  ({ node }) => Number(node.ineligible),
  ({ gamePods }) => -gamePods,
  ({ protectedServers }) => -protectedServers,
  createdAt,
  name,
);

/**
 * The `count` of `candidates` to give up: those that Berth places nothing on any more, then those with the fewest
 * sessions. Of equals one in the fullest zone, so that the group is not unbalanced by it: its own rebalancing would end
 * machines with games on them.
 */
export function victimsOf(candidates: readonly PoolNode[], active: readonly PoolNode[], count: number): PoolNode[] {
  const zones = new Map<string, number>();
  for (const { node } of active) zones.set(zoneOf(node), (zones.get(zoneOf(node)) ?? 0) + 1);
  const order = by(
    ({ node }) => Number(!node.ineligible),
    ({ protectedServers }) => protectedServers,
    ({ servers }) => servers.length,
    ({ node }) => -(zones.get(zoneOf(node)) ?? 0),
    createdAt,
    name,
  );
  const left = [...candidates];
  const victims: PoolNode[] = [];
  while (victims.length < count && left.length > 0) {
    const victim = left.reduce((first, other) => (order(other, first) < 0 ? other : first));
    victims.push(victim);
    left.splice(left.indexOf(victim), 1);
    const zone = zoneOf(victim.node);
    zones.set(zone, (zones.get(zone) ?? 0) - 1);
  }
  return victims;
}

function zoneOf({ labels }: PoolNode['node']): string {
  return labels['topology.kubernetes.io/zone'] ?? '';
}
