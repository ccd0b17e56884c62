import type { NodeId, PlanId } from '../ids.ts';
import type { Account } from '../nodes/account.ts';
import type { Pool } from '../nodes/pool.ts';
import type { Task } from '../tasks/task.ts';
import type { TaskKey } from './decide-part.ts';
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
}

/** What must be read before a batch can be decided. */
export interface Needs {
  readonly tasks: ReadonlySet<TaskKey>;
  readonly accounts: ReadonlySet<NodeId>;
}
