import { type Account, accountOf, exchanged, type Holding } from '../../lib/nodes/account.ts';
import type { NodeSpecInput } from '../../lib/nodes/node.ts';
import { type Placement, type PlanInput, placementSchema } from '../../lib/plans/plan.ts';
import { holdingOf } from '../../lib/tasks/holding.ts';
import { type Task, taskSchema } from '../../lib/tasks/task.ts';
import type { EpochMs } from '../../lib/time.ts';
import { nodeOf } from './plans.ts';

/** The instant at which the tests of the deciding parts decide. */
export const NOW = Date.parse('2026-03-01T12:00:00Z') as EpochMs;

export type PlacementInput = NonNullable<PlanInput['placements']>[number];
type Wants = Partial<Omit<PlacementInput, 'taskId' | 'serviceId' | 'nodeId'>> & { nodeId?: string; serviceId?: string };

/** A placement of `taskId` as a plan that was checked has it: in slot 1 of `web`, on `n1`, of nothing unless `wants` says. */
export function placementOf(taskId: string, wants: Wants = {}): Placement {
  return placementSchema.parse({ taskId, serviceId: 'web', slot: 1, nodeId: 'n1', ...wants });
}

/** A task that runs, as an earlier plan has placed it. */
export function taskOf(taskId: string, wants: Wants = {}, state: Partial<Task> = {}): Task {
  const placement = placementOf(taskId, wants);
  const { slot, serviceId, nodeId } = placement;
  return taskSchema.parse({
    ...placement,
    slotKey: slot === undefined ? `${serviceId}@${nodeId}` : `${serviceId}#${slot}`,
    pool: 'prod',
    version: 3,
    state: 'running',
    desiredState: 'running',
    released: false,
    appliedAt: NOW - 1000,
    stateTimes: { assigned: NOW - 2000, running: NOW - 1000 },
    desiredAt: NOW - 2000,
    createdAt: NOW - 2000,
    planId: 'plan-0',
    lastPlanId: 'plan-0',
    priority: 50,
    ...state,
  });
}

/** What a task would have of its node. */
export function holding(taskId: string, wants: Wants = {}): Holding {
  return holdingOf(placementOf(taskId, wants));
}

/** The account of node `n1` of pool `prod`, with what `tasks` hold taken. */
export function accountWith(spec: Partial<NodeSpecInput>, tasks: readonly Placement[] = []): Account {
  const account = accountOf(nodeOf({ nodeId: 'n1', pool: 'prod', capacity: {}, ...spec }));
  return exchanged(account, { gives: [], takes: tasks.map(holdingOf) });
}
