import { clockTime, duration, nodeText, whole } from '../numbers.ts';
import { pageFrame, tileList } from '../report/page-frame.ts';
import { type Cell, section, table } from '../report/page-parts.ts';
import { type Count, gameCounts, tickCounts } from './counts.ts';
import type { ScalerFacts } from './facts.ts';
import { nodesChart, requestsChart, serversChart } from './figures.ts';
import type { ScalerSummary } from './summary.ts';

/** The report of a scene: one HTML page that needs nothing else, with every number of the summary. */
export function scalerPage(summary: ScalerSummary, facts: ScalerFacts): string {
  const { scene } = summary;
  return pageFrame(
    `A pool from ${scene.replicas} nodes to ${scene.peak} and back`,
    `An evening and a night, ${time(summary, scene.from)} to ${time(summary, scene.until)} in ${scene.timezone}, played in ${duration(summary.seconds)}: the node scaler as it is deployed, ${whole(summary.ticks.all)} ticks, against a simulated EKS with ${whole(summary.games.begun)} games that begin.`,
    tiles(summary),
    section(
      'Nodes',
      'By class, with the target that the timetable and the operator give. Numbers are what happens to it, as listed below.',
      nodesChart(facts),
    ),
    section(
      'Game servers',
      'By state: the fleet keeps some ready beside those that are played on.',
      serversChart(facts),
    ),
    countsTable('Games', gameCounts(summary)),
    incidentsTable(summary),
    goneTable(summary),
    leftTable(summary),
    section('Requests', requestsText(summary), requestsChart(facts)),
    countsTable('Ticks', tickCounts(summary)),
    invariantsTable(summary),
    table(
      'Not as it has to be',
      ['What'],
      summary.problems.map((problem) => [problem]),
    ),
  );
}

function tiles({ games, machines, races, invariants, nodes, scene }: ScalerSummary): string {
  const broken = invariants.reduce((sum, invariant) => sum + invariant.broken, 0);
  const checked = invariants.reduce((sum, invariant) => sum + invariant.checked, 0);
  const verdict = (good: boolean) => (good ? 'good' : 'bad');
  return tileList([
    [
      `${nodes.start.active} → ${nodes.peak.active} → ${nodes.end.active}`,
      'active nodes',
      `${whole(machines.ordered)} ordered, ${whole(machines.ended)} ended`,
      verdict(nodes.end.active === scene.replicas),
    ],
    [
      whole(games.endedByBerth),
      'games ended by Berth',
      `of ${whole(games.begun)} begun; ${whole(games.lostWithMachine)} lost with a machine that failed`,
      verdict(games.endedByBerth === 0),
    ],
    [
      `${whole(machines.endedEmpty)} of ${whole(machines.ended)}`,
      'machines ended empty',
      'without a game on them',
      verdict(machines.endedEmpty === machines.ended),
    ],
    [
      `${whole(races.kept)} of ${whole(races.won)}`,
      'raced servers kept',
      'players got them just before a delete',
      verdict(races.kept === races.won),
    ],
    [whole(broken), 'broken invariants', `of ${whole(checked)} facts checked`, verdict(broken === 0)],
  ]);
}

function requestsText({ ticks }: ScalerSummary): string {
  const { aws, dynamodb } = ticks.requests.idle;
  return `Of each tick. Of ${whole(ticks.all)} ticks ${whole(ticks.idle)} had nothing to do: such a one looks by four lists of Kubernetes, writes the status if games have come or gone, and asks EKS and Auto Scaling ${whole(aws.median)} times, DynamoDB ${whole(dynamodb.median)} times.`;
}

function countsTable(title: string, counts: readonly Count[]): string {
  return table(
    title,
    ['What', 'How many', 'Besides'],
    counts.map(([name, count, note = '']) => [name, count, note]),
  );
}

function incidentsTable(summary: ScalerSummary): string {
  const rows = summary.incidents.map(({ at, text, outcome }, index): Cell[] => [
    index + 1,
    time(summary, at),
    text,
    outcome,
  ]);
  return table('What happens to it', ['No.', 'Time', 'What happened', 'What came of it'], rows);
}

function goneTable(summary: ScalerSummary): string {
  const or = (at: string | null) => (at === null ? '–' : time(summary, at));
  const rows = summary.machines.gone.map((one): Cell[] => [
    nodeText(one.node),
    or(one.cordonedAt),
    or(one.lastGameEndedAt),
    or(one.removedAt),
    one.games,
    one.by === 'Berth' ? 'ended by Berth' : 'failed',
  ]);
  return table('Machines that went', ['Node', 'Cordoned', 'Last game ended', 'Removed', 'Games on it', 'How'], rows);
}

function leftTable({ nodes }: ScalerSummary): string {
  const rows = nodes.left.map(({ node, state, games }): Cell[] => [nodeText(node), state, games]);
  return table('Nodes at the end', ['Node', 'Class', 'Games on it'], rows);
}

function invariantsTable({ invariants }: ScalerSummary): string {
  const rows = invariants.map(({ id, name, checked, broken }): Cell[] => [`${id} ${name}`, checked, broken]);
  const violations = invariants.flatMap(({ id, violations: found }) => found.map((one) => [id, one]));
  return `${table('Invariants', ['What must hold', 'Facts checked', 'Broken'], rows)}${table('What is broken', ['Invariant', 'What'], violations)}`;
}

function time({ scene }: ScalerSummary, at: string): string {
  return clockTime(Date.parse(at), scene.timezone);
}
