import { PLAN_STATUSES, type PlanStatus } from '../../lib/plans/result.ts';
import { type OperationUsage, totalUsage, type Usage } from '../../local/dynamodb/usage.ts';
import { INVARIANTS, type InvariantNumber, type Violation } from '../invariants/history.ts';
import type { Findings } from '../run/audit.ts';
import type { BadNodesRun } from '../run/bad-nodes.ts';
import type { Replay } from '../run/replay.ts';
import { BOUNDS_UNCONTENDED, readsOf, type Uncontended } from '../run/uncontended.ts';
import type { Unplaceable } from '../workload/unplaceable.ts';
import type { Workload } from '../workload/workload.ts';
import { type BadNodesSummary, badNodesSummary } from './bad-nodes-summary.ts';

/** Broken invariants that are listed; of others only the number is told. */
const LISTED_VIOLATIONS = 50;

/**
 * What a run came to: what `--json` writes. Its shape is stable within an `apiVersion`: fields may be added, none is
 * taken away or changes its meaning. Described in the README of this folder.
 */
export interface Summary {
  readonly apiVersion: 'berth/v1';
  readonly kind: 'DemoSummary';
  readonly workload: {
    readonly source: string;
    readonly nodes: number;
    readonly tasks: number;
    readonly workers: number;
    readonly seed: number;
  };
  readonly tasks: {
    readonly placed: number;
    /** Of the placed ones, those that had to wait for room. */
    readonly waited: number;
    readonly ended: { readonly complete: number; readonly failed: number };
    readonly neverPlaceable: readonly { readonly reason: string; readonly tasks: number; readonly example: string }[];
  };
  readonly plans: Readonly<Record<PlanStatus, number>>;
  /** Refused nodes of plans, by code, the most frequent first. */
  readonly refusals: Readonly<Record<string, number>>;
  readonly replay: {
    readonly seconds: number;
    readonly simulatedSeconds: number;
    readonly plansPerSecond: number;
    readonly placementsPerSecond: number;
  };
  /** What the plan applier asked of DynamoDB during the replay. */
  readonly dynamodb: {
    readonly requests: number;
    readonly reads: number;
    readonly writeUnits: number;
    readonly cancelled: number;
    readonly requestsPerPlan: number;
    readonly requestsPerPlacement: number;
    readonly writeUnitsPerPlan: number;
    readonly writeUnitsPerPlacement: number;
    readonly byOperation: Usage;
  };
  readonly uncontended: Uncontended & { readonly bounds: typeof BOUNDS_UNCONTENDED };
  /** There with `--bad-nodes` alone. */
  readonly badNodes?: BadNodesSummary;
  readonly invariants: readonly {
    readonly number: InvariantNumber;
    readonly name: string;
    /** Facts that were looked at. */
    readonly checked: number;
    readonly broken: number;
    readonly violations: readonly Omit<Violation, 'invariant'>[];
  }[];
  /** 0: all is well. 1: an invariant or a bound is broken, or a bad node was not made ineligible. */
  readonly exitStatus: 0 | 1;
}

export interface RunFacts {
  readonly workload: Workload;
  readonly workers: number;
  readonly seed: number;
  readonly unplaceable: readonly Unplaceable[];
  readonly replay: Replay;
  /** What the plan applier used during the replay. */
  readonly usage: Usage;
  readonly uncontended: Uncontended;
  /** undefined: there were none. */
  readonly badNodes?: BadNodesRun | undefined;
  readonly findings: Findings;
}

export function summaryOf(facts: RunFacts): Summary {
  const { workload, workers, seed, unplaceable, replay, usage, uncontended, findings } = facts;
  const invariants = invariantsOf(findings);
  const seconds = replay.elapsedMs / 1000;
  const plans = plansOf(replay);
  const badNodes = facts.badNodes === undefined ? undefined : badNodesSummary(facts.badNodes);
  const broken = invariants.some((invariant) => invariant.broken > 0) || badNodes?.asExpected === false;
  return {
    apiVersion: 'berth/v1',
    kind: 'DemoSummary',
    workload: { source: workload.source, nodes: workload.nodes.length, tasks: workload.tasks.length, workers, seed },
    tasks: {
      placed: replay.placed,
      waited: replay.waited,
      ended: replay.ended,
      neverPlaceable: reasonsOf(unplaceable),
    },
    plans,
    refusals: refusalsOf(replay),
    replay: {
      seconds,
      simulatedSeconds: (replay.allocations.at(-1)?.at ?? 0) - (replay.allocations[0]?.at ?? 0),
      plansPerSecond: ratio(replay.plans.length, seconds),
      placementsPerSecond: ratio(replay.placed, seconds),
    },
    dynamodb: costsOf(usage, replay.plans.length, replay.placed),
    uncontended: { ...uncontended, bounds: BOUNDS_UNCONTENDED },
    ...(badNodes === undefined ? {} : { badNodes }),
    invariants,
    exitStatus: broken || !uncontended.withinBounds ? 1 : 0,
  };
}

function plansOf({ plans }: Replay): Record<PlanStatus, number> {
  const counts = Object.fromEntries(PLAN_STATUSES.map((status) => [status, 0])) as Record<PlanStatus, number>;
  for (const { result } of plans) counts[result.status] += 1;
  return counts;
}

function refusalsOf({ plans }: Replay): Record<string, number> {
  const counts = new Map<string, number>();
  for (const { code } of plans.flatMap(({ result }) => result.rejectedNodes))
    counts.set(code, (counts.get(code) ?? 0) + 1);
  return Object.fromEntries([...counts].sort(([a, most], [b, more]) => more - most || (a < b ? -1 : 1)));
}

function reasonsOf(unplaceable: readonly Unplaceable[]): Summary['tasks']['neverPlaceable'] {
  const reasons = new Map<string, { reason: string; tasks: number; example: string }>();
  for (const { task, reason } of unplaceable) {
    const entry = reasons.get(reason) ?? { reason, tasks: 0, example: task.name };
    entry.tasks += 1;
    reasons.set(reason, entry);
  }
  return [...reasons.values()].sort((a, b) => b.tasks - a.tasks);
}

function costsOf(usage: Usage, plans: number, placements: number): Summary['dynamodb'] {
  const total: OperationUsage = totalUsage(usage);
  return {
    requests: total.requests,
    reads: readsOf(usage),
    writeUnits: total.writeUnits,
    cancelled: total.failed.TransactionCanceledException ?? 0,
    requestsPerPlan: ratio(total.requests, plans),
    requestsPerPlacement: ratio(total.requests, placements),
    writeUnitsPerPlan: ratio(total.writeUnits, plans),
    writeUnitsPerPlacement: ratio(total.writeUnits, placements),
    byOperation: usage,
  };
}

function invariantsOf(findings: Findings): Summary['invariants'] {
  return ([1, 2, 3, 4] as const).map((number) => {
    const { checked, violations } = findings[number];
    const listed = violations.slice(0, LISTED_VIOLATIONS).map(({ where, message }) => ({ where, message }));
    return { number, name: INVARIANTS[number], checked, broken: violations.length, violations: listed };
  });
}

/** 0 where there was nothing. */
function ratio(of: number, by: number): number {
  return by > 0 ? of / by : 0;
}
