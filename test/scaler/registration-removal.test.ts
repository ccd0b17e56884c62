import { describe, expect, it } from 'vitest';
import { faultsOf } from '../../cases/scaler/faults.ts';
import type { ObservedNode } from '../../lib/scaler/observation.ts';
import { pass, registered, toldOf, untouched } from './registered-bed.ts';

describe('a node is taken out', () => {
  it('once its machine is ended, and not before', async () => {
    const { bed, registry, eu } = await registered(2, 1);
    registry.change('eu', 'n1', { tasks: 2 });
    await bed.tick();
    pass(bed);
    await bed.tick(faultsOf(bed.world, [{ op: 'providerDelete', error: 'Timeout' }]));
    expect(eu.get('n1')).toMatchObject({ drain: true, tasks: 2 });
    const outcome = await bed.tick(untouched);
    expect(outcome?.report.deeds.map(({ kind }) => kind)).toEqual(['machine-ended', 'node-deleted', 'unregistered']);
    expect(outcome?.report.deeds.at(-1)).toMatchObject({ orphaned: 2 });
    expect([...eu.keys()]).toEqual(['n2']);
  });

  it('where somebody deleted it and its machine, with its tasks orphaned', async () => {
    const { bed, eu } = await registered(2);
    const { group } = bed.world;
    if (group) bed.world.group = { ...group, instances: new Map(group.instances).set('i-1', 'Terminating') };
    bed.world.nodes.delete('n1');
    await bed.tick();
    expect([...eu.keys()]).toEqual(['n2']);
  });

  it('in the tick that ends the machine whose node somebody deleted', async () => {
    const { bed, eu } = await registered(2, 1);
    bed.world.nodes.delete('n1');
    const entry = { node: 'n1', uid: 'uid-n1', instance: 'i-1', since: bed.now };
    bed.world.ledger = { ...bed.world.ledger, pendingDeletions: [entry] };
    const outcome = await bed.tick();
    expect(outcome?.report.deeds.map(({ kind }) => kind)).toEqual(['machine-ended', 'unregistered']);
    expect([...eu.keys()]).toEqual(['n2']);
  });

  it('never while its machine runs without a node: it is down, and told', async () => {
    const { bed, registry, eu } = await registered(2);
    registry.change('eu', 'n1', { tasks: 2 });
    bed.world.nodes.delete('n1');
    const outcome = await bed.tick();
    expect(eu.get('n1')).toMatchObject({ status: 'down', drain: true, tasks: 2 });
    expect(toldOf(outcome)).toMatch(/RegistrationFailed: node n1 is gone .* i-1 may go on running/);
    const { group } = bed.world;
    if (group) bed.world.group = { ...group, instances: new Map(group.instances).set('i-1', 'Terminating') };
    await bed.tick();
    expect([...eu.keys()]).toEqual(['n2']);
  });

  it('never that has joined since the tick has looked, though another tick has registered it', async () => {
    const { bed, registry, eu } = await registered(1);
    const name = bed.addNode();
    await bed.tick();
    const { group } = bed.world;
    if (group) bed.world.group = { ...group, desired: 1, instances: new Map([['i-1', 'InService']]) };
    // The list of nodes is one of a moment before it came.
    await bed.tick(async (call, act) => {
      const seen = act() as { nodes?: readonly ObservedNode[] };
      if (call.operation !== 'snapshot') return seen as never;
      return { ...seen, nodes: seen.nodes?.filter((node) => node.name !== name) } as never;
    });
    expect(registry.takeCalls()).not.toContain(`remove ${name}`);
    expect(eu.has(name)).toBe(true);
  });

  it('when it belongs to another group, drained, once no task holds it', async () => {
    const { bed, registry, eu } = await registered(2);
    registry.change('eu', 'n1', { tasks: 1 });
    const { group } = bed.world;
    if (group) bed.world.group = { ...group, desired: 1, instances: new Map([['i-2', 'InService']]) };
    bed.world.elsewhere.add('i-1');
    bed.replicas = 1;
    await bed.tick();
    expect(eu.get('n1')).toMatchObject({ drain: true, tasks: 1, status: 'ready' });
    expect(toldOf(await bed.tick())).toContain('goes when they have ended');
    registry.change('eu', 'n1', { tasks: 0 });
    await bed.tick();
    expect([...eu.keys()]).toEqual(['n2']);
  });
});
