import * as z from 'zod/mini';
import type { NodeId, ServiceId, TaskId } from '../ids.ts';
import { evalId, isId, planId, poolName, serviceId, taskId } from '../ids.ts';
import { place, placementSchema } from '../plans/plan.ts';
import { epochMs, objectOf } from '../schema.ts';
import { DESIRED_STATES, isTerminal, TASK_STATES } from './states.ts';

/** `service#slot` of a replicated service's slot, `service@node` of a global service's. */
export type SlotKey = string & { readonly __key: 'slot' };

/** Where a task is found: its slot and its id. */
export interface TaskRef {
  readonly taskId: TaskId;
  readonly serviceId: ServiceId;
  /** Left out for a global service. */
  readonly slot?: number | undefined;
  readonly nodeId: NodeId;
}

/** The slot that a task belongs to. `#` and `@` are in no id, so no two slots share a key. */
export function slotKeyOf({ serviceId, slot, nodeId }: Pick<TaskRef, 'serviceId' | 'slot' | 'nodeId'>): SlotKey {
  return slot === undefined ? (`${serviceId}@${nodeId}` as SlotKey) : slotKeyOfNumber(serviceId, slot);
}

/** The key of a replicated service's slot. */
export function slotKeyOfNumber(serviceId: ServiceId, slot: number): SlotKey {
  return `${serviceId}#${slot}` as SlotKey;
}

/** Of a task that belongs to no service: something that is attached to a node. Its slot is `@node`. */
export const NO_SERVICE = '' as ServiceId;

/** What a slot's key says: its service, and the number of the slot or the node. */
export interface SlotPlace {
  readonly serviceId: ServiceId;
  /** Undefined: the slot is that of a global service, or of no service, on `nodeId`. */
  readonly slot: number | undefined;
  readonly nodeId: NodeId | undefined;
}

/** The place that `key` names; undefined if no slot has such a key. */
export function placeOfSlot(key: string): SlotPlace | undefined {
  const at = key.search(/[#@]/);
  if (at < 0) return undefined;
  const service = key.slice(0, at);
  const rest = key.slice(at + 1);
  if (service !== NO_SERVICE && !isId(service)) return undefined;
  if (key[at] === '@') {
    return isId(rest) ? { serviceId: service as ServiceId, slot: undefined, nodeId: rest as NodeId } : undefined;
  }
  const slot = Number(rest);
  if (service === NO_SERVICE || !/^\d+$/.test(rest) || !Number.isSafeInteger(slot)) return undefined;
  return { serviceId: service as ServiceId, slot, nodeId: undefined };
}

const slotKey = z.string().check(z.minLength(1)) as unknown as z.ZodMiniType<SlotKey, SlotKey>;

const { resources, ports, cores, devices, volumes, jobIteration } = placementSchema.shape;

/** What a task was before a plan that is committed in steps; it is that again if the plan is not committed. */
const undoSchema = z.strictObject({
  resources,
  ports,
  cores,
  devices,
  volumes,
  jobIteration,
  released: z.boolean(),
  lastPlanId: planId,
  preemptedBy: z.optional(taskId),
});

/** A task as it is stored: one run of a slot on a node. */
export const taskSchema = objectOf({
  ...placementSchema.shape,
  serviceId: z.union([serviceId, z.literal(NO_SERVICE)]),
  slotKey,
  pool: poolName,
  /** Counted up by every write; what a condition compares. */
  version: z.int(),
  state: z.enum(TASK_STATES),
  desiredState: z.enum(DESIRED_STATES),
  /** Whether its resources and claims were given back to its node. Once only, and never undone. */
  released: z.boolean(),
  /** When the present state was applied. */
  appliedAt: epochMs,
  /** When each state was entered, by state, as whoever reported it says. */
  stateTimes: z.partialRecord(z.enum(TASK_STATES), epochMs),
  /** When the desired state was last moved. */
  desiredAt: epochMs,
  createdAt: epochMs,
  /** The plan that placed it, and the one that last changed it. */
  planId,
  lastPlanId: planId,
  evalId: z.optional(evalId),
  priority: z.int(),
  preemptedBy: z.optional(taskId),
  /** What the agent said of the present state. */
  message: z.optional(z.string()),
  /** There while a plan that changes the task is reserved but not committed yet. */
  undo: z.optional(undoSchema),
});
export type Task = z.output<typeof taskSchema>;

/** What names a task: its id and its place. */
export const taskRefSchema = objectOf(place);

/** Whether the task still has a claim on its node: it has not ended, and nobody stopped it. */
export function isLive(task: Pick<Task, 'state' | 'desiredState'>): boolean {
  return !isTerminal(task.state) && task.desiredState !== 'shutdown' && task.desiredState !== 'remove';
}
