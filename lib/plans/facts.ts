import type { NodeId, PlanId } from '../ids.ts';
import type { Account } from '../nodes/account.ts';
import type { Pool } from '../nodes/pool.ts';
import type { NodeEvent } from '../nodes/profile.ts';
import type { Task } from '../tasks/task.ts';
import type { TaskKey } from './decide-part.ts';
import type { Progress } from './progress.ts';
import type { RejectionWindow } from './rejections.ts';
import type { PlanResult } from './result.ts';

/** A result as it is stored, with the fingerprint of the plan's content that it answers. */
export interface StoredResult {
  readonly result: PlanResult;
  /** Of the content: the same plan id with another content is told from a redelivery by it. */
  readonly fingerprint: string;
}

/**
 * What is known of the state while a batch is decided: read, or brought back by a failed condition. What is in none of
 * the maps was not looked at. Knowledge may be out of date; every write carries the condition that it is not.
 */
export interface Facts {
  pool: Pool | 'missing';
  readonly accounts: Map<NodeId, Account | 'missing'>;
  readonly tasks: Map<TaskKey, Task | 'missing'>;
  readonly results: Map<PlanId, StoredResult>;
  /** Plans past one transaction: how far they have come, or that they were not begun. */
  readonly progress: Map<PlanId, Progress | 'none'>;
  readonly windows: Map<NodeId, RejectionWindow | 'missing'>;
  readonly events: Map<NodeId, readonly NodeEvent[] | 'missing'>;
}

export function newFacts(pool: Pool | 'missing'): Facts {
  return {
    pool,
    accounts: new Map(),
    tasks: new Map(),
    results: new Map(),
    progress: new Map(),
    windows: new Map(),
    events: new Map(),
  };
}

/** What must be read before a batch can be decided. */
export interface Needs {
  readonly tasks: Set<TaskKey>;
  readonly accounts: Set<NodeId>;
  readonly windows: Set<NodeId>;
  /** Events of nodes that are to get one more. */
  readonly events: Set<NodeId>;
  readonly progress: Set<PlanId>;
}

export function noNeeds(): Needs {
  return { tasks: new Set(), accounts: new Set(), windows: new Set(), events: new Set(), progress: new Set() };
}

export function isNeedy({ tasks, accounts, windows, events, progress }: Needs): boolean {
  return tasks.size + accounts.size + windows.size + events.size + progress.size > 0;
}

/** Adds what `more` needs to `needs`. */
export function alsoNeeds(needs: Needs, more: Needs): void {
  for (const key of more.tasks) needs.tasks.add(key);
  for (const node of more.accounts) needs.accounts.add(node);
  for (const node of more.windows) needs.windows.add(node);
  for (const node of more.events) needs.events.add(node);
  for (const plan of more.progress) needs.progress.add(plan);
}
