import { describe, expect, it } from 'vitest';
import { cronTimes } from '../../lib/cron/croner.ts';
import type { Ledger, RegisteredNode } from '../../lib/scaler/observation.ts';
import { runTick } from '../../lib/scaler/tick.ts';
import type { EpochMs } from '../../lib/time.ts';
import { ScalerBed } from './bed.ts';
import { MemoryRegistry } from './memory-registry.ts';
import { bedWith, registered, untouched } from './registered-bed.ts';

describe('what a tick asks of Berth', () => {
  it('is nothing, where no object names a pool', async () => {
    const { bed, registry } = bedWith(2);
    bed.extra = {};
    await bed.tick();
    expect(registry.takeCalls()).toEqual([]);
  });

  it('is one look if nothing changes, and all of the pool where a node came or went', async () => {
    const { bed, registry } = bedWith(2);
    await bed.tick(untouched);
    expect(registry.takeCalls()).toEqual(['read', 'list eu', 'register n1 n2']);
    const { version } = bed.world.ledger;
    await bed.tick();
    expect(registry.takeCalls()).toEqual(['read']);
    expect(bed.world.ledger.version).toBe(version);
    bed.addNode();
    bed.replicas = 3;
    await bed.tick();
    expect(registry.takeCalls()).toEqual(['read', 'list eu', 'register n3']);
  });

  it('is one look as well while a node is there whose machine is gone', async () => {
    const { bed, registry, eu } = await registered(2, 1);
    const { group } = bed.world;
    if (group) bed.world.group = { ...group, desired: 1, instances: new Map([['i-2', 'InService']]) };
    await bed.tick();
    expect(eu.get('n1')?.drain).toBe(true);
    expect(registry.takeCalls()).toEqual(['read', 'register n1']);
    await bed.tick();
    expect(registry.takeCalls()).toEqual(['read']);
  });

  it('is as much for twenty pools as for one', async () => {
    const once = await callsOfIdleTick(1);
    expect(once).toEqual(['read']);
    expect(await callsOfIdleTick(20)).toEqual(once);
  });

  it('is nothing after the deadline, and the report says that there is more to do', async () => {
    const { bed, registry } = bedWith(1);
    const outcome = await bed.tick(untouched, 0);
    expect(registry.takeCalls()).toEqual(['read']);
    expect(outcome?.report.outOfTime).toBe(true);
  });
});

/** What the second tick of that many pools of two nodes each asks of Berth. */
async function callsOfIdleTick(pools: number): Promise<string[]> {
  const bed = new ScalerBed('minikube', 2);
  const names = Array.from({ length: pools }, (_, at) => `game-${at}`);
  const registry = new MemoryRegistry(...names);
  const ledgers = new Map<string, Ledger>();
  for (const name of names) {
    for (const _ of [1, 2]) bed.changeNode(bed.addNode(), { labels: { game: name } });
  }
  const objects = names.map((name) => ({
    name,
    createdAt: bed.now,
    spec: { replicas: 2, provider: 'minikube', config: { nodeSelector: `game=${name}`, pool: name } },
  }));
  const tick = () =>
    runTick(objects, {
      cluster: bed.world.cluster,
      portsOf: (name) => ({
        ledger: {
          read: async () => ledgers.get(name) ?? { version: 0, pendingDeletions: [] },
          write: async (next) => {
            const written = { ...next, version: next.version + 1 };
            ledgers.set(name, written);
            return written;
          },
        },
        provider: () => bed.world.provider,
      }),
      registry,
      times: cronTimes,
      clock: () => bed.now,
      deadline: (bed.now + 50_000) as EpochMs,
    });
  await tick();
  const registeredNodes: RegisteredNode[] = names.flatMap((name) => [...registry.nodesOf(name).values()]);
  expect(registeredNodes).toHaveLength(2 * pools);
  registry.takeCalls();
  await tick();
  return registry.takeCalls();
}
