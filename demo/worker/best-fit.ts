import type { TaskNeed } from '../workload/workload.ts';
import { isShare, WHOLE_GPU } from '../workload/workload.ts';
import type { NodeRoom, View } from './view.ts';
import { chooseGpus, fits, take } from './view.ts';

/** Where a task is to go. */
export interface Decision<T extends TaskNeed = TaskNeed> {
  readonly task: T;
  readonly nodeId: string;
  /** Which GPUs of the node it takes; empty for a task without. */
  readonly gpus: readonly number[];
}

export interface BestFit<T extends TaskNeed = TaskNeed> {
  readonly decisions: readonly Decision<T>[];
  /** Tasks that fit no node of the view at present. */
  readonly waiting: readonly T[];
  /** The view with the decisions taken. */
  readonly view: View;
}

export interface BestFitOptions {
  /** From 0 to 1: where in the view the search for nodes begins, for all of the tasks. */
  readonly fraction: () => number;
  /**
   * Nodes that are compared for one task: the first so many that it fits. Default: all. Comparing a part of them is what
   * schedulers do (kube-scheduler's percentageOfNodesToScore, Nomad's candidate limit): it saves time, and workers
   * that see the same choose less often the same, since each begins elsewhere.
   */
  readonly candidates?: number;
}

/** What opening a whole GPU for a share costs, in the unit of the score: more than any difference in what is left. */
const OPENS_WHOLE_GPU = 3;
/** What each GPU that is partly taken costs a task of whole GPUs: it keeps shared nodes for shares. */
const SHARED_NEIGHBOUR = 0.25;

/**
 * Places tasks one after the other on the node where they fit best. The score is that of the best-fit policy in Weng et
 * al., "Beware of Fragmentation" (USENIX ATC 2023), 6.1: what is left of cpu, memory and GPUs, each as a part of the
 * largest node's, the least is best; and two terms against fragmentation: a share opens a whole GPU last, whole GPUs
 * are taken where GPUs are whole. A task without GPU so goes to nodes without GPUs first.
 */
export function bestFit<T extends TaskNeed>(view: View, tasks: readonly T[], options: BestFitOptions): BestFit<T> {
  const rooms = [...view];
  const scale = scaleOf(view);
  const start = Math.floor(options.fraction() * rooms.length);
  const candidates = options.candidates ?? rooms.length;
  const decisions: Decision<T>[] = [];
  const waiting: T[] = [];
  for (const task of tasks) {
    const at = bestNode(rooms, task, scale, start, candidates);
    const room = rooms[at];
    if (room === undefined) {
      waiting.push(task);
      continue;
    }
    const gpus = chooseGpus(room, task);
    rooms[at] = take(room, task, gpus);
    decisions.push({ task, nodeId: room.nodeId, gpus });
  }
  return { decisions, waiting, view: rooms };
}

interface Scale {
  readonly cpuMilli: number;
  readonly memoryMib: number;
  readonly gpuMilli: number;
}

/** The most of each resource that a node of the view has free; 1 where none has any, so that nothing is divided by zero. */
function scaleOf(view: View): Scale {
  const scale = { cpuMilli: 1, memoryMib: 1, gpuMilli: 1 };
  for (const room of view) {
    scale.cpuMilli = Math.max(scale.cpuMilli, room.cpuMilli);
    scale.memoryMib = Math.max(scale.memoryMib, room.memoryMib);
    scale.gpuMilli = Math.max(scale.gpuMilli, room.gpus.length * WHOLE_GPU);
  }
  return scale;
}

/** Index of the best node for the task among the candidates, of equals the first; -1 if it fits none at all. */
function bestNode(rooms: readonly NodeRoom[], need: TaskNeed, scale: Scale, start: number, candidates: number): number {
  let best = -1;
  let lowest = Number.POSITIVE_INFINITY;
  let compared = 0;
  for (let step = 0; step < rooms.length && compared < candidates; step += 1) {
    const at = (start + step) % rooms.length;
    const room = rooms[at] as NodeRoom;
    if (!fits(room, need)) continue;
    compared += 1;
    const score = scoreOf(room, need, scale);
    if (score >= lowest) continue;
    lowest = score;
    best = at;
  }
  return best;
}

/** What the node would have left, in parts of the largest node, and what the choice costs in fragmentation. */
function scoreOf(room: NodeRoom, need: TaskNeed, scale: Scale): number {
  const { freeMilli, shared, largestShared } = room.totals;
  const left =
    (room.cpuMilli - need.cpuMilli) / scale.cpuMilli +
    (room.memoryMib - need.memoryMib) / scale.memoryMib +
    (freeMilli - need.gpus * need.gpuMilli) / scale.gpuMilli;
  if (need.gpus === 0) return left;
  if (!isShare(need)) return left + shared * SHARED_NEIGHBOUR;
  return need.gpuMilli <= largestShared ? left : left + OPENS_WHOLE_GPU;
}
