import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { EpochMs } from '../../lib/time.ts';
import { ScalerBed } from './bed.ts';
import { happen } from './happen.ts';
import { FAULTS, type Fault, history } from './histories.ts';
import { countsOf, interceptor, interleaved, runHistory } from './run-history.ts';

/** The invariants of the specification, I1 to I11; the world itself checks I1 to I5, I7 and I10 of every change. */

describe('over random histories', () => {
  it('no rule is broken, and once all is quiet the pool comes to its target', { timeout: 120_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(history, async (one) => {
        const { bed, violations } = await runHistory(one);
        expect(violations).toEqual([]);
        expect(await afterQuietTicks(bed)).toEqual([]);
      }),
      { numRuns: 2_500 },
    );
  });

  it('just as many are ordered as are missing, whatever happens to the orders', { timeout: 60_000 }, async () => {
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
          expect(await afterQuietTicks(bed)).toEqual([]);
          expect(ordered + bed.takeLog().increaseBy).toBeGreaterThanOrEqual(target);
        },
      ),
      { numRuns: 500 },
    );
  });
});

/** Lets everything that is on its way come to its end, with a tick every four minutes; what is left to say against it. */
async function afterQuietTicks(bed: ScalerBed): Promise<string[]> {
  const { world } = bed;
  bed.limit = undefined;
  if (world.group) world.group = { ...world.group, steady: true, terminateSuspended: false };
  for (const node of world.nodes.values()) bed.changeNode(node.name, { ready: true });
  const problems: string[] = [];
  for (let round = 0; round < 12; round++) {
    for (const { name } of world.servers.values()) bed.removeServer(name);
    happen(bed, { kind: 'clean-up' });
    happen(bed, { kind: 'join' });
    bed.now = (bed.now + 4 * 60_000) as EpochMs;
    await bed.tick(async (_, act) => act());
    problems.push(...world.log.violations);
  }
  const { active, target, held } = countsOf(bed);
  const room = world.group === undefined ? Number.POSITIVE_INFINITY : world.group.max - held;
  const draining = [...world.nodes.values()].filter((node) => Object.keys(node.annotations).length > 0);
  if (bed.kind === 'minikube') return problems;
  if (active !== Math.min(target, room))
    problems.push(`${active} are active of ${target}, ${held} are held, room ${room}`);
  if (draining.length > 0) problems.push(`nodes are left draining: ${draining.map(({ name }) => name).join(', ')}`);
  if (world.ledger.pendingDeletions.length > 0) problems.push('the ledger is not empty');
  return problems;
}
