import * as z from 'zod/mini';
import { poolName } from '../ids.ts';
import { flag, integer, objectOf, oneOf } from '../schema.ts';
import { BOUNDS, POOL_DEFAULTS, TRACKER_DEFAULTS } from '../settings.ts';
import type { EpochMs } from '../time.ts';

/**
 * When a task that is stopped gives its resources back. `plan`: by the plan that stops it, as in Nomad. `terminal`: when
 * the agent reports its end, for those who were bitten by a port that was still in use (hashicorp/nomad#24904).
 */
export const STOP_RELEASES = ['plan', 'terminal'] as const;
export type StopRelease = (typeof STOP_RELEASES)[number];

const RATE = 'a number above 0, at most 1000';

/** When a node that is refused again and again is made ineligible (hashicorp/nomad#13017). */
const trackerSchema = objectOf({
  /** Default true. */
  enabled: z._default(flag, TRACKER_DEFAULTS.enabled),
  /** Refusals inside the window that mark a node. Default 100. */
  threshold: z._default(integer(1, 10_000), TRACKER_DEFAULTS.threshold),
  /** Seconds that a refusal counts, both edges included. Default 300. */
  windowSeconds: z._default(integer(1, 86_400), TRACKER_DEFAULTS.windowSeconds),
  /** Marks that come back a second: default 5 in 30 minutes. */
  markRatePerSecond: z._default(
    z.number({ error: RATE }).check(z.gt(0, { error: RATE }), z.lte(1000, { error: RATE })),
    TRACKER_DEFAULTS.markRatePerSecond,
  ),
  /** Marks that are saved up at the most. Default 10. */
  markBurst: z._default(integer(1, 10_000), TRACKER_DEFAULTS.markBurst),
});
export type TrackerSettings = z.output<typeof trackerSchema>;

/** Settings of a pool. Effective from the next batch of plans. */
export const poolSettingsSchema = objectOf({
  stopRelease: z._default(oneOf(STOP_RELEASES), POOL_DEFAULTS.stopRelease),
  tracker: z._default(trackerSchema, () => trackerSchema.parse({})),
  /** Seconds after which a node that was made ineligible is eligible again. Default: only an operator makes it so. */
  ineligibleForSeconds: z.optional(integer(1, 31_536_000)),
});
export type PoolSettings = z.output<typeof poolSettingsSchema>;
export type PoolSettingsInput = z.input<typeof poolSettingsSchema>;

/** Marks that a pool has left: one makes one node ineligible. */
export interface Marks {
  readonly left: number;
  /** When `left` was true. */
  readonly at: EpochMs;
}

/** What makes a pool. */
export const poolSpecSchema = objectOf({
  pool: poolName,
  /** Partitions that its nodes are spread over; fixed once the pool is made. Default 8. */
  shards: z._default(integer(1, BOUNDS.shardsMax), POOL_DEFAULTS.shards),
  settings: z._default(poolSettingsSchema, () => poolSettingsSchema.parse({})),
});
export type PoolSpec = z.output<typeof poolSpecSchema>;
export type PoolSpecInput = z.input<typeof poolSpecSchema>;

/** A pool as it is stored. */
export interface Pool {
  readonly pool: z.infer<typeof poolName>;
  /** Counted up by every commit of plans and every change of the settings: the fence between two appliers. */
  readonly index: number;
  readonly shards: number;
  readonly settings: PoolSettings;
  /** Marks left for making nodes ineligible; not there: none was ever taken. */
  readonly marks?: Marks | undefined;
}
