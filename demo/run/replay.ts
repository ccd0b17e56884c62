import type { PlanResult } from '../../lib/client/index.ts';
import type { Decision } from '../worker/best-fit.ts';
import { PendingQueue, type PendingTask, Slots } from '../worker/pending.ts';
import { PoolWatch } from '../worker/watch.ts';
import { Worker } from '../worker/worker.ts';
import { seededRandom } from '../workload/random.ts';
import type { WorkloadTask } from '../workload/workload.ts';
import { type Cluster, inLanes } from './cluster.ts';
import { Schedule, type SimulatedSeconds, type StepLimits } from './schedule.ts';

/** Task reports under way at once. */
const REPORT_LANES = 16;

/** What is allocated at one moment of simulated time. */
export interface Allocation {
  readonly at: SimulatedSeconds;
  readonly cpuMilli: number;
  readonly memoryMib: number;
  readonly gpuMilli: number;
  readonly running: number;
  /** Tasks for which there was no room. */
  readonly waiting: number;
  /** Tasks that were placed so far. */
  readonly placed: number;
}

/** What became of one plan, and when: milliseconds since the replay began. */
export interface PlanOutcome {
  readonly afterMs: number;
  readonly result: PlanResult;
}

export interface Progress {
  /** Tasks that are to be placed and ended. */
  readonly tasks: number;
  readonly now: SimulatedSeconds;
  readonly placed: number;
  readonly ended: number;
  readonly waiting: number;
  readonly plans: number;
  readonly refusals: number;
}

export interface ReplayOptions {
  readonly cluster: Cluster;
  readonly pool: string;
  /** By arrival; all of them fit some empty node of the pool. */
  readonly tasks: readonly WorkloadTask[];
  readonly workers: number;
  readonly seed: number;
  readonly limits: StepLimits;
  /** Whether the agents report that a task runs, too, or its end alone. */
  readonly reportRunning: boolean;
  /** Milliseconds of the machine's clock, from any start. */
  readonly clock: () => number;
  readonly signal: AbortSignal;
  readonly onProgress?: (progress: Progress) => void;
  /** Told of every result; what it throws ends the replay. */
  readonly onResult?: (result: PlanResult) => void;
  /** Called once, when half of the tasks were placed, nothing is under way and the clock stands. */
  readonly atHalf?: () => Promise<void>;
}

export interface Replay {
  readonly allocations: readonly Allocation[];
  readonly plans: readonly PlanOutcome[];
  readonly placed: number;
  readonly ended: { readonly complete: number; readonly failed: number };
  /** Tasks that were placed later than they could have been, for want of room. */
  readonly waited: number;
  readonly elapsedMs: number;
}

/** A task on its node, as its agent knows it. */
type Running = Decision<PendingTask>;

/**
 * Replays a workload in compressed time. The clock moves in steps: the agents report the ends of a step, the workers place
 * its arrivals, and only when all are placed that there is room for does it move on. A task that there was no room for
 * is placed later and ends as much later: it runs as long as the workload says.
 */
export async function replay(options: ReplayOptions): Promise<Replay> {
  const run = new Run(options);
  await run.toTheEnd();
  return run.outcome();
}

class Run {
  readonly #options: ReplayOptions;
  readonly #schedule: Schedule<Running>;
  readonly #slots = new Slots();
  readonly #queue: PendingQueue;
  readonly #watch: PoolWatch;
  readonly #workers: readonly Worker[];
  readonly #startedAt: number;
  readonly #allocations: Allocation[] = [];
  readonly #plans: PlanOutcome[] = [];
  readonly #allocated = { cpuMilli: 0, memoryMib: 0, gpuMilli: 0, running: 0 };
  readonly #ended = { complete: 0, failed: 0 };
  /** Placed since the agents last looked. */
  #started: Running[] = [];
  #placed = 0;
  #waited = 0;
  #refusals = 0;
  #half: boolean;

  constructor(options: ReplayOptions) {
    const { tasks, limits, workers, clock, cluster, pool, signal, seed } = options;
    this.#options = options;
    this.#startedAt = clock();
    this.#half = options.atHalf === undefined;
    this.#schedule = new Schedule(tasks, limits);
    this.#queue = new PendingQueue(workers);
    this.#watch = new PoolWatch(cluster, pool);
    this.#workers = Array.from({ length: workers }, (_, worker) => {
      return new Worker({
        name: `${pool}-worker-${worker}`,
        pool,
        cluster,
        signal,
        queue: this.#queue,
        random: seededRandom(seed + worker + 1),
        watch: this.#watch,
        onResult: (result, placed) => this.#onResult(result, placed),
      });
    });
  }

  async toTheEnd(): Promise<void> {
    const { tasks, atHalf, signal } = this.#options;
    for (let step = this.#schedule.next(); step !== undefined; step = this.#schedule.next()) {
      signal.throwIfAborted();
      this.#queue.add(step.arrivals.map((task) => this.#slots.offer(task, this.#schedule.now)));
      await Promise.all([this.#agents(step.ends), this.#drain()]);
      if (step.ends.length > 0 && this.#queue.waiting.length > 0) {
        this.#queue.retryWaiting();
        await this.#drain();
      }
      this.#sample();
      if (atHalf !== undefined && !this.#half && this.#placed * 2 >= tasks.length) {
        this.#half = true;
        await atHalf();
      }
    }
    const left = this.#queue.waiting.length;
    if (left > 0)
      throw new Error(`${left} tasks wait for room on an empty cluster, the first is ${this.#queue.waiting[0]?.name}`);
  }

  outcome(): Replay {
    return {
      allocations: this.#allocations,
      plans: this.#plans,
      placed: this.#placed,
      ended: { ...this.#ended },
      waited: this.#waited,
      elapsedMs: this.#options.clock() - this.#startedAt,
    };
  }

  async #drain(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.drain()));
  }

  #onResult(result: PlanResult, placed: readonly Running[]): void {
    const { now } = this.#schedule;
    this.#plans.push({ afterMs: this.#options.clock() - this.#startedAt, result });
    this.#refusals += result.rejectedNodes.length;
    for (const running of placed) {
      const { task } = running;
      const waitedFor = now - task.offeredAt;
      this.#schedule.endAt(task.end + waitedFor, running);
      this.#started.push(running);
      this.#placed += 1;
      if (waitedFor > 0) this.#waited += 1;
      this.#allocate(task, 1);
    }
    this.#tell();
    this.#options.onResult?.(result);
  }

  /** What the agents do in a step: they report what was started in the step before as running, and what ends as ended. */
  async #agents(ends: readonly Running[]): Promise<void> {
    const started = this.#options.reportRunning ? this.#started : [];
    this.#started = [];
    await inLanes(started, REPORT_LANES, (running) => this.#reportOne(running, 'running'));
    await inLanes(ends, REPORT_LANES, async (running) => {
      const { task } = running;
      await this.#reportOne(running, task.outcome);
      this.#ended[task.outcome] += 1;
      this.#watch.released();
      this.#allocate(task, -1);
    });
    this.#tell();
  }

  async #reportOne({ task, nodeId }: Running, state: 'running' | 'complete' | 'failed'): Promise<void> {
    const { cluster, signal } = this.#options;
    signal.throwIfAborted();
    const { serviceId, slot, name } = task;
    const outcome = await cluster.reportTask({ taskId: name, serviceId, slot, nodeId }, { state });
    if (outcome !== 'applied')
      throw new Error(`the report that task ${name} is ${state} was ${outcome}, expected applied`);
  }

  #allocate(task: WorkloadTask, sign: 1 | -1): void {
    this.#allocated.cpuMilli += sign * task.cpuMilli;
    this.#allocated.memoryMib += sign * task.memoryMib;
    this.#allocated.gpuMilli += sign * task.gpus * task.gpuMilli;
    this.#allocated.running += sign;
  }

  #sample(): void {
    this.#allocations.push({
      at: this.#schedule.now,
      ...this.#allocated,
      waiting: this.#queue.waiting.length,
      placed: this.#placed,
    });
  }

  #tell(): void {
    const { complete, failed } = this.#ended;
    this.#options.onProgress?.({
      tasks: this.#options.tasks.length,
      now: this.#schedule.now,
      placed: this.#placed,
      ended: complete + failed,
      waiting: this.#queue.waiting.length,
      plans: this.#plans.length,
      refusals: this.#refusals,
    });
  }
}
