import { duration, whole } from '../numbers.ts';
import { type BadNodeSummary, type BadNodesSummary, commandsToMend, isTakenOut } from './bad-nodes-summary.ts';
import type { Line } from './table-line.ts';

/** What the summary's table says of the bad nodes: when they were made ineligible, what got through then, and without the tracker. */
export function badNodesLines(bad: BadNodesSummary): Line[] {
  const { pool, tracker, nodes, othersMarked, withoutTracker: it } = bad;
  const lowered = `refusals in ${tracker.windowSeconds} s: lowered for the demo, usually ${tracker.defaultThreshold} in ${tracker.defaultWindowSeconds} s`;
  const { look, makeEligible } = commandsToMend(pool, nodes[0]?.nodeId ?? '');
  const kept = `refusals of ${whole(it.evaluations)} tasks in ${whole(it.plans)} plans, then given up: ${whole(it.placed)} placed, the node still ${it.eligibility}`;
  return [
    ['threshold', whole(tracker.threshold), lowered],
    ...nodes.flatMap(nodeLines),
    ...(othersMarked.length === 0 ? [] : [othersLine(othersMarked)]),
    ['without tracker', whole(it.refusals), kept],
    ['to see why', '', look],
    ['to bring one back', '', makeEligible],
  ];
}

function nodeLines(node: BadNodeSummary): Line[] {
  const { nodeId, refusals, refusedLater, evaluations } = node;
  const { refused, mostRefusals, placedAfterMark } = evaluations;
  const later = refusedLater === 0 ? '' : `; ${whole(refusedLater)} more by plans under way`;
  const waited = `tasks waited for it, refused up to ${whole(mostRefusals)} times; ${whole(placedAfterMark)} placed after that`;
  return [
    [nodeId, whole(refusals), `refusals, ${fateOf(node)}${later}`],
    ['', whole(refused), waited],
  ];
}

function fateOf(node: BadNodeSummary): string {
  const { marked, eligibility, event } = node;
  if (isTakenOut(node) && marked !== null)
    return `then ineligible, ${duration(marked.afterSeconds)} into the replay, by plan ${marked.planId}`;
  const told = marked === null ? 'no result made it ineligible' : `plan ${marked.planId} made it ineligible`;
  return `BROKEN: ${told}, in the tables it is ${eligibility} and its last event is ${event ?? 'none'}`;
}

function othersLine(nodes: readonly string[]): Line {
  return ['others', whole(nodes.length), `made ineligible since workers collided on them: ${nodes.join(', ')}`];
}
