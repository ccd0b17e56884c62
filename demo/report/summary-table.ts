import { duration, figure, whole } from '../numbers.ts';
import { badNodesLines } from './bad-nodes-lines.ts';
import { plainTable } from './plain-table.ts';
import type { Summary } from './summary.ts';
import type { Line } from './table-line.ts';

/** The summary for a terminal or a log: a table of three columns, and below it what is broken. */
export function summaryTable(summary: Summary): string {
  const sections = [
    ['Tasks', taskLines(summary)],
    ['Plans', planLines(summary)],
    ...(summary.badNodes === undefined ? [] : ([['Bad nodes', badNodesLines(summary.badNodes)]] as const)),
    ['DynamoDB, the applier', costLines(summary)],
    ['Without contention', uncontendedLines(summary)],
    ['Invariants', invariantLines(summary)],
  ] as const;
  return [...plainTable(sections), ...brokenLines(summary)].join('\n');
}

function taskLines({ workload, tasks }: Summary): Line[] {
  const { complete, failed } = tasks.ended;
  const never = tasks.neverPlaceable.reduce((sum, { tasks: count }) => sum + count, 0);
  return [
    ['in the workload', whole(workload.tasks), `on ${whole(workload.nodes)} nodes; ${workload.source}`],
    ['placed', whole(tasks.placed), `${whole(tasks.waited)} of them waited for room`],
    ['ended', whole(complete + failed), `${whole(complete)} complete, ${whole(failed)} failed, as the workload says`],
    ['never placeable', whole(never)],
    ...tasks.neverPlaceable.map(
      ({ reason, tasks: count, example }): Line => ['', whole(count), `${reason} (${example})`],
    ),
  ];
}

function planLines({ plans, refusals, replay, workload }: Summary): Line[] {
  const codes = Object.entries(refusals);
  return [
    [
      'applied',
      whole(plans.applied),
      `by ${workload.workers} ${workload.workers === 1 ? 'worker' : 'workers'} in ${duration(replay.seconds)}`,
    ],
    ['partial', whole(plans.partial)],
    ['rejected', whole(plans.rejected)],
    ['a second', figure(replay.plansPerSecond), `${figure(replay.placementsPerSecond)} placements a second`],
    ['refused nodes', whole(codes.reduce((sum, [, count]) => sum + count, 0))],
    ...codes.map(([code, count]): Line => ['', whole(count), code]),
  ];
}

function costLines({ dynamodb: it }: Summary): Line[] {
  return [
    [
      'requests',
      whole(it.requests),
      `${figure(it.requestsPerPlan)} a plan, ${figure(it.requestsPerPlacement)} a placement`,
    ],
    ['of which reads', whole(it.reads)],
    ['of which cancelled', whole(it.cancelled), 'by a condition: decided anew in memory'],
    [
      'write units',
      whole(it.writeUnits),
      `${figure(it.writeUnitsPerPlan)} a plan, ${figure(it.writeUnitsPerPlacement)} a placement`,
    ],
  ];
}

function uncontendedLines({ uncontended: it }: Summary): Line[] {
  const bound = (value: number, most: number) => `at most ${most}${value <= most ? '' : ': BROKEN'}`;
  const { bounds } = it;
  return [
    ['plans', whole(it.plans), `of ${figure(it.placements / it.plans)} placements, in batches of ten`],
    ['requests a plan', figure(it.requestsPerPlan), bound(it.requestsPerPlan, bounds.requestsPerPlan)],
    ['reads', whole(it.reads), bound(it.reads, bounds.reads)],
    [
      'write units a placement',
      figure(it.writeUnitsPerPlacement),
      bound(it.writeUnitsPerPlacement, bounds.writeUnitsPerPlacement),
    ],
    ...(it.withinBounds ? [] : [['bounds', 'BROKEN', 'or not every plan was applied'] as const]),
  ];
}

function invariantLines({ invariants }: Summary): Line[] {
  return invariants.map(
    ({ number, name, checked, broken }): Line => [
      `${number}. ${name}`,
      broken === 0 ? 'holds' : 'BROKEN',
      `${whole(broken)} broken of ${whole(checked)} checked`,
    ],
  );
}

function brokenLines({ invariants }: Summary): string[] {
  return invariants.flatMap(({ number, name, broken, violations }) => {
    if (broken === 0) return [];
    const lines = violations.map(({ where, message }) => `  ${where}: ${message}`);
    const more = broken - violations.length;
    return ['', `Invariant ${number}, ${name}, is broken:`, ...lines, ...(more > 0 ? [`  and ${more} more`] : [])];
  });
}
