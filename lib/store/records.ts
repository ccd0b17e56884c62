import * as z from 'zod/mini';
import { poolName } from '../ids.ts';
import { type Pool, poolSettingsSchema } from '../nodes/pool.ts';
import type { StoredResult } from '../plans/facts.ts';
import { planResultSchema } from '../plans/result.ts';
import { RESULTS } from '../settings.ts';
import { type Task, taskSchema } from '../tasks/task.ts';
import { type EpochMs, expiryAfter } from '../time.ts';
import { BugError, PermanentError } from './errors.ts';
import { poolNodeKey } from './keys.ts';

/**
 * Tasks, pools and results as items, and back. What comes back is checked. A task or result that is not of its shape can
 * never be decided on: what asked for it is parked, its pool goes on. A pool that is not stops its plans, for an operator to mend.
 */

type Item = Readonly<Record<string, unknown>>;

function fromItem<S extends z.ZodMiniType>(
  schema: S,
  item: Item,
  what: string,
  Failure: new (message: string) => Error = PermanentError,
): z.output<S> {
  const outcome = schema.safeParse(item);
  if (outcome.success) return outcome.data;
  throw new Failure(`the stored ${what} is not of its shape: ${z.prettifyError(outcome.error)}`);
}

export function taskItem(task: Task): Item {
  return { ...task, poolNode: poolNodeKey(task.pool, task.nodeId) };
}

export function taskFromItem({ poolNode: _key, ...item }: Item): Task {
  return fromItem(taskSchema, item, `task ${String(item.taskId)}`);
}

const poolItemSchema = z.object({
  pool: poolName,
  index: z.int(),
  shards: z.int(),
  settings: poolSettingsSchema,
});

export function poolItem(pool: Pool): Item {
  return { ...pool };
}

export function poolFromItem(item: Item): Pool {
  return fromItem(poolItemSchema, item, `pool ${String(item.pool)}`, BugError);
}

const storedResultSchema = z.object({ result: planResultSchema, fingerprint: z.string() });

/** A result is kept as it is under `result`; `expiresAt` is the epoch in seconds at which DynamoDB may delete it. */
export function resultItem({ result, fingerprint }: StoredResult): Item {
  const decidedAt = Date.parse(result.appliedAt) as EpochMs;
  return { planId: result.planId, result, fingerprint, expiresAt: expiryAfter(decidedAt, RESULTS.retentionSeconds) };
}

export function resultFromItem(item: Item): StoredResult {
  return fromItem(storedResultSchema, item, `result of plan ${String(item.planId)}`);
}
