import fc from 'fast-check';

/** What a random history of one pool is made of. Numbers that choose among what is there are taken modulo its size. */

export type Event =
  | {
      readonly kind: 'allocate' | 'reserve' | 'end' | 'start' | 'lose-pod' | 'admin-cordon' | 'admin-uncordon';
      readonly at: number;
    }
  | { readonly kind: 'fail-machine' | 'toggle-ready'; readonly at: number }
  | { readonly kind: 'finish' | 'join' | 'launch' | 'clean-up' | 'toggle-suspended' | 'toggle-steady' }
  | { readonly kind: 'retarget'; readonly replicas: number }
  | { readonly kind: 'limits'; readonly min: number; readonly span: number };

/**
 * refused, conflict, throttled, denied: answered so, and not done. lost: done, and the answer is lost. late: done after
 * the tick, which hears nothing. killed-before, killed-after: the function ends there. race: a server is
 * allocated just before the call. bind: a server is bound to a cordoned node just before, if the call is one that looks.
 */
export const FAULTS = [
  'refused',
  'conflict',
  'throttled',
  'denied',
  'lost',
  'late',
  'killed-before',
  'killed-after',
  'race',
  'bind',
] as const;

export interface Fault {
  readonly kind: (typeof FAULTS)[number];
  /** The call that it strikes, counted from the beginning of the tick. */
  readonly call: number;
}

export interface Step {
  readonly events: readonly Event[];
  /** again: the same tick is run a second time. at-once: two functions run the tick, their calls interleaved. */
  readonly tick: 'once' | 'again' | 'at-once';
  readonly faults: readonly Fault[];
  readonly minutes: number;
}

export interface History {
  readonly kind: 'eks' | 'custom' | 'minikube';
  readonly nodes: number;
  readonly replicas: number;
  readonly min: number;
  readonly span: number;
  readonly limit: number | undefined;
  /** Servers at first, each by the node that it is on and by its state. */
  readonly servers: readonly { readonly node: number; readonly state: string }[];
  readonly steps: readonly Step[];
}

const at = fc.nat(20);

export const event: fc.Arbitrary<Event> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constantFrom('allocate', 'end', 'start'), at }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constantFrom('reserve', 'lose-pod', 'admin-cordon', 'admin-uncordon'), at }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('fail-machine', 'toggle-ready'), at }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constantFrom('finish', 'join', 'launch', 'clean-up') }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('toggle-suspended', 'toggle-steady') }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('retarget'), replicas: fc.nat(7) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('limits'), min: fc.nat(3), span: fc.nat(6) }) },
) as fc.Arbitrary<Event>;

const step: fc.Arbitrary<Step> = fc.record({
  events: fc.array(event, { maxLength: 5 }),
  tick: fc.oneof(
    { weight: 4, arbitrary: fc.constant('once') },
    { weight: 1, arbitrary: fc.constantFrom('again', 'at-once') },
  ),
  faults: fc.array(fc.record({ kind: fc.constantFrom(...FAULTS), call: fc.nat(30) }), { maxLength: 2 }),
  minutes: fc.constantFrom(0, 1, 1, 1, 2, 16),
}) as fc.Arbitrary<Step>;

/** What a history begins with, by field. */
export const start = {
  kind: fc.constantFrom('eks', 'eks', 'eks', 'custom', 'custom', 'minikube'),
  nodes: fc.nat(5),
  replicas: fc.nat(6),
  min: fc.nat(2),
  span: fc.nat(8),
  limit: fc.constantFrom(undefined, undefined, 0, 1, 2),
  servers: fc.array(
    fc.record({ node: at, state: fc.constantFrom('Ready', 'Ready', 'Allocated', 'Reserved', 'Unhealthy', 'Starting') }),
    { maxLength: 8 },
  ),
};

export const history: fc.Arbitrary<History> = fc.record({
  ...start,
  steps: fc.array(step, { minLength: 1, maxLength: 8 }),
}) as fc.Arbitrary<History>;
