import { expect, it } from 'vitest';
import { cronTimes } from '../../lib/cron/croner.ts';
import { dryCluster, dryObjectPorts, dryRegistry } from '../../lib/scaler/dry-run.ts';
import { type ObjectOutcome, runTick } from '../../lib/scaler/tick.ts';
import type { EpochMs } from '../../lib/time.ts';
import { OBJECT, ScalerBed } from './bed.ts';
import { MemoryRegistry } from './memory-registry.ts';

async function dryTick(bed: ScalerBed): Promise<ObjectOutcome | undefined> {
  const { world } = bed;
  const ports = { ledger: world.ledgerStore, provider: () => world.provider };
  const [outcome] = await runTick([{ name: OBJECT, createdAt: bed.now, spec: bed.spec() }], {
    cluster: dryCluster(world.cluster),
    portsOf: () => dryObjectPorts(ports),
    ...(bed.registry === undefined ? {} : { registry: dryRegistry(bed.registry) }),
    times: cronTimes,
    clock: () => bed.now,
    deadline: (bed.now + 50_000) as EpochMs,
  });
  return outcome;
}

/** Pools on the way up, on the way down, with nodes that come back, that are removed, and that are to be ordered by a hook. */
const POOLS: readonly (readonly [string, () => ScalerBed])[] = [
  [
    'orders',
    () => {
      const bed = new ScalerBed('eks', 4);
      bed.addNode();
      return bed;
    },
  ],
  [
    'orders of a hook',
    () => {
      const bed = new ScalerBed('custom', 4);
      bed.addNode();
      return bed;
    },
  ],
  [
    'brings back',
    () => {
      const bed = new ScalerBed('eks', 2);
      for (const node of [bed.addNode(), bed.addNode()]) bed.addServer(node, 'Ready');
      bed.drain('n2');
      return bed;
    },
  ],
  [
    'cordons, deletes servers and removes',
    () => {
      const bed = new ScalerBed('eks', 1);
      const nodes = [bed.addNode(), bed.addNode(), bed.addNode(), bed.addNode()];
      for (const node of nodes.slice(0, 3)) bed.addServer(node, 'Ready');
      bed.addServer(nodes[0] ?? '', 'Allocated');
      bed.drain(nodes[3] ?? '');
      return bed;
    },
  ],
];

it.each(POOLS)('tells what a tick does, and changes nothing, where it %s', async (_, poolOf) => {
  const bed = poolOf();
  const [nodes, servers, group, ledger] = [
    [...bed.world.nodes.values()],
    [...bed.world.servers.values()],
    bed.world.group,
    bed.world.ledger,
  ];
  const told = await dryTick(bed);
  expect(bed.takeLog().changes).toBe(0);
  expect([...bed.world.nodes.values()]).toEqual(nodes);
  expect([...bed.world.servers.values()]).toEqual(servers);
  expect([bed.world.group, bed.world.ledger]).toEqual([group, ledger]);
  const done = await bed.tick();
  expect(told?.report.deeds.length).toBeGreaterThan(0);
  expect(told).toEqual(done);
});

it('tells what is registered with Berth and taken out of it, and changes nothing there', async () => {
  const bed = new ScalerBed('eks', 2);
  for (const _ of [1, 2]) bed.addNode();
  bed.extra = { config: { nodegroup: 'games', pool: 'eu' } };
  const registry = new MemoryRegistry('eu');
  bed.registry = registry;
  const deedsOf = async (tick: Promise<ObjectOutcome | undefined>) => (await tick)?.report.deeds;
  const registered = await deedsOf(dryTick(bed));
  expect(registered).toMatchObject([{ kind: 'registered' }, { kind: 'registered' }]);
  expect(registry.nodesOf('eu').size).toBe(0);
  expect(await deedsOf(bed.tick())).toEqual(registered);
  const { group } = bed.world;
  if (group) bed.world.group = { ...group, desired: 1, instances: new Map([['i-2', 'InService']]) };
  bed.world.nodes.delete('n1');
  bed.replicas = 1;
  const taken = await deedsOf(dryTick(bed));
  expect(taken).toEqual([{ kind: 'unregistered', node: 'n1', pool: 'eu', orphaned: 0 }]);
  expect(registry.nodesOf('eu').size).toBe(2);
  expect(await deedsOf(bed.tick())).toEqual(taken);
});
