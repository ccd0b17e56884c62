import { expect, it } from 'vitest';
import type { Ledger } from '../../lib/scaler/observation.ts';
import { leaveOrphans } from '../../lib/scaler/registration/registration-orphans.ts';
import type { EpochMs } from '../../lib/time.ts';
import { bedWith } from './failing.ts';
import { MemoryRegistry } from './memory-registry.ts';
import { NOW } from './plain.ts';

/** What is told of objects that are gone, one beside the other. */

const REGISTERED: Ledger = { version: 0, pendingDeletions: [], registration: { pool: 'eu' } };

async function leave(ledgers: readonly Ledger[], secondsPerList = 0) {
  const beds = ledgers.map(() => bedWith(0, 0));
  const registry = new MemoryRegistry('eu');
  let now = NOW;
  registry.before = () => {
    now = (now + secondsPerList * 1_000) as EpochMs;
  };
  const outcomes = await leaveOrphans(
    ledgers.map((ledger, at) => ({ object: String(at), ledger })),
    {
      cluster: bedWith(0, 0).world.cluster,
      ledgerOf: (object) => (beds[Number(object)] ?? bedWith(0, 0)).world.ledgerStore,
      locate: async () => new Map(),
      registry,
      ...{ clock: () => now, deadline: (NOW + 10_000) as EpochMs },
    },
  );
  return { outcomes, calls: registry.calls, written: beds.map(({ world }) => world.ledger.version) };
}

it('one that is left whole is told of in no way, and is forgotten', async () => {
  const { outcomes, written } = await leave([REGISTERED]);
  expect(outcomes).toEqual([{ name: '0', report: { deeds: [], errors: [], findings: [], outOfTime: false } }]);
  expect(written).toEqual([1]);
});

it('one that was registered nowhere is left as it is', async () => {
  const { registration: _, ...ledger } = REGISTERED;
  const { calls, written } = await leave([ledger]);
  expect({ calls, written }).toEqual({ calls: [], written: [0] });
});

it('one whose turn does not come in time is told as that, and nothing is asked for it', async () => {
  const { outcomes, calls } = await leave([REGISTERED, REGISTERED], 20);
  expect(outcomes.map(({ report }) => report.outOfTime)).toEqual([false, true]);
  expect(calls).toEqual(['list eu']);
});
