import type { Finding, History, PlanRecord, Tick, Violation } from './history.ts';
import { groupBy } from './history.ts';

/**
 * Invariant 4: plans of one pool take effect in the order of the queue: of two plans of which one was on the queue before
 * the other was pushed, the first has no later index. `checked` counts plans.
 */
export function checkInOrder(history: History): Finding {
  const plans = history.plans.filter(({ answer }) => answer !== undefined && answer.index > 0);
  const violations = [...groupBy(plans, ({ pool }) => pool).values()].flatMap(violationsOfPool);
  return { checked: plans.length, violations };
}

function violationsOfPool(plans: readonly PlanRecord[]): Violation[] {
  const violations: Violation[] = [];
  const byPush = [...plans].sort((a, b) => a.pushedAt - b.pushedAt);
  const byQueue = [...plans].sort((a, b) => queuedBy(a) - queuedBy(b));
  let highest: PlanRecord | undefined;
  let next = 0;
  for (const plan of byPush) {
    for (
      let before = byQueue[next];
      before !== undefined && queuedBy(before) < plan.pushedAt;
      before = byQueue[++next]
    ) {
      if (highest === undefined || indexOf(before) > indexOf(highest)) highest = before;
    }
    if (highest !== undefined && indexOf(plan) < indexOf(highest)) {
      const message = `it has index ${indexOf(plan)}, plan ${highest.planId}, which was on the queue before, has ${indexOf(highest)}`;
      violations.push({ invariant: 4, where: plan.planId, message });
    }
  }
  return violations;
}

/** When the queue had the plan at the latest. */
function queuedBy({ queuedAt, answeredAt }: PlanRecord): Tick {
  return queuedAt ?? answeredAt ?? Number.POSITIVE_INFINITY;
}

function indexOf({ answer }: PlanRecord): number {
  return answer?.index ?? 0;
}
