import type { NodeId } from '../lib/ids.ts';
import { scoreOf } from '../lib/plans/rejections.ts';
import type { PlanResult } from '../lib/plans/result.ts';
import { imbalances } from './balance.ts';
import { type Committed, committedOf, NOTHING, strayTasks } from './effects.ts';
import type { Delivered, Outcome } from './outcome.ts';
import type { PlanCase, PlanExpectation } from './plan-case.ts';

/** Where the outcome of a case is not what the case expects, and where the state at its end does not add up. */
export function differences(planCase: PlanCase, outcome: Outcome): string[] {
  const perPlan = planCase.expect.perPlan.flatMap((expected, at) => {
    const plan = planCase.plans[at];
    const delivered = outcome.delivered[at] ?? { kind: 'nothing', reason: 'it was not delivered' };
    return planDifferences(planCase, at, expected, delivered, outcome).map(
      (problem) => `plan ${nameOf(plan, at)}: ${problem}`,
    );
  });
  return [
    ...perPlan,
    ...scoreDifferences(planCase, outcome),
    ...strayTasks(planCase, outcome),
    ...imbalances(outcome.after, outcome.before),
  ];
}

/** Scores at the end; a node that the case does not name has none. */
function scoreDifferences({ pool, expect: { scores } }: PlanCase, { after, endedAt }: Outcome): string[] {
  if (scores === undefined) return [];
  return [...new Set([...Object.keys(scores), ...after.windows.keys()])].flatMap((node) => {
    const expected = Object.hasOwn(scores, node) ? (scores[node] ?? 0) : 0;
    const came = scoreOf(after.windows.get(node as NodeId), endedAt, pool.settings.tracker);
    return expected === came ? [] : [`node ${node}: expected score ${expected}, came ${came}`];
  });
}

function nameOf(plan: unknown, at: number): string {
  const id = typeof plan === 'object' && plan !== null && 'planId' in plan ? plan.planId : undefined;
  return typeof id === 'string' && id !== '' ? id : `[${at}]`;
}

function planDifferences(
  planCase: PlanCase,
  at: number,
  expected: PlanExpectation,
  delivered: Delivered,
  outcome: Outcome,
): string[] {
  const plan = planCase.plans[at];
  if ('planId' in expected && text(expected.planId) !== text((plan as { planId?: unknown } | null)?.planId)) {
    return [`expect.perPlan is not in the order of the plans: it names ${text(expected.planId)} here`];
  }
  if (delivered.kind === 'nothing') return [`expected ${expected.status}, came nothing: ${delivered.reason}`];
  if (delivered.kind === 'quarantined') {
    // Nothing says which plan it is, so there is no result: the message, whole, in the quarantine queue stands for one.
    return comparison(expected, { status: 'invalid' }, NOTHING, 'in quarantine');
  }
  const { result } = delivered;
  const { committed, problems } = committedOf(planCase, result, outcome);
  return [...comparison(expected, result, committed, reasonsIn(result)), ...problems];
}

type Answer = Pick<PlanResult, 'status'> & Partial<PlanResult>;

/** The expectations that were not met, each as what was expected and what came; only those that the case states. */
function comparison(expected: PlanExpectation, came: Answer, committed: Committed, reasons: string): string[] {
  const refused = (nodes: readonly { readonly nodeId: string; readonly code: string }[]) =>
    nodes.map(({ nodeId, code }) => `${nodeId}: ${code}`);
  const states: (readonly [what: string, expected: string | undefined, came: string])[] = [
    ['status', expected.status, came.status],
    ['rejectedNodes', listed(expected.rejectedNodes, refused), list(refused(came.rejectedNodes ?? []))],
    ['committed.placements', listed(expected.committed?.placements), list(committed.placements)],
    ['committed.stops', listed(expected.committed?.stops), list(committed.stops)],
    ['committed.preemptions', listed(expected.committed?.preemptions), list(committed.preemptions)],
    [
      'refresh',
      expected.refresh === undefined ? undefined : `${expected.refresh}`,
      `${(came.refreshIndex ?? 0) !== 0}`,
    ],
    ['ineligibleNodes', listed(expected.ineligibleNodes), list(came.ineligibleNodes ?? [])],
    ['alreadyGone', listed(expected.alreadyGone), list(came.alreadyGone ?? [])],
  ];
  return states.flatMap(([what, wanted, got]) => {
    if (wanted === undefined || wanted === got) return [];
    const because = what === 'status' && reasons !== '' ? ` (${reasons})` : '';
    return [`expected ${what} ${shortened(wanted)}, came ${shortened(got)}${because}`];
  });
}

function listed<T>(expected: readonly T[] | undefined, texts?: (items: readonly T[]) => readonly string[]) {
  return expected && list(texts ? texts(expected) : expected.map(String));
}

/** As a set: in one order, whatever the order was. */
function list(items: readonly string[]): string {
  return `[${[...items].sort().join(', ')}]`;
}

/** What the result itself says of its status. */
function reasonsIn({ problems, rejectedNodes }: PlanResult): string {
  const reasons = [
    ...problems.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)),
    ...rejectedNodes.map(({ nodeId, message }) => `${nodeId}: ${message}`),
  ];
  return shortened(reasons.join('; '));
}

const LINE = 200;

function shortened(text: string): string {
  return text.length <= LINE ? text : `${text.slice(0, LINE)}… (${text.length} characters)`;
}

function text(value: unknown): string {
  return JSON.stringify(value) ?? 'nothing';
}
