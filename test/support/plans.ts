import { type NodeSpec, type NodeSpecInput, nodeSpecSchema } from '../../lib/nodes/node.ts';
import { type Pool, type PoolSettingsInput, poolSettingsSchema } from '../../lib/nodes/pool.ts';
import type { Delivery } from '../../lib/plans/delivery.ts';
import type { PlanInput } from '../../lib/plans/plan.ts';
import { readMessage } from '../../lib/plans/read-message.ts';
import type { EpochMs } from '../../lib/time.ts';

/** When every message of a test was sent. */
export const SENT_AT = Date.parse('2026-03-01T12:00:00Z') as EpochMs;

/** A plan as the queue delivers it. `plan` may be wrong on purpose, but not past having an id. */
export function deliveryOf(plan: PlanInput | Readonly<Record<string, unknown>>, group = String(plan.pool)): Delivery {
  const message = readMessage({ body: JSON.stringify(plan), group, sentAt: SENT_AT });
  if ('reason' in message) throw new Error(`not a plan: ${message.reason}`);
  return message;
}

export function nodeOf(input: NodeSpecInput): NodeSpec {
  return nodeSpecSchema.parse(input);
}

export function poolOf(pool: string, { index = 1, shards = 2, settings = {} as PoolSettingsInput } = {}): Pool {
  return { pool: pool as Pool['pool'], index, shards, settings: poolSettingsSchema.parse(settings) };
}
