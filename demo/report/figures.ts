import { figure, percent, simulatedTime, whole } from '../numbers.ts';
import type { Allocation, PlanOutcome, Replay } from '../run/replay.ts';
import { WHOLE_GPU, type Workload } from '../workload/workload.ts';
import { amountAxis, largest, ticksOf } from './charts/axes.ts';
import { barChart } from './charts/bar-chart.ts';
import type { Axis } from './charts/chart.ts';
import { lineChart } from './charts/line-chart.ts';
import { type Interval, timeStep } from './charts/scale.ts';

/** The four charts of the report, each made of what the replay has recorded. */

const DAY = 86_400;

/** cpu, memory and GPUs as parts of what the nodes have. */
export function allocationChart(replay: Replay, { nodes }: Workload): string {
  const capacity = {
    cpuMilli: nodes.reduce((sum, node) => sum + node.cpuMilli, 0),
    memoryMib: nodes.reduce((sum, node) => sum + node.memoryMib, 0),
    gpuMilli: nodes.reduce((sum, node) => sum + node.gpus, 0) * WHOLE_GPU,
  };
  const { shown, note } = busyPart(replay.allocations);
  const parts = (key: keyof typeof capacity) =>
    shown.map((allocation) => (capacity[key] === 0 ? 0 : allocation[key] / capacity[key]));
  const series = [
    { name: 'cpu', tone: 'cpu', values: parts('cpuMilli'), size: `${whole(capacity.cpuMilli / 1000)} cores` },
    { name: 'memory', tone: 'memory', values: parts('memoryMib'), size: `${whole(capacity.memoryMib / 1024)} GiB` },
    { name: 'GPU', tone: 'gpu', values: parts('gpuMilli'), size: `${whole(capacity.gpuMilli / WHOLE_GPU)} GPUs` },
  ].map((entry) => ({ ...entry, note: `peak ${percent(largest(entry.values))} of ${entry.size}` }));
  const peaks = series.map(({ name, note: peak }) => `${name}: ${peak}`).join('; ');
  return lineChart({
    id: 'allocation',
    title: 'Allocated part of the cluster over simulated time',
    description: `${peaks}.${note}`,
    series,
    at: shown.map(({ at }) => at),
    x: simulatedAxis(shown, note),
    y: amountAxis({
      label: 'allocated part',
      most: largest(series.flatMap(({ values }) => values)),
      text: percent,
      limit: 1,
    }),
    tell: (index) =>
      [
        simulatedTime(shown[index]?.at ?? 0),
        ...series.map(({ name, values }) => `${name} ${percent(values[index] ?? 0)}`),
      ].join('\n'),
  });
}

/** Tasks that run. */
export function runningChart(replay: Replay): string {
  return countChart(replay, 'running', 'running', 'Running tasks over simulated time');
}

/** Tasks that wait for room. */
export function waitingChart(replay: Replay): string {
  return countChart(replay, 'waiting', 'waiting for room', 'Tasks that wait for room, over simulated time');
}

function countChart(replay: Replay, key: 'running' | 'waiting', name: string, title: string): string {
  const { shown, note } = busyPart(replay.allocations);
  const values = shown.map((allocation) => allocation[key]);
  const peak = `at most ${whole(largest(values))} at once`;
  return lineChart({
    id: key,
    title,
    description: `${name}: ${peak}.${note}`,
    height: 210,
    series: [{ name, tone: key, note: peak, values, filled: true }],
    at: shown.map(({ at }) => at),
    x: simulatedAxis(shown, note),
    y: amountAxis({ label: 'tasks', most: largest(values), text: whole, least: 1 }),
    tell: (index) => `${simulatedTime(shown[index]?.at ?? 0)}\n${whole(values[index] ?? 0)} ${name}`,
  });
}

/** Plans a second, by what became of them. */
export function plansChart({ plans, elapsedMs }: Replay): string {
  const statuses = ['applied', 'partial', 'rejected'] as const;
  const count = (outcomes: readonly PlanOutcome[]) =>
    statuses.map((status) => outcomes.filter(({ result }) => result.status === status).length);
  return ratesChart({
    id: 'plans',
    title: 'Plans a second over the time of the replay',
    unit: 'plans a second',
    elapsedMs,
    plans,
    series: statuses.map((status, at) => ({ name: status, tone: status, note: whole(count(plans)[at] ?? 0) })),
    count,
  });
}

/** Codes that have a colour of their own; the others are drawn as one. */
const CODES_DRAWN = 4;

/** Refused nodes a second, by code; those of the GPUs of a node are one. */
export function refusalsChart({ plans, elapsedMs }: Replay): string {
  const families = (outcomes: readonly PlanOutcome[]) =>
    outcomes.flatMap(({ result }) => result.rejectedNodes.map(({ code }) => code.replace(/\/\d+$/, '')));
  const totals = new Map<string, number>();
  for (const family of families(plans)) totals.set(family, (totals.get(family) ?? 0) + 1);
  const ranked = [...totals].sort(([, a], [, b]) => b - a).map(([family]) => family);
  const drawn = ranked.slice(0, CODES_DRAWN);
  const names = ranked.length > drawn.length ? [...drawn, 'others'] : drawn;
  const count = (outcomes: readonly PlanOutcome[]) => {
    const found = families(outcomes);
    const of = drawn.map((family) => found.filter((code) => code === family).length);
    return names.length === drawn.length ? of : [...of, found.length - of.reduce((sum, more) => sum + more, 0)];
  };
  return ratesChart({
    id: 'refusals',
    title: 'Refused nodes a second over the time of the replay',
    unit: 'refused nodes a second',
    elapsedMs,
    plans,
    series: names.map((name, at) => ({
      name,
      tone: `code-${name === 'others' ? CODES_DRAWN : at}`,
      note: whole(count(plans)[at] ?? 0),
    })),
    count,
  });
}

interface RatesChart {
  readonly id: string;
  readonly title: string;
  readonly unit: string;
  readonly elapsedMs: number;
  readonly plans: readonly PlanOutcome[];
  readonly series: readonly { name: string; tone: string; note: string }[];
  /** Of some plans, how much falls to each series. */
  readonly count: (plans: readonly PlanOutcome[]) => readonly number[];
}

/** Bars that the time of the replay is cut into at most. */
const BARS = 80;

function ratesChart({ id, title, unit, elapsedMs, plans, series, count }: RatesChart): string {
  const seconds = Math.max(1, elapsedMs / 1000);
  const width = timeStep(seconds, BARS);
  const bars = Array.from({ length: Math.ceil(seconds / width) }, (_, at) => {
    const [from, to] = [at * width, (at + 1) * width];
    const rates = count(plans.filter(({ afterMs }) => afterMs >= from * 1000 && afterMs < to * 1000)).map(
      (value) => value / width,
    );
    const told = series.map(({ name }, entry) => `${name} ${figure(rates[entry] ?? 0)}`).join('\n');
    return { from, to, values: rates, tell: `second ${from} to ${to}\n${told}` };
  });
  const domain: Interval = [0, bars.length * width];
  const most = largest(bars.map(({ values }) => values.reduce((sum, value) => sum + value, 0)));
  const totals = series.map(({ name, note }) => `${name}: ${note}`).join(', ');
  return barChart({
    id,
    title,
    description: `In all ${totals === '' ? 'none' : totals}; at most ${figure(most)} a second.`,
    series,
    bars,
    x: {
      label: 'seconds since the replay began',
      domain,
      ticks: ticksOf(domain, timeStep(seconds, 12), whole),
    },
    y: amountAxis({ label: unit, most, text: figure }),
  });
}

function simulatedAxis(allocations: readonly Allocation[], note: string): Axis {
  const domain: Interval = [allocations[0]?.at ?? 0, allocations.at(-1)?.at ?? 0];
  const step = timeStep(domain[1] - domain[0], 9);
  const text = step < DAY ? simulatedTime : (at: number) => `${figure(at / DAY)}`;
  const label = `${step < DAY ? 'simulated time' : 'simulated time, days'} since the start of the trace${note}`;
  return { label, domain, ticks: ticksOf(domain, step, text) };
}

/** A lead-in with so small a part of the tasks, and so large a part of the time, is left out. */
const QUIET_TASKS = 0.02;
const QUIET_TIME = 0.25;

/** The allocations without a long lead-in in which next to nothing happens: a trace may begin months before its load does. */
function busyPart(allocations: readonly Allocation[]): {
  readonly shown: readonly Allocation[];
  readonly note: string;
} {
  const [first, last] = [allocations[0], allocations.at(-1)];
  if (first === undefined || last === undefined) return { shown: [], note: '' };
  const start = allocations.findIndex(({ placed }) => placed > last.placed * QUIET_TASKS);
  const quiet = (allocations[start]?.at ?? first.at) - first.at;
  if (quiet <= (last.at - first.at) * QUIET_TIME) return { shown: allocations, note: '' };
  const tasks = whole(allocations[start - 1]?.placed ?? 0);
  return {
    shown: allocations.slice(start),
    note: `; the ${figure(quiet / DAY)} days before, with ${tasks} tasks in them, are left out`,
  };
}
