import { type EpochMs, systemClock } from '../../lib/time.ts';

/** The time that functions see, for tests about hours that take milliseconds. It stands still until it is set again. */
export class MovableClock {
  /** Shared with the threads that functions run in: the time in milliseconds since 1970, NaN while it is the system's. */
  readonly shared = new SharedArrayBuffer(Float64Array.BYTES_PER_ELEMENT);
  readonly #time = new Float64Array(this.shared);

  constructor() {
    this.#time[0] = Number.NaN;
  }

  /** Sets the time; undefined: the system's again. What runs at the moment sees it from now on. */
  set(at: EpochMs | undefined): void {
    this.#time[0] = at ?? Number.NaN;
  }

  now(): EpochMs {
    const set = this.#time[0] as EpochMs;
    return Number.isNaN(set) ? systemClock() : set;
  }
}
