import { describe, expect, it } from 'vitest';
import { cronTimes } from '../../lib/cron/croner.ts';
import { runTick } from '../../lib/scaler/tick.ts';
import type { EpochMs } from '../../lib/time.ts';
import { OBJECT, ScalerBed } from './bed.ts';

/** Objects beside each other in one cluster: none holds up another, and none has another's nodes. */

function bedWith(nodes: number, replicas: number, kind: 'eks' | 'custom' | 'minikube' = 'eks'): ScalerBed {
  const bed = new ScalerBed(kind, replicas);
  for (let at = 0; at < nodes; at++) bed.addNode();
  return bed;
}

describe('several objects', () => {
  it('of which one is wrong: the other goes on; of one pool the older counts', async () => {
    const bed = bedWith(1, 2);
    const spec = bed.spec();
    const outcomes = await runTick(
      [
        { name: 'wrong', createdAt: 0 as EpochMs, spec: { replicas: -1 } },
        { name: 'younger', createdAt: 2 as EpochMs, spec: { ...spec, replicas: 9 } },
        { name: OBJECT, createdAt: 1 as EpochMs, spec },
      ],
      {
        cluster: bed.world.cluster,
        portsOf: () => ({ ledger: bed.world.ledgerStore, provider: () => bed.world.provider }),
        times: cronTimes,
        clock: () => bed.now,
        deadline: (bed.now + 1000) as EpochMs,
      },
    );
    const reasons = outcomes.map(({ name, status }) => [name, status.conditions[0]?.reason]);
    expect(Object.fromEntries(reasons)).toEqual({
      wrong: 'InvalidSpec',
      younger: 'ConflictingGameServerNode',
      [OBJECT]: 'Accepted',
    });
    expect(bed.takeLog().increaseBy).toBe(1);
  });
});

describe('an older object that is wrong', () => {
  const younger = { name: 'younger', createdAt: 2 as EpochMs };
  const older = { name: 'older', createdAt: 1 as EpochMs };
  const cron = { name: 'a', timezone: 'UTC', cron: '0 0 17 * * FRI', durationMinutes: 60, replicas: 5 };

  async function reasonsOf(wrong: object, right: object): Promise<(string | undefined)[]> {
    const bed = bedWith(3, 1);
    const outcomes = await runTick(
      [
        { ...older, spec: wrong },
        { ...younger, spec: right },
      ],
      {
        cluster: bed.world.cluster,
        portsOf: () => ({ ledger: bed.world.ledgerStore, provider: () => bed.world.provider }),
        times: cronTimes,
        clock: () => bed.now,
        deadline: (bed.now + 50_000) as EpochMs,
      },
    );
    const valid = outcomes.map(({ status }) => status.conditions.find(({ type }) => type === 'Valid')?.reason);
    if (valid[1] === 'ConflictingGameServerNode') expect(bed.takeLog().changes).toBe(0);
    return valid;
  }

  const games = { replicas: 1, provider: 'eks', config: { nodegroup: 'games' } };

  it('keeps its pool: a slip of the pen does not hand it to a younger one, to be shrunk', async () => {
    expect(await reasonsOf({ ...games, schedules: [cron] }, games)).toEqual([
      'InvalidSpec',
      'ConflictingGameServerNode',
    ]);
    expect(await reasonsOf({ ...games, replicas: -1, provider: 'gke' }, games)).toEqual([
      'InvalidSpec',
      'ConflictingGameServerNode',
    ]);
  });

  it('keeps the nodes that its selector names', async () => {
    const selector = 'eks.amazonaws.com/nodegroup=games';
    const wrong = { replicas: 1, provider: 'custom', config: { nodeSelector: selector } };
    expect(await reasonsOf(wrong, games)).toEqual(['InvalidSpec', 'ConflictingGameServerNode']);
  });

  it.each([[{}], [{ ...games, config: null }], [{ ...games, config: { nodegroup: ['games'] } }], [null]])(
    'that names no pool claims none: %j',
    async (wrong) => {
      expect((await reasonsOf(wrong as object, games))[1]).toBe('Accepted');
    },
  );
});
