/**
 * What the check of the invariants looks at, in its own words: it is written apart from the product's code, so that a
 * mistake there is not made here as well. Types of results and tasks are the product's, since they are its contract.
 */
import type { Resources } from '../../lib/nodes/resources.ts';
import type { PlanResult } from '../../lib/plans/result.ts';

/** A number that grows with every event seen: of two events of one process it tells which came first. */
export type Tick = number;

export interface RegisteredNode {
  readonly nodeId: string;
  readonly pool: string;
  readonly capacity: Resources;
  readonly devices: readonly string[];
}

export interface PlannedPlacement {
  readonly taskId: string;
  readonly nodeId: string;
  readonly resources: Resources;
  readonly devices: readonly string[];
}

/** A plan that was pushed, and what the worker was told of it. */
export interface PlanRecord {
  readonly planId: string;
  readonly pool: string;
  readonly placements: readonly PlannedPlacement[];
  /** Before it went to the queue. */
  readonly pushedAt: Tick;
  /** When the queue had it, where that was seen; it is no later than `answeredAt`. */
  queuedAt?: Tick;
  answer?: PlanResult;
  answeredAt?: Tick;
}

/** A report that a task has ended, which gives its resources back. */
export interface EndRecord {
  readonly taskId: string;
  /** Before it was sent: the resources cannot have been given back before. */
  readonly sentAt: Tick;
  outcome?: 'applied' | 'unchanged' | 'not-found';
}

export interface History {
  readonly nodes: readonly RegisteredNode[];
  readonly plans: readonly PlanRecord[];
  readonly ends: readonly EndRecord[];
}

/** What stands in the tables. */
export interface StoredState {
  readonly nodes: readonly StoredNode[];
  readonly tasks: readonly StoredTask[];
  /** Results by plan id, of the plans of the history. */
  readonly results: ReadonlyMap<string, PlanResult>;
}

export interface StoredNode {
  readonly nodeId: string;
  readonly capacity: Resources;
  readonly free: Resources;
  readonly claims: ReadonlyMap<string, string>;
}

export interface StoredTask extends PlannedPlacement {
  readonly planId: string;
  readonly state: string;
  readonly released: boolean;
}

/** The invariants of the architecture that the demo checks, in its words. */
export const INVARIANTS = {
  1: 'no overcommit',
  2: 'once',
  3: 'whole',
  4: 'in order',
} as const;
export type InvariantNumber = keyof typeof INVARIANTS;

/** Something that must not be. */
export interface Violation {
  readonly invariant: InvariantNumber;
  /** Node, plan or task. */
  readonly where: string;
  readonly message: string;
}

/** What a check looked at, so that a check over nothing does not pass as a good one, and what it found. */
export interface Finding {
  readonly checked: number;
  readonly violations: readonly Violation[];
}

/** Several findings as one. */
export function joined(findings: readonly Finding[]): Finding {
  return {
    checked: findings.reduce((sum, { checked }) => sum + checked, 0),
    violations: findings.flatMap(({ violations }) => violations),
  };
}

/** `items` by what `keyOf` answers, in the order in which the keys come up. */
export function groupBy<T>(items: Iterable<T>, keyOf: (item: T) => string): ReadonlyMap<string, readonly T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group === undefined) groups.set(keyOf(item), [item]);
    else group.push(item);
  }
  return groups;
}
