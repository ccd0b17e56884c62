import { beforeEach, describe, expect, test } from 'vitest';
import { OBJECT } from '../../test/scaler/bed.ts';
import { ClusterBed, LEASE_MS, MINUTE_MS } from '../../test/scaler/cluster-bed.ts';
import { CLUSTER } from '../../test/scaler/lease-bed.ts';
import type { EpochMs } from '../time.ts';
import type { Ledger } from './observation.ts';

let bed: ClusterBed;

beforeEach(() => {
  bed = new ClusterBed();
});

describe('what is remembered of an object that is gone', () => {
  const remember = async (ledger: Omit<Ledger, 'version'>) => {
    const begun = await bed.turns.begin({
      ...{ cluster: CLUSTER, scheduledAt: bed.now, holder: 'test', now: bed.now },
      until: (bed.now + LEASE_MS) as EpochMs,
    });
    if (begun.kind !== 'begun') throw new Error(begun.kind);
    await begun.turn.ledgerOf('gone').write({ version: 0, ...ledger });
    await begun.turn.ledgerOf(OBJECT).write({ version: 0, pendingDeletions: [] });
    await begun.turn.end([]);
    bed.later(MINUTE_MS);
  };
  const remembered = () => [...(bed.turns.clusters.get(CLUSTER)?.ledgers.keys() ?? [])];
  const DAY_MS = 24 * 60 * MINUTE_MS;

  test('goes at once where nothing is under way; what is remembered of others stays', async () => {
    await remember({ pendingDeletions: [], detectedProvider: 'eks' });
    expect(await bed.run()).toMatchObject({ abandoned: [] });
    expect(remembered()).toEqual([OBJECT]);
  });

  test('stays for a week where something is under way, and its going is told', async () => {
    const since = bed.now;
    await remember({ pendingDeletions: [{ node: 'n', uid: 'u', since }] });
    expect(await bed.run()).toMatchObject({ abandoned: [] });
    bed.now = (since + 7 * DAY_MS - 1) as EpochMs;
    await bed.run();
    expect(remembered()).toEqual(['gone', OBJECT]);
    bed.now = (since + 7 * DAY_MS) as EpochMs;
    expect(await bed.run()).toMatchObject({ abandoned: ['gone'] });
    expect(remembered()).toEqual([OBJECT]);
  });

  test('stays where nodes of it may be registered', async () => {
    await remember({ pendingDeletions: [], registration: { pool: 'prod' } });
    await bed.run();
    expect(remembered()).toEqual(['gone', OBJECT]);
  });

  test('stays where the objects could not be read', async () => {
    await remember({ pendingDeletions: [] });
    bed.refuse('list');
    await bed.run();
    expect(remembered()).toEqual(['gone', OBJECT]);
  });
});
