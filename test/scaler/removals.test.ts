import { describe, expect, it } from 'vitest';
import type { CallErrorKind } from '../../lib/scaler/call-error.ts';
import type { ScalerBed } from './bed.ts';
import { bedWith, degradedAfter, failing, type Operation, watching } from './failing.ts';

/** The removal of a node and its machine where a call of it is answered otherwise than it was planned. */

describe('a node that is empty', () => {
  it.each<[string, Operation]>([
    ['its pods cannot be read', 'podsOn'],
    ['it cannot be read itself', 'readNode'],
    ['the servers cannot be listed', 'listGameServers'],
  ])('stays where %s', async (_, operation) => {
    const bed = bedWith(2, 1);
    bed.drain('n2');
    const outcome = await bed.tick(failing(operation, 'unknown').intercept);
    expect(bed.takeLog().changes).toBe(0);
    expect(outcome?.report.deeds).toEqual([]);
    expect(bed.world.ledger.pendingDeletions).toEqual([]);
  });

  it('whose machine goes already loses its Node, and no machine is asked for', async () => {
    const bed = bedWith(2, 1);
    bed.drain('n2');
    const { group } = bed.world;
    if (group)
      bed.world.group = { ...group, desired: 1, instances: new Map(group.instances).set('i-2', 'Terminating') };
    const { intercept, times } = watching();
    await bed.tick(intercept);
    expect(bed.takeLog().nodesDeleted).toEqual(['n2']);
    expect({ ends: times('providerDelete'), writes: times('writeLedger') }).toEqual({ ends: 0, writes: 0 });
    // Once, before the tick decided: that it is going does not change.
    expect(times('inspect')).toBe(1);
  });

  it.each(['providerDelete', 'deleteNode'] as const)(
    'waits, machine and all, once calls of %s are throttled',
    async (operation) => {
      const bed = bedWith(3, 1);
      for (const name of ['n2', 'n3']) bed.drain(name);
      const { intercept, times } = failing(operation, 'throttled');
      await bed.tick(intercept);
      expect({ ends: times('providerDelete'), pods: times('podsOn') }).toEqual({ ends: 1, pods: 1 });
    },
  );

  it('is written down once, though it is tried again', async () => {
    const bed = bedWith(2, 1);
    bed.drain('n2');
    await bed.tick(failing('providerDelete', 'unknown').intercept);
    const { intercept, times } = failing('providerDelete', 'unknown');
    await bed.tick(intercept);
    expect(bed.world.ledger.pendingDeletions).toHaveLength(1);
    // Marked and written already: nothing of it is asked for a second time.
    expect({ writes: times('writeLedger'), marks: times('annotate') }).toEqual({ writes: 0, marks: 0 });
  });

  it('stays written down where nobody knows whether it was marked', async () => {
    const bed = bedWith(2, 1);
    bed.drain('n2');
    await bed.tick(failing('annotate', 'unknown').intercept);
    expect(bed.world.ledger.pendingDeletions).toMatchObject([{ node: 'n2' }]);
    expect(bed.takeLog().instancesDeleted).toEqual([]);
  });

  it('leaves what is written of others', async () => {
    const bed = bedWith(3, 1);
    for (const name of ['n2', 'n3']) bed.drain(name);
    await bed.tick(failing('providerDelete', 'unknown', 1).intercept);
    const [first, second] = bed.world.ledger.pendingDeletions;
    expect([first?.node, second?.node]).toEqual(['n2', 'n3']);
    await bed.tick(failing('providerDelete', 'unknown', 2).intercept);
    expect(bed.world.ledger.pendingDeletions).toEqual([second]);
  });

  it('of which nothing is written has nothing to be forgotten', async () => {
    const bed = bedWith(2, 1);
    bed.drain('n2');
    const { group } = bed.world;
    if (group) bed.world.group = { ...group, desired: 1, instances: new Map([['i-1', 'InService']]) };
    const { intercept, times } = watching();
    await bed.tick(intercept);
    expect({ nodes: bed.takeLog().nodesDeleted, writes: times('writeLedger') }).toEqual({ nodes: ['n2'], writes: 0 });
  });
});

describe('that a machine was ended', () => {
  const registration = { pool: 'eu', digest: 'd' };

  it('is remembered of a node that may be registered, where its provider could not be asked later', async () => {
    const bed = bedWith(2, 1, 'custom');
    bed.drain('n2');
    bed.world.ledger = { version: 1, pendingDeletions: [], registration };
    await bed.tick();
    expect(bed.world.ledger.registration).toEqual({ ...registration, ended: ['uid-n2'] });
  });

  it('is not written down where the provider can be asked', async () => {
    const bed = bedWith(2, 1);
    bed.drain('n2');
    bed.world.ledger = { version: 1, pendingDeletions: [], registration };
    await bed.tick();
    expect(bed.takeLog().nodesDeleted).toEqual(['n2']);
    expect(bed.world.ledger.registration).toEqual(registration);
  });
});

it('a node whose machine began to go by itself since the tick decided is not ended, marked or written down', async () => {
  const bed = bedWith(2, 1);
  bed.drain('n2');
  const { intercept, times } = watching();
  await bed.tick(async (call, act) => {
    const { group } = bed.world;
    if (call.operation === 'podsOn' && group)
      bed.world.group = { ...group, instances: new Map(group.instances).set('i-2', 'Terminating') };
    return intercept(call, act);
  });
  expect(bed.takeLog().nodesDeleted).toEqual(['n2']);
  expect(['providerDelete', 'annotate', 'writeLedger'].map(times)).toEqual([0, 0, 0]);
});

describe('a machine whose node is gone', () => {
  function deserted(): ScalerBed {
    const bed = bedWith(2, 1);
    bed.world.nodes.delete('n2');
    const pendingDeletions = [{ node: 'n2', uid: 'uid-n2', instance: 'i-2', since: bed.now }];
    bed.world.ledger = { version: 1, pendingDeletions };
    return bed;
  }

  it.each<[string, Operation, number]>([
    ['the group cannot be read again', 'inspect', 2],
    ['nobody can tell whether its node is back', 'readNode', 1],
    ['its pods cannot be read', 'podsOn', 1],
  ])('stays where %s', async (_, operation, from) => {
    const bed = deserted();
    await bed.tick(failing(operation, 'unknown', from).intercept);
    expect(bed.takeLog().instancesDeleted).toEqual([]);
    expect(bed.world.ledger.pendingDeletions).toHaveLength(1);
  });

  it.each<[CallErrorKind, string]>([
    ['refused', 'TerminateRefused'],
    ['unknown', 'Unknown'],
  ])('stays in the ledger where its end is %s, which is told as %s', async (kind, expected) => {
    const bed = deserted();
    const { reason, message, outcome } = await degradedAfter(bed, failing('providerDelete', kind).intercept);
    expect({ reason, message }).toEqual({
      reason: expected,
      message: 'the machine of node n2, which is gone: providerDelete failed',
    });
    expect(outcome?.report.deeds).toEqual([]);
    expect(bed.world.ledger.pendingDeletions).toHaveLength(1);
  });

  it('stays where the minimum has been raised meanwhile', async () => {
    const bed = deserted();
    await bed.tick(async (call, act) => {
      const result = act();
      if (call.operation === 'inspect' && bed.world.group) bed.world.group = { ...bed.world.group, min: 2 };
      return result;
    });
    expect(bed.takeLog()).toMatchObject({ instancesDeleted: [], violations: [] });
  });

  it.each([
    ['has its name and no provider id yet: it may be its own', '', []],
    ['has its name and is on another machine', 'aws:///eu-west-1a/i-7', ['i-2']],
  ])('is ended, or not, where a node comes meanwhile that %s', async (_, providerId, ended) => {
    const bed = deserted();
    const node = bed.world.nodes.get('n1');
    if (node === undefined) throw new Error('the world has no node');
    await bed.tick(async (call, act) => {
      if (call.operation === 'readNode') bed.world.nodes.set('n2', { ...node, name: 'n2', uid: 'uid-new', providerId });
      return act();
    });
    expect(bed.takeLog().instancesDeleted).toEqual(ended);
  });

  it('is not begun with once such calls are throttled', async () => {
    const bed = deserted();
    bed.addNode();
    bed.world.nodes.delete('n3');
    const first = bed.world.ledger.pendingDeletions[0];
    if (first === undefined) throw new Error('the ledger is empty');
    const pendingDeletions = [first, { ...first, node: 'n3', uid: 'uid-n3', instance: 'i-3' }];
    bed.world.ledger = { version: 1, pendingDeletions };
    const { intercept, times } = failing('providerDelete', 'throttled');
    await bed.tick(intercept);
    expect({ ends: times('providerDelete'), reads: times('readNode') }).toEqual({ ends: 1, reads: 1 });
  });
});

describe('what is remembered', () => {
  it.each<[string, (bed: ScalerBed) => void]>([
    [
      'of a machine that is gone',
      (bed) => {
        const pendingDeletions = [{ node: 'n9', uid: 'uid-n9', instance: 'i-9', since: bed.now }];
        bed.world.ledger = { version: 1, pendingDeletions };
      },
    ],
    [
      'of an order to a hook that the object had before',
      (bed) => {
        const pendingIncrease = { count: 1, since: bed.now, baseline: [] };
        bed.world.ledger = { version: 1, pendingDeletions: [], pendingIncrease };
      },
    ],
  ])('%s is not written away once time is over', async (_, remember) => {
    const bed = bedWith(1, 1);
    remember(bed);
    const before = bed.world.ledger;
    await bed.tick(watching().intercept, 0);
    expect(bed.world.ledger).toEqual(before);
    await bed.tick(watching().intercept);
    expect(bed.world.ledger).toEqual({ version: 2, pendingDeletions: [] });
  });
});
