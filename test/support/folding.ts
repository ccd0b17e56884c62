import type { NodeId, PlanId } from '../../lib/ids.ts';
import type { Account } from '../../lib/nodes/account.ts';
import type { Pool } from '../../lib/nodes/pool.ts';
import type { NodeEvent } from '../../lib/nodes/profile.ts';
import { taskKeyOf } from '../../lib/plans/decide-part.ts';
import type { Delivery } from '../../lib/plans/delivery.ts';
import { type Facts, newFacts, type StoredResult } from '../../lib/plans/facts.ts';
import { type Fold, foldPlans } from '../../lib/plans/fold.ts';
import type { RejectionWindow } from '../../lib/plans/rejections.ts';
import type { Task } from '../../lib/tasks/task.ts';
import { NOW, type PlacementInput } from './builders.ts';
import { deliveryOf, poolOf } from './plans.ts';

export interface KnownFacts {
  readonly pool?: Pool | 'missing';
  readonly accounts?: readonly Account[];
  /** Nodes that were looked for in vain. */
  readonly noNodes?: readonly string[];
  readonly tasks?: readonly Task[];
  /** Placements or orders whose tasks were looked for in vain. */
  readonly noTasks?: readonly Pick<PlacementInput, 'taskId' | 'serviceId' | 'slot' | 'nodeId'>[];
  readonly results?: readonly StoredResult[];
  readonly windows?: readonly RejectionWindow[];
  readonly noWindows?: readonly string[];
  readonly events?: Readonly<Record<string, readonly NodeEvent[]>>;
}

/** What is known, and nothing else. The pool is `prod` at index 7, unless it is given. */
export function factsOf(known: KnownFacts = {}): Facts {
  const facts = newFacts(known.pool ?? poolOf('prod', { index: 7 }));
  for (const account of known.accounts ?? []) facts.accounts.set(account.nodeId, account);
  for (const node of known.noNodes ?? []) facts.accounts.set(node as NodeId, 'missing');
  for (const task of known.tasks ?? []) facts.tasks.set(taskKeyOf(task), task);
  for (const task of known.noTasks ?? []) facts.tasks.set(taskKeyOf(task as Task), 'missing');
  for (const stored of known.results ?? []) facts.results.set(stored.result.planId, stored);
  for (const window of known.windows ?? []) facts.windows.set(window.nodeId, window);
  for (const node of known.noWindows ?? []) facts.windows.set(node as NodeId, 'missing');
  for (const [node, events] of Object.entries(known.events ?? {})) facts.events.set(node as NodeId, events);
  return facts;
}

/** A plan of pool `prod` as the queue delivers it. */
export function delivered(planId: string, plan: Readonly<Record<string, unknown>>): Delivery {
  return deliveryOf({ planId: planId as PlanId, pool: 'prod', ...plan });
}

export type Group = Extract<Fold, { kind: 'group' }>;

/** The group that `deliveries` come to; throws if something must be read first. */
export function folded(deliveries: readonly Delivery[], facts: Facts, allowance?: number): Group {
  const fold = foldPlans(deliveries, facts, NOW, allowance);
  if (fold.kind !== 'group')
    throw new Error(
      `not decided: ${JSON.stringify(fold, (_name, value) => (value instanceof Set ? [...value] : value))}`,
    );
  return fold;
}
