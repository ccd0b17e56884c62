import type { EpochMs } from '../../time.ts';
import type { ClusterSnapshot, Group, Ledger, Whereabouts } from '../observation.ts';
import type { GameServerNodeSpec } from '../spec/spec.ts';

/** What a provider can do at all. */
export interface Capabilities {
  /** Whether it can be asked for the size of the group and its machines. */
  readonly readsSize: boolean;
  /** Whether it adds and ends machines. */
  readonly changesSize: boolean;
}

/** All that a tick decides from, of one object. */
export interface Scene {
  /** Name of the GameServerNode. */
  readonly object: string;
  readonly spec: GameServerNodeSpec;
  readonly capabilities: Capabilities;
  readonly snapshot: ClusterSnapshot;
  /** Undefined where the provider cannot be asked. */
  readonly group?: Group;
  readonly whereabouts: ReadonlyMap<string, Whereabouts>;
  readonly ledger: Ledger;
  /** Whether nodes that Berth made ineligible are to be replaced. */
  readonly replaceIneligible: boolean;
  readonly now: EpochMs;
}
