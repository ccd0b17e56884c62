import { figure, whole } from '../demo/numbers.ts';
import { amountAxis, largest, ticksOf } from '../demo/report/charts/axes.ts';
import { lineChart } from '../demo/report/charts/line-chart.ts';
import { PAGE_STYLE } from '../demo/report/page-style.ts';
import { REQUESTS_PER_END, type ReaperPoint } from './reaper.ts';

/** A page that stands alone: what the reaper asked for per task that ended, against the tasks that there had been. */
export function reaperPage(points: readonly ReaperPoint[]): string {
  const values = points.map(({ requestsPerEnd }) => requestsPerEnd);
  const tasks = points.map((point) => point.tasks);
  const domain: readonly [number, number] = [0, largest([1, ...tasks])];
  const chart = lineChart({
    id: 'reaper',
    title: 'Requests of the task reaper per task that ended, against tasks so far',
    description: `From ${figure(Math.min(...values))} to ${figure(largest(values))} requests; at most ${REQUESTS_PER_END} are allowed.`,
    series: [{ name: 'requests per ended task', tone: 'running', values, note: `at most ${figure(largest(values))}` }],
    at: tasks,
    x: { label: 'tasks so far', domain, ticks: ticksOf(domain, domain[1] / 8, whole) },
    y: amountAxis({ label: 'requests', most: REQUESTS_PER_END + 0.2, text: figure, least: 1 }),
    levels: [{ value: REQUESTS_PER_END, text: `bound ${REQUESTS_PER_END}` }],
    tell: (index) => `${whole(tasks[index] ?? 0)} tasks so far\n${figure(values[index] ?? 0)} requests per ended task`,
  });
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Berth: requests of the task reaper</title>
<style>${PAGE_STYLE}</style>
</head>
<body>
<main>
<h1>What a task that ends costs the reaper</h1>
<p>400 services of 4 replicas, each task replaced ten times, then all services removed, and all of it again: the experiment of
moby/swarmkit#2672. There the cost grew with every task that had been.</p>
${chart}
</main>
</body>
</html>
`;
}
