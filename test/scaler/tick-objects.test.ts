import { describe, expect, it } from 'vitest';
import type { WorldCall } from '../../cases/scaler/world.ts';
import { cronTimes } from '../../lib/cron/croner.ts';
import { runTick, type TickObject } from '../../lib/scaler/tick.ts';
import type { EpochMs } from '../../lib/time.ts';
import { ScalerBed } from './bed.ts';
import { bedWith, failing, watching } from './failing.ts';

/** Which objects of a cluster a tick acts on, in what order, and what it tells of the others. */

const at = (createdAt: number) => createdAt as EpochMs;

async function outcomesOf(bed: ScalerBed, objects: readonly TickObject[]) {
  const outcomes = await runTick(objects, {
    cluster: bed.world.cluster,
    portsOf: () => ({ ledger: bed.world.ledgerStore, provider: () => bed.world.provider }),
    times: cronTimes,
    clock: () => bed.now,
    deadline: (bed.now + 50_000) as EpochMs,
  });
  return outcomes.map(({ name, problems, status }) => ({ name, problems, valid: status.conditions[0] }));
}

describe('of two objects for one pool', () => {
  it('the older counts, and of two of one age the first by name', async () => {
    const bed = bedWith(1, 1);
    const spec = bed.spec();
    const order = async (...objects: TickObject[]) => (await outcomesOf(bed, objects)).map(({ name }) => name);
    expect(await order({ name: 'b', createdAt: at(1), spec }, { name: 'a', createdAt: at(1), spec })).toEqual([
      'a',
      'b',
    ]);
    expect(await order({ name: 'a', createdAt: at(1), spec }, { name: 'b', createdAt: at(1), spec })).toEqual([
      'a',
      'b',
    ]);
    expect(await order({ name: 'a', createdAt: at(2), spec }, { name: 'b', createdAt: at(1), spec })).toEqual([
      'b',
      'a',
    ]);
  });

  it('all others are told which it is, the third as well', async () => {
    const bed = bedWith(1, 1);
    const spec = bed.spec();
    const names = ['first', 'second', 'third'];
    const outcomes = await outcomesOf(
      bed,
      names.map((name, age) => ({ name, createdAt: at(age), spec })),
    );
    const message =
      'the older object first selects the same pool (nodegroup games): delete one, or select another pool';
    for (const { problems, valid } of outcomes.slice(1)) {
      expect(problems).toEqual([{ path: 'spec.config', message }]);
      expect(valid).toMatchObject({ reason: 'ConflictingGameServerNode', message: `spec.config: ${message}` });
    }
  });

  it('that both are so wrong that they name none, each is told its own', async () => {
    const objects = ['a', 'b'].map((name) => ({ name, createdAt: at(1), spec: null }));
    const outcomes = await outcomesOf(bedWith(1, 1), objects);
    expect(outcomes.map(({ valid }) => valid?.reason)).toEqual(['InvalidSpec', 'InvalidSpec']);
    for (const { valid, problems } of outcomes) expect(valid?.message).toContain(problems[0]?.message);
  });
});

it('of objects that share a node by different words the younger is told which node, and whose it is', async () => {
  const bed = bedWith(1, 1, 'custom');
  bed.changeNode('n1', { labels: { role: 'game', zone: 'a' } });
  const [spec, hook] = [bed.spec(), { provider: 'custom' }];
  const by = (nodeSelector: string) => ({ ...spec, ...hook, config: { nodeSelector } });
  const outcomes = await outcomesOf(bed, [
    { name: 'old', createdAt: at(1), spec: by('role=game') },
    { name: 'new', createdAt: at(2), spec: by('zone=a') },
  ]);
  const message = 'node n1 is of the older object old as well: tell the pools apart (by nodeSelector), or delete one';
  expect(outcomes[0]?.problems).toEqual([]);
  expect(outcomes[1]?.problems).toEqual([{ path: 'spec.config', message }]);
});

it('objects with hooks come last, so that none that waits for one keeps another from its turn', async () => {
  const ordered: string[] = [];
  const bedOf = new Map<string, ScalerBed>();
  const names = [...Array.from({ length: 9 }, (_, n) => `hook${n}`), 'group'];
  for (const name of names) {
    const bed = bedWith(0, 1, name === 'group' ? 'eks' : 'custom');
    bed.world.intercept = async ({ operation }, act) => {
      if (operation === 'increase') ordered.push(name);
      return act();
    };
    bedOf.set(name, bed);
  }
  const of = (name: string): ScalerBed => bedOf.get(name) ?? bedWith(0, 0);
  const first = of('group');
  await runTick(
    names.map((name, age) => {
      const spec = of(name).spec();
      const config = name === 'group' ? { nodegroup: 'games' } : { nodeSelector: `hook=${name}` };
      return { name, createdAt: at(age), spec: { ...spec, config } };
    }),
    {
      cluster: first.world.cluster,
      portsOf: (name) => ({ ledger: of(name).world.ledgerStore, provider: () => of(name).world.provider }),
      times: cronTimes,
      clock: () => first.now,
      deadline: (first.now + 50_000) as EpochMs,
    },
  );
  expect([...ordered].sort()).toEqual([...names].sort());
  expect(ordered.indexOf('group')).toBeLessThan(8);
  expect(ordered.at(-1)).toBe('hook8');
});

describe('a tick that cannot look is told as that, and changes nothing:', () => {
  const withOrphan = (bed: ScalerBed) => {
    bed.changeNode('n2', { providerId: 'aws:///eu-west-1a/i-7' });
    return bed;
  };
  const auto = (bed: ScalerBed) => {
    bed.extra = { provider: 'auto' };
    return bed;
  };

  it.each<[what: string, WorldCall['operation'], bed: () => ScalerBed, subject: string]>([
    ['the provider, right before something is changed', 'inspect', () => bedWith(2, 1), 'provider'],
    ['where machines are that the group does not have', 'locate', () => withOrphan(bedWith(2, 1)), 'provider'],
    ['the cluster, to tell the provider of auto', 'snapshot', () => auto(bedWith(2, 1)), 'cluster'],
    ['the ledger, to remember what auto has come to', 'writeLedger', () => auto(bedWith(2, 1)), 'ledger'],
  ])('at %s', async (_, operation, make, subject) => {
    const bed = make();
    const outcome = await bed.tick(failing(operation, 'unknown').intercept);
    expect(bed.takeLog().changes).toBe(0);
    expect(outcome?.status.degraded).toEqual(['ObservationFailed']);
    expect(outcome?.report).toEqual({
      ...{ deeds: [], findings: [], outOfTime: false },
      errors: [{ operation: 'read', subject, code: 'unknown', message: `${operation} failed` }],
    });
  });

  it('at whether its provider may be worked with', async () => {
    const outcome = await bedWith(2, 1).tick(failing('validate', 'unknown').intercept);
    expect(outcome?.problems).toEqual([{ path: 'spec.provider', message: 'unknown: validate failed' }]);
    expect(outcome?.status.conditions[0]).toMatchObject({
      ...{ status: 'False', reason: 'ProviderUnreachable', message: 'spec.provider: unknown: validate failed' },
    });
  });
});

describe('the provider of auto', () => {
  it('is told not to be known with what to do', async () => {
    const bed = bedWith(0, 1);
    bed.extra = { provider: 'auto' };
    const outcome = await bed.tick(watching().intercept);
    const message = 'the pool has no node to tell the provider from: name the provider';
    expect(outcome?.problems).toEqual([{ path: 'spec.provider', message }]);
  });

  it('that is minikube still is written down once', async () => {
    const bed = new ScalerBed('minikube', 1);
    bed.addNode();
    bed.extra = { provider: 'auto', config: {} };
    await bed.tick(watching().intercept);
    const { intercept, times } = watching();
    await bed.tick(intercept);
    expect({ writes: times('writeLedger'), known: bed.world.ledger.detectedProvider }).toEqual({
      ...{ writes: 0, known: 'minikube' },
    });
  });
});

describe('the group is asked for once more', () => {
  it.each<[string, (bed: ScalerBed) => void, number]>([
    ['not where only the ledger is put in order', (bed) => forgetful(bed), 0],
    ['where something of the pool is changed', (bed) => Object.assign(bed, { replicas: 2 }), 1],
  ])('%s', async (_, prepare, inspections) => {
    const bed = bedWith(1, 1);
    prepare(bed);
    const { intercept, times } = watching();
    await bed.tick(intercept);
    expect(times('inspect')).toBe(inspections);
  });

  /** The ledger has a machine that is gone, and an order to a hook that the object had before. */
  function forgetful(bed: ScalerBed): void {
    const pendingDeletions = [{ node: 'n9', uid: 'uid-n9', instance: 'i-9', since: bed.now }];
    const pendingIncrease = { count: 1, since: bed.now, baseline: [] };
    bed.world.ledger = { version: 1, pendingDeletions, pendingIncrease };
  }

  it('and machines are asked after only where nodes claim some that the group does not have', async () => {
    for (const kind of ['eks', 'custom'] as const) {
      const { intercept, times } = watching();
      await bedWith(1, 2, kind).tick(intercept);
      expect(times('locate')).toBe(0);
    }
  });
});

it('a tick that did all it had to do is not out of time, and has found nothing', async () => {
  const outcome = await bedWith(2, 1).tick(watching().intercept);
  expect(outcome?.report).toMatchObject({ outOfTime: false, findings: [], errors: [] });
});
