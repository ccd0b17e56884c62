import type { NodeId } from '../ids.ts';
import type { EpochMs } from '../time.ts';
import type { NodeSpec } from './node.ts';

/** Something that happened to a node, for people. The last ten are kept. */
export interface NodeEvent {
  readonly at: EpochMs;
  readonly message: string;
}

/**
 * What is known of a node that deciding about placements does not need: for workers, who choose by it, and for people.
 * Written when the node is registered and when something befalls it, never by a placement.
 */
export interface Profile extends Pick<NodeSpec, 'addresses' | 'devices' | 'labels' | 'cores' | 'reservedPorts'> {
  readonly nodeId: NodeId;
  /** Revision; the account names the one that belongs to it. */
  readonly revision: number;
  /** null: no limit. */
  readonly maxTasks: number | null;
  readonly registeredAt: EpochMs;
  readonly events: readonly NodeEvent[];
}
