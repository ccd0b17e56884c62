import type { NodeSpecInput } from '../../lib/nodes/node.ts';
import { nodeSpecOf } from './berth-terms.ts';
import { BadInputError } from './problems.ts';
import { byArrival, type Workload, type WorkloadNode, type WorkloadTask } from './workload.ts';

/**
 * A node that looks good to the workers and that the applier refuses each time, and the evaluations that go on choosing it.
 * Its agent has registered it with `maxTasks: 0`; the demo's workers look at cpu, memory, GPUs and models, and see an
 * empty machine. So it was in hashicorp/nomad#13017: worker and applier do not agree on what fits.
 */
export interface BadNode {
  readonly node: WorkloadNode;
  /** The one other node of its model. It is larger, so that a best fit takes it only when the bad one is out of sight. */
  readonly good: WorkloadNode;
  /** Tasks that ask for that model: all of them at once fill the bad node exactly. */
  readonly tasks: readonly WorkloadTask[];
}

/** Tasks that ask for one bad node. */
export const TASKS_PER_BAD_NODE = 4;

/** What one of them needs: so little that the node is too small for other tasks, which could go elsewhere and show no loop. */
const NEED = { cpuMilli: 100, memoryMib: 128, gpus: 1, gpuMilli: 250 } as const;

/** The part of the time over which tasks arrive that such a task lives, and the least, in seconds. */
const LIFETIME_PART = 1 / 20;
const LEAST_LIFETIME = 60;

/** So many bad nodes for `workload`, their tasks arriving one node's after the other's, spread over its arrivals. */
export function badNodesFor({ tasks }: Workload, count: number): BadNode[] {
  const [first, last] = [tasks[0]?.arrival ?? 0, tasks.at(-1)?.arrival ?? 0];
  const lifetime = Math.max(LEAST_LIFETIME, Math.round((last - first) * LIFETIME_PART));
  return Array.from({ length: count }, (_, at) => {
    const arrival = tasks[Math.floor((tasks.length * (at + 1)) / (count + 1))]?.arrival ?? first;
    return badNode(`bad-node-${at + 1}`, `spare-node-${at + 1}`, arrival, arrival + lifetime);
  });
}

function badNode(bad: string, spare: string, arrival: number, end: number): BadNode {
  const model = `model-of-${bad}`;
  const roomFor = (name: string, tasks: number, gpus: number): WorkloadNode => {
    return { name, cpuMilli: tasks * NEED.cpuMilli, memoryMib: tasks * NEED.memoryMib, gpus, model };
  };
  return {
    node: roomFor(bad, TASKS_PER_BAD_NODE, 1),
    good: roomFor(spare, TASKS_PER_BAD_NODE + 1, 2),
    tasks: Array.from({ length: TASKS_PER_BAD_NODE }, (_, task) => {
      return { name: `${bad}-task-${task + 1}`, ...NEED, models: [model], arrival, end, outcome: 'complete' };
    }),
  };
}

/** The same under other names, for another pool: ids of nodes and tasks are told apart whatever the pool. */
export function renamed({ node, good, tasks }: BadNode, prefix: string): BadNode {
  const named = <T extends { readonly name: string }>(it: T): T => ({ ...it, name: `${prefix}${it.name}` });
  return { node: named(node), good: named(good), tasks: tasks.map(named) };
}

/**
 * The workload with the bad nodes, the good ones beside them, and their tasks; the same workload if there are none.
 *
 * @throws BadInputError if it has a node or a task of such a name already
 */
export function withBadNodes(workload: Workload, badNodes: readonly BadNode[]): Workload {
  if (badNodes.length === 0) return workload;
  const nodes = badNodes.flatMap(({ node, good }) => [node, good]);
  const tasks = badNodes.flatMap((bad) => bad.tasks);
  const taken = sameName(workload.nodes, nodes) ?? sameName(workload.tasks, tasks);
  if (taken !== undefined)
    throw new BadInputError(`--bad-nodes adds one named ${taken}, and ${workload.source} has it already: rename that`);
  return {
    source: `${workload.source}, and ${badNodes.length} bad ${badNodes.length === 1 ? 'node' : 'nodes'}`,
    nodes: [...workload.nodes, ...nodes],
    tasks: byArrival([...workload.tasks, ...tasks]),
  };
}

type Named = { readonly name: string };

function sameName(there: readonly Named[], added: readonly Named[]): string | undefined {
  const names = new Set(added.map(({ name }) => name));
  return there.find(({ name }) => names.has(name))?.name;
}

/** What registers the nodes of a pool: the bad ones as their agents do. */
export function nodeSpecsOf(
  nodes: readonly WorkloadNode[],
  badNodes: readonly BadNode[],
  pool: string,
): NodeSpecInput[] {
  const bad = new Set(badNodes.map(({ node }) => node.name));
  return nodes.map((node) => {
    const spec = nodeSpecOf(node, pool);
    return bad.has(node.name) ? { ...spec, maxTasks: 0 } : spec;
  });
}
