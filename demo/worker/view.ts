import { deviceKey, FREE } from '../../lib/nodes/claims.ts';
import { amountOf, type Resources } from '../../lib/nodes/resources.ts';
import { gpuDevice, gpuResource, MODEL_LABEL } from '../workload/berth-terms.ts';
import type { TaskNeed } from '../workload/workload.ts';
import { isShare, WHOLE_GPU } from '../workload/workload.ts';

/** What a worker knows of one node: what it believes to be free. Never changed in place. */
export interface NodeRoom {
  readonly nodeId: string;
  readonly model: string;
  /** Thousandths of a core. */
  readonly cpuMilli: number;
  readonly memoryMib: number;
  /** Free thousandths of each GPU; 0 for one that is held whole, or unhealthy. */
  readonly gpus: readonly number[];
  /** Sums over `gpus`, kept since a node is looked at far more often than it changes. */
  readonly totals: GpuTotals;
}

export interface GpuTotals {
  /** Thousandths that are free, over all GPUs. */
  readonly freeMilli: number;
  /** How many of them nothing is on. */
  readonly whole: number;
  /** How many of them are taken in part. */
  readonly shared: number;
  /** The most that a share can get of any of them. */
  readonly largest: number;
  /** The most that a share can get of one that is shared already. */
  readonly largestShared: number;
}

/** A worker's view of a pool: the nodes that take placements. A copy of it is a copy of the list. */
export type View = readonly NodeRoom[];

/** What a view is made from: of each node what the client's snapshot tells. */
export interface NodeFacts {
  readonly nodeId: string;
  readonly schedulable: boolean;
  readonly capacity: Resources;
  readonly free: Resources;
  /** Holder of each claim; `FREE` for a device that is there and that nobody holds. */
  readonly claims: ReadonlyMap<string, string>;
  /** Claims that nobody may make: devices that are unhealthy or listed no more. */
  readonly withdrawn: ReadonlySet<string>;
  readonly labels: Readonly<Record<string, string>>;
}

export function viewOf(nodes: readonly NodeFacts[]): View {
  return nodes.filter(({ schedulable }) => schedulable).map(roomOf);
}

function roomOf({ nodeId, capacity, free, claims, withdrawn, labels }: NodeFacts): NodeRoom {
  const gpus: number[] = [];
  for (let gpu = 0; amountOf(capacity, gpuResource(gpu)) > 0; gpu += 1) {
    const key = deviceKey(gpuDevice(gpu));
    const usable = claims.get(key) === FREE && !withdrawn.has(key);
    gpus.push(usable ? amountOf(free, gpuResource(gpu)) : 0);
  }
  const model = labels[MODEL_LABEL] ?? '';
  const [cpuMilli, memoryMib] = [amountOf(free, 'cpu'), amountOf(free, 'memory')];
  return { nodeId, model, cpuMilli, memoryMib, gpus, totals: totalsOf(gpus) };
}

function totalsOf(gpus: readonly number[]): GpuTotals {
  const totals = { freeMilli: 0, whole: 0, shared: 0, largest: 0, largestShared: 0 };
  for (const free of gpus) {
    totals.freeMilli += free;
    totals.largest = Math.max(totals.largest, free);
    if (free === WHOLE_GPU) totals.whole += 1;
    else if (free > 0) {
      totals.shared += 1;
      totals.largestShared = Math.max(totals.largestShared, free);
    }
  }
  return totals;
}

/** Whether the task fits beside what is on the node already. */
export function fits(room: NodeRoom, need: TaskNeed): boolean {
  return (
    need.cpuMilli <= room.cpuMilli &&
    need.memoryMib <= room.memoryMib &&
    (need.gpus === 0 || (isShare(need) ? need.gpuMilli <= room.totals.largest : need.gpus <= room.totals.whole)) &&
    (need.models.length === 0 || need.models.includes(room.model))
  );
}

/**
 * The GPUs of the node for a task that fits it: for a share the GPU with the least room that is enough, so that a shared
 * one is filled before a whole one is opened; for whole ones the first.
 */
export function chooseGpus(room: NodeRoom, need: TaskNeed): readonly number[] {
  if (!isShare(need)) {
    const whole: number[] = [];
    for (let gpu = 0; whole.length < need.gpus && gpu < room.gpus.length; gpu += 1) {
      if (room.gpus[gpu] === WHOLE_GPU) whole.push(gpu);
    }
    return whole;
  }
  let best = -1;
  let least = Number.POSITIVE_INFINITY;
  room.gpus.forEach((free, gpu) => {
    if (free >= need.gpuMilli && free < least) [best, least] = [gpu, free];
  });
  return [best];
}

/** The node once the task has taken these GPUs of it, and its cpu and memory. */
export function take(room: NodeRoom, need: TaskNeed, taken: readonly number[]): NodeRoom {
  const gpus =
    taken.length === 0 ? room.gpus : room.gpus.map((free, gpu) => (taken.includes(gpu) ? free - need.gpuMilli : free));
  return {
    nodeId: room.nodeId,
    model: room.model,
    cpuMilli: room.cpuMilli - need.cpuMilli,
    memoryMib: room.memoryMib - need.memoryMib,
    gpus,
    totals: totalsOf(gpus),
  };
}
