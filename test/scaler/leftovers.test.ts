import { describe, expect, it } from 'vitest';
import { MARKS } from '../../lib/scaler/pool/marks.ts';
import type { EpochMs } from '../../lib/time.ts';
import { OBJECT, ScalerBed } from './bed.ts';

/** What only people can set right: nothing is done to it, and it is told. */

const MINUTE_MS = 60_000;

function bedWith(nodes: number, replicas: number): ScalerBed {
  const bed = new ScalerBed('eks', replicas);
  for (let at = 0; at < nodes; at++) bed.addNode();
  return bed;
}

/** Runs ticks, a minute between them; what the last one says is not as it should be. */
async function degradedAfter(bed: ScalerBed, ticks: number): Promise<{ reason: string; message: string } | undefined> {
  let found: { status: string; reason: string; message: string } | undefined;
  for (let at = 0; at < ticks; at++) {
    bed.now = (bed.now + MINUTE_MS) as EpochMs;
    const outcome = await bed.tick();
    found = outcome?.status.conditions.find(({ type }) => type === 'Degraded');
  }
  return found?.status === 'True' ? found : undefined;
}

describe('two Nodes of one machine', () => {
  /** n1 has come back as n3, under which its games run now. */
  function twins(replicas: number): ScalerBed {
    const bed = bedWith(2, replicas);
    bed.addNode({ grow: false, instance: 'i-1' });
    bed.changeNode('n1', { ready: false });
    bed.addServer('n3', 'Allocated');
    return bed;
  }

  it('are one to the pool, and the machine is not ended by the one that is empty', async () => {
    const bed = twins(2);
    const degraded = await degradedAfter(bed, 3);
    expect(degraded).toMatchObject({
      reason: 'NodesShareMachine',
      message: expect.stringMatching(/n3 and n1\. Delete/),
    });
    expect(bed.takeLog().changes).toBe(0);
  });

  it('keep their machine even where none is wanted, drained or not', async () => {
    const bed = twins(0);
    bed.drain('n1');
    bed.drain('n3');
    bed.removeServer([...bed.world.servers.values()][0]?.name ?? '');
    await degradedAfter(bed, 5);
    expect(bed.takeLog().instancesDeleted).toEqual(['i-2']);
    expect([...bed.world.nodes.keys()].sort()).toEqual(['n1', 'n3']);
  });

  it('are no more in the way once one of them is gone', async () => {
    const bed = twins(0);
    bed.removeServer([...bed.world.servers.values()][0]?.name ?? '');
    await degradedAfter(bed, 3);
    expect(bed.world.nodes.get('n3')?.unschedulable).toBe(false);
    bed.world.nodes.delete('n1');
    expect(await degradedAfter(bed, 5)).toBeUndefined();
    expect([...bed.world.nodes.keys()]).toEqual([]);
  });
});

describe('a desired capacity that was lowered by hand under machines that are protected', () => {
  it('is told where it keeps the pool from shrinking, with what to set it to', async () => {
    const bed = bedWith(4, 1);
    if (bed.world.group) bed.world.group = { ...bed.world.group, desired: 1 };
    const degraded = await degradedAfter(bed, 5);
    expect(degraded).toMatchObject({
      reason: 'TerminateRefused',
      message: expect.stringMatching(/3 machines, and its desired capacity is 0 .*Set the desired capacity to 3/),
    });
    expect(bed.takeLog().violations).toEqual([]);
  });

  it('is nothing to tell of where the pool is as it should be', async () => {
    const bed = bedWith(4, 4);
    if (bed.world.group) bed.world.group = { ...bed.world.group, desired: 1 };
    expect(await degradedAfter(bed, 3)).toBeUndefined();
  });
});

describe('a group at its minimum', () => {
  it('is told as that, and not as one whose desired capacity is below its machines', async () => {
    const bed = bedWith(2, 2);
    bed.drain('n2');
    bed.changeNode('n2', { ready: false });
    if (bed.world.group) bed.world.group = { ...bed.world.group, min: 2, max: 2 };
    const degraded = await degradedAfter(bed, 1);
    expect(degraded?.message).toContain('node n2 is empty and stays, since the group is at its minimum of 2: lower');
  });
});

describe('a cordon that nobody goes on with', () => {
  const foreign = { labels: {}, providerId: 'aws:///eu-west-1a/i-other' };

  it('is told of nodes that the object has cordoned and does not select any more', async () => {
    const bed = bedWith(2, 1);
    bed.addNode();
    bed.drain('n3');
    bed.changeNode('n3', foreign);
    if (bed.world.group) bed.world.group = { ...bed.world.group, instances: new Map(), desired: 0 };
    const degraded = await degradedAfter(bed, 1);
    expect(degraded).toMatchObject({
      reason: 'LeftCordoned',
      message: expect.stringMatching(/not of its pool any more: n3\. .*kubectl uncordon/),
    });
    expect(bed.world.nodes.get('n3')?.unschedulable).toBe(true);
  });

  it.each([
    ['whose machine has ended', { ready: false }],
    ['that is being deleted', { deleting: true }],
    ['that is being removed', { annotations: { [MARKS.cordonedBy]: OBJECT, [MARKS.pendingDelete]: 'i-other' } }],
  ])('is not told of a node %s', async (_, change) => {
    const bed = bedWith(1, 1);
    bed.addNode({ grow: false });
    bed.drain('n2');
    bed.changeNode('n2', { ...foreign, ...change });
    expect(await degradedAfter(bed, 1)).toBeUndefined();
  });

  it('is told of nodes of the pool that another object has cordoned', async () => {
    const bed = bedWith(2, 1);
    bed.changeNode('n2', { unschedulable: true, annotations: { [MARKS.cordonedBy]: 'old' } });
    const degraded = await degradedAfter(bed, 3);
    expect(degraded).toMatchObject({ reason: 'LeftCordoned', message: expect.stringContaining('n2 (by old)') });
    expect(bed.takeLog().changes).toBe(0);
  });

  it("is nothing to tell of where it is a person's", async () => {
    const bed = bedWith(2, 1);
    bed.changeNode('n2', { unschedulable: true });
    expect(await degradedAfter(bed, 3)).toBeUndefined();
  });
});
