import { describe, expect, it } from 'vitest';
import { ScalerWorld } from '../../cases/scaler/world.ts';
import { cronTimes } from '../../lib/cron/croner.ts';
import { CallError } from '../../lib/scaler/call-error.ts';
import type { Cluster, Provider } from '../../lib/scaler/ports.ts';
import { runTick, type TickPorts } from '../../lib/scaler/tick.ts';
import type { EpochMs } from '../../lib/time.ts';
import { ScalerBed } from './bed.ts';

/** Objects of one cluster, of which one is in a bad way: the others have their turn in every tick. */

const HOOK = { address: 'hook.example:443', caBundle: 'LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t' };

interface Told {
  readonly name: string;
  readonly spec: Record<string, unknown>;
  readonly provider: Provider;
}

/** Runs one tick of `objects`, the first the oldest. What each came to, by the reason of its condition Valid. */
async function tick(bed: ScalerBed, objects: readonly Told[], more: Partial<TickPorts> = {}) {
  const ledgers = new Map(objects.map(({ name }) => [name, new ScalerWorld('custom', name).ledgerStore]));
  const outcomes = await runTick(
    objects.map(({ name, spec }, at) => ({ name, spec, createdAt: at as EpochMs })),
    {
      cluster: bed.world.cluster,
      portsOf: (name) => ({
        ledger: ledgers.get(name) ?? bed.world.ledgerStore,
        provider: () => objects.find((one) => one.name === name)?.provider ?? bed.world.provider,
      }),
      times: cronTimes,
      clock: () => bed.now,
      deadline: (bed.now + 40_000) as EpochMs,
      ...more,
    },
  );
  return Object.fromEntries(outcomes.map(({ name, status }) => [name, status.conditions[0]?.reason]));
}

/** A hook of which `method` is what it is told to be. */
function hook(changes: Partial<Provider>): Provider {
  return { ...new ScalerWorld('custom', 'hooked').provider, ...changes };
}

const hooked = (provider: Provider, nodeSelector = 'pool=hooked'): Told => ({
  name: 'hooked',
  spec: { replicas: 1, provider: 'custom', config: { nodeSelector }, grpcHook: HOOK },
  provider,
});

const games = (bed: ScalerBed): Told => ({ name: 'games', spec: bed.spec(), provider: bed.world.provider });

describe('an object', () => {
  it('whose hook takes all the time of the tick leaves the others theirs', async () => {
    const bed = new ScalerBed('eks', 1);
    const late = hook({
      increase: async () => {
        await new Promise((resolve) => setImmediate(resolve));
        bed.now = (bed.now + 60_000) as EpochMs;
      },
    });
    await tick(bed, [hooked(late), games(bed)]);
    expect(bed.takeLog()).toMatchObject({ increaseBy: 1, violations: [] });
  });

  it.each(['validate', 'increase'] as const)('with a bug in %s is left out, and the others go on', async (method) => {
    const bed = new ScalerBed('eks', 1);
    const broken = hook({
      [method]: async () => {
        throw new TypeError('Invalid URL');
      },
    });
    const bugs: unknown[] = [];
    const reasons = await tick(bed, [hooked(broken), games(bed)], { broken: (bug) => bugs.push(bug) });
    expect(reasons).toEqual({ games: 'Accepted' });
    expect(bugs).toEqual([new TypeError('Invalid URL')]);
    expect(bed.takeLog().increaseBy).toBe(1);
  });
});

describe('objects that have a node in common, by whatever words', () => {
  const twoNodes = () => {
    const bed = new ScalerBed('eks', 2);
    for (const name of [bed.addNode(), bed.addNode()]) bed.changeNode(name, { labels: { pool: 'hooked' } });
    return bed;
  };

  it('do not cordon against each other: the older counts', async () => {
    const bed = twoNodes();
    const reasons = await tick(bed, [games(bed), hooked(hook({}))]);
    expect(reasons).toEqual({ games: 'Accepted', hooked: 'ConflictingGameServerNode' });
    expect(bed.takeLog()).toMatchObject({ changes: 0 });
  });

  it('nor while the provider of the older one does not answer', async () => {
    const bed = twoNodes();

    const away = hook({
      validate: async () => {
        throw new CallError('unknown', 'UNAVAILABLE', 'the hook does not answer');
      },
    });
    const reasons = await tick(bed, [hooked(away), { ...games(bed), spec: { ...bed.spec(), replicas: 0 } }]);
    expect(reasons).toEqual({ hooked: 'ProviderUnreachable', games: 'ConflictingGameServerNode' });
    expect(bed.takeLog()).toMatchObject({ changes: 0 });
  });

  it('are both acted on where their nodes are apart', async () => {
    const bed = twoNodes();
    const reasons = await tick(bed, [games(bed), hooked(hook({}), 'pool=other')]);
    expect(reasons).toEqual({ games: 'Accepted', hooked: 'Accepted' });
  });
});

it('a cluster that cannot be read is told of all objects', async () => {
  const bed = new ScalerBed('eks', 1);

  const cluster: Cluster = {
    ...bed.world.cluster,
    snapshot: async () => {
      throw new CallError('refused', '410', 'of no single state');
    },
  };
  const reasons = await tick(bed, [games(bed), hooked(hook({}))], { cluster });
  expect(reasons).toEqual({ games: 'Accepted', hooked: 'Accepted' });
  expect(bed.takeLog().changes).toBe(0);
});
