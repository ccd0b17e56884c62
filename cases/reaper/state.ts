import type { NodeId, PlanId, PoolName } from '../../lib/ids.ts';
import type { Account } from '../../lib/nodes/account.ts';
import { nodeSpecSchema } from '../../lib/nodes/node.ts';
import { type Pool, poolSettingsSchema } from '../../lib/nodes/pool.ts';
import { taskKeyOf } from '../../lib/plans/decide-part.ts';
import type { SlotTask } from '../../lib/tasks/history.ts';
import type { SlotWrite, StoredSlotTask } from '../../lib/tasks/reap.ts';
import { isTerminal } from '../../lib/tasks/states.ts';
import { slotKeyOf, type Task } from '../../lib/tasks/task.ts';
import type { EpochMs } from '../../lib/time.ts';
import { accountWith, type ClusterState } from '../cluster-state.ts';
import type { ReaperCase } from './case.ts';

/** A task as a case has it stored: others put tasks there too, without times, and in a state that Berth never writes. */
export type CaseRecord = Omit<Task, 'state' | 'appliedAt' | 'jobIteration'> &
  Pick<SlotTask, 'state' | 'appliedAt' | 'jobIteration'>;

/** What a case says of a task, at the beginning and at the end. */
export type TaskView = Pick<StoredSlotTask, 'state' | 'desiredState'>;

/** What running a case of the reaper came to. */
export interface ReaperOutcome {
  /** Tasks by id. */
  readonly before: ReadonlyMap<string, TaskView>;
  readonly after: ReadonlyMap<string, TaskView>;
  /** What was seen to be done to tasks on the way, where it can be seen: also to those that are deleted since. */
  readonly done?: { readonly markedRemove: readonly string[]; readonly markedOrphaned: readonly string[] };
  /** What else is not as it should be. */
  readonly problems: readonly string[];
}

const EARLIER = 'earlier' as PlanId;

/** Tasks of a case as they are stored at first. `whole`: with all that reading one back as a task takes. */
export function recordsOf({ tasks, pool, event }: ReaperCase, now: EpochMs): CaseRecord[] {
  return tasks.map((task): CaseRecord => {
    const { id, serviceId, slot, nodeId, state, desiredState, statusTimestamp, appliedAt, jobIteration } = task;
    const { resources, planUnderWay } = task;
    const needs = { resources, ports: [], cores: [], devices: [], volumes: [], jobIteration };
    const ended = state === 'remove' || isTerminal(state);
    const released = task.released ?? (ended || desiredState === 'shutdown' || desiredState === 'remove');
    // What ends a task, or gives back what it holds, reads all of it; what deletes history does not.
    const isRead = !released || event.type === 'node-removed';
    const applied = appliedAt ?? (isRead ? (statusTimestamp ?? now) : undefined);
    return {
      ...{ taskId: id, serviceId, nodeId, ...needs },
      ...(slot === undefined ? {} : { slot }),
      slotKey: slotKeyOf({ serviceId, slot, nodeId }),
      ...{ pool, version: 1, state, desiredState, released },
      ...(applied === undefined ? {} : { appliedAt: applied }),
      stateTimes: statusTimestamp === undefined ? {} : { [state]: statusTimestamp },
      ...{ desiredAt: now, createdAt: now, planId: EARLIER, lastPlanId: EARLIER, priority: 50 },
      ...(planUnderWay
        ? { undo: { ...needs, jobIteration: jobIteration ?? 0, released: false, lastPlanId: EARLIER } }
        : {}),
    };
  });
}

export function poolOf({ pool }: ReaperCase): Pool {
  return { pool, index: 1, shards: 1, settings: poolSettingsSchema.parse({}) };
}

/** The accounts of the nodes that the tasks of a case are on, with what those hold. */
export function accountsOf({ tasks, pool }: ReaperCase, records: readonly CaseRecord[]): Map<NodeId, Account> {
  const nodes = new Set(tasks.map(({ nodeId }) => nodeId));
  return new Map(
    [...nodes].map((nodeId) => [
      nodeId,
      accountWith(nodeSpecSchema.parse({ nodeId, pool, capacity: { cpu: 1000 } }), records as readonly Task[]),
    ]),
  );
}

export function clusterStateOf(
  pool: Pool,
  accounts: ReadonlyMap<NodeId, Account>,
  records: readonly CaseRecord[],
): ClusterState {
  return {
    pools: new Map<PoolName, Pool>([[pool.pool, pool]]),
    accounts: new Map([[pool.pool, accounts]]),
    tasks: new Map(records.map((record) => [taskKeyOf(record), record as Task])),
    windows: new Map(),
  };
}

export function viewOf(records: readonly Pick<CaseRecord, 'taskId' | 'state' | 'desiredState'>[]) {
  return new Map(
    records.map(({ taskId, state, desiredState }): [string, TaskView] => [taskId, { state, desiredState }]),
  );
}

/** Whether a write is the first to want the task removed. */
export function isMark({ task, what }: SlotWrite): boolean {
  return what === 'mark' || (what === 'removable' && task.desiredState !== 'remove');
}
