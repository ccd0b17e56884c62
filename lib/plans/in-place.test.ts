import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { accountWith, placementOf } from '../../test/support/builders.ts';
import { steps } from '../../test/support/node-arbitraries.ts';
import { exchanged } from '../nodes/account.ts';
import { claimsOf } from '../nodes/claims.ts';
import type { holdingOf } from '../tasks/holding.ts';
import { differenceOf, leftOf } from './in-place.ts';
import type { Placement } from './plan.ts';

const spec = { cores: [0, 1, 2, 3, 4, 5], devices: ['d0', 'd1', 'd2', 'd3'].map((id) => ({ id })) };

/** Two placements of one task. */
const twice = steps(2).map((list) => {
  const [before = placementOf('t1'), after = placementOf('t1')] = list.flatMap(({ takes }) => takes);
  return [before, { ...after, taskId: before.taskId }] as const;
});

const plain = ({ resources, ...rest }: ReturnType<typeof holdingOf>) => ({
  ...rest,
  resources: Object.fromEntries(Object.entries(resources).filter(([, amount]) => amount > 0)),
});

describe('an update in place', () => {
  it('leaves its node as if the task had wanted from the start what it wants now', () => {
    fc.assert(
      fc.property(twice, ([before, after]) => {
        const { gives, takes } = differenceOf(before, after);
        const updated = exchanged(accountWith(spec, [before]), { gives: [gives], takes: [takes] });
        expect(updated).toEqual(accountWith(spec, [after]));
      }),
    );
  });

  it('in two steps, first giving and then taking, comes to the same', () => {
    fc.assert(
      fc.property(twice, ([before, after]) => {
        const left: Placement = { ...before, ...leftOf(before, after) };
        const { gives, takes } = differenceOf(before, after);
        const given = exchanged(accountWith(spec, [before]), { gives: [gives], takes: [] });
        expect(given).toEqual(accountWith(spec, [left]));
        expect(differenceOf(left, after)).toMatchObject({ gives: { resources: {}, claims: [] } });
        expect(plain(differenceOf(left, after).takes)).toEqual(plain(takes));
        expect(exchanged(given, { gives: [], takes: [differenceOf(left, after).takes] })).toEqual(
          accountWith(spec, [after]),
        );
      }),
    );
  });

  it('of nothing gives nothing and takes nothing', () => {
    fc.assert(
      fc.property(twice, ([task]) => {
        const nothing = { taskId: task.taskId, resources: {}, claims: [] };
        expect(differenceOf(task, task)).toEqual({ gives: nothing, takes: nothing });
        expect(claimsOf({ ...task, ...leftOf(task, task) })).toEqual(claimsOf(task));
      }),
    );
  });

  it('asks for nothing more of what it holds: a second claim on a core of its own adds nothing', () => {
    const task = placementOf('t1', { cores: [0], devices: ['gpu'] });
    const { gives, takes } = differenceOf(task, { ...task, cores: [0, 0], devices: ['gpu', 'gpu'] });
    expect([gives.claims, takes.claims]).toEqual([[], []]);
  });
});
