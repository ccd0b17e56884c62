import type { PlanResult } from '../../lib/client/index.ts';
import {
  type Finding,
  type History,
  type InvariantNumber,
  joined,
  type StoredNode,
  type StoredTask,
} from '../invariants/history.ts';
import { checkInOrder } from '../invariants/in-order.ts';
import { checkOnce, checkWhole } from '../invariants/once-and-whole.ts';
import { checkNoOvercommitEver } from '../invariants/overcommit-ever.ts';
import { checkNoOvercommitNow } from '../invariants/overcommit-now.ts';
import { type Cluster, inLanes } from './cluster.ts';

/** Reads of results under way at once. */
const READ_LANES = 16;

export type Findings = Readonly<Record<InvariantNumber, Finding>>;

/** Reads the nodes and tasks of some pools while nothing is under way, and checks that no node is overcommitted. */
export async function auditNow(cluster: Cluster, history: History, pools: readonly string[]): Promise<Finding> {
  const registered = history.nodes.filter(({ pool }) => pools.includes(pool));
  return checkNoOvercommitNow(registered, await readNodes(cluster, pools), await readTasks(cluster, pools));
}

/** Checks the invariants over the whole history and over what stands in the tables at its end. */
export async function auditAtEnd(cluster: Cluster, history: History, pools: readonly string[]): Promise<Findings> {
  const tasks = await readTasks(cluster, pools);
  const nodes = await readNodes(cluster, pools);
  const state = { nodes, tasks, results: await readResults(cluster, history) };
  return {
    1: joined([checkNoOvercommitNow(history.nodes, nodes, tasks), checkNoOvercommitEver(history)]),
    2: checkOnce(history, state),
    3: checkWhole(history, state),
    4: checkInOrder(history),
  };
}

async function readNodes(cluster: Cluster, pools: readonly string[]): Promise<StoredNode[]> {
  const nodes: StoredNode[] = [];
  for (const pool of pools) nodes.push(...(await cluster.snapshot(pool)).nodes);
  return nodes;
}

async function readTasks(cluster: Cluster, pools: readonly string[]): Promise<StoredTask[]> {
  const tasks: StoredTask[] = [];
  for (const pool of pools) for await (const task of cluster.tasks(pool)) tasks.push(task);
  return tasks;
}

async function readResults(cluster: Cluster, history: History): Promise<ReadonlyMap<string, PlanResult>> {
  const results = new Map<string, PlanResult>();
  await inLanes(history.plans, READ_LANES, async ({ planId }) => {
    const result = await cluster.result(planId);
    if (result !== undefined) results.set(planId, result);
  });
  return results;
}
