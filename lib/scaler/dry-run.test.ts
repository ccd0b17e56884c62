import { describe, expect, it } from 'vitest';
import { bedWith } from '../../test/scaler/failing.ts';
import { MemoryRegistry } from '../../test/scaler/memory-registry.ts';
import { aServer } from '../../test/scaler/plain.ts';
import { cronTimes } from '../cron/croner.ts';
import type { EpochMs } from '../time.ts';
import { dryCluster, dryObjectPorts, dryRegistry, judge, withApplied } from './dry-run.ts';

const at = (createdAt: number) => createdAt as EpochMs;

describe('ports that change nothing', () => {
  it('read what the others read, and answer a change as if it had been made', async () => {
    const { world } = bedWith(1, 1);
    world.servers.set('default/g1', aServer('g1', 'n1'));
    const node = world.nodes.get('n1');
    if (node === undefined) throw new Error('the world has no node');
    const cluster = dryCluster(world.cluster);
    const marked = await cluster.patchNode(
      { ...node, annotations: { a: '1', b: '2' } },
      { annotations: { a: null, c: '3' } },
    );
    expect(marked).toMatchObject({ unschedulable: false, annotations: { b: '2', c: '3' } });
    expect(Object.keys(marked.annotations)).toEqual(['b', 'c']);
    expect(await cluster.patchNode(marked, { unschedulable: true, annotations: {} })).toMatchObject({
      unschedulable: true,
    });
    expect(await cluster.readNode('n1')).toMatchObject({ unschedulable: true });
    expect(await cluster.readGameServer({ namespace: 'default', name: 'g1' })).toEqual(aServer('g1', 'n1'));
    expect({ node: world.nodes.get('n1'), changes: world.log.changes }).toEqual({ node, changes: 0 });
  });

  it('look at the group as it is, and keep a ledger of their own that counts its writes', async () => {
    const { world } = bedWith(2, 1);
    const { ledger, provider } = dryObjectPorts({ ledger: world.ledgerStore, provider: () => world.provider });
    const one = provider({} as never);
    expect([await one.describe(), await one.inspect()]).toEqual([world.group, world.group]);
    const first = await ledger.read();
    const second = await ledger.write({ ...first, detectedProvider: 'eks' });
    expect(second).toEqual({ ...first, detectedProvider: 'eks', version: first.version + 1 });
    expect(await ledger.read()).toEqual(second);
    expect(world.ledger).toEqual(first);
  });

  it('leave nobody out who is to be registered', async () => {
    const registry = new MemoryRegistry('eu');
    expect(await dryRegistry(registry).register([])).toEqual([]);
    expect(registry.takeCalls()).toEqual([]);
  });
});

describe('objects that somebody means to apply', () => {
  const there = [
    { name: 'a', createdAt: at(5), spec: 'old' },
    { name: 'b', createdAt: at(9), spec: 'other' },
  ];

  it('keep the age that they have, with what is new of them', () => {
    expect(withApplied(there, [{ name: 'a', spec: 'new' }], at(7))).toEqual([{ ...there[0], spec: 'new' }, there[1]]);
  });

  it.each([
    [7, 10],
    [70, 70],
  ])('are younger than all that are there: at %i they are of %i', (now, createdAt) => {
    expect(withApplied(there, [{ name: 'c', spec: 'new' }], at(now)).at(-1)).toEqual({
      name: 'c',
      createdAt,
      spec: 'new',
    });
  });

  it('are judged by themselves, without anybody being asked', async () => {
    const spec = { replicas: 1, provider: 'eks', config: { nodegroup: 'games' } };
    const objects = [
      { name: 'right', createdAt: at(1), spec },
      { name: 'second', createdAt: at(2), spec },
      { name: 'wrong', createdAt: at(3), spec: { replicas: -1 } },
      { name: 'auto', createdAt: at(4), spec: { replicas: 1 } },
    ];
    const outcomes = await judge(objects, cronTimes);
    expect(outcomes.map(({ name, problems }) => [name, problems.map(({ path }) => path)])).toEqual([
      ['right', []],
      ['second', ['spec.config']],
      ['wrong', ['spec.replicas']],
      ['auto', []],
    ]);
    for (const { report } of outcomes) expect(report.deeds).toEqual([]);
    expect(outcomes[0]?.status.degraded).toEqual(['ObservationFailed']);
  });
});
