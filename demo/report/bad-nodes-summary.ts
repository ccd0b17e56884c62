import { TRACKER_DEFAULTS } from '../../lib/settings.ts';
import type { BadNodeFacts, BadNodesRun } from '../run/bad-nodes.ts';
import type { WithoutTracker } from '../run/without-tracker.ts';

/** What `--bad-nodes` adds to the summary. Times are seconds since the replay began. */
export interface BadNodesSummary {
  readonly pool: string;
  /** Refusals in so many seconds that make a node of this pool ineligible, and what they are where nobody sets them. */
  readonly tracker: {
    readonly threshold: number;
    readonly windowSeconds: number;
    readonly defaultThreshold: number;
    readonly defaultWindowSeconds: number;
  };
  readonly nodes: readonly BadNodeSummary[];
  /** Good nodes that were made ineligible, since workers collided on them. */
  readonly othersMarked: readonly string[];
  /** The evaluations of the first bad node in a pool whose tracker is off. */
  readonly withoutTracker: WithoutTracker;
  /** Whether results and tables agree that each bad node was made ineligible. */
  readonly asExpected: boolean;
}

export interface BadNodeSummary {
  readonly nodeId: string;
  /** Refusals that counted: all of them before it was made ineligible. */
  readonly refusals: number;
  /** When the workers were told of each. */
  readonly refusedAfterSeconds: readonly number[];
  /** Refusals by plans that were on their way when it was made ineligible. */
  readonly refusedLater: number;
  /** The plan whose result says that it was made ineligible; null: none does. */
  readonly marked: { readonly planId: string; readonly index: number; readonly afterSeconds: number } | null;
  /** Evaluations that it refused, the most refusals of one of them, and how many were placed by a commit after it was marked. */
  readonly evaluations: { readonly refused: number; readonly mostRefusals: number; readonly placedAfterMark: number };
  /** As the tables have it at the end. */
  readonly eligibility: string;
  /** Its last event in the tables, null if it has none. */
  readonly event: string | null;
}

export function badNodesSummary(run: BadNodesRun): BadNodesSummary {
  const nodes = run.nodes.map(nodeSummary);
  return {
    pool: run.pool,
    tracker: {
      ...run.tracker,
      defaultThreshold: TRACKER_DEFAULTS.threshold,
      defaultWindowSeconds: TRACKER_DEFAULTS.windowSeconds,
    },
    nodes,
    othersMarked: run.othersMarked,
    withoutTracker: run.untracked,
    asExpected: nodes.every(isTakenOut),
  };
}

/** Whether a result says that the node was made ineligible, and its account and its events in the tables say so too. */
export function isTakenOut({ marked, eligibility, event }: BadNodeSummary): boolean {
  return marked !== null && eligibility === 'ineligible' && event?.startsWith('made ineligible') === true;
}

function nodeSummary(facts: BadNodeFacts): BadNodeSummary {
  const { nodeId, refusedAfterMs, refusedLater, mark, evaluations, eligibility, event } = facts;
  return {
    nodeId,
    refusals: refusedAfterMs.length,
    refusedAfterSeconds: refusedAfterMs.map((ms) => ms / 1000),
    refusedLater,
    marked: mark === undefined ? null : { planId: mark.planId, index: mark.index, afterSeconds: mark.afterMs / 1000 },
    evaluations: {
      refused: evaluations.length,
      mostRefusals: evaluations.reduce((most, { refusals }) => Math.max(most, refusals), 0),
      placedAfterMark: evaluations.filter(({ placedAfterMark }) => placedAfterMark).length,
    },
    eligibility,
    event: event ?? null,
  };
}

/** How an operator of a cluster brings a node back, once it was seen to. */
export function commandsToMend(pool: string, nodeId: string): { readonly look: string; readonly makeEligible: string } {
  return {
    look: `berth node show ${pool} ${nodeId}`,
    makeEligible: `berth node eligibility ${pool} ${nodeId} eligible`,
  };
}
