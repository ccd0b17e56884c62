import { clockTime, whole } from '../numbers.ts';
import { areaChart } from '../report/charts/area-chart.ts';
import { amountAxis, largest } from '../report/charts/axes.ts';
import type { Axis } from '../report/charts/chart.ts';
import { lineChart } from '../report/charts/line-chart.ts';
import { NODE_CLASSES, SERVER_STATES } from './census.ts';
import type { ScalerFacts } from './facts.ts';
import { type Scene, timeOf } from './scene.ts';

/** The charts of a scene. Minutes since its beginning are their x axis. */

type Drawn = Pick<ScalerFacts, 'scene' | 'samples' | 'incidents'>;

const NODE_NAMES = {
  active: 'active',
  pending: 'pending: ordered, not ready yet',
  draining: 'draining: cordoned by Berth',
  held: 'held: cordoned by the operator',
  lost: 'lost: its machine has failed',
} as const;

/** Nodes by class, one on the other, and the target. */
export function nodesChart({ scene, samples, incidents }: Drawn): string {
  const series = NODE_CLASSES.map((name) => ({
    name: NODE_NAMES[name],
    tone: name,
    values: samples.map(({ nodes }) => nodes[name]),
  })).filter(({ values }) => largest(values) > 0);
  const targets = samples.map(({ target }) => target);
  const totals = samples.map(({ nodes }) => NODE_CLASSES.reduce((sum, name) => sum + nodes[name], 0));
  const most = largest([...totals, ...targets]);
  return areaChart({
    id: 'nodes',
    title: 'Nodes by class over the evening and the night',
    description: `From ${samples[0]?.nodes.active ?? 0} active nodes to ${largest(samples.map(({ nodes }) => nodes.active))} and back to ${samples.at(-1)?.nodes.active ?? 0}; the target is ${scene.replicas}, and ${scene.schedule.replicas} in the evening.`,
    height: 340,
    series,
    lines: [{ name: 'target', tone: 'target', values: targets }],
    at: samples.map((_, minute) => minute),
    events: signsOf(incidents, scene),
    x: timeAxis(scene),
    // Room above the areas, for the signs.
    y: amountAxis({ label: 'nodes', most: most + 3, text: whole, least: 1 }),
    tell: (minute) =>
      [
        clockTime(timeOf(scene, minute), scene.timezone),
        `target ${whole(targets[minute] ?? 0)}`,
        ...NODE_CLASSES.map((name) => `${name} ${whole(samples[minute]?.nodes[name] ?? 0)}`),
      ].join('\n'),
  });
}

const SERVER_NAMES = {
  allocated: 'allocated: a game is played',
  ready: 'ready',
  starting: 'starting, or waiting for a node',
  ending: 'ending',
} as const;

/** Game servers by state, one on the other. */
export function serversChart({ scene, samples }: Drawn): string {
  const series = SERVER_STATES.map((name) => {
    const values = samples.map(({ servers }) => servers[name]);
    return { name: SERVER_NAMES[name], tone: name, values, note: `at most ${whole(largest(values))}` };
  });
  const totals = samples.map(({ servers }) => SERVER_STATES.reduce((sum, name) => sum + servers[name], 0));
  return areaChart({
    id: 'servers',
    title: 'Games and game servers by state over the evening and the night',
    description: `${series.map(({ name, note }) => `${name}: ${note}`).join('; ')}.`,
    series,
    at: samples.map((_, minute) => minute),
    x: timeAxis(scene),
    y: amountAxis({ label: 'game servers', most: largest(totals), text: whole, least: 1 }),
    tell: (minute) =>
      [
        clockTime(timeOf(scene, minute), scene.timezone),
        ...SERVER_STATES.map((name) => `${name} ${whole(samples[minute]?.servers[name] ?? 0)}`),
        `players waiting ${whole(samples[minute]?.waiting ?? 0)}`,
      ].join('\n'),
  });
}

const SERVICES = [
  ['kubernetes', 'Kubernetes', 'cpu'],
  ['aws', 'EKS and Auto Scaling', 'gpu'],
  ['dynamodb', 'DynamoDB', 'memory'],
] as const;

/** Requests of each tick. */
export function requestsChart({ scene, ticks }: Pick<ScalerFacts, 'scene' | 'ticks'>): string {
  const series = SERVICES.map(([key, name, tone]) => {
    const values = ticks.map((tick) => tick[key]);
    return { name, tone, values, note: `at most ${whole(largest(values))}` };
  });
  return lineChart({
    id: 'requests',
    title: 'Requests of each tick',
    description: `${series.map(({ name, note }) => `${name}: ${note}`).join('; ')}.`,
    height: 210,
    series,
    at: ticks.map(({ at }) => (at - scene.from) / 60_000),
    x: timeAxis(scene),
    y: amountAxis({ label: 'requests', most: largest(series.flatMap(({ values }) => values)), text: whole, least: 1 }),
    tell: (index) =>
      [
        clockTime(ticks[index]?.at ?? 0, scene.timezone),
        ...series.map(({ name, values }) => `${name} ${whole(values[index] ?? 0)}`),
      ].join('\n'),
  });
}

function signsOf(incidents: Drawn['incidents'], scene: Scene) {
  return incidents.map(({ minute, text }, index) => ({
    at: minute,
    sign: String(index + 1),
    tell: `${clockTime(timeOf(scene, minute), scene.timezone)}\n${text}`,
  }));
}

const TICKS = 12;
const STEPS = [5, 10, 15, 30, 60, 120] as const;

/** Whole hours of the wall clock, or parts of them, of which no more than some fit. The scene begins with such a one. */
function timeAxis(scene: Scene): Axis {
  const step = STEPS.find((minutes) => minutes * TICKS >= scene.minutes) ?? 240;
  const count = Math.floor(scene.minutes / step) + 1;
  const ticks = Array.from({ length: count }, (_, index) => index * step);
  return {
    label: `time of day, ${scene.timezone}`,
    domain: [0, scene.minutes],
    ticks: ticks.map((at) => ({ at, text: clockTime(timeOf(scene, at), scene.timezone) })),
  };
}
