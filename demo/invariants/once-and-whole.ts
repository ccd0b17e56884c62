import { isDeepStrictEqual } from 'node:util';
import type { Finding, History, PlannedPlacement, PlanRecord, StoredState, StoredTask, Violation } from './history.ts';
import { groupBy } from './history.ts';
import { committedPlacements } from './overcommit-ever.ts';

/**
 * Invariant 2: every plan has the one stored result that its worker was told, and every committed placement exists once,
 * as it was planned, and no other task exists. `checked` counts plans and tasks.
 */
export function checkOnce(history: History, state: StoredState): Finding {
  const violations: Violation[] = [];
  const broken = (where: string, message: string) => violations.push({ invariant: 2, where, message });
  const stored = groupBy(state.tasks, ({ taskId }) => taskId);
  const committed = new Map<string, string>();
  for (const plan of history.plans) {
    checkResult(plan, state, broken);
    for (const placement of committedPlacements(plan)) {
      const before = committed.get(placement.taskId);
      if (before !== undefined)
        broken(placement.taskId, `it was committed by plan ${before} and again by plan ${plan.planId}`);
      committed.set(placement.taskId, plan.planId);
      const copies = stored.get(placement.taskId) ?? [];
      if (copies.length !== 1)
        broken(placement.taskId, `plan ${plan.planId} committed it once, and it exists ${copies.length} times`);
      else if (!isAsPlanned(copies[0], placement))
        broken(placement.taskId, `it is not what plan ${plan.planId} asked for`);
    }
  }
  for (const { taskId, planId } of state.tasks) {
    if (committed.get(taskId) !== planId) broken(taskId, `it exists by plan ${planId}, whose result does not say so`);
  }
  return { checked: history.plans.length + state.tasks.length, violations };
}

function checkResult(plan: PlanRecord, state: StoredState, broken: (where: string, message: string) => void): void {
  const { planId, answer } = plan;
  const result = state.results.get(planId);
  if (result === undefined) broken(planId, 'it was pushed and has no stored result');
  if (answer === undefined) {
    broken(planId, 'its worker was never told a result');
    return;
  }
  if (result !== undefined && !isDeepStrictEqual(answer, result))
    broken(planId, 'its stored result is another than its worker was told');
  const placed = committedPlacements(plan).length;
  if (answer.committed.placements !== placed) {
    broken(planId, `its result counts ${answer.committed.placements} placements, its refused nodes leave ${placed}`);
  }
}

/**
 * Invariant 3: of each node of a plan all or nothing was committed. Looks at the tasks that exist, not at what the result
 * says of them. `checked` counts nodes of plans.
 */
export function checkWhole(history: History, state: StoredState): Finding {
  const violations: Violation[] = [];
  const stored = groupBy(state.tasks, ({ taskId }) => taskId);
  let checked = 0;
  for (const { planId, placements } of history.plans) {
    for (const [nodeId, ofNode] of groupBy(placements, (placement) => placement.nodeId)) {
      const there = ofNode.filter(({ taskId }) => stored.get(taskId)?.some((task) => task.planId === planId));
      checked += 1;
      if (there.length !== 0 && there.length !== ofNode.length) {
        violations.push({
          invariant: 3,
          where: planId,
          message: `${there.length} of its ${ofNode.length} placements on node ${nodeId} exist`,
        });
      }
    }
  }
  return { checked, violations };
}

function isAsPlanned(task: StoredTask | undefined, { nodeId, resources, devices }: PlannedPlacement): boolean {
  return isDeepStrictEqual([task?.nodeId, task?.resources, task?.devices], [nodeId, resources, devices]);
}
