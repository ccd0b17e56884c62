import * as z from 'zod/mini';
import { taskId } from '../ids.ts';
import { clip, epochMs } from '../schema.ts';
import type { Malformed, StoredSlotTask } from '../tasks/reap.ts';
import { DESIRED_STATES, TASK_STATES } from '../tasks/states.ts';
import { placeOfSlot, type SlotKey } from '../tasks/task.ts';
import { type Item, unmarshall } from './dynamo.ts';

/** A task that was read for the reaper, with the item it came from. */
export interface SlotItem extends StoredSlotTask {
  readonly item: Item;
}

/**
 * What the reaper looks at of a stored task. More may be missing than of a task that is planned with: one that others have
 * put there may have no times. A time that is none, a state that nobody knows or an empty key make it malformed.
 */
const slotTaskSchema = z.object({
  slotKey: z.custom<SlotKey>((key) => typeof key === 'string' && placeOfSlot(key) !== undefined),
  taskId,
  version: z.int(),
  state: z.enum([...TASK_STATES, 'remove']),
  desiredState: z.enum(DESIRED_STATES),
  released: z.boolean(),
  appliedAt: z.optional(epochMs),
  desiredAt: z.optional(epochMs),
  // It orders nothing: one that is none is as good as missing.
  createdAt: z.catch(z.optional(epochMs), undefined),
  stateTimes: z.optional(z.record(z.string(), epochMs)),
  jobIteration: z.optional(z.int()),
  undo: z.optional(z.unknown()),
});

/** Attributes of a task that are looked at: what a read of many may leave the others out for. */
export const SLOT_TASK_ATTRIBUTES: readonly string[] = Object.keys(slotTaskSchema.shape);

/** The tasks that `items` hold, in their order, and what is wrong with those that hold none. */
export function readSlotTasks(items: readonly Parameters<typeof unmarshall>[0][] = []): {
  readonly tasks: readonly SlotItem[];
  readonly malformed: readonly Malformed[];
} {
  const read = items.map((item) => readSlotTask(unmarshall(item)));
  return {
    tasks: read.filter((one): one is SlotItem => !('problem' in one)),
    malformed: read.filter((one): one is Malformed => 'problem' in one),
  };
}

/** The task that `item` holds, or what is wrong with it. */
function readSlotTask(item: Item): SlotItem | Malformed {
  const outcome = slotTaskSchema.safeParse(item);
  if (outcome.success) return { ...outcome.data, item };
  const key = `${String(item.slotKey)} ${String(item.taskId)}`;
  return { key: clip(key, 300), problem: clip(z.prettifyError(outcome.error), 400) };
}
