import type { PlanId } from '../ids.ts';
import { progressFromItem, resultFromItem } from '../store/records.ts';
import type { Task } from '../tasks/task.ts';
import type { EpochMs } from '../time.ts';
import { batchGet } from './batch-get.ts';
import type { Connection } from './connection.ts';
import { pause } from './retrying.ts';

/** A plan past one transaction that has reserved something and has no result yet. */
export interface PlanUnderWay {
  readonly planId: PlanId;
  /** Tasks that it has reserved, or changed on trial. */
  readonly tasks: number;
  /** When the first of its new tasks was reserved. Not known of a plan that has reserved nothing but changes. */
  readonly since: EpochMs | undefined;
  /**
   * Nobody goes on with it: it is under way for an hour, or for longer than is known, and has not moved while it was looked
   * at. It goes on, to its end or back, when its message is delivered again: from the dead-letter queue, or sent
   * again unchanged by whoever made the plan. It is turned back when its message there is discarded.
   */
  readonly stuck: boolean;
}

/** Age past which a plan is stuck, milliseconds: the longest that deliveries of one message are tried. */
const STUCK_MS = 3_600_000;
/** A plan that is being worked on moves several times in this time, milliseconds. */
const WATCH_MS = 500;

/** What plans have reserved, by plan, as tasks show it. */
export class Reservations {
  readonly byPlan = new Map<PlanId, { tasks: number; since: EpochMs | undefined }>();

  see(task: Task): void {
    if (task.state !== 'pending' && task.undo === undefined) return;
    const since = task.state === 'pending' ? task.stateTimes.pending : undefined;
    const known = this.byPlan.get(task.lastPlanId) ?? { tasks: 0, since: undefined };
    this.byPlan.set(task.lastPlanId, {
      tasks: known.tasks + 1,
      since: since === undefined || (known.since ?? since) < since ? known.since : since,
    });
  }
}

/** Those of the plans of `reservations` that have no result, the oldest first. */
export async function plansUnderWay(
  connection: Connection,
  { byPlan }: Reservations,
  now: EpochMs,
): Promise<PlanUnderWay[]> {
  if (byPlan.size === 0) return [];
  const before = await versionsOf(connection, [...byPlan.keys()]);
  const old = [...byPlan].filter(([, { since }]) => since === undefined || now - since >= STUCK_MS);
  if (old.length > 0) await pause(WATCH_MS);
  const after =
    old.length > 0
      ? await versionsOf(
          connection,
          old.map(([planId]) => planId),
        )
      : before;
  return [...byPlan]
    .filter(([planId]) => before.get(planId) !== 'ended' && after.get(planId) !== 'ended')
    .map(([planId, { tasks, since }]) => ({
      planId,
      tasks,
      since,
      stuck: old.some(([id]) => id === planId) && before.get(planId) === after.get(planId),
    }))
    .sort((a, b) => (a.since ?? 0) - (b.since ?? 0));
}

/** Of each plan the version of its progress, or that it has ended. */
async function versionsOf(connection: Connection, plans: readonly PlanId[]): Promise<Map<PlanId, number | 'ended'>> {
  const items = await batchGet(
    connection,
    connection.tables.plans,
    plans.map((planId) => ({ planId })),
  );
  return new Map(
    items.map((item) => {
      const version = resultFromItem(item) ? 'ended' : (progressFromItem(item)?.version ?? 0);
      return [item.planId as PlanId, version] as const;
    }),
  );
}
