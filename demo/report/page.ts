import { duration, figure, whole } from '../numbers.ts';
import type { Replay } from '../run/replay.ts';
import type { Workload } from '../workload/workload.ts';
import { badNodesPart } from './bad-nodes-part.ts';
import { allocationChart, plansChart, refusalsChart, runningChart, waitingChart } from './figures.ts';
import { pageFrame, tileList } from './page-frame.ts';
import { type Cell, section, table } from './page-parts.ts';
import type { Summary } from './summary.ts';

/** The report: one HTML page that needs nothing else, in light and dark, with every number of the summary. */
export function reportPage(summary: Summary, replay: Replay, workload: Workload): string {
  return pageFrame(
    headline(summary),
    lead(summary),
    tiles(summary),
    section(
      'Allocation',
      'How much of the cluster the running tasks hold, over simulated time.',
      allocationChart(replay, workload),
    ),
    section(
      'Tasks',
      'Tasks that run, and tasks that wait because there is no room for them at present.',
      runningChart(replay),
      waitingPart(summary, replay),
    ),
    section(
      'Plans',
      'Plans of all workers by what became of them, over the time that the replay took.',
      plansChart(replay),
    ),
    section('Refusals', refusalsText(summary), refusalsChart(replay)),
    summary.badNodes === undefined ? '' : badNodesPart(summary.badNodes, summary.replay.seconds),
    '<div class="columns">',
    neverTable(summary),
    refusalsTable(summary),
    costsTable(summary),
    uncontendedTable(summary),
    invariantsTable(summary),
    '</div>',
  );
}

function headline({ workload }: Summary): string {
  return `${whole(workload.tasks)} tasks on ${whole(workload.nodes)} nodes`;
}

function lead({ workload, replay }: Summary): string {
  const workers = workload.workers === 1 ? 'One scheduler worker' : `${workload.workers} scheduler workers`;
  const days = figure(replay.simulatedSeconds / 86_400);
  const source = workload.source.startsWith('built-in') ? `the ${workload.source}` : workload.source;
  return `${workers} on stale views, one plan applier: ${days} days of ${source}, replayed in ${duration(replay.seconds)} on one machine.`;
}

function tiles(summary: Summary): string {
  const { tasks, plans, replay, invariants } = summary;
  const ended = tasks.ended.complete + tasks.ended.failed;
  const broken = invariants.reduce((sum, invariant) => sum + invariant.broken, 0);
  const checked = invariants.reduce((sum, invariant) => sum + invariant.checked, 0);
  const never = tasks.neverPlaceable.reduce((sum, { tasks: count }) => sum + count, 0);
  const all = Object.values(plans).reduce((sum, count) => sum + count, 0);
  return tileList([
    [whole(tasks.placed), 'tasks placed', `${whole(ended)} ended, ${whole(tasks.waited)} waited for room`],
    [whole(never), 'never placeable', 'fit no empty node'],
    [
      whole(all),
      'plans',
      `${whole(plans.applied)} applied, ${whole(plans.partial)} partial, ${whole(plans.rejected)} rejected`,
    ],
    [figure(replay.placementsPerSecond), 'placements a second', `${figure(replay.plansPerSecond)} plans a second`],
    [whole(broken), 'broken invariants', `of ${whole(checked)} facts checked`, broken === 0 ? 'good' : 'bad'],
  ]);
}

function refusalsText({ badNodes }: Summary): string {
  const why =
    badNodes === undefined ? 'since another worker was first' : 'since another worker was first, or since they are bad';
  return `Nodes that refused their part of a plan, ${why}: the worker looks again, and plans again.`;
}

function waitingPart({ tasks }: Summary, replay: Replay): string {
  return tasks.waited === 0 ? '<p>No task had to wait for room.</p>' : waitingChart(replay);
}

function neverTable({ tasks }: Summary): string {
  const rows = tasks.neverPlaceable.map(({ reason, tasks: count, example }) => [reason, example, count]);
  return table('Never placeable', ['Why', 'Such as', 'Tasks'], rows);
}

function refusalsTable({ refusals }: Summary): string {
  return table('Refusals by code', ['Code', 'Refused nodes'], Object.entries(refusals));
}

function costsTable({ dynamodb: it }: Summary): string {
  const rows: Cell[][] = [
    ['requests', it.requests, it.requestsPerPlan, it.requestsPerPlacement],
    ['write units', it.writeUnits, it.writeUnitsPerPlan, it.writeUnitsPerPlacement],
  ];
  return table('DynamoDB, the applier', ['During the replay', 'All', 'A plan', 'A placement'], rows);
}

function uncontendedTable({ uncontended: it }: Summary): string {
  const verdict = (value: number, bound: number) => (value <= bound ? 'within' : 'BROKEN');
  const { bounds } = it;
  return table(
    'Without contention',
    ['Of the applier', 'Measured', 'At most', 'Bound'],
    [
      [
        'requests a plan',
        it.requestsPerPlan,
        bounds.requestsPerPlan,
        verdict(it.requestsPerPlan, bounds.requestsPerPlan),
      ],
      ['reads', it.reads, bounds.reads, verdict(it.reads, bounds.reads)],
      [
        'write units a placement',
        it.writeUnitsPerPlacement,
        bounds.writeUnitsPerPlacement,
        verdict(it.writeUnitsPerPlacement, bounds.writeUnitsPerPlacement),
      ],
    ],
  );
}

function invariantsTable({ invariants }: Summary): string {
  const rows = invariants.map(({ number, name, checked, broken }) => [`${number}. ${name}`, checked, broken]);
  const violations = invariants.flatMap(({ number, violations: found }) =>
    found.map(({ where, message }) => [`${number}`, where, message]),
  );
  return `${table('Invariants', ['What must hold', 'Facts checked', 'Broken'], rows)}${table('What is broken', ['Invariant', 'Where', 'What'], violations)}`;
}
