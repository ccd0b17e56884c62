import type { EpochMs } from '../time.ts';
import { decideReport } from './report.ts';
import { isTerminal } from './states.ts';
import { NO_SERVICE, placeOfSlot, type SlotKey, type Task } from './task.ts';

/** Whether the slot is that of a service on one node, and goes with the node. Of no service is what is attached to it. */
function isGlobalSlot(slotKey: SlotKey): boolean {
  const place = placeOfSlot(slotKey);
  return place?.nodeId !== undefined && place.serviceId !== NO_SERVICE;
}

/**
 * Whether a task is still to be dealt with: it runs as far as anybody knows, or holds something, or is one of a global service,
 * whose slot on this node goes with the node, history included.
 */
export function isLeftOnNode({ state, released, slotKey, desiredState }: Task): boolean {
  return !isTerminal(state) || !released || (isGlobalSlot(slotKey) && desiredState !== 'remove');
}

/**
 * `task` as it is when its node is gone, so that nobody will run it, nor report of it, any more: orphaned, unless it has
 * ended, and of a global service to be removed as well.
 */
export function orphanedTask(task: Task, now: EpochMs, message: string): Task {
  const decision = decideReport(task, { state: 'orphaned', message }, now);
  const image = decision.kind === 'write' ? decision.image : { ...task, version: task.version + 1, released: true };
  if (!isGlobalSlot(task.slotKey) || task.desiredState === 'remove') return image;
  return { ...image, desiredState: 'remove', desiredAt: now };
}
