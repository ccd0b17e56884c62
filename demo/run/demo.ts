import { setMaxListeners } from 'node:events';
import { connect } from '../../lib/client/index.ts';
import { TRACKER_DEFAULTS } from '../../lib/settings.ts';
import { usageBetween } from '../../local/dynamodb/usage.ts';
import { type Engine, startEngine } from '../../local/engine.ts';
import { type Finding, joined } from '../invariants/history.ts';
import { whole } from '../numbers.ts';
import type { ProgressDisplay } from '../report/progress.ts';
import type { RunFacts } from '../report/summary.ts';
import { type BadNode, nodeSpecsOf } from '../workload/bad-nodes.ts';
import { findUnplaceable } from '../workload/unplaceable.ts';
import type { Workload } from '../workload/workload.ts';
import { auditAtEnd, auditNow } from './audit.ts';
import { type BadNodesRun, badNodesRun, DEMO_TRACKER, loopGuard } from './bad-nodes.ts';
import { recording } from './recording.ts';
import { replay } from './replay.ts';
import type { StepLimits } from './schedule.ts';
import { measureUncontended } from './uncontended.ts';
import { withoutTracker } from './without-tracker.ts';

/** Name of the function that applies plans, as the stack and the meter have it. */
const APPLIER = 'PlanApplier';
const POOL = 'demo';
const UNCONTENDED_POOL = 'uncontended';
const UNTRACKED_POOL = 'untracked';

/** Plans after which the part without the tracker is ended: twice as many as the tracker needs. */
const UNTRACKED_TRIES = 2 * DEMO_TRACKER.threshold;

/** Steps that the simulated time is cut into at least, and events of one at most: finer costs more, coarser blurs the charts. */
const STEPS = 120;
const EVENTS_PER_STEP = 64;

/** Tasks up to which agents report that a task runs, too: that is a write more a task. */
const REPORT_RUNNING_UP_TO = 1_000;

export interface DemoRun {
  readonly workload: Workload;
  /** Those nodes of the workload that refuse whatever is placed on them. */
  readonly badNodes: readonly BadNode[];
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
    onProgress: (step) => display.step(step),
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
  { workload, badNodes, workers, seed, display, clock }: DemoRun,
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

  display.step(`registering ${whole(nodes.length)} nodes${badNodesText(badNodes.length)}`);
  await cluster.registerPool(
    badNodes.length === 0 ? { pool: POOL } : { pool: POOL, settings: { tracker: DEMO_TRACKER } },
  );
  await cluster.registerNodes(nodeSpecsOf(nodes, badNodes, POOL));
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
    onProgress: (progress) => display.progress(progress),
    onResult: loopGuard(badNodes),
    atHalf: async () => void checks.push(await auditNow(cluster, history, [POOL])),
  });
  await delivery.idle();
  const usage = usageBetween(before, readMeter())[APPLIER] ?? {};
  display.end();

  const pools = [POOL, UNCONTENDED_POOL];
  let bad: BadNodesRun | undefined;
  const [compared] = badNodes;
  if (compared !== undefined) {
    bad = await badNodesRun(cluster, badNodes, { pool: POOL, plans: history.plans, outcomes: outcome.plans }, () => {
      display.step('placing the tasks of one bad node in a pool whose tracker is off');
      return withoutTracker({ cluster, pool: UNTRACKED_POOL, badNode: compared, tries: UNTRACKED_TRIES, seed, signal });
    });
    pools.push(UNTRACKED_POOL);
  }

  display.step('checking the invariants over the history and the tables');
  const findings = await auditAtEnd(cluster, history, pools);
  const withHalf = { ...findings, 1: joined([...checks, findings[1]]) };
  return {
    workload,
    workers,
    seed,
    unplaceable,
    replay: outcome,
    usage,
    uncontended,
    badNodes: bad,
    findings: withHalf,
  };
}

/** What the demo has changed so that bad nodes show, if there are any. */
function badNodesText(count: number): string {
  if (count === 0) return '';
  const { threshold, windowSeconds } = DEMO_TRACKER;
  const usual = `usually ${TRACKER_DEFAULTS.threshold} in ${TRACKER_DEFAULTS.windowSeconds} s`;
  return `, ${whole(count)} of them bad: here ${threshold} refusals in ${windowSeconds} s make a node ineligible, ${usual}`;
}

function limitsOf({ tasks }: Workload): StepLimits {
  const first = tasks[0]?.arrival ?? 0;
  const last = tasks.reduce((latest, { end }) => Math.max(latest, end), first);
  return { events: EVENTS_PER_STEP, seconds: (last - first) / STEPS };
}
