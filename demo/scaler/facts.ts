import type { Sample } from './census.ts';
import type { Deed, GoneMachine, GroupMove, Tick } from './deeds.ts';
import type { Game } from './games.ts';
import type { Incident } from './incidents.ts';
import type { Scene } from './scene.ts';

/** What happened in a scene, from its first minute to its last. */
export interface ScalerFacts {
  readonly scene: Scene;
  readonly seed: number;
  readonly samples: readonly Sample[];
  readonly ticks: readonly Tick[];
  readonly deeds: readonly Deed[];
  readonly moves: readonly GroupMove[];
  /** Requests to set the desired capacity. */
  readonly sets: number;
  readonly games: readonly Game[];
  readonly incidents: readonly Incident[];
  readonly gone: readonly GoneMachine[];
  /** Nodes that are there at the end, with the games that are still played on each. */
  readonly left: readonly LeftNode[];
  readonly heldNode: string | undefined;
  /** Servers that players got just before they were to be deleted, and whether they kept them. */
  readonly races: readonly { readonly server: string; readonly kept: boolean }[];
  /** What the world has found to be done wrong. */
  readonly violations: readonly string[];
  /** What the second delivery of a tick came to. */
  readonly twin: string | undefined;
  /** Of the machine's clock. */
  readonly seconds: number;
}

export interface LeftNode {
  readonly node: string;
  readonly games: number;
  readonly state: 'active' | 'draining' | 'held';
}
