import type { WorkloadTask } from '../workload/workload.ts';
import { isShare } from '../workload/workload.ts';

/** A task that is to be placed, in its slot. */
export interface PendingTask extends WorkloadTask {
  readonly serviceId: string;
  readonly slot: number;
  /** Simulated seconds at which it was offered to the workers. */
  readonly offeredAt: number;
  /** The pool's index at which a worker must look before it plans the task: it was refused there. 0: at none. */
  readonly refreshIndex: number;
}

/** A worker takes so many at least, if there are: a plan for each single task costs everybody more than it gains. */
const LEAST_TAKEN = 8;

/** Gives each task a slot: a service for each kind of task, its tasks numbered as they come. */
export class Slots {
  readonly #next = new Map<string, number>();

  offer(task: WorkloadTask, offeredAt: number): PendingTask {
    const serviceId = serviceOf(task);
    const slot = this.#next.get(serviceId) ?? 0;
    this.#next.set(serviceId, slot + 1);
    return { ...task, serviceId, slot, offeredAt, refreshIndex: 0 };
  }
}

function serviceOf(task: WorkloadTask): string {
  if (task.gpus === 0) return 'cpu';
  return isShare(task) ? 'gpu-share' : `gpu-${task.gpus}`;
}

/** The tasks that the workers share: those to be placed now, and those for which there is no room at present. */
export class PendingQueue {
  readonly #workers: number;
  #pending: PendingTask[] = [];
  #waiting: PendingTask[] = [];

  /** @param workers how many take from it: each takes its part, so that all have something to do */
  constructor(workers: number) {
    this.#workers = workers;
  }

  get waiting(): readonly PendingTask[] {
    return this.#waiting;
  }

  add(tasks: readonly PendingTask[]): void {
    this.#pending.push(...tasks);
  }

  /** The next tasks, at most `most` of them; if there are many, a worker's part. */
  take(most: number): PendingTask[] {
    const part = Math.ceil(this.#pending.length / this.#workers);
    return this.#pending.splice(0, Math.min(most, Math.max(LEAST_TAKEN, part)));
  }

  /** Has tasks that were refused be planned again, before any other, by whoever has looked at the pool at `refreshIndex`. */
  refused(tasks: readonly PendingTask[], refreshIndex: number): void {
    this.#pending.unshift(...tasks.map((task) => ({ ...task, refreshIndex })));
  }

  /** Puts tasks aside for which there is no room. */
  wait(tasks: readonly PendingTask[]): void {
    this.#waiting.push(...tasks);
  }

  /** Has those that wait be tried again, before any other. */
  retryWaiting(): void {
    this.#pending.unshift(...this.#waiting.sort((a, b) => a.arrival - b.arrival));
    this.#waiting = [];
  }
}
