import type { EpochMs } from '../time.ts';
import type { Ledger } from './observation.ts';
import type { LedgerStore } from './ports.ts';

/** Who asks for a turn at a cluster, and for which tick. */
export interface TurnRequest {
  /** As `clusterIdOf` has it. */
  readonly cluster: string;
  /** The time at which the tick was due: what tells one tick from another. */
  readonly scheduledAt: EpochMs;
  /** Of this run alone: two deliveries of one event are two holders. */
  readonly holder: string;
  readonly now: EpochMs;
  /** When others may take the cluster over, by whichever clock they have. */
  readonly until: EpochMs;
}

export type TurnOutcome =
  | { readonly kind: 'begun'; readonly turn: Turn }
  /** Somebody else is at it, or has died less than a lease ago. */
  | { readonly kind: 'held' }
  /** This tick, or a later one, has had its turn. */
  | { readonly kind: 'past' };

/** Lets one run at a time act on a cluster, and keeps what is remembered of its objects. */
export interface Turns {
  /** Takes the cluster for one tick, if nobody has it and the tick is later than the last. Throws a StoreError. */
  begin(request: TurnRequest): Promise<TurnOutcome>;
}

/** One run's hold on a cluster. */
export interface Turn {
  /** What was remembered when the turn began, by object; without those that cannot be read. */
  readonly ledgers: ReadonlyMap<string, Ledger>;
  /**
   * What is remembered of one object. Whose turn was taken over meanwhile, having been paused for longer than its lease,
   * can write nothing any more: that is a conflict.
   */
  ledgerOf(object: string): LedgerStore;
  /** Gives the cluster back, if it is this run's still, and forgets the ledgers of these objects. Throws a StoreError. */
  end(forget: readonly string[]): Promise<void>;
}
