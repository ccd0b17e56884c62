import type { EpochMs } from '../../lib/time.ts';

/** What is played: a pool, its timetable, how many want to play when, and what goes wrong. Minutes count from `from`. */
export interface Scene {
  readonly from: EpochMs;
  readonly minutes: number;
  readonly timezone: string;
  /** Nodes outside of the window. */
  readonly replicas: number;
  /** Limits of the group. */
  readonly min: number;
  readonly max: number;
  readonly serversPerNode: number;
  readonly schedule: {
    readonly cron: string;
    readonly durationMinutes: number;
    readonly replicas: number;
    readonly leadSeconds: number;
  };
  /** What the timetable comes to, said apart from the product: when the nodes are ordered, needed, and given up. */
  readonly window: { readonly opens: number; readonly begins: number; readonly closes: number };
  /** Servers that the fleet keeps ready beside those in use. */
  readonly buffer: number;
  readonly players: PlayersSettings;
  readonly incidents: {
    /** The function is killed just after its first order from then on has taken effect. */
    readonly kill: number;
    /** From, and until: there are no machines to be had. */
    readonly shortage: readonly [number, number];
    /** An operator cordons a node by hand. */
    readonly cordon: number;
    /** A machine fails, with the games on it. */
    readonly loss: number;
    /** From, and until: the API server refuses to list pods. */
    readonly blind: readonly [number, number];
    /** From, and until: an operator scales the pool by hand, to so many nodes. */
    readonly rescale: readonly [number, number, number];
    /** The tick of this minute is delivered twice at once. */
    readonly twin: number;
    /** Which of the scaler's deletes of Ready servers players get ahead of, counted from 1 from the end of the window on. */
    readonly races: readonly number[];
  };
}

export interface PlayersSettings {
  /** Games at once that there are to be, at some minutes; in between the line between them. */
  readonly demand: readonly (readonly [minute: number, games: number])[];
  readonly medianMinutes: number;
  /** Of the games that begin within these minutes a share goes on for hours. */
  readonly long: {
    readonly from: number;
    readonly until: number;
    readonly share: number;
    readonly minutes: readonly [number, number];
  };
}

/** A Friday from 16:00 to 03:00 in Berlin. */
export const EVENING: Scene = {
  from: Date.parse('2026-01-16T15:00:00Z') as EpochMs,
  minutes: 660,
  timezone: 'Europe/Berlin',
  replicas: 3,
  min: 2,
  max: 14,
  serversPerNode: 4,
  schedule: { cron: '0 18 * * *', durationMinutes: 330, replicas: 12, leadSeconds: 1_200 },
  window: { opens: 100, begins: 120, closes: 450 },
  buffer: 8,
  players: {
    demand: [
      [0, 4],
      [90, 4],
      [150, 22],
      [210, 33],
      [330, 30],
      [390, 17],
      [450, 5],
      [510, 3],
      [660, 2],
    ],
    medianMinutes: 15,
    long: { from: 240, until: 420, share: 0.035, minutes: [90, 280] },
  },
  incidents: {
    kill: 95,
    shortage: [98, 108],
    cordon: 190,
    loss: 285,
    twin: 451,
    blind: [453, 456],
    rescale: [470, 520, 5],
    races: [1, 3, 5],
  },
};

export const NODEGROUP = 'gameserver';
export const GROUP = `eks-${NODEGROUP}`;
export const OBJECT = 'game';
export const FLEET = 'match';

/** The GameServerNode of the scene, as somebody would apply it. */
export function gameServerNode({ replicas, schedule, timezone }: Scene) {
  return {
    apiVersion: 'stable.agones.dev/v1alpha1',
    kind: 'GameServerNode',
    metadata: { name: OBJECT },
    spec: {
      replicas,
      provider: 'eks',
      config: { nodegroup: NODEGROUP },
      schedules: [{ name: 'evening', timezone, ...schedule }],
    },
  };
}

/** How many nodes there are to be at a time. */
export function targetAt({ from, window, replicas, schedule, incidents }: Scene, at: EpochMs): number {
  const minute = (at - from) / 60_000;
  if (minute >= window.opens && minute < window.closes) return schedule.replicas;
  const [begins, ends, by] = incidents.rescale;
  return minute >= begins && minute < ends ? by : replicas;
}

export function timeOf({ from }: Scene, minute: number): EpochMs {
  return (from + minute * 60_000) as EpochMs;
}

/** Milliseconds by which the world's clock stands short of each step of players: no tick is to begin before all is there for it. */
export const SHORT_MS = 1;

/** The moment that was meant when the world's clock showed `shown`: without it what happens before the tick of 20:45 is of 20:44. */
export function momentOf(shown: EpochMs): EpochMs {
  return (Math.ceil(shown / 1_000) * 1_000) as EpochMs;
}
