/** A node of a workload: a machine as the trace describes it. */
export interface WorkloadNode {
  readonly name: string;
  /** Thousandths of a core. */
  readonly cpuMilli: number;
  readonly memoryMib: number;
  /** Whole GPUs, all of one model. */
  readonly gpus: number;
  /** Model of its GPUs; empty if it has none, or if it is not known. */
  readonly model: string;
}

/** What a task takes of a node. */
export interface TaskNeed {
  readonly cpuMilli: number;
  readonly memoryMib: number;
  /** GPUs that it takes a part of, or all of. */
  readonly gpus: number;
  /** Thousandths of each of its GPUs: 1000 for whole ones, less for a share of one, 0 if it takes none. */
  readonly gpuMilli: number;
  /** Models that will do; empty: any. */
  readonly models: readonly string[];
}

export type TaskOutcome = 'complete' | 'failed';

export interface WorkloadTask extends TaskNeed {
  readonly name: string;
  /** Seconds since the start of the trace. */
  readonly arrival: number;
  /** Seconds since the start of the trace, not before `arrival`. */
  readonly end: number;
  readonly outcome: TaskOutcome;
}

/** What the demo replays. */
export interface Workload {
  /** Where it comes from, as a reader of the summary is told. */
  readonly source: string;
  readonly nodes: readonly WorkloadNode[];
  /** By arrival, those of the same second by name. */
  readonly tasks: readonly WorkloadTask[];
}

/** Thousandths of a whole GPU. */
export const WHOLE_GPU = 1000;

/** Whether a task takes a part of one GPU, so that others may use the rest of it. */
export function isShare(need: Pick<TaskNeed, 'gpus' | 'gpuMilli'>): boolean {
  return need.gpus === 1 && need.gpuMilli < WHOLE_GPU;
}

/** In the order in which they arrive. */
export function byArrival(tasks: Iterable<WorkloadTask>): WorkloadTask[] {
  return [...tasks].sort((a, b) => a.arrival - b.arrival || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
}
