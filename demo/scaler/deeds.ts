import type { EpochMs } from '../../lib/time.ts';

/** What the scaler has done, each with what the world was like just before it took effect. */
export type Deed =
  | {
      readonly kind: 'delete-server';
      readonly at: EpochMs;
      readonly server: string;
      readonly node: string;
      readonly state: string;
      /** Whether uid and resource version of what was looked at went along. */
      readonly guarded: boolean;
      /** Whether the node was cordoned and marked as the scaler's. */
      readonly ours: boolean;
      /** Whether players got the server just before. */
      readonly raced: boolean;
      /** Whether it was deleted. */
      readonly done: boolean;
    }
  | {
      readonly kind: 'cordon' | 'uncordon';
      readonly at: EpochMs;
      readonly node: string;
      /** Whether the node carried the scaler's mark before. */
      readonly marked: boolean;
      /** Nodes of the group that were not cordoned, machines that had not joined yet included. */
      readonly usable: number;
      readonly target: number;
    }
  | { readonly kind: 'remove-node'; readonly at: EpochMs; readonly node: string; readonly games: number }
  | {
      readonly kind: 'end-machine';
      readonly at: EpochMs;
      readonly node: string;
      readonly instance: string;
      readonly games: number;
      /** Whether the intent was in the table. */
      readonly intended: boolean;
    }
  | {
      readonly kind: 'order';
      readonly at: EpochMs;
      /** How far the desired capacity was raised; below zero: lowered. */
      readonly by: number;
      readonly desired: number;
      readonly max: number;
      /** Nodes that took games, and machines that were on their way already. */
      readonly usable: number;
      readonly target: number;
    };

/** What the group did, whoever asked for it. */
export interface GroupMove {
  readonly at: EpochMs;
  readonly what: 'launched' | 'ended';
  readonly instance: string;
  readonly cause?: string;
  readonly desired: number;
  readonly min: number;
  readonly max: number;
}

/** One tick. */
export interface Tick {
  readonly at: EpochMs;
  /** Requests of the scaler. */
  readonly kubernetes: number;
  readonly aws: number;
  readonly dynamodb: number;
  /** Requests that change a node, a game server or a group. */
  readonly changes: readonly string[];
  readonly events: 'none' | 'blind' | 'twin' | 'killed';
}

/** A machine that is gone. */
export interface GoneMachine {
  readonly node: string;
  readonly cordonedAt: EpochMs | undefined;
  /** undefined: there was none on it. */
  readonly lastGameEndedAt: EpochMs | undefined;
  readonly endedAt: EpochMs | undefined;
  readonly removedAt: EpochMs;
  /** Games on it when its end was asked for, or when it was lost. */
  readonly games: number;
  readonly by: 'Berth' | 'failure';
}
