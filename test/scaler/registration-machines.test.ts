import { describe, expect, it } from 'vitest';
import { Killed } from '../../cases/scaler/faults.ts';
import type { Intercept } from '../../cases/scaler/world.ts';
import { cronTimes } from '../../lib/cron/croner.ts';
import { CallError } from '../../lib/scaler/call-error.ts';
import type { Ledger } from '../../lib/scaler/observation.ts';
import { type ObjectOutcome, runTick } from '../../lib/scaler/tick.ts';
import type { EpochMs } from '../../lib/time.ts';
import { ScalerBed } from './bed.ts';
import { MemoryRegistry } from './memory-registry.ts';

/** No task loses its node while the machine may live, whatever the cluster says; and none keeps one that has ended. */

const untouched: Intercept = async (_, act) => act();

/** A pool of two nodes that are registered as `eu`, with two tasks on n1. */
async function poolOf(kind: 'eks' | 'custom') {
  const bed = new ScalerBed(kind, 2);
  for (const machineId of ['a', 'b']) bed.changeNode(bed.addNode(), { machineId });
  const config = kind === 'eks' ? { nodegroup: 'games' } : {};
  bed.extra = { config: { ...config, pool: 'eu' } };
  const registry = new MemoryRegistry('eu');
  bed.registry = registry;
  await bed.tick(untouched);
  registry.change('eu', 'n1', { tasks: 2 });
  registry.takeCalls();
  return { bed, registry, eu: registry.nodesOf('eu') };
}

function toldOf(outcome: ObjectOutcome | undefined): string {
  return outcome?.status.conditions.find(({ type }) => type === 'Degraded')?.message ?? '';
}

/** As the group has the machine of n1; undefined: it has not. */
function stateOf(bed: ScalerBed, state: string | undefined): void {
  const { group } = bed.world;
  if (group === undefined) throw new Error('the pool has no group');
  const instances = new Map(group.instances);
  if (state === undefined) instances.delete('i-1');
  else instances.set('i-1', state);
  bed.world.group = { ...group, instances };
}

const KEPT = { drain: true, status: 'down', tasks: 2 };

describe.each(['eks', 'custom'] as const)('a node (%s)', (kind) => {
  it('that is deleted and made again by the kubelet of the same machine keeps its tasks throughout', async () => {
    const { bed, eu } = await poolOf(kind);
    const before = bed.world.nodes.get('n1');
    bed.world.nodes.delete('n1');
    await bed.tick(untouched);
    expect(eu.get('n1')).toMatchObject(KEPT);
    if (before) bed.world.nodes.set('n1', { ...before, uid: 'uid-again' });
    await bed.tick(untouched);
    expect(eu.get('n1')).toMatchObject({ drain: false, status: 'ready', tasks: 2 });
  });

  it('keeps its tasks while the cluster answers with no node at all, and takes new ones afterwards', async () => {
    const { bed, eu } = await poolOf(kind);
    const nodes = new Map(bed.world.nodes);
    bed.world.nodes.clear();
    for (const _ of [1, 2, 3]) await bed.tick(untouched);
    expect(eu.get('n1')).toMatchObject(KEPT);
    for (const [name, node] of nodes) bed.world.nodes.set(name, node);
    for (const _ of [1, 2]) await bed.tick(untouched);
    const all = [...eu.values()].map(({ nodeId, drain, status, tasks }) => [nodeId, drain, status, tasks]);
    expect(all.sort()).toEqual([
      ['n1', false, 'ready', 2],
      ['n2', false, 'ready', 0],
    ]);
  });

  it('keeps its tasks however far the clocks are apart', async () => {
    const { bed, registry, eu } = await poolOf(kind);
    const before = eu.get('n1');
    for (const minutes of [-600, 1200]) {
      bed.now = (bed.now + minutes * 60_000) as EpochMs;
      await bed.tick(untouched);
    }
    expect(eu.get('n1')).toBe(before);
    expect(registry.takeCalls()).toEqual(['read', 'read']);
  });
});

describe('where nobody can be asked for a machine', () => {
  it('a node that is gone keeps its tasks, is told, and goes when they have ended', async () => {
    const { bed, registry, eu } = await poolOf('custom');
    bed.world.nodes.delete('n1');
    bed.replicas = 1;
    await bed.tick(untouched);
    expect(toldOf(await bed.tick(untouched))).toMatch(
      /n1 is gone .* nobody can tell .*berth node remove eu n1 --force/,
    );
    expect(eu.get('n1')).toMatchObject(KEPT);
    registry.change('eu', 'n1', { tasks: 0 });
    expect(toldOf(await bed.tick(untouched))).toBe('');
    expect([...eu.keys()]).toEqual(['n2']);
  });

  it('a name that another machine has orphans what ran on the first', async () => {
    const { bed, eu } = await poolOf('custom');
    bed.changeNode('n1', { uid: 'uid-again', machineId: 'c' });
    const outcome = await bed.tick(untouched);
    expect(outcome?.report.deeds).toContainEqual({ kind: 'unregistered', node: 'n1', pool: 'eu', orphaned: 2 });
    expect(eu.get('n1')).toMatchObject({ drain: false, tasks: 0 });
  });

  it('another uid alone is no other machine: its tasks may end on it', async () => {
    const { bed, registry, eu } = await poolOf('custom');
    const { machineId: _, ...nameless } = bed.world.nodes.get('n1') ?? {};
    bed.world.nodes.set('n1', { ...nameless, uid: 'uid-again' } as never);
    for (const _again of [1, 2]) await bed.tick(untouched);
    expect(eu.get('n1')).toMatchObject(KEPT);
    registry.change('eu', 'n1', { tasks: 0 });
    await bed.tick(untouched);
    expect(eu.get('n1')).toMatchObject({ drain: false, status: 'ready', labels: { 'berth/node-uid': 'uid-again' } });
  });

  it('a node that came back since the tick looked, as whatever machine, keeps its tasks until the next look', async () => {
    const { bed, eu } = await poolOf('custom');
    bed.world.ledger = { ...bed.world.ledger, registration: { pool: 'eu', ended: ['uid-n1'] } };
    const { machineId: _, ...nameless } = bed.world.nodes.get('n1') ?? {};
    bed.world.nodes.delete('n1');
    await bed.tick(async ({ operation }, act) => {
      const seen = act();
      if (operation === 'snapshot') bed.world.nodes.set('n1', { ...nameless, uid: 'uid-again' } as never);
      return seen;
    });
    expect(eu.get('n1')).toMatchObject({ tasks: 2 });
  });

  it('a machine that was ended is remembered until its node is out of Berth, wherever the tick dies', async () => {
    let deaths = 0;
    for (let after = 0, dead = true; dead; after++) {
      const { bed, registry, eu } = await poolOf('custom');
      bed.addServer('n2', 'Allocated');
      bed.replicas = 1;
      bed.drain('n1');
      let left = after;
      const die = () => {
        left -= 1;
        if (left < 0) throw new Killed();
      };
      registry.before = die;
      await bed.tick(async (_, act) => {
        die();
        return act();
      });
      dead = left < 0;
      if (dead) deaths += 1;
      registry.before = () => undefined;
      for (const _ of [1, 2, 3]) await bed.tick(untouched);
      expect([...eu.keys()], `dead after ${after} calls`).toEqual(['n2']);
      expect(bed.world.ledger.registration).toEqual({ pool: 'eu', digest: expect.any(String) });
    }
    expect(deaths).toBeGreaterThan(12);
  });
});

describe('a machine of a group', () => {
  it('that is being detached runs on, and its tasks with it', async () => {
    const { bed, eu } = await poolOf('eks');
    stateOf(bed, 'Detaching');
    bed.world.nodes.delete('n1');
    await bed.tick(untouched);
    expect(eu.get('n1')).toMatchObject(KEPT);
  });

  it('is not at its end for being in no group that the object names: another group may have it', async () => {
    const { bed, eu } = await poolOf('eks');
    stateOf(bed, undefined);
    bed.world.elsewhere.add('i-1');
    bed.world.nodes.delete('n1');
    for (const _ of [1, 2]) await bed.tick(untouched);
    expect(eu.get('n1')).toMatchObject(KEPT);
    bed.world.elsewhere.delete('i-1');
    await bed.tick(untouched);
    expect(eu.has('n1')).toBe(false);
  });

  it('is not at its end because nobody answers where it is', async () => {
    const { bed, eu } = await poolOf('eks');
    stateOf(bed, undefined);
    bed.world.nodes.delete('n1');
    await bed.tick(async ({ operation }, act) => {
      if (operation === 'locate') throw new CallError('unknown', 'Timeout', 'no answer');
      return act();
    });
    expect(eu.get('n1')).toMatchObject(KEPT);
    await bed.tick(untouched);
    expect(eu.has('n1')).toBe(false);
  });

  it('is not at its end for being in no group, having been in none before', async () => {
    const { bed, eu } = await poolOf('custom');
    for (const name of ['n1', 'n2']) bed.changeNode(name, { providerId: `aws:///z/i-${name}` });
    await bed.tick(untouched);
    bed.world.group = { steady: true, desired: 1, min: 0, max: 9, instances: new Map(), terminateSuspended: false };
    bed.world.nodes.delete('n1');
    for (const _ of [1, 2]) await bed.tick(untouched);
    expect(eu.get('n1')).toMatchObject(KEPT);
  });
});

it('two objects that swap their pools of Berth, and then their nodes, orphan no task', async () => {
  const bed = new ScalerBed('minikube', 1);
  const registry = new MemoryRegistry('eu', 'us');
  const ledgers = new Map<string, Ledger>();
  for (const side of ['left', 'right']) bed.changeNode(bed.addNode(), { labels: { side } });
  /** `left` is the older object. */
  const tick = (pools: readonly [string, string], sides: readonly [string, string]) =>
    runTick(
      ['left', 'right'].map((name, at) => ({
        name,
        createdAt: (bed.now + at) as EpochMs,
        spec: {
          replicas: 1,
          provider: 'minikube',
          config: { nodeSelector: `side=${sides[at]}`, pool: pools[at] ?? '' },
        },
      })),
      {
        cluster: bed.world.cluster,
        portsOf: (name) => ({
          ledger: {
            read: async () => ledgers.get(name) ?? { version: 0, pendingDeletions: [] },
            write: async (next) => {
              ledgers.set(name, { ...next, version: next.version + 1 });
              return { ...next, version: next.version + 1 };
            },
          },
          provider: () => bed.world.provider,
        }),
        registry,
        times: cronTimes,
        clock: () => bed.now,
        deadline: (bed.now + 50_000) as EpochMs,
      },
    );
  const places = () =>
    ['eu', 'us'].map((pool) =>
      [...registry.nodesOf(pool).values()].map(({ nodeId, tasks, drain }) => `${nodeId} ${tasks} ${drain}`),
    );
  const ends = (pool: string, node: string) => registry.change(pool, node, { tasks: 0 });

  await tick(['eu', 'us'], ['left', 'right']);
  registry.change('eu', 'n1', { tasks: 3 });
  registry.change('us', 'n2', { tasks: 4 });
  for (const _ of [1, 2, 3]) await tick(['us', 'eu'], ['left', 'right']);
  expect(places()).toEqual([['n1 3 true'], ['n2 4 true']]);
  ends('eu', 'n1');
  ends('us', 'n2');
  for (const _ of [1, 2]) await tick(['us', 'eu'], ['left', 'right']);
  expect(places()).toEqual([['n2 0 false'], ['n1 0 false']]);

  registry.change('eu', 'n2', { tasks: 4 });
  registry.change('us', 'n1', { tasks: 3 });
  for (const _ of [1, 2, 3]) await tick(['us', 'eu'], ['right', 'left']);
  expect(places().map((pool) => pool.toSorted())).toEqual([
    ['n1 0 false', 'n2 4 true'],
    ['n1 3 true', 'n2 0 false'],
  ]);
});

it('a cluster that is seen in part changes nothing of what is registered', async () => {
  const { bed, registry, eu } = await poolOf('custom');
  const before = new Map(eu);
  bed.world.nodes.clear();
  await bed.tick(async ({ operation }, act) => {
    const seen = act();
    if (operation === 'snapshot') throw new CallError('unknown', 'Timeout', 'no answer');
    return seen;
  });
  expect(new Map(eu)).toEqual(before);
  expect(registry.takeCalls()).toEqual([]);
});
