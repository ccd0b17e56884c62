import type { PoolName } from '../../lib/ids.ts';
import type { Account } from '../../lib/nodes/account.ts';
import type { StopRelease } from '../../lib/nodes/pool.ts';
import { checkPlan } from '../../lib/plans/check-plan.ts';
import { decidePart, type NodePart, type PartOutcome, partsOf, taskKeyOf } from '../../lib/plans/decide-part.ts';
import type { Plan, PlanInput } from '../../lib/plans/plan.ts';
import type { Task } from '../../lib/tasks/task.ts';
import { NOW, type PlacementInput } from './builders.ts';

type Entries = Pick<PlanInput, 'placements' | 'stops' | 'preemptions'>;

/** A plan of pool `prod`, checked. */
export function planOf(input: Omit<PlanInput, 'planId' | 'pool'> & { planId?: string; pool?: string }): Plan {
  const checked = checkPlan({ planId: 'plan-1', pool: 'prod', ...input });
  if ('problems' in checked) throw new Error(JSON.stringify(checked.problems));
  return checked.plan;
}

/** A placement of slot 1 of `web` on `n1`, unless `wants` says otherwise. */
export function placing(taskId: string, wants: Partial<PlacementInput> = {}): PlacementInput {
  return { taskId, serviceId: 'web', slot: 1, nodeId: 'n1', ...wants };
}

/** A stop or preemption of a task of slot 1 of `web` on `n1`. */
export function ending<E extends object>(taskId: string, more: E = {} as E) {
  return { taskId, serviceId: 'web', slot: 1, nodeId: 'n1', ...more };
}

export interface Known {
  readonly account?: Account | 'missing';
  readonly tasks?: readonly Task[];
  /** Tasks that were looked for in vain; `true`: every task that is not in `tasks`. */
  readonly missing?: true | readonly string[];
  readonly stopRelease?: StopRelease;
}

/** What comes of the only part of a plan of `entries`. */
export function decide(
  entries: Entries,
  { account, tasks = [], missing = true, stopRelease = 'plan' }: Known,
): PartOutcome {
  const plan = planOf(entries);
  const known = new Map<string, Task | 'missing'>(tasks.map((task) => [taskKeyOf(task), task]));
  const [part, ...more] = partsOf(plan);
  if (part === undefined || more.length > 0) throw new Error('a part of one node is expected');
  return decidePart(part as NodePart, account, {
    plan,
    pool: 'prod' as PoolName,
    stopRelease,
    now: NOW,
    task: (key) =>
      known.get(key) ?? (missing === true || missing.some((id) => key.endsWith(` ${id}`)) ? 'missing' : undefined),
  });
}
