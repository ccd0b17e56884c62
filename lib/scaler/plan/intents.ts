import type { PendingDeletion, PendingIncrease } from '../observation.ts';
import type { PoolNode } from '../pool/classes.ts';
import type { Finding } from './findings.ts';

/** One thing that a tick wants to do. It is looked at again right before, and each may be refused alone. */
export type Intent =
  /** Of the ledger: nothing of it is left to do. */
  | { readonly kind: 'forget'; readonly entry: PendingDeletion }
  /** Of the ledger: its node is gone, its machine is not. */
  | { readonly kind: 'finish'; readonly entry: PendingDeletion }
  /** The order has been filled, or is not needed any more. */
  | { readonly kind: 'forget-order' }
  /** Somebody else uncordoned the node: take off marks that would make a later cordon of theirs look like ours. */
  | { readonly kind: 'unmark'; readonly node: PoolNode }
  | { readonly kind: 'uncordon'; readonly node: PoolNode }
  | { readonly kind: 'increase'; readonly order: Order }
  | { readonly kind: 'cordon'; readonly node: PoolNode }
  /** Delete the servers on these nodes that hold no session, as far as `limit` goes. */
  | { readonly kind: 'drain'; readonly nodes: readonly PoolNode[]; readonly limit: number }
  /** End the machine, if it lives, and delete the node. */
  | { readonly kind: 'remove'; readonly node: PoolNode };

export interface Order {
  readonly by: number;
  /** The desired capacity that `by` was counted from: the provider refuses where it is another meanwhile. */
  readonly from?: number;
  /** What is written first where the provider cannot be asked for its size: all that is under way, this order included. */
  readonly entry?: PendingIncrease;
}

/** What one part of the decision comes to. */
export interface Part {
  readonly intents: readonly Intent[];
  readonly findings: readonly Finding[];
  /** Whether there is something to do that the provider cannot. */
  readonly beyondProvider?: boolean;
}

export const NOTHING: Part = { intents: [], findings: [] };
