import type { NodeId, PoolName } from '../ids.ts';

/** Formats of composed keys. `#` is in no id, so no two composed keys meet. */

/** Partition of the accounts of a shard. A consistent query of it reads accounts and nothing else. */
export function accountPartition(pool: PoolName, shard: number): string {
  return `${pool}#${shard}`;
}

/** Partition of the profiles of a shard: apart from the accounts, which every placement writes and every worker reads. */
export function profilePartition(pool: PoolName, shard: number): string {
  return `${pool}#${shard}#profile`;
}

/** Partition of the by-node index of tasks. */
export function poolNodeKey(pool: PoolName, node: NodeId): string {
  return `${pool}#${node}`;
}

/** Key, in the table of plans, of what the commit with `index` changed. No plan id has a `#`. */
export function changesKey(pool: PoolName, index: number): string {
  return `${pool}#${index}`;
}

/** Key, in the table of services, of what holds for every service. No service id has a `#`, here and below. */
export const CLUSTER_KEY = '#cluster';

/** Key, in the table of services, of how a sweep goes. */
export function sweepKey(sweepId: string): string {
  return `#sweep/${sweepId}`;
}

/** Key, in the table of the scaler, of all that it keeps of a cluster (`clusterIdOf`). No pool's name begins with a `#`. */
export function scalerKey(cluster: string): string {
  return `#cluster/${cluster}`;
}
