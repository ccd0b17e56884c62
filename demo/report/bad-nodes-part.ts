import { duration, figure, whole } from '../numbers.ts';
import { type BadNodesSummary, commandsToMend } from './bad-nodes-summary.ts';
import { amountAxis, largest, ticksOf } from './charts/axes.ts';
import { lineChart } from './charts/line-chart.ts';
import { timeStep } from './charts/scale.ts';
import { section, table } from './page-parts.ts';

/** Tones of the style; of more nodes the lines are dashed, in the same tones. */
const TONES = 5;

/** The part of the report about nodes that look good to the workers and refuse: how often, until when, and what without the tracker. */
export function badNodesPart(bad: BadNodesSummary, seconds: number): string {
  const { threshold, windowSeconds } = bad.tracker;
  const text = `Nodes that look best to some tasks and refuse them each time. After ${threshold} refusals in ${windowSeconds} s the commit that counts the last one makes the node ineligible; from then on the workers choose another.`;
  return [
    section('Bad nodes', `${text} ${whatToDo(bad)}`, badNodesChart(bad, seconds)),
    nodesTable(bad),
    comparisonTable(bad),
  ].join('');
}

/** Refusals of each bad node over the time of the replay, where it was made ineligible, and the threshold. */
function badNodesChart({ nodes, tracker }: BadNodesSummary, seconds: number): string {
  const at = [...new Set([0, ...nodes.flatMap((node) => node.refusedAfterSeconds), seconds])].sort((a, b) => a - b);
  const drawn = nodes.map((node, place) => {
    const { refusedAfterSeconds, marked } = node;
    // The line of a node that nobody chooses any more ends: all of them would lie on the threshold, one over the other.
    const until = marked === null ? seconds : largest([marked.afterSeconds, ...refusedAfterSeconds]);
    return {
      ...node,
      tone: `code-${place % TONES}${place < TONES ? '' : ' again'}`,
      values: at.filter((time) => time <= until).map((time) => countUpTo(refusedAfterSeconds, time)),
    };
  });
  const told = ({ refusals, marked }: (typeof nodes)[number]) => {
    return `${whole(refusals)} refusals, ${marked === null ? 'still eligible' : `ineligible after ${figure(marked.afterSeconds)} s`}`;
  };
  const most = largest([tracker.threshold, ...nodes.map(({ refusals }) => refusals)]);
  const end = largest([1, seconds]);
  return lineChart({
    id: 'bad-nodes',
    title: 'Refusals of each bad node over the time of the replay',
    description: `${nodes.map((node) => `${node.nodeId}: ${told(node)}`).join('; ')}. The threshold is ${tracker.threshold}.`,
    series: drawn.map(({ tone, values, ...node }) => ({ name: node.nodeId, tone, values, note: told(node) })),
    at,
    x: {
      label: 'seconds since the replay began',
      domain: [0, end],
      ticks: ticksOf([0, end], timeStep(end, 12), whole),
    },
    y: amountAxis({ label: 'refusals so far', most: most + 1, text: whole, least: 1 }),
    levels: [{ value: tracker.threshold, text: `threshold ${tracker.threshold}` }],
    marks: drawn.flatMap(({ marked, nodeId, refusals, tone }) => {
      return marked === null ? [] : [{ at: marked.afterSeconds, value: refusals, tone, text: nodeId }];
    }),
    tell: (index) => {
      const time = at[index] ?? 0;
      const counts = nodes.map(
        ({ nodeId, refusedAfterSeconds }) => `${nodeId} ${countUpTo(refusedAfterSeconds, time)}`,
      );
      return [`second ${figure(time)}`, ...counts].join('\n');
    },
  });
}

function countUpTo(times: readonly number[], until: number): number {
  return times.filter((time) => time <= until).length;
}

function nodesTable({ nodes }: BadNodesSummary): string {
  const heads = [
    'Node',
    'Refusals',
    'Made ineligible',
    'By plan',
    'Tasks refused',
    'Placed after that',
    'Its last event',
  ];
  const rows = nodes.map(({ nodeId, refusals, marked, evaluations, event }) => [
    nodeId,
    refusals,
    marked === null ? 'not at all' : `after ${duration(marked.afterSeconds)}`,
    marked?.planId ?? '',
    evaluations.refused,
    evaluations.placedAfterMark,
    event ?? 'none',
  ]);
  return table('What became of the bad nodes', heads, rows);
}

function comparisonTable({ nodes, withoutTracker: it }: BadNodesSummary): string {
  const withIt = nodes.slice(0, 1).map(({ nodeId, evaluations, eligibility }) => {
    const { refused, mostRefusals, placedAfterMark } = evaluations;
    return [
      `tracker on: ${nodeId}`,
      refused,
      `refused up to ${whole(mostRefusals)} times`,
      placedAfterMark,
      eligibility,
    ];
  });
  const without = `refused ${whole(it.refusals)} times, then given up`;
  const rows = [...withIt, ['tracker off: a node like it', it.evaluations, without, it.placed, it.eligibility]];
  return table('With and without the tracker', ['Where', 'Tasks', 'How often', 'Placed', 'The node is'], rows);
}

function whatToDo({ pool, nodes, othersMarked }: BadNodesSummary): string {
  const { look, makeEligible } = commandsToMend(pool, nodes[0]?.nodeId ?? '');
  const others =
    othersMarked.length === 0
      ? ''
      : `Made ineligible as well, since workers collided on them: ${othersMarked.join(', ')}. `;
  return `${others}On a cluster that goes on an operator sees why with \u201c${look}\u201d and, once the node is mended, brings it back with \u201c${makeEligible}\u201d.`;
}
