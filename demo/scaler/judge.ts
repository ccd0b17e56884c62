import type { Deed } from './deeds.ts';
import type { ScalerFacts } from './facts.ts';

/** What must hold of a node scaler, whatever happens, by the numbers that docs/node-scaler.md's tests have too. */
export const SCALER_INVARIANTS = {
  I1: 'no server with a session is deleted, and none without its version',
  I2: "servers are deleted on nodes of the scaler's own cordon alone",
  I3: 'no machine and no node ends with a game on it',
  I4: 'only its own cordons are taken back',
  I5: 'the desired capacity stays within its limits',
  I6: 'no machine is ordered twice',
  I7: 'the desired capacity is never set to less',
  I8: 'who cannot see changes nothing',
  I9: 'a tick that comes twice is run once',
  I10: 'no machine is ended before the intent is written down',
  I11: 'nothing is ordered, brought back or cordoned past the target',
} as const;
export type InvariantId = keyof typeof SCALER_INVARIANTS;

export interface Finding {
  /** Facts that were looked at. */
  readonly checked: number;
  /** Each a sentence with its time. */
  readonly violations: readonly string[];
}

type Judged = Pick<ScalerFacts, 'deeds' | 'moves' | 'sets' | 'ticks' | 'violations'>;
type Of<K extends Deed['kind']> = Extract<Deed, { readonly kind: K }>;

/** States of a server that players are on, or may be. */
export const IN_USE = /^(Allocated|Reserved)$/;

/** Looks at what was done, and at what the world has said of it, apart from what the scaler says itself. */
export function judge(facts: Judged): Readonly<Record<InvariantId, Finding>> {
  const { moves, ticks, sets, violations } = facts;
  const of = <K extends Deed['kind']>(...kinds: readonly K[]) =>
    facts.deeds.filter((deed): deed is Of<K> => kinds.some((kind) => kind === deed.kind));
  const [deletes, orders, ends] = [of('delete-server'), of('order'), of('end-machine')];
  const ended = moves.filter(({ what, cause }) => what === 'ended' && cause?.startsWith('by') === true);
  const said = (pattern: RegExp) => violations.filter((one) => pattern.test(one));
  const found = {
    I1: [
      check(
        deletes,
        ({ guarded, done, state }) => guarded && !(done && IN_USE.test(state)),
        ({ server, state }) => `${server} was deleted in state ${state}, or without its version`,
      ),
      told(said(DELETED)),
    ],
    I2: [
      check(
        deletes,
        ({ ours }) => ours,
        ({ server, node }) => `${server} was deleted, and ${node} is not cordoned by the scaler`,
      ),
    ],
    I3: [
      check(
        of('end-machine', 'remove-node'),
        ({ games }) => games === 0,
        ({ node, games }) => `${node} ended with ${games} games`,
      ),
      told(violations.filter((one) => !DELETED.test(one) && !RAISED.test(one))),
    ],
    I4: [
      check(
        of('uncordon'),
        ({ marked }) => marked,
        ({ node }) => `${node} was uncordoned, and somebody else had cordoned it`,
      ),
    ],
    I5: [
      check(
        orders,
        ({ desired, max }) => desired <= max,
        ({ desired, max }) => `desired ${desired} of at most ${max}`,
      ),
      check(
        ended,
        ({ desired, min }) => desired >= min,
        ({ desired, min }) => `desired ${desired} of at least ${min}`,
      ),
    ],
    I6: [
      check(
        orders,
        ({ by, usable, target }) => usable + by <= target,
        ({ by, usable, target }) => `${by} were ordered with ${usable} of ${target} there or under way`,
      ),
      told(said(RAISED)),
    ],
    I7: [
      check(
        orders,
        ({ by }) => by > 0,
        ({ by }) => `the desired capacity was changed by ${by}`,
      ),
      check(
        ended,
        ({ cause }) => cause === 'by id',
        ({ instance, cause }) => `${instance} was ended ${cause}`,
      ),
      told(sets > orders.length ? [`${sets} requests set the desired capacity, and ${orders.length} raised it`] : []),
    ],
    I8: [
      check(
        ticks.filter(({ events }) => events === 'blind'),
        ({ changes }) => changes.length === 0,
        ({ changes }) => `changed ${changes.join(', ')}`,
      ),
    ],
    I9: [
      check(
        ticks
          .filter(({ events }) => events === 'twin')
          .flatMap((tick) =>
            tick.changes.map((change) => ({
              at: tick.at,
              change,
              times: tick.changes.filter((one) => one === change).length,
            })),
          ),
        ({ times }) => times === 1,
        ({ change, times }) => `${change}: ${times} times`,
      ),
    ],
    I10: [
      check(
        ends,
        ({ intended }) => intended,
        ({ node, instance }) => `${instance} of ${node} was ended, and no intent says so`,
      ),
    ],
    I11: [
      check(
        of('order', 'uncordon'),
        ({ usable, target }) => usable < target,
        ({ kind, usable, target }) => `${kind} with ${usable} of ${target}`,
      ),
      check(
        of('cordon'),
        ({ usable, target }) => usable > target,
        ({ node, usable, target }) => `${node} was cordoned with ${usable} of ${target}`,
      ),
    ],
  } satisfies Record<InvariantId, readonly Finding[]>;
  const joined = Object.entries(found).map(([id, parts]) => [id, join(parts)] as const);
  return Object.fromEntries(joined) as Record<InvariantId, Finding>;
}

/** Sentences of the world that belong to one invariant. */
const DELETED = /was deleted in state/;
const RAISED = /was raised to/;

function check<T extends { readonly at: number }>(
  items: readonly T[],
  holds: (item: T) => boolean,
  tell: (item: T) => string,
): Finding {
  const broken = items.filter((item) => !holds(item));
  return {
    checked: items.length,
    violations: broken.map((item) => `${new Date(item.at).toISOString()}: ${tell(item)}`),
  };
}

/** What the world says is broken, and adds nothing to what was looked at. */
function told(violations: readonly string[]): Finding {
  return { checked: 0, violations };
}

function join(findings: readonly Finding[]): Finding {
  return {
    checked: findings.reduce((sum, { checked }) => sum + checked, 0),
    violations: findings.flatMap(({ violations }) => violations),
  };
}
