import { whole } from '../numbers.ts';
import type { TaskNeed, WorkloadNode, WorkloadTask } from './workload.ts';
import { isShare } from './workload.ts';

/** A task that fits no node of the cluster even when all of them are empty, and why. */
export interface Unplaceable {
  readonly task: WorkloadTask;
  /** The same for all tasks that lack the same thing: what the task needs, and what the nodes have at most. */
  readonly reason: string;
}

/** Whether the task fits the node when nothing else is on it. */
function fitsEmpty(need: TaskNeed, node: WorkloadNode): boolean {
  return (
    hasModel(need, node) && need.gpus <= node.gpus && need.cpuMilli <= node.cpuMilli && need.memoryMib <= node.memoryMib
  );
}

/** The tasks of `tasks` that fit no empty node of `nodes`, each with its reason. */
export function findUnplaceable(tasks: readonly WorkloadTask[], nodes: readonly WorkloadNode[]): Unplaceable[] {
  const kinds = kindsOf(nodes);
  return tasks
    .filter((task) => !kinds.some((node) => fitsEmpty(task, node)))
    .map((task) => ({ task, reason: reasonOf(task, kinds) }));
}

/** One node of each kind: thousands of nodes are of a few kinds, and only those need to be looked at for each task. */
function kindsOf(nodes: readonly WorkloadNode[]): WorkloadNode[] {
  const kinds = new Map<string, WorkloadNode>();
  for (const node of nodes) kinds.set(JSON.stringify([node.cpuMilli, node.memoryMib, node.gpus, node.model]), node);
  return [...kinds.values()];
}

function hasModel(need: TaskNeed, node: WorkloadNode): boolean {
  return need.models.length === 0 || need.models.includes(node.model);
}

/** What no node has, the first of: model, GPUs, cpu, memory, and all of them at once. */
function reasonOf(need: TaskNeed, nodes: readonly WorkloadNode[]): string {
  const models = need.models.join(' or ');
  const candidates = nodes.filter((node) => (need.gpus === 0 || node.gpus > 0) && hasModel(need, node));
  const which = models === '' ? (need.gpus === 0 ? 'node' : 'GPU node') : `node with ${models}`;
  if (candidates.length === 0)
    return models === '' ? 'needs a GPU, no node has one' : `needs a GPU of model ${models}, no node has it`;
  const most = (of: (node: WorkloadNode) => number) => candidates.reduce((max, node) => Math.max(max, of(node)), 0);
  const gpus = most((node) => node.gpus);
  if (need.gpus > gpus) return `needs ${need.gpus} GPUs, the largest ${which} has ${gpus}`;
  const enough = candidates.filter((node) => node.gpus >= need.gpus);
  const among = need.gpus > 1 ? `node with ${need.gpus} GPUs${models === '' ? '' : ` of ${models}`}` : which;
  const cpu = enough.reduce((max, node) => Math.max(max, node.cpuMilli), 0);
  if (need.cpuMilli > cpu) return `needs ${need.cpuMilli / 1000} cores, the largest ${among} has ${cpu / 1000}`;
  const memory = enough.reduce((max, node) => Math.max(max, node.memoryMib), 0);
  if (need.memoryMib > memory)
    return `needs ${whole(need.memoryMib)} MiB of memory, the largest ${among} has ${whole(memory)}`;
  return `needs ${need.cpuMilli / 1000} cores, ${whole(need.memoryMib)} MiB and ${gpuText(need)} at once, no ${among} has all`;
}

function gpuText(need: TaskNeed): string {
  if (need.gpus === 0) return 'no GPU';
  return isShare(need) ? `${need.gpuMilli} thousandths of a GPU` : `${need.gpus} GPU${need.gpus === 1 ? '' : 's'}`;
}
