import type { PlanInput, PlanResult } from '../../lib/client/index.ts';
import type { Cluster } from '../run/cluster.ts';
import { takenBy } from '../workload/berth-terms.ts';
import type { Random } from '../workload/random.ts';
import { bestFit, type Decision } from './best-fit.ts';
import type { PendingQueue, PendingTask } from './pending.ts';
import { type View, viewOf } from './view.ts';

/** Placements of one plan at most. */
export const MAX_PLACEMENTS = 16;

/** How much worse than the best a node may be and still be chosen, see BestFitOptions. */
const TOLERANCE = 0.02;

export interface WorkerOptions {
  readonly name: string;
  readonly pool: string;
  readonly cluster: Cluster;
  readonly random: Random;
  readonly queue: PendingQueue;
  /** How often room was given back so far: a view of an earlier number may take a node for full that is not. */
  readonly releases: () => number;
  /** Told of every result, before the worker goes on. */
  readonly onResult: (result: PlanResult, placed: readonly Decision<PendingTask>[]) => void;
  readonly signal: AbortSignal;
}

/** Thrown when a plan of the demo is answered in a way that no plan of the demo can be. */
export class UnexpectedResultError extends Error {
  override readonly name = 'UnexpectedResultError';

  constructor({ planId, status, problems }: PlanResult) {
    const why = problems.map(({ path, message }) => `${path}: ${message}`).join('; ');
    super(`plan ${planId} is ${status}, which was not expected${why === '' ? '' : `: ${why}`}`);
  }
}

/** A scheduler worker: one of several that place the tasks of one queue, each on a view of its own that grows stale. */
export class Worker {
  readonly #options: WorkerOptions;
  #view: View | undefined;
  #viewReleases = 0;
  #snapshotIndex = 0;
  #plans = 0;

  constructor(options: WorkerOptions) {
    this.#options = options;
  }

  /** Places tasks of the queue until it is empty and all that this worker took are placed or wait for room. */
  async drain(): Promise<void> {
    const { queue, signal } = this.#options;
    let again: readonly PendingTask[] = [];
    for (;;) {
      signal.throwIfAborted();
      const tasks = [...again, ...queue.take(MAX_PLACEMENTS - again.length)];
      if (tasks.length === 0) return;
      again = await this.#place(tasks);
    }
  }

  /** Plans for `tasks` and pushes the plan; answers with those that were refused. */
  async #place(tasks: readonly PendingTask[]): Promise<readonly PendingTask[]> {
    const { queue, releases, cluster, signal, onResult } = this.#options;
    let fit = bestFit(await this.#currentView(), tasks, this.#choice());
    if (fit.waiting.length > 0 && this.#viewReleases < releases()) {
      await this.#refresh();
      fit = bestFit(await this.#currentView(), tasks, this.#choice());
    }
    queue.wait(fit.waiting);
    if (fit.decisions.length === 0) return [];
    const result = await cluster.submit(this.#planOf(fit.decisions), { signal });
    if (result.status === 'invalid' || result.status === 'expired') throw new UnexpectedResultError(result);
    const refused = new Set<string>(result.rejectedNodes.map(({ nodeId }) => nodeId));
    onResult(
      result,
      fit.decisions.filter(({ nodeId }) => !refused.has(nodeId)),
    );
    this.#view = fit.view;
    if (result.refreshIndex > 0) await this.#refresh(result.refreshIndex);
    return fit.decisions.filter(({ nodeId }) => refused.has(nodeId)).map(({ task }) => task);
  }

  #choice() {
    return { fraction: this.#options.random.fraction, tolerance: TOLERANCE };
  }

  async #currentView(): Promise<View> {
    return this.#view ?? this.#refresh();
  }

  /** Looks at the pool anew: every commit up to `index` is in what it sees. */
  async #refresh(index = 0): Promise<View> {
    const { cluster, pool, releases } = this.#options;
    this.#viewReleases = releases();
    const snapshot = await cluster.snapshot(pool);
    if (snapshot.index < index)
      throw new Error(`the snapshot of pool ${pool} is of index ${snapshot.index}, index ${index} was asked for`);
    this.#snapshotIndex = snapshot.index;
    this.#view = viewOf(snapshot.nodes);
    return this.#view;
  }

  #planOf(decisions: readonly Decision<PendingTask>[]): PlanInput {
    const { name, pool } = this.#options;
    this.#plans += 1;
    return {
      planId: `${name}-${this.#plans}`,
      pool,
      snapshotIndex: this.#snapshotIndex,
      placements: decisions.map(({ task, nodeId, gpus }) => ({
        taskId: task.name,
        serviceId: task.serviceId,
        slot: task.slot,
        nodeId,
        ...takenBy(task, gpus),
      })),
    };
  }
}
