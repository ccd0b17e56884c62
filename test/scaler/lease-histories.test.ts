import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ScalerLog } from '../../cases/scaler/log.ts';
import type { EpochMs } from '../../lib/time.ts';
import { LEASE_HISTORIES } from '../support/tries.ts';
import { happen } from './happen.ts';
import { LeaseBed } from './lease-bed.ts';
import { FAULTS, type Fault, leaseHistoryOf, type Run } from './lease-histories.ts';
import { afterQuietTicks } from './quiet.ts';
import { Functions, runLeaseHistory } from './run-lease-history.ts';

const TIME = { timeout: 60_000 + LEASE_HISTORIES * 60 };

const due = (...faults: Fault[]): Run => ({ tick: 'due', faults });

/** A tick that nothing happens to. */
function quietTick(bed: LeaseBed): () => Promise<unknown> {
  const functions = new Functions(bed);
  return () => functions.step({ runs: [due()], order: [0], wake: true });
}

describe('over random histories of functions that are started twice, paused, killed and not answered', () => {
  it('no rule is broken, and once all is quiet the pool comes to its target', TIME, async () => {
    await fc.assert(
      fc.asyncProperty(leaseHistoryOf(FAULTS), async (one) => {
        const { bed, violations } = await runLeaseHistory(one);
        expect(violations).toEqual([]);
        expect(await afterQuietTicks(bed, quietTick(bed))).toEqual([]);
      }),
      { numRuns: LEASE_HISTORIES },
    );
  });

  it('just as many are ordered as are missing', TIME, async () => {
    // After these an order stands, or certainly does not.
    const kinds = FAULTS.filter((kind) => !['late', 'race', 'bind', 'operator'].includes(kind));
    const fault: fc.Arbitrary<Fault> = fc.record({ kind: fc.constantFrom(...kinds), call: fc.nat(14) });
    const run = fc.array(fault, { maxLength: 2 }).map((faults) => due(...faults));
    const step = fc.record({
      runs: fc.array(run, { minLength: 1, maxLength: 2 }),
      order: fc.array(fc.nat(1), { minLength: 1, maxLength: 8 }),
      wake: fc.boolean(),
      join: fc.boolean(),
      minutes: fc.constantFrom(1, 1, 2, 16),
    });
    const kind = fc.constantFrom<'eks' | 'custom'>('eks', 'custom');
    const steps = fc.array(step, { maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(kind, fc.nat(3), fc.nat(6), steps, async (of, nodes, missing, all) => {
        const bed = new LeaseBed(of, nodes + missing);
        for (let at = 0; at < nodes; at++) bed.addNode();
        const functions = new Functions(bed);
        for (const { join, minutes, ...one } of all) {
          await functions.step(one);
          if (join) happen(bed, { kind: 'join' });
          bed.now = (bed.now + minutes * 60_000) as EpochMs;
        }
        await functions.wakeAll();
        expect(bed.world.log.violations).toEqual([]);
        // What a hook was asked for and never made is ordered again, once nobody waits for it any more.
        if (of === 'eks') expect(bed.world.log.increaseBy).toBeLessThanOrEqual(missing);
        expect(await afterQuietTicks(bed, quietTick(bed))).toEqual([]);
        if (of === 'eks') expect(bed.world.log.increaseBy).toBe(missing);
      }),
      { numRuns: Math.ceil(LEASE_HISTORIES / 4) },
    );
  });
});

describe('a request that is on its way for longer than the lease of whoever sent it', () => {
  /** I2 and I3 are about two objects of two services: no request can be on the condition of both. */
  const BY_CONSTRUCTION = /: (I2|I3|I11|lease): /;

  it('breaks no rule that a service sees to', TIME, async () => {
    await fc.assert(
      fc.asyncProperty(leaseHistoryOf([...FAULTS, 'in-flight', 'in-flight', 'in-flight']), async (one) => {
        const { bed, violations } = await runLeaseHistory(one);
        expect(violations.filter((violation) => !BY_CONSTRUCTION.test(violation))).toEqual([]);
        bed.world.log = new ScalerLog();
        expect(await afterQuietTicks(bed, quietTick(bed))).toEqual([]);
      }),
      { numRuns: Math.ceil(LEASE_HISTORIES / 4) },
    );
  });

  it('may delete a server on a node that another run has brought back; one with a session it does not', async () => {
    const outcomes = [];
    for (const allocated of [false, true]) {
      const bed = new LeaseBed('eks', 0);
      bed.drain(bed.addNode());
      const server = bed.addServer('n1', 'Ready');
      const functions = new Functions(bed);
      const deletion = await callOf('deleteGameServer', bed);
      await functions.step({ runs: [due({ kind: 'in-flight', call: deletion })], order: [0], wake: false });
      bed.now = (bed.now + 2 * 60_000) as EpochMs;
      bed.replicas = 1;
      await functions.step({ runs: [due()], order: [0], wake: false });
      if (allocated) bed.changeServer(server, { state: 'Allocated' });
      await functions.wakeAll();
      const { uncordoned, gameServersDeleted, violations } = bed.world.log;
      outcomes.push({ uncordoned, gameServersDeleted, rules: violations.map((text) => text.slice(0, 2)) });
    }
    expect(outcomes).toEqual([
      { uncordoned: ['n1'], gameServersDeleted: ['g2'], rules: ['I2'] },
      { uncordoned: ['n1'], gameServersDeleted: [], rules: [] },
    ]);
  });
});

/** Which call of a run over a pool like `bed`'s is the first of that kind. */
async function callOf(operation: string, like: LeaseBed): Promise<number> {
  const bed = new LeaseBed(like.kind, like.replicas);
  bed.drain(bed.addNode());
  bed.addServer('n1', 'Ready');
  const asked: string[] = [];
  bed.onCall = (call) => asked.push(call);
  await quietTick(bed)();
  return asked.indexOf(operation);
}
