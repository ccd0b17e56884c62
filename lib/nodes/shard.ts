import { sha256 } from '../hash.ts';
import type { NodeId } from '../ids.ts';

/** The partition, from 0 to `shards` - 1, that a node of a pool lies in. The same on every machine and for ever. */
export function shardOf(node: NodeId, shards: number): number {
  return sha256(node).readUInt32BE(0) % shards;
}
