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
  /** From 0 to 1: chooses among nodes that are as good. Gives each worker its own order, as chance does in the field. */
  readonly fraction: () => number;
  /**
   * How much worse than the best node another may be to count as good, in the unit of the score (1 is a whole largest node's
   * cpu). 0: ties alone. More of it spreads the choices of workers that see the same, and so makes them collide less.
   */
  readonly tolerance?: number;
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
  const scores = new Float64Array(rooms.length);
  const decisions: Decision<T>[] = [];
  const waiting: T[] = [];
  for (const task of tasks) {
    const at = bestNode(rooms, task, scale, scores, options);
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

/** Index of one of the best nodes for the task, or -1 if it fits none. `scores` is scratch space of the length of `rooms`. */
function bestNode(
  rooms: readonly NodeRoom[],
  need: TaskNeed,
  scale: Scale,
  scores: Float64Array,
  { fraction, tolerance = 0 }: BestFitOptions,
): number {
  let best = Number.POSITIVE_INFINITY;
  let at = 0;
  for (const room of rooms) {
    const score = fits(room, need) ? scoreOf(room, need, scale) : Number.POSITIVE_INFINITY;
    scores[at++] = score;
    if (score < best) best = score;
  }
  return best === Number.POSITIVE_INFINITY ? -1 : oneUpTo(scores, best + tolerance, fraction());
}

/** Index of one of the scores that are at most `limit`, each as likely. */
function oneUpTo(scores: Float64Array, limit: number, fraction: number): number {
  let good = 0;
  for (const score of scores) if (score <= limit) good += 1;
  let left = Math.floor(fraction * good);
  let at = 0;
  for (const score of scores) {
    if (score <= limit && left-- === 0) return at;
    at += 1;
  }
  return -1;
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
