import { InvalidInputError, shown } from '../schema.ts';
import { CLUSTER_KEY } from '../store/keys.ts';
import { bookOf } from '../store/services.ts';
import { readSlot } from '../store/slot-store.ts';
import { decideSlot, type KeepReason, REASONS, type ReapRule, type SlotService } from '../tasks/history.ts';
import { type Malformed, type StoredSlotTask, serviceIn } from '../tasks/reap.ts';
import { NO_SERVICE, placeOfSlot, type SlotKey } from '../tasks/task.ts';
import { batchGet } from './batch-get.ts';
import type { Connection } from './connection.ts';
import { retrying } from './retrying.ts';

/** What becomes of one task of a slot, and why. */
export interface TaskVerdict {
  readonly task: Pick<StoredSlotTask, 'taskId' | 'state' | 'desiredState' | 'appliedAt' | 'released'>;
  /** `goes`: the reaper deletes it when it comes to the slot. */
  readonly verdict: 'goes' | 'stays';
  readonly rule: ReapRule | KeepReason;
  /** The rule as a sentence. */
  readonly why: string;
}

/** What the reaper would say of a slot now. */
export interface SlotHistory {
  readonly slotKey: string;
  readonly service: SlotService;
  /** Old tasks that the slot keeps; Infinity: all; undefined: there is no limit to speak of. */
  readonly limit: number | undefined;
  /** The oldest first. */
  readonly tasks: readonly TaskVerdict[];
  /** Tasks, and the records of the service and of the cluster's limit, that are not of their shape. */
  readonly malformed: readonly Malformed[];
}

/** What the reaper would do about a slot now, task by task, and why. Nothing is written. */
export async function taskHistory(connection: Connection, slot: string): Promise<SlotHistory> {
  const place = typeof slot === 'string' ? placeOfSlot(slot) : undefined;
  if (!place) {
    const message = `expected service#number, or service@node for a global service, got ${shown(slot)}`;
    throw new InvalidInputError('the slot', [{ path: '', message }]);
  }
  const { dynamo, tables, servicesTable } = connection;
  const keys = [
    { serviceId: CLUSTER_KEY },
    ...(place.serviceId === NO_SERVICE ? [] : [{ serviceId: place.serviceId }]),
  ];
  const book = bookOf(await batchGet(connection, servicesTable(), keys));
  const { tasks, malformed } = await retrying(() => readSlot(dynamo, tables.tasks, slot as SlotKey));
  const service = serviceIn(book, place.serviceId);
  const decision = decideSlot(tasks, service, book.clusterLimit);
  return {
    slotKey: slot,
    service,
    limit: decision.limit,
    tasks: decision.verdicts.map((verdict) => {
      const { taskId, state, desiredState, appliedAt, released } = verdict.task;
      const goes = 'reap' in verdict;
      const rule = goes ? verdict.reap : verdict.keep;
      return {
        task: { taskId, state, desiredState, appliedAt, released },
        verdict: goes ? 'goes' : 'stays',
        rule,
        why: REASONS[rule],
      };
    }),
    malformed: [...(book.malformed ?? []), ...malformed],
  };
}
