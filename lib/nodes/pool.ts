import * as z from 'zod/mini';
import { poolName } from '../ids.ts';
import { integer, objectOf, oneOf } from '../schema.ts';
import { BOUNDS, POOL_DEFAULTS } from '../settings.ts';

/**
 * When a task that is stopped gives its resources back. `plan`: by the plan that stops it, as in Nomad. `terminal`: when
 * the agent reports its end, for those who were bitten by a port that was still in use (hashicorp/nomad#24904).
 */
export const STOP_RELEASES = ['plan', 'terminal'] as const;
export type StopRelease = (typeof STOP_RELEASES)[number];

/** Settings of a pool. Effective from the next batch of plans. */
export const poolSettingsSchema = objectOf({
  stopRelease: z._default(oneOf(STOP_RELEASES), POOL_DEFAULTS.stopRelease),
});
export type PoolSettings = z.output<typeof poolSettingsSchema>;
export type PoolSettingsInput = z.input<typeof poolSettingsSchema>;

/** What makes a pool. */
export const poolSpecSchema = objectOf({
  pool: poolName,
  /** Partitions that its nodes are spread over; fixed once the pool is made. Default 8. */
  shards: z._default(integer(1, BOUNDS.shardsMax), POOL_DEFAULTS.shards),
  settings: z._default(poolSettingsSchema, poolSettingsSchema.parse({})),
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
}
