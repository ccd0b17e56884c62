import { describe, expect, it } from 'vitest';
import type { Intercept } from '../../cases/scaler/world.ts';
import { CallError } from '../../lib/scaler/call-error.ts';
import { ScalerBed } from './bed.ts';

/** What runs on is neither ended nor forgotten, whatever is said of it meanwhile. */

const untouched: Intercept = async (_, act) => act();

function bedWith(nodes: number, replicas: number): ScalerBed {
  const bed = new ScalerBed('eks', replicas);
  for (let at = 0; at < nodes; at++) bed.addNode();
  return bed;
}

describe('a machine that somebody detaches from its group', () => {
  function detach(bed: ScalerBed, state: string): void {
    const { group } = bed.world;
    if (group === undefined) return;
    const instances = new Map(group.instances).set('i-2', state);
    bed.world.group = { ...group, instances, desired: group.desired - 1 };
  }

  it.each(['Detaching', 'Detached'])('(%s) keeps its Node', async (state) => {
    const bed = bedWith(2, 1);
    bed.drain('n2');
    detach(bed, state);
    await bed.tick(untouched);
    expect(bed.takeLog()).toMatchObject({ nodesDeleted: [], instancesDeleted: [] });
  });

  it('keeps it too where that comes right before the deed', async () => {
    const bed = bedWith(2, 1);
    bed.drain('n2');
    await bed.tick(async (call, act) => {
      if (call.operation === 'podsOn') detach(bed, 'Detaching');
      return act();
    });
    expect(bed.takeLog()).toMatchObject({ nodesDeleted: [], instancesDeleted: [] });
  });
});

describe('a machine whose Node is gone, and that was to be ended', () => {
  function orphaned(): ScalerBed {
    const bed = bedWith(2, 1);
    bed.world.nodes.delete('n2');
    const entry = { node: 'n2', uid: 'uid-n2', instance: 'i-2', since: bed.now };
    bed.world.ledger = { version: 1, pendingDeletions: [entry] };
    return bed;
  }

  /** Once the tick has decided, and before its deed. */
  async function tickWith(bed: ScalerBed, happen: () => void): Promise<void> {
    let inspections = 0;
    await bed.tick(async (call, act) => {
      const result = act();
      if (call.operation === 'inspect' && ++inspections === 2) happen();
      return result;
    });
  }

  it('is left alone where its kubelet registers it anew meanwhile', async () => {
    const bed = orphaned();
    await tickWith(bed, () => {
      const node = bed.world.nodes.get('n1');
      if (node)
        bed.world.nodes.set('n2', { ...node, name: 'n2', uid: 'uid-again', providerId: 'aws:///eu-west-1a/i-2' });
      bed.addServer('n2', 'Allocated');
    });
    expect(bed.takeLog()).toMatchObject({ instancesDeleted: [], violations: [] });
  });

  it('is ended though its name has come to another machine', async () => {
    const bed = orphaned();
    await tickWith(bed, () => {
      const node = bed.world.nodes.get('n1');
      if (node)
        bed.world.nodes.set('n2', { ...node, name: 'n2', uid: 'uid-other', providerId: 'aws:///eu-west-1a/i-9' });
      bed.addServer('n2', 'Allocated');
    });
    expect(bed.takeLog().instancesDeleted).toEqual(['i-2']);
  });
});

it('a provider that is throttled is not asked again for each of many nodes', async () => {
  const bed = bedWith(6, 1);
  for (const name of ['n2', 'n3', 'n4', 'n5', 'n6']) bed.drain(name);
  let inspections = 0;
  await bed.tick(async (call, act) => {
    if (call.operation === 'inspect' && ++inspections > 1)
      throw new CallError('throttled', 'Throttling', 'Rate exceeded');
    return act();
  });
  expect(inspections).toBe(2);
  expect(bed.takeLog().changes).toBe(0);
});
