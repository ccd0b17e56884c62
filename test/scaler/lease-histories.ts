import fc from 'fast-check';
import { type Event, event, FAULTS as OTHERS, type History as OtherHistory, start } from './histories.ts';

/** Histories of ticks that begin with the lease, as the function runs them. */

/**
 * As those of histories without a lease, and: asleep: the function hears of its answer only some steps later, past its
 * lease perhaps. operator: somebody cordons or uncordons a node right before a look.
 */
export const FAULTS = [...OTHERS, 'asleep', 'asleep', 'operator'] as const;

export interface Fault {
  /** in-flight: the request itself arrives only some steps later, past the lease of whoever has sent it perhaps. */
  readonly kind: (typeof FAULTS)[number] | 'in-flight';
  /** The call that it strikes, counted from the beginning of the run; of race, bind and operator the first that may be. */
  readonly call: number;
}

export interface Run {
  /** due: the tick of this minute. earlier: one that was due before, and comes late. */
  readonly tick: 'due' | 'earlier';
  readonly faults: readonly Fault[];
}

export interface Step {
  readonly events: readonly Event[];
  readonly minutes: number;
  /** Functions that run at once. Those that have slept for a step go on beside them. */
  readonly runs: readonly Run[];
  /** Who goes on with the next call, taken modulo those that can. */
  readonly order: readonly number[];
  /** Whether the sleepers wake. */
  readonly wake: boolean;
}

export interface History extends Omit<OtherHistory, 'steps'> {
  readonly steps: readonly Step[];
}

/** Histories of which runs come to harm by `kinds`. */
export function leaseHistoryOf(kinds: readonly Fault['kind'][]): fc.Arbitrary<History> {
  const fault: fc.Arbitrary<Fault> = fc.record({
    kind: fc.constantFrom(...kinds),
    call: fc.oneof(fc.nat(12), fc.nat(30)),
  });
  const run: fc.Arbitrary<Run> = fc.record({
    tick: fc.constantFrom('due', 'due', 'due', 'earlier'),
    faults: fc.array(fault, { maxLength: 2 }),
  });
  return fc.record({ ...start, steps: fc.array(stepOf(run), { minLength: 1, maxLength: 7 }) });
}

function stepOf(run: fc.Arbitrary<Run>): fc.Arbitrary<Step> {
  return fc.record({
    events: fc.array(event, { maxLength: 4 }),
    minutes: fc.constantFrom(0, 1, 1, 1, 2, 16),
    runs: fc.oneof({ weight: 3, arbitrary: fc.tuple(run) }, { weight: 2, arbitrary: fc.tuple(run, run) }),
    order: fc.array(fc.nat(2), { minLength: 1, maxLength: 12 }),
    wake: fc.boolean(),
  });
}
