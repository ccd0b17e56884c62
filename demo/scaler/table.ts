import { clockTime, nodeText, whole } from '../numbers.ts';
import { plainTable } from '../report/plain-table.ts';
import type { Line } from '../report/table-line.ts';
import { type Count, gameCounts, tickCounts } from './counts.ts';
import type { ScalerSummary } from './summary.ts';

/** The summary of a scene for a terminal or a log, and below it what is not as it has to be. */
export function scalerTable(summary: ScalerSummary): string {
  const before = [
    ['Nodes', nodeLines(summary)],
    ['Games', gameCounts(summary).map(lineOf)],
    ['Machines', machineLines(summary)],
  ] as const;
  const after = [
    ['Ticks', tickCounts(summary).map(lineOf)],
    ['Invariants', invariantLines(summary)],
  ] as const;
  return [...plainTable(before), ...incidentLines(summary), '', ...plainTable(after), ...brokenLines(summary)].join(
    '\n',
  );
}

function nodeLines({ nodes, scene }: ScalerSummary): Line[] {
  const time = (at: string | null) => (at === null ? 'never' : `at ${timeText(scene, at)}`);
  const others = ({ pending, draining, held, lost }: ScalerSummary['nodes']['start']) =>
    Object.entries({ pending, draining, held, lost })
      .filter(([, count]) => count > 0)
      .map(([name, count]) => `${whole(count)} ${name}`)
      .join(', ');
  const and = (counts: ScalerSummary['nodes']['start']) => (others(counts) === '' ? '' : `, and ${others(counts)}`);
  const left = nodes.left.filter(({ state }) => state !== 'active');
  return [
    ['at the start', whole(nodes.start.active), `${timeText(scene, scene.from)}${and(nodes.start)}`],
    [
      'in the evening',
      whole(nodes.peak.active),
      `active ${time(nodes.reachedAt)}, wanted by ${timeText(scene, nodes.neededAt)}`,
    ],
    [
      'at the end',
      whole(nodes.end.active),
      `${timeText(scene, scene.until)}${and(nodes.end)}; shrunk ${time(nodes.shrunkAt)}`,
    ],
    ...left.map(
      ({ node, games, state }): Line => [
        '',
        state,
        `${nodeText(node)}, ${games === 0 ? 'no game' : `${whole(games)} games`} on it`,
      ],
    ),
  ];
}

function machineLines({ machines, races, operatorsNode }: ScalerSummary): Line[] {
  const node = operatorsNode;
  const held: Line[] =
    node === null
      ? []
      : [
          [
            "operator's node",
            node.touched === 0 ? 'untouched' : 'TOUCHED',
            `${nodeText(node.node)}, ${node.stillCordoned ? 'still cordoned' : 'NOT CORDONED ANY MORE'}`,
          ],
        ];
  return [
    ['ordered', whole(machines.ordered)],
    ['ended', whole(machines.ended), `${whole(machines.endedEmpty)} of them without a game`],
    ['failed', whole(machines.lost), 'replaced by their group'],
    ['allocations that raced', whole(races.won), `with a delete and won; ${whole(races.kept)} of them were kept`],
    ...held,
  ];
}

/** In lines of their own: sentences make no columns. */
function incidentLines({ incidents, scene }: ScalerSummary): string[] {
  const lines = incidents.flatMap(({ at, text, outcome }) => [
    `  ${timeText(scene, at)}  ${text}`,
    `         ${outcome}`,
  ]);
  return ['', 'What happens to it', ...lines];
}

function lineOf([name, count, note]: Count): Line {
  return note === undefined ? [name, whole(count)] : [name, whole(count), note];
}

function invariantLines({ invariants }: ScalerSummary): Line[] {
  return invariants.map(
    ({ id, name, checked, broken }): Line => [
      `${id} ${name}`,
      broken === 0 ? 'holds' : 'BROKEN',
      `${whole(broken)} broken of ${whole(checked)} checked`,
    ],
  );
}

function brokenLines({ problems, invariants }: ScalerSummary): string[] {
  if (problems.length === 0) return [];
  const violations = invariants.flatMap(({ id, violations: found }) => found.map((one) => `  ${id} ${one}`));
  return ['', 'Not as it has to be:', ...problems.map((problem) => `  ${problem}`), ...violations];
}

function timeText({ timezone }: ScalerSummary['scene'], at: string): string {
  return clockTime(Date.parse(at), timezone);
}
