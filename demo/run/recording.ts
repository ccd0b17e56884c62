import type { PlanInput, PlanResult } from '../../lib/client/index.ts';
import { isTerminal } from '../../lib/tasks/states.ts';
import type { EndRecord, History, PlannedPlacement, PlanRecord, RegisteredNode, Tick } from '../invariants/history.ts';
import type { Cluster } from './cluster.ts';

/** A cluster as `cluster`, and the history of what goes through it, which grows with every call. */
export function recording(cluster: Cluster): { readonly cluster: Cluster; readonly history: History } {
  const nodes: RegisteredNode[] = [];
  const plans = new Map<string, PlanRecord>();
  const ends: EndRecord[] = [];
  const history: History = {
    nodes,
    ends,
    get plans() {
      return [...plans.values()];
    },
  };
  let ticks: Tick = 0;
  const tick = () => ++ticks;
  /** The record of a plan; one that is sent again stays where it was. */
  const recordOf = (plan: PlanInput) => {
    const record = plans.get(plan.planId) ?? planRecord(plan, tick());
    plans.set(plan.planId, record);
    return record;
  };
  const recorded: Cluster = {
    ...cluster,
    async registerNodes(specs, onProgress) {
      for (const { nodeId, pool, capacity, devices = [] } of specs) {
        nodes.push({ nodeId, pool, capacity, devices: devices.map(({ id }) => id) });
      }
      await cluster.registerNodes(specs, onProgress);
    },
    async push(plan) {
      const record = recordOf(plan);
      await cluster.push(plan);
      record.queuedAt ??= tick();
    },
    async submit(plan, options): Promise<PlanResult> {
      const record = recordOf(plan);
      const result = await cluster.submit(plan, options);
      record.answer = result;
      record.answeredAt ??= tick();
      return result;
    },
    async reportTask(task, report) {
      if (!isTerminal(report.state)) return cluster.reportTask(task, report);
      const record: EndRecord = { taskId: task.taskId, sentAt: tick() };
      ends.push(record);
      const outcome = await cluster.reportTask(task, report);
      record.outcome = outcome;
      return outcome;
    },
  };
  return { cluster: recorded, history };
}

function planRecord({ planId, pool, placements = [] }: PlanInput, pushedAt: Tick): PlanRecord {
  const planned = placements.map(
    ({ taskId, nodeId, resources = {}, devices = [] }): PlannedPlacement => ({ taskId, nodeId, resources, devices }),
  );
  return { planId, pool, placements: planned, pushedAt };
}
