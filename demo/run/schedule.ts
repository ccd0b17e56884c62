import type { WorkloadTask } from '../workload/workload.ts';

/** Seconds of simulated time since the start of the trace. */
export type SimulatedSeconds = number;

/** What happens up to the time that the clock moves to. */
export interface Step<Running> {
  readonly now: SimulatedSeconds;
  readonly arrivals: readonly WorkloadTask[];
  readonly ends: readonly Running[];
}

export interface StepLimits {
  /** Arrivals and ends of one step at most, so that a busy hour is replayed in many steps. */
  readonly events: number;
  /** Simulated seconds of one step at most, so that a quiet week is. */
  readonly seconds: number;
}

/** Arrivals and ends to come, in the order of their times. */
export class Schedule<Running> {
  readonly #tasks: readonly WorkloadTask[];
  readonly #limits: StepLimits;
  /** By time, the earliest last, so that taking it is cheap. */
  readonly #ends: { readonly at: SimulatedSeconds; readonly running: Running }[] = [];
  #arrived = 0;
  #now: SimulatedSeconds = 0;

  /** @param tasks by arrival */
  constructor(tasks: readonly WorkloadTask[], limits: StepLimits) {
    this.#tasks = tasks;
    this.#limits = limits;
  }

  get now(): SimulatedSeconds {
    return this.#now;
  }

  /** Has `running` end at `at`; if that is over already, in the next step. */
  endAt(at: SimulatedSeconds, running: Running): void {
    let low = 0;
    let high = this.#ends.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#ends[middle]?.at ?? 0) > at) low = middle + 1;
      else high = middle;
    }
    this.#ends.splice(low, 0, { at, running });
  }

  /** Moves the clock on by one step; undefined if nothing is to come. */
  next(): Step<Running> | undefined {
    const first = this.#nextAt();
    if (first === Number.POSITIVE_INFINITY) return undefined;
    const arrivals: WorkloadTask[] = [];
    const ends: Running[] = [];
    let now = Math.max(this.#now, first);
    const until = now + this.#limits.seconds;
    for (let at = first; at <= until && arrivals.length + ends.length < this.#limits.events; at = this.#nextAt()) {
      now = Math.max(now, at);
      // Of the same second ends come first: they make room.
      if (this.#ends.at(-1)?.at === at) ends.push((this.#ends.pop() as { running: Running }).running);
      else arrivals.push(this.#tasks[this.#arrived++] as WorkloadTask);
    }
    this.#now = now;
    return { now, arrivals, ends };
  }

  #nextAt(): SimulatedSeconds {
    const arrival = this.#tasks[this.#arrived]?.arrival ?? Number.POSITIVE_INFINITY;
    return Math.min(arrival, this.#ends.at(-1)?.at ?? Number.POSITIVE_INFINITY);
  }
}
