import type { Clock, EpochMs } from '../../lib/time.ts';

interface Entry {
  readonly at: EpochMs;
  readonly act: () => void;
}

/** Events that one settling may run: a world that brings forth events for ever at one time is a bug, and no wait. */
const MOST_EVENTS = 1_000_000;

/**
 * What is still to happen, in the order of its time. Nothing happens by itself: `settle` makes happen what was due by the
 * clock, each event at its own time, so that a clock moved by an hour leaves the world as an hour of waiting would.
 */
export class Agenda {
  readonly #clock: Clock;
  /** Whether anything is ever entered. */
  readonly dynamics: boolean;
  /** By time, those of one time in the order in which they were entered. */
  readonly #entries: Entry[] = [];
  #now: EpochMs;
  #settling = false;

  /** Without `dynamics` nothing is ever entered: the world moves by what is done to it alone. */
  constructor({ clock, dynamics }: { readonly clock: Clock; readonly dynamics: boolean }) {
    this.#clock = clock;
    this.dynamics = dynamics;
    this.#now = clock();
  }

  /** The world's time: that of the event that is happening, else the clock's. It never goes back. */
  now(): EpochMs {
    if (!this.#settling) this.#now = Math.max(this.#now, this.#clock()) as EpochMs;
    return this.#now;
  }

  after(seconds: number, act: () => void): void {
    if (!this.dynamics) return;
    const at = (this.now() + seconds * 1000) as EpochMs;
    let place = this.#entries.length;
    while (place > 0 && (this.#entries[place - 1] as Entry).at > at) place -= 1;
    this.#entries.splice(place, 0, { at, act });
  }

  /** Makes happen all that is due, and what comes of it. */
  settle(): void {
    if (this.#settling) return;
    const until = this.#clock();
    this.#settling = true;
    try {
      for (let done = 0; (this.#entries[0]?.at ?? Number.POSITIVE_INFINITY) <= until; done += 1) {
        if (done === MOST_EVENTS)
          throw new Error(`more than ${MOST_EVENTS} events until ${new Date(until).toISOString()}`);
        const { at, act } = this.#entries.shift() as Entry;
        this.#now = Math.max(this.#now, at) as EpochMs;
        act();
      }
    } finally {
      this.#settling = false;
    }
  }
}
