import { describe, expect, it } from 'vitest';
import { faultsOf } from '../../cases/scaler/faults.ts';
import type { ObjectOutcome } from '../../lib/scaler/tick.ts';
import type { EpochMs } from '../../lib/time.ts';
import { ScalerBed } from './bed.ts';

/** Drained nodes that stay: what is told of why. */

function drainedBed(): ScalerBed {
  const bed = new ScalerBed('eks', 1);
  bed.addNode();
  bed.addNode();
  bed.drain('n2');
  return bed;
}

const degradedOf = (outcome: ObjectOutcome | undefined) =>
  outcome?.status.conditions.find(({ type }) => type === 'Degraded');

describe('a machine that was not ended', () => {
  it('for want of a right is told as that alone', async () => {
    const bed = drainedBed();
    const outcome = await bed.tick(faultsOf(bed.world, [{ op: 'providerDelete', error: 'AccessDenied' }]));
    expect(outcome?.status.degraded).toEqual(['AccessDenied']);
  });

  it.each(['ValidationError', 'ScalingActivityInProgress', 'Throttling'])(
    'by a group that does not (%s) is told, and ended when it does',
    async (error) => {
      const bed = drainedBed();
      const outcome = await bed.tick(faultsOf(bed.world, [{ op: 'providerDelete', error }]));
      expect(outcome?.status.degraded).toEqual(['TerminateRefused']);
      expect((await bed.tick())?.status.degraded).toEqual([]);
      expect(bed.takeLog().instancesDeleted).toEqual(['i-2']);
    },
  );
});

describe('a server on a node that is cordoned for long', () => {
  const CORDONED_MINUTES = 10;

  async function toldOf(minutesAfterCordon: number): Promise<string | undefined> {
    const bed = drainedBed();
    const server = bed.addServer('n2', 'Ready');
    const createdAt = bed.now + (minutesAfterCordon - CORDONED_MINUTES) * 60_000;
    bed.changeServer(server, { createdAt: createdAt as EpochMs });
    return degradedOf(await bed.tick())?.message;
  }

  it('and was made after the cordon is placed there in spite of it, which is told', async () => {
    expect(await toldOf(5)).toMatch(/placed on nodes that are cordoned, which never empty so: default\/g\d+ on n2\. /);
  });

  it.each([-60, 0, 1])('and was made %i minutes after the cordon is nothing to tell of', async (minutes) => {
    expect(await toldOf(minutes)).toBe('');
  });
});
