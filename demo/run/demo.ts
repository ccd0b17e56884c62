import { setMaxListeners } from 'node:events';
import { connect } from '../../lib/client/index.ts';
import { usageBetween } from '../../local/dynamodb/usage.ts';
import { type Engine, startEngine } from '../../local/engine.ts';
import { type Finding, joined } from '../invariants/history.ts';
import { whole } from '../numbers.ts';
import type { ProgressDisplay } from '../report/progress.ts';
import type { RunFacts } from '../report/summary.ts';
import { nodeSpecOf } from '../workload/berth-terms.ts';
import { findUnplaceable } from '../workload/unplaceable.ts';
import type { Workload } from '../workload/workload.ts';
import { auditAtEnd, auditNow } from './audit.ts';
import { recording } from './recording.ts';
import { replay } from './replay.ts';
import type { StepLimits } from './schedule.ts';
import { measureUncontended } from './uncontended.ts';

/** Name of the function that applies plans, as the stack and the meter have it. */
const APPLIER = 'PlanApplier';
const POOL = 'demo';
const UNCONTENDED_POOL = 'uncontended';

/** Steps that the simulated time is cut into at least, and events of one at most: finer costs more, coarser blurs the charts. */
const STEPS = 120;
const EVENTS_PER_STEP = 64;

/** Tasks up to which agents report that a task runs, too: that is a write more a task. */
const REPORT_RUNNING_UP_TO = 1_000;

export interface DemoRun {
  readonly workload: Workload;
  readonly workers: number;
  readonly seed: number;
  readonly display: ProgressDisplay;
  /** Milliseconds of the machine's clock, from any start. */
  readonly clock: () => number;
  /** Ends the run. */
  readonly signal: AbortSignal;
}

/** The whole job: an engine, the nodes, the uncontended part, the replay, the check of what must hold. Leaves nothing behind. */
export async function runDemo(run: DemoRun): Promise<RunFacts> {
  const { display } = run;
  display.step('starting Berth on this machine');
  const engine = await startEngine({
    onLog: (line) => line.stream === 'platform' && display.step(`${line.source}: ${line.line}`),
  });
  const cluster = connect({ env: engine.env });
  // One signal for the user's wish and for an engine that cannot go on: whatever is under way ends.
  const ended = new AbortController();
  // Every plan under way listens to it.
  setMaxListeners(0, ended.signal);
  const end = () => ended.abort(run.signal.reason);
  run.signal.addEventListener('abort', end, { once: true });
  if (run.signal.aborted) end();
  void engine.failed.then((reason) => ended.abort(reason));
  try {
    return await onEngine(run, engine, recording(cluster), ended.signal);
  } finally {
    ended.abort(new Error('the demo has ended'));
    run.signal.removeEventListener('abort', end);
    cluster.close();
    await engine.stop();
  }
}

async function onEngine(
  { workload, workers, seed, display, clock }: DemoRun,
  engine: Engine,
  { cluster, history }: ReturnType<typeof recording>,
  signal: AbortSignal,
): Promise<RunFacts> {
  const { nodes, tasks } = workload;
  const readMeter = () => engine.meter.read();
  const delivery = {
    pause: () => engine.eventSources.pause(APPLIER),
    resume: () => engine.eventSources.resume(APPLIER),
    idle: () => engine.eventSources.idle(APPLIER),
  };
  display.step('measuring the applier without contention');
  const uncontended = await measureUncontended({
    cluster,
    pool: UNCONTENDED_POOL,
    readMeter,
    applier: APPLIER,
    delivery,
    signal,
  });

  display.step(`registering ${whole(nodes.length)} nodes`);
  await cluster.registerPool({ pool: POOL });
  await cluster.registerNodes(nodes.map((node) => nodeSpecOf(node, POOL)));
  signal.throwIfAborted();

  const unplaceable = findUnplaceable(tasks, nodes);
  const never = new Set(unplaceable.map(({ task }) => task));
  const placeable = tasks.filter((task) => !never.has(task));
  display.step(`replaying ${whole(placeable.length)} tasks with ${workers} ${workers === 1 ? 'worker' : 'workers'}`);
  const before = readMeter();
  const checks: Finding[] = [];
  const outcome = await replay({
    cluster,
    pool: POOL,
    tasks: placeable,
    workers,
    seed,
    limits: limitsOf(workload),
    reportRunning: placeable.length <= REPORT_RUNNING_UP_TO,
    clock,
    signal,
    onProgress: (progress) => display.replay(progress),
    atHalf: async () => void checks.push(await auditNow(cluster, history, [POOL])),
  });
  await delivery.idle();
  const usage = usageBetween(before, readMeter())[APPLIER] ?? {};
  display.end();

  display.step('checking the invariants over the history and the tables');
  const findings = await auditAtEnd(cluster, history, [POOL, UNCONTENDED_POOL]);
  const withHalf = { ...findings, 1: joined([...checks, findings[1]]) };
  return { workload, workers, seed, unplaceable, replay: outcome, usage, uncontended, findings: withHalf };
}

function limitsOf({ tasks }: Workload): StepLimits {
  const first = tasks[0]?.arrival ?? 0;
  const last = tasks.reduce((latest, { end }) => Math.max(latest, end), first);
  return { events: EVENTS_PER_STEP, seconds: (last - first) / STEPS };
}
