import type { PlanResult } from '../../lib/client/index.ts';
import { type RunFacts, type Summary, summaryOf } from '../report/summary.ts';
import { type BadNodeFacts, type BadNodesRun, DEMO_TRACKER } from '../run/bad-nodes.ts';
import type { Replay } from '../run/replay.ts';
import { generateWorkload } from '../workload/generate.ts';
import { findUnplaceable } from '../workload/unplaceable.ts';
import type { Workload } from '../workload/workload.ts';

/** A run that was never run, with something of everything that a report shows. */
export function exampleRun(change: Partial<RunFacts> = {}): { facts: RunFacts; summary: Summary } {
  const workload: Workload = generateWorkload(1);
  const facts: RunFacts = {
    workload,
    workers: 4,
    seed: 1,
    unplaceable: findUnplaceable(workload.tasks, workload.nodes),
    replay: exampleReplay(),
    usage: {
      TransactWriteItems: {
        requests: 60,
        items: 900,
        readUnits: 0,
        writeUnits: 1_950,
        failed: { TransactionCanceledException: 20 },
      },
      BatchGetItem: { requests: 3, items: 30, readUnits: 30, writeUnits: 0, failed: {} },
    },
    uncontended: {
      plans: 50,
      placements: 250,
      requestsPerPlan: 0.2,
      reads: 0,
      writeUnitsPerPlacement: 6.48,
      withinBounds: true,
    },
    findings: {
      1: { checked: 900, violations: [] },
      2: { checked: 400, violations: [] },
      3: { checked: 300, violations: [] },
      4: { checked: 150, violations: [] },
    },
    ...change,
  };
  return { facts, summary: summaryOf(facts) };
}

export function exampleReplay(): Replay {
  const allocations = Array.from({ length: 100 }, (_, step) => {
    const load = Math.sin((Math.PI * step) / 100) * (0.8 + 0.2 * Math.sin(step));
    return {
      at: 3_600 * step,
      cpuMilli: Math.round(6_000_000 * load),
      memoryMib: Math.round(20_000_000 * load),
      gpuMilli: Math.round(380_000 * load),
      running: Math.round(400 * load),
      waiting: load > 0.8 ? step % 7 : 0,
      placed: step * 3,
    };
  });
  const statuses = ['applied', 'applied', 'partial', 'applied', 'rejected'] as const;
  const codes = ['cpu', 'gpu-milli/0', 'cpu', 'memory', 'gpu-milli/3', 'device-oversubscribed', 'disk', 'cpu'];
  const plans = Array.from({ length: 150 }, (_, plan) => {
    const status = statuses[plan % statuses.length] ?? 'applied';
    const rejectedNodes =
      status === 'applied' ? [] : [{ nodeId: 'n', code: codes[plan % codes.length] ?? 'cpu', message: 'short' }];
    return { afterMs: plan * 133, result: { planId: `plan-${plan}`, status, rejectedNodes } as unknown as PlanResult };
  });
  return { allocations, plans, placed: 300, ended: { complete: 240, failed: 60 }, waited: 17, elapsedMs: 20_000 };
}

/** What two bad nodes came to: refused every 100 ms from the second and from the ninth second on, until they were marked. */
export function exampleBadNodes(): BadNodesRun {
  return {
    pool: 'demo',
    tracker: DEMO_TRACKER,
    nodes: [
      exampleBadNode('bad-node-1', 2_000, { planId: 'demo-worker-1-20', index: 20 }, 1),
      exampleBadNode('bad-node-2', 9_000, { planId: 'demo-worker-0-33', index: 70 }, 0),
    ],
    othersMarked: [],
    untracked: { evaluations: 4, plans: 80, refusals: 80, placed: 0, eligibility: 'eligible' },
  };
}

function exampleBadNode(
  nodeId: string,
  fromMs: number,
  plan: { readonly planId: string; readonly index: number },
  refusedLater: number,
): BadNodeFacts {
  const refusedAfterMs = Array.from({ length: DEMO_TRACKER.threshold }, (_, refusal) => fromMs + refusal * 100);
  return {
    nodeId,
    refusedAfterMs,
    refusedLater,
    mark: { ...plan, afterMs: refusedAfterMs.at(-1) ?? 0 },
    evaluations: [
      { taskId: `${nodeId}-task-1`, refusals: 40, placedAfterMark: true },
      { taskId: `${nodeId}-task-2`, refusals: 12, placedAfterMark: true },
      { taskId: 'task-0007', refusals: 1, placedAfterMark: false },
    ],
    eligibility: 'ineligible',
    event: 'made ineligible: refused 40 times in 120 seconds',
  };
}
