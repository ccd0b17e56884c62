import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { EpochMs } from '../../lib/time.ts';
import { TICK_HISTORIES } from '../support/tries.ts';
import { ScalerBed } from './bed.ts';
import { happen } from './happen.ts';
import { FAULTS, type Fault, history } from './histories.ts';
import { afterQuietTicks } from './quiet.ts';
import { interceptor, interleaved, runHistory } from './run-history.ts';

const TIME = { timeout: 60_000 + TICK_HISTORIES * 60 };

/** The invariants of the specification, I1 to I11; the world itself checks I1 to I5, I7 and I10 of every change. */

describe('over random histories', () => {
  it('no rule is broken, and once all is quiet the pool comes to its target', TIME, async () => {
    await fc.assert(
      fc.asyncProperty(history, async (one) => {
        const { bed, violations } = await runHistory(one);
        expect(violations).toEqual([]);
        expect(await afterQuietTicks(bed, () => bed.tick(async (_, act) => act()))).toEqual([]);
      }),
      { numRuns: TICK_HISTORIES },
    );
  });

  it('just as many are ordered as are missing, whatever happens to the orders', TIME, async () => {
    // Faults after which the order stands, or certainly does not.
    const kinds = FAULTS.filter((kind) => !['late', 'race', 'bind'].includes(kind));
    const fault = fc.record({ kind: fc.constantFrom(...kinds), call: fc.nat(12) });
    const ticks = fc.array(
      fc.record({ faults: fc.array(fault, { maxLength: 2 }), join: fc.boolean(), twice: fc.boolean() }),
      {
        maxLength: 6,
      },
    );
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('eks', 'custom'),
        fc.nat(3),
        fc.nat(6),
        ticks,
        async (kind, nodes, target, steps) => {
          const bed = new ScalerBed(kind as 'eks' | 'custom', nodes + target);
          for (let at = 0; at < nodes; at++) bed.addNode();
          for (const { faults, join, twice } of steps) {
            const struck = interleaved(interceptor(bed, faults as Fault[], []));
            await Promise.all(twice ? [bed.tick(struck), bed.tick(struck)] : [bed.tick(struck)]);
            if (join) happen(bed, { kind: 'join' });
            bed.now = (bed.now + 60_000) as EpochMs;
          }
          const ordered = bed.world.log.increaseBy;
          expect(ordered).toBeLessThanOrEqual(target);
          expect(await afterQuietTicks(bed, () => bed.tick(async (_, act) => act()))).toEqual([]);
          expect(ordered + bed.takeLog().increaseBy).toBeGreaterThanOrEqual(target);
        },
      ),
      { numRuns: Math.ceil(TICK_HISTORIES / 5) },
    );
  });
});
