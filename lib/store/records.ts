import * as z from 'zod/mini';
import { gunzip, gzip } from '../gzip.ts';
import { nodeId, type PoolName, planId, poolName } from '../ids.ts';
import { type Pool, poolSettingsSchema } from '../nodes/pool.ts';
import type { NodeEvent } from '../nodes/profile.ts';
import type { StoredResult } from '../plans/facts.ts';
import type { Progress } from '../plans/progress.ts';
import type { RejectionWindow } from '../plans/rejections.ts';
import { planResultSchema } from '../plans/result.ts';
import { RESULTS } from '../settings.ts';
import { phaseOf } from '../tasks/phase.ts';
import { NO_SERVICE, type Task, taskSchema } from '../tasks/task.ts';
import { type EpochMs, expiryAfter } from '../time.ts';
import { BugError } from './errors.ts';
import { poolNodeKey } from './keys.ts';
import { fromItem, storedMs, storedSeconds } from './stored.ts';

/**
 * Tasks, pools and results as items, and back. What comes back is checked. A task or result that is not of its shape can
 * never be decided on: what asked for it is parked, its pool goes on. A pool that is not stops its plans, for an operator to mend.
 */

type Item = Readonly<Record<string, unknown>>;

/** A task of no service has no `serviceId`: the key of an index is never empty. */
export function taskItem({ serviceId, ...task }: Task): Item {
  const phase = phaseOf(task);
  return {
    ...task,
    ...(serviceId === NO_SERVICE ? {} : { serviceId }),
    poolNode: poolNodeKey(task.pool, task.nodeId),
    ...(phase === undefined ? {} : { phase }),
  };
}

export function taskFromItem({ poolNode: _key, phase: _derived, ...item }: Item): Task {
  return fromItem(taskSchema, { serviceId: NO_SERVICE, ...item }, `task ${String(item.taskId)}`);
}

const poolItemSchema = z.object({
  pool: poolName,
  index: z.int(),
  shards: z.int(),
  settings: poolSettingsSchema,
  marks: z.optional(z.object({ left: z.number(), at: storedMs })),
});

export function poolItem(pool: Pool): Item {
  return { ...pool };
}

export function poolFromItem(item: Item): Pool {
  return fromItem(poolItemSchema, item, `pool ${String(item.pool)}`, BugError);
}

const storedResultSchema = z.object({ result: planResultSchema, fingerprint: z.string() });

const tallySchema = z.object({
  placements: z.int(),
  stops: z.int(),
  preemptions: z.int(),
  rejected: planResultSchema.shape.rejectedNodes,
  ineligible: planResultSchema.shape.ineligibleNodes,
  alreadyGone: planResultSchema.shape.alreadyGone,
});

const progressSchema = z.object({
  planId,
  fingerprint: z.string(),
  version: z.int(),
  phase: z.enum(['deciding', 'reserving', 'finishing', 'undoing']),
  from: z.int(),
  to: z.int(),
  step: z.int(),
  /** Not there in what an earlier version wrote: who was beside it then nobody knows. */
  index: z._default(z.int(), 0),
  beside: z._default(z.boolean(), true),
  tally: tallySchema,
  pending: tallySchema,
});

/**
 * A result is kept as it is under `result`, or compressed where it names so many nodes that an item might not hold it. `expiresAt` is the epoch in seconds at which DynamoDB may delete it.
 */
export function resultItem({ result, fingerprint }: StoredResult): Item {
  const decidedAt = Date.parse(result.appliedAt) as EpochMs;
  const expiresAt = expiryAfter(decidedAt, RESULTS.retentionSeconds);
  return { planId: result.planId, ...packed('result', result), fingerprint, expiresAt };
}

/** The result of a plan; undefined while the plan is under way. */
export function resultFromItem(item: Item): StoredResult | undefined {
  const whole = unpacked('result', item);
  return whole.result === undefined
    ? undefined
    : fromItem(storedResultSchema, whole, `result of plan ${String(item.planId)}`);
}

/** How far a plan past one transaction has come. It has no time to live: the result that takes its place has. */
export function progressItem(progress: Progress): Item {
  return {
    planId: progress.planId,
    version: progress.version,
    fingerprint: progress.fingerprint,
    ...packed('progress', progress),
  };
}

export function progressFromItem(item: Item): Progress | undefined {
  const { progress } = unpacked('progress', item);
  return progress === undefined
    ? undefined
    : fromItem(progressSchema, progress as Item, `progress of plan ${String(item.planId)}`);
}

/** Characters of JSON past which a value is compressed. An item holds 400 KB; ids and codes repeat, so that 5,000 nodes take a fifth. */
const PACK_FROM = 100_000;

function packed(name: string, value: object): Item {
  const json = JSON.stringify(value);
  return json.length < PACK_FROM ? { [name]: value } : { [packedName(name)]: gzip(json) };
}

function unpacked(name: string, item: Item): Item {
  const bytes = item[packedName(name)];
  return bytes instanceof Uint8Array ? { ...item, [name]: JSON.parse(gunzip(bytes)) } : item;
}

const packedName = (name: string) => `${name}Packed`;

export function windowItem(pool: PoolName, window: RejectionWindow): Item {
  return { pool, ...window };
}

const windowSchema = z.object({ nodeId, times: z.array(storedMs), version: z.int(), expiresAt: storedSeconds });

export function windowFromItem(item: Item): RejectionWindow {
  return fromItem(windowSchema, item, `window of node ${String(item.nodeId)}`);
}

const eventsSchema = z.object({ events: z.array(z.object({ at: storedMs, message: z.string() })) });

/** The last events of a node, from its profile. */
export function eventsFromItem(item: Item): readonly NodeEvent[] {
  return fromItem(eventsSchema, item, `profile of node ${String(item.nodeId)}`).events;
}
