import { describe, expect, it } from 'vitest';
import type { Intercept, WorldCall } from '../../cases/scaler/world.ts';
import { CallError } from '../../lib/scaler/call-error.ts';
import { MARKS } from '../../lib/scaler/pool/marks.ts';
import type { EpochMs } from '../../lib/time.ts';
import { ScalerBed } from './bed.ts';

/** What happens between the plan of a tick and its deeds, and must be seen right before them. */

function bedWith(nodes: number, replicas: number): ScalerBed {
  const bed = new ScalerBed('eks', replicas);
  for (let at = 0; at < nodes; at++) bed.addNode();
  return bed;
}

/** Lets `happen` happen once, just before the first call of `operation`. */
function justBefore(operation: WorldCall['operation'], happen: () => void): Intercept {
  let happened = false;
  return async (call, act) => {
    if (call.operation === operation && !happened) {
      happened = true;
      happen();
    }
    return act();
  };
}

describe('a node that is to come back', () => {
  it.each([
    ['whose cordon somebody else has taken over', { annotations: {} }],
    [
      'whose machine another function is about to end',
      { annotations: { [MARKS.cordonedBy]: 'game', [MARKS.pendingDelete]: 'i-2' } },
    ],
    ['that another tool now holds', { taints: ['karpenter.sh/disrupted'] }],
    ['that is another one of the same name', { uid: 'uid-other' }],
    ['that is being deleted', { deleting: true }],
  ])('%s stays as it is', async (_, change) => {
    const bed = bedWith(2, 2);
    bed.drain('n2');
    await bed.tick(justBefore('readNode', () => bed.changeNode('n2', change)));
    expect(bed.takeLog()).toMatchObject({ uncordoned: [], violations: [] });
  });
});

describe('a node that is to go', () => {
  it.each([
    ['that somebody else has cordoned', { unschedulable: true }],
    ['that another tool now holds', { taints: ['ToBeDeletedByClusterAutoscaler'] }],
    ['that is another one of the same name', { uid: 'uid-other' }],
  ])('%s is not marked as ours', async (_, change) => {
    const bed = bedWith(1, 0);
    await bed.tick(justBefore('readNode', () => bed.changeNode('n1', change)));
    expect(bed.takeLog().changes).toBe(0);
  });

  it('is cordoned though its kubelet has just written its status', async () => {
    const bed = bedWith(1, 0);
    await bed.tick(justBefore('readNode', () => bed.changeNode('n1', { ready: false })));
    expect(bed.takeLog().cordoned).toEqual(['n1']);
  });
});

describe('a node that is to be removed', () => {
  it('and that somebody uncordons right before its machine is ended, stays, and nothing of it is remembered', async () => {
    const bed = bedWith(2, 1);
    bed.drain('n2');
    await bed.tick(justBefore('annotate', () => bed.changeNode('n2', { unschedulable: false })));
    expect(bed.takeLog()).toMatchObject({ instancesDeleted: [], nodesDeleted: [] });
    expect(bed.world.ledger.pendingDeletions).toEqual([]);
  });

  it('stays where the minimum has been raised', async () => {
    const bed = bedWith(2, 1);
    bed.drain('n2');
    const raise = () => {
      if (bed.world.group) bed.world.group = { ...bed.world.group, min: 2 };
    };
    await bed.tick(justBefore('podsOn', raise));
    expect(bed.takeLog()).toMatchObject({ instancesDeleted: [], nodesDeleted: [], violations: [] });
  });

  it('loses its Node alone where its machine began to go by itself', async () => {
    const bed = bedWith(2, 1);
    bed.drain('n2');
    const interrupt = () => {
      const { group } = bed.world;
      if (group) bed.world.group = { ...group, instances: new Map(group.instances).set('i-2', 'Terminating:Wait') };
    };
    await bed.tick(justBefore('podsOn', interrupt));
    expect(bed.takeLog()).toMatchObject({ instancesDeleted: [], nodesDeleted: ['n2'] });
  });

  it('waits its turn where the minimum leaves room for one, and the status says so', async () => {
    const bed = bedWith(4, 1);
    for (const name of ['n2', 'n3']) bed.drain(name);
    // Somebody else's cordon keeps a place of the minimum.
    bed.changeNode('n4', { unschedulable: true });
    if (bed.world.group) bed.world.group = { ...bed.world.group, min: 3 };
    for (const name of ['n2', 'n3']) bed.changeNode(name, { ready: false });
    const outcome = await bed.tick(async (_, act) => act());
    expect(bed.takeLog()).toMatchObject({ nodesDeleted: ['n2'], increaseBy: 2, violations: [] });
    expect(outcome?.status.conditions.map(({ reason }) => reason)).toContain('BelowProviderMinimum');
  });

  it('whose machine the group did not have when it was read, but has now, keeps its Node', async () => {
    const bed = bedWith(2, 1);
    bed.drain('n2');
    const { group } = bed.world;
    let reads = 0;
    await bed.tick(async (call, act) => {
      if (call.operation !== 'describe' || reads++ > 0 || !group) return act();
      return { ...group, instances: new Map([['i-1', 'InService']]) } as ReturnType<typeof act>;
    });
    expect(bed.takeLog()).toMatchObject({ nodesDeleted: [], violations: [] });
  });
});

it('whoever cannot write down what is under way does nothing more in this tick', async () => {
  const bed = bedWith(3, 1);
  for (const name of ['n2', 'n3']) bed.drain(name);
  await bed.tick(async (call, act) => {
    if (call.operation === 'writeLedger') throw new CallError('conflict', 'Conflict', 'written meanwhile');
    return act();
  });
  expect(bed.takeLog().changes).toBe(0);
  const writes: string[] = [];
  await bed.tick(async (call, act) => {
    if (call.operation === 'writeLedger') {
      writes.push(call.operation);
      throw new CallError('unknown', 'Timeout', 'no answer');
    }
    return act();
  });
  expect(writes).toHaveLength(1);
});

describe('a function that is paused until its time is over', () => {
  /** It hears of the first answer to `operation` only then. */
  function pausedAfter(bed: ScalerBed, operation: WorldCall['operation']): Intercept {
    return async (call, act) => {
      const result = act();
      if (call.operation === operation) bed.now = (bed.now + 60_000) as EpochMs;
      return result;
    };
  }

  it.each(['podsOn', 'annotate'] as const)('after %s ends no machine', async (operation) => {
    const bed = bedWith(2, 1);
    bed.drain('n2');
    await bed.tick(pausedAfter(bed, operation));
    expect(bed.takeLog()).toMatchObject({ instancesDeleted: [], nodesDeleted: [] });
  });

  it('ends none whose node is gone either', async () => {
    const bed = bedWith(2, 1);
    bed.world.nodes.delete('n2');
    const pendingDeletions = [{ node: 'n2', uid: 'uid-n2', instance: 'i-2', since: bed.now }];
    bed.world.ledger = { version: 1, pendingDeletions };
    let inspections = 0;
    await bed.tick(async (call, act) => {
      const result = act();
      // Once before it decides, once before the deed.
      if (call.operation === 'inspect' && ++inspections === 2) bed.now = (bed.now + 60_000) as EpochMs;
      return result;
    });
    expect(bed.takeLog().instancesDeleted).toEqual([]);
  });

  it('cordons nothing, and brings nothing back', async () => {
    const down = bedWith(2, 1);
    await down.tick(pausedAfter(down, 'readNode'));
    expect(down.takeLog().changes).toBe(0);
    const up = bedWith(2, 2);
    up.drain('n2');
    await up.tick(pausedAfter(up, 'readNode'));
    expect(up.takeLog().changes).toBe(0);
  });

  it('deletes no server that it has looked at again before', async () => {
    const bed = bedWith(1, 0);
    bed.drain('n1');
    const server = bed.addServer('n1', 'Ready');
    const paused = pausedAfter(bed, 'readGameServer');
    let deletes = 0;
    await bed.tick(async (call, act) => {
      // A label changes, so that the version that was listed is not the one that is there.
      if (call.operation === 'deleteGameServer' && deletes++ === 0) bed.changeServer(server, {});
      return paused(call, act);
    });
    expect(bed.takeLog().gameServersDeleted).toEqual([]);
  });

  it('orders nothing of a hook, and takes back that it would: another run has ordered by then', async () => {
    const bed = new ScalerBed('custom', 2);
    await bed.tick(pausedAfter(bed, 'writeLedger'));
    expect(bed.takeLog().increaseBy).toBe(0);
    expect(bed.world.ledger.pendingIncrease).toBeUndefined();
  });
});
