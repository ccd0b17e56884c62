import type { EpochMs } from '../../lib/time.ts';
import { FunctionRun } from './function-run.ts';
import { happen } from './happen.ts';
import { LeaseBed } from './lease-bed.ts';
import type { History, Run, Step } from './lease-histories.ts';
import { fill } from './run-history.ts';

const MINUTE_MS = 60_000;

/** Runs a history whose ticks begin with the lease; everything that was done and must not have been. */
export async function runLeaseHistory(
  history: History,
): Promise<{ readonly bed: LeaseBed; readonly violations: string[] }> {
  const bed = new LeaseBed(history.kind, history.replicas);
  fill(bed, history);
  const functions = new Functions(bed);
  const violations: string[] = [];
  for (const [index, step] of history.steps.entries()) {
    for (const one of step.events) happen(bed, one);
    bed.now = (bed.now + step.minutes * MINUTE_MS) as EpochMs;
    await functions.step(step);
    violations.push(...bed.takeLog().violations.map((violation) => `step ${index}: ${violation}`));
  }
  await functions.wakeAll();
  violations.push(...bed.takeLog().violations.map((violation) => `at last: ${violation}`));
  return { bed, violations };
}

/** Functions that run in turns: of all that are at work one goes on by one call at a time. */
export class Functions {
  readonly #bed: LeaseBed;
  readonly #sleepers: FunctionRun[] = [];
  #started = 0;

  constructor(bed: LeaseBed) {
    this.#bed = bed;
  }

  /** What the functions that were started came to, in order; undefined of one that sleeps. */
  async step({ runs, order, wake }: Pick<Step, 'runs' | 'order' | 'wake'>): Promise<FunctionRun[]> {
    const woken = wake ? this.#sleepers.splice(0) : [];
    const started = runs.map((run) => this.#start(run));
    await this.#takeTurns([...woken, ...started], order);
    await this.#bed.settle();
    return started;
  }

  async wakeAll(): Promise<void> {
    while (this.#sleepers.length > 0) await this.#takeTurns(this.#sleepers.splice(0), [0]);
    await this.#bed.settle();
  }

  #start({ tick, faults }: Run): FunctionRun {
    this.#started += 1;
    const scheduledAt = (this.#bed.now - (tick === 'earlier' ? MINUTE_MS : 0)) as EpochMs;
    return new FunctionRun(this.#bed, `f${this.#started}`, scheduledAt, faults);
  }

  async #takeTurns(functions: readonly FunctionRun[], order: readonly number[]): Promise<void> {
    const awake = new Set(functions);
    for (let turn = 0; awake.size > 0; turn++) {
      const next = [...awake][(order[turn % order.length] ?? 0) % awake.size] as FunctionRun;
      await next.step();
      if (next.state === 'asleep') this.#sleepers.push(next);
      if (next.state !== 'parked') awake.delete(next);
    }
  }
}
