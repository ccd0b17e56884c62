import type { PlanInput, PlanResult } from '../../lib/client/index.ts';
import type { Cluster } from '../run/cluster.ts';
import { takenBy } from '../workload/berth-terms.ts';
import { type Random, shuffled } from '../workload/random.ts';
import { type BestFit, bestFit, type Decision } from './best-fit.ts';
import type { PendingQueue, PendingTask } from './pending.ts';
import type { View } from './view.ts';
import type { PoolWatch, Sight } from './watch.ts';

/** Placements of one plan at most. */
const MAX_PLACEMENTS = 16;

/** How long a worker waits for a result: on a machine that is busy with other things as well, plans wait for their turn. */
const PATIENCE_MS = 300_000;

/** The part of the nodes that are compared for one task, and how many at least; see BestFitOptions. */
const COMPARED_PART = 0.005;
const COMPARED_LEAST = 8;

/** Commits that a worker's view may lag behind the last one that it knows of: reading the pool for each plan costs more than
 * a refusal now and then. */
const MAX_LAG = 8;

export interface WorkerOptions {
  readonly name: string;
  readonly pool: string;
  readonly cluster: Cluster;
  readonly random: Random;
  readonly queue: PendingQueue;
  readonly watch: PoolWatch;
  /** Told of every result, before the worker goes on. */
  readonly onResult: (result: PlanResult, placed: readonly Decision<PendingTask>[]) => void;
  readonly signal: AbortSignal;
}

/** Thrown when a plan of the demo is answered in a way that no plan of the demo can be. */
class UnexpectedResultError extends Error {
  override readonly name = 'UnexpectedResultError';

  constructor({ planId, status, problems }: PlanResult) {
    const why = problems.map(({ path, message }) => `${path}: ${message}`).join('; ');
    super(`plan ${planId} is ${status}, which was not expected${why === '' ? '' : `: ${why}`}`);
  }
}

/**
 * A scheduler worker: one of several that place the tasks of one queue. Each works on a view of its own, made of what
 * the pool was like some commits ago and of what it has placed itself since; of what others place it learns late.
 */
export class Worker {
  readonly #options: WorkerOptions;
  #view: View = [];
  /** What the view was made from. */
  #sight: Sight | undefined;
  /** Index of the last commit that this worker knows of. */
  #knownIndex = 0;
  #plans = 0;

  constructor(options: WorkerOptions) {
    this.#options = options;
  }

  /** Places tasks of the queue until it is empty. What is refused goes back to it, what there is no room for waits in it. */
  async drain(): Promise<void> {
    const { queue, signal } = this.#options;
    for (let tasks = queue.take(MAX_PLACEMENTS); tasks.length > 0; tasks = queue.take(MAX_PLACEMENTS)) {
      signal.throwIfAborted();
      await this.#place(tasks);
    }
  }

  async #place(tasks: readonly PendingTask[]): Promise<void> {
    const { queue, watch, cluster, signal, onResult } = this.#options;
    const index = Math.max(this.#knownIndex - MAX_LAG, ...tasks.map(({ refreshIndex }) => refreshIndex));
    await this.#look(index);
    let fit = this.#fit(tasks);
    if (fit.waiting.length > 0 && (this.#sight?.releases ?? 0) < watch.releases) {
      await this.#look(index, watch.releases);
      fit = this.#fit(tasks);
    }
    queue.wait(fit.waiting);
    if (fit.decisions.length === 0) return;
    const result = await cluster.submit(this.#planOf(fit.decisions), { signal, timeoutMs: PATIENCE_MS });
    if (result.status === 'invalid' || result.status === 'expired') throw new UnexpectedResultError(result);
    this.#knownIndex = Math.max(this.#knownIndex, result.index);
    const refused = new Set<string>(result.rejectedNodes.map(({ nodeId }) => nodeId));
    const isPlaced = ({ nodeId }: Decision<PendingTask>) => !refused.has(nodeId);
    onResult(result, fit.decisions.filter(isPlaced));
    this.#view = fit.view;
    // What was refused stands in that view as placed: it is of no use any more.
    if (refused.size > 0) this.#sight = undefined;
    const again = fit.decisions.filter((decision) => !isPlaced(decision)).map(({ task }) => task);
    queue.refused(again, result.refreshIndex);
  }

  /**
   * Has the view be no older than asked for. What is known by now is taken if it holds all that this worker has placed,
   * its nodes in an order of the worker's own.
   */
  async #look(index: number, releases = 0): Promise<void> {
    const { watch, random } = this.#options;
    const sight = await watch.sight(this.#sight === undefined ? this.#knownIndex : index, releases);
    if (sight === this.#sight || sight.index < this.#knownIndex) return;
    this.#sight = sight;
    this.#view = shuffled(sight.view, random);
  }

  #fit(tasks: readonly PendingTask[]): BestFit<PendingTask> {
    const candidates = Math.max(COMPARED_LEAST, Math.ceil(this.#view.length * COMPARED_PART));
    return bestFit(this.#view, tasks, { fraction: this.#options.random.fraction, candidates });
  }

  #planOf(decisions: readonly Decision<PendingTask>[]): PlanInput {
    const { name, pool } = this.#options;
    this.#plans += 1;
    return {
      planId: `${name}-${this.#plans}`,
      pool,
      snapshotIndex: this.#sight?.index ?? 0,
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
