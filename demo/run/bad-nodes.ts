import type { Berth, Eligibility, PlanResult } from '../../lib/client/index.ts';
import type { PlanRecord } from '../invariants/history.ts';
import { committedPlacements } from '../invariants/overcommit-ever.ts';
import type { BadNode } from '../workload/bad-nodes.ts';
import type { PlanOutcome } from './replay.ts';
import type { WithoutTracker } from './without-tracker.ts';

/**
 * When the demo's pool with bad nodes makes a node ineligible: the default of 100 in 300 seconds takes a demo too long. Not
 * lower, since workers that collide count as well: of the built-in workload's good nodes the one that is most in demand is refused
 * about 17 times in a minute.
 */
export const DEMO_TRACKER = { threshold: 40, windowSeconds: 120 } as const;

/** Refusals of a node that was marked, by plans on their way meanwhile: those count no more. */
const AFTER_MARK: string = 'node-ineligible';

/** What the results of the plans say about one bad node, and what stands in the tables at the end. */
export interface BadNodeFacts {
  readonly nodeId: string;
  /** Milliseconds since the replay began at which the workers were told of each refusal that counts, ascending. */
  readonly refusedAfterMs: readonly number[];
  /** Refusals by plans that were on their way when it was made ineligible. */
  readonly refusedLater: number;
  /** The result that says it was made ineligible; undefined: none does. */
  readonly mark: { readonly planId: string; readonly index: number; readonly afterMs: number } | undefined;
  /** The tasks that it refused, each once. */
  readonly evaluations: readonly RefusedEvaluation[];
  /** As the tables have it when the replay is over. */
  readonly eligibility: Eligibility;
  /** Its last event in the tables; undefined: it has none. */
  readonly event: string | undefined;
}

export interface RefusedEvaluation {
  readonly taskId: string;
  /** How often this node refused it. */
  readonly refusals: number;
  /** Whether it was placed by a commit after the one that made the node ineligible. */
  readonly placedAfterMark: boolean;
}

export interface BadNodesSeen {
  readonly pool: string;
  /** Plans of the pool, each with what it asked for and its answer. */
  readonly plans: readonly PlanRecord[];
  readonly outcomes: readonly PlanOutcome[];
}

/** What the bad nodes of a run came to. */
export interface BadNodesRun {
  readonly pool: string;
  readonly tracker: typeof DEMO_TRACKER;
  readonly nodes: readonly BadNodeFacts[];
  /** Nodes of results' `ineligibleNodes` that are none of the bad ones: collisions alone have marked them. */
  readonly othersMarked: readonly string[];
  readonly untracked: WithoutTracker;
}

/** What became of the bad nodes of a pool, once nothing is under way any more, and then what `compare` answers. */
export async function badNodesRun(
  cluster: Pick<Berth, 'node'>,
  badNodes: readonly BadNode[],
  seen: BadNodesSeen,
  compare: () => Promise<WithoutTracker>,
): Promise<BadNodesRun> {
  const facts: BadNodeFacts[] = [];
  for (const { node } of badNodes) {
    const { account, events } = await cluster.node(seen.pool, node.name);
    const { eligibility } = account;
    facts.push({ ...factsOf(node.name, seen), eligibility, event: events.at(-1)?.message });
  }
  const others = othersMarked(badNodes, seen.outcomes);
  return { pool: seen.pool, tracker: DEMO_TRACKER, nodes: facts, othersMarked: others, untracked: await compare() };
}

function othersMarked(badNodes: readonly BadNode[], outcomes: readonly PlanOutcome[]): string[] {
  const bad = new Set<string>(badNodes.map(({ node }) => node.name));
  return outcomes.flatMap(({ result }) => result.ineligibleNodes).filter((nodeId) => !bad.has(nodeId));
}

function factsOf(nodeId: string, { pool, plans, outcomes }: BadNodesSeen) {
  const refused = outcomes.flatMap(({ afterMs, result }) => {
    const code = codeOf(result, nodeId);
    return code === undefined ? [] : [{ afterMs, counts: code !== AFTER_MARK }];
  });
  const marking = outcomes.find(({ result }) => result.ineligibleNodes.some((marked) => marked === nodeId));
  const mark =
    marking === undefined
      ? undefined
      : { planId: marking.result.planId, index: marking.result.index, afterMs: marking.afterMs };
  const counted = refused.filter(({ counts }) => counts).map(({ afterMs }) => afterMs);
  return {
    nodeId,
    refusedAfterMs: counted.sort((a, b) => a - b),
    refusedLater: refused.length - counted.length,
    mark,
    evaluations: evaluationsOf(
      nodeId,
      plans.filter((plan) => plan.pool === pool),
      mark?.index,
    ),
  };
}

function evaluationsOf(
  nodeId: string,
  plans: readonly PlanRecord[],
  markIndex: number | undefined,
): RefusedEvaluation[] {
  const refusals = new Map<string, number>();
  const placedAt = new Map<string, number>();
  for (const plan of plans) {
    const { answer, placements } = plan;
    if (answer === undefined) continue;
    for (const { taskId } of committedPlacements(plan)) placedAt.set(taskId, answer.index);
    if (codeOf(answer, nodeId) === undefined) continue;
    for (const placement of placements) {
      if (placement.nodeId === nodeId) refusals.set(placement.taskId, (refusals.get(placement.taskId) ?? 0) + 1);
    }
  }
  return [...refusals].map(([taskId, times]) => {
    const placedAfterMark = markIndex !== undefined && (placedAt.get(taskId) ?? 0) > markIndex;
    return { taskId, refusals: times, placedAfterMark };
  });
}

function codeOf({ rejectedNodes }: PlanResult, nodeId: string): string | undefined {
  return rejectedNodes.find((rejected) => rejected.nodeId === nodeId)?.code;
}

/** Refusals of a bad node after which the demo gives up, in thresholds: Berth does not do what it is to show. */
const GIVES_UP_AFTER = 10;

/** Is told of every result; throws when a bad node is refused on and on, so that the demo of a loop cannot become one. */
export function loopGuard(badNodes: readonly BadNode[]): (result: PlanResult) => void {
  const refusals = new Map<string, number>(badNodes.map(({ node }) => [node.name, 0]));
  return ({ rejectedNodes }) => {
    for (const { nodeId } of rejectedNodes) {
      const before = refusals.get(nodeId);
      if (before === undefined) continue;
      refusals.set(nodeId, before + 1);
      if (before + 1 < DEMO_TRACKER.threshold * GIVES_UP_AFTER) continue;
      throw new Error(
        `node ${nodeId} was refused ${before + 1} times; its pool makes a node ineligible after ${DEMO_TRACKER.threshold} in ${DEMO_TRACKER.windowSeconds} s, and the workers still choose it`,
      );
    }
  };
}
