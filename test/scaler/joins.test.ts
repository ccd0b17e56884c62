import { afterEach, describe, expect, it } from 'vitest';
import { faultsOf } from '../../cases/scaler/faults.ts';
import type { Intercept } from '../../cases/scaler/world.ts';
import { CallError } from '../../lib/scaler/call-error.ts';
import type { EpochMs } from '../../lib/time.ts';
import type { KubeObject } from '../../local/kubernetes/kube-object.ts';
import { ScalerBed } from './bed.ts';
import { HttpWorld } from './http-world.ts';
import { interleaved } from './run-history.ts';

/** Machines of a group that run and never get a node. */

const MINUTE = 60_000;

/** A pool of two nodes, of three machines, on which `state` has the third. */
function bedWith(state = 'InService', machines = 1): ScalerBed {
  const bed = new ScalerBed('eks', 2 + machines);
  bed.addNode();
  bed.addNode();
  const { group } = bed.world;
  if (group === undefined) throw new Error('the world has no group');
  const late = Array.from({ length: machines }, (_, at): [string, string] => [
    `i-late${String(at).padStart(3, '0')}`,
    state,
  ]);
  bed.world.group = { ...group, desired: 2 + machines, max: 200, instances: new Map([...group.instances, ...late]) };
  return bed;
}

const untouched: Intercept = async (_, act) => act();

/** A tick `minutes` later: what Degraded says then, and how often the ledger was written. */
async function later(bed: ScalerBed, minutes: number, intercept: Intercept = untouched) {
  bed.now = (bed.now + minutes * MINUTE) as EpochMs;
  let writes = 0;
  const outcome = await bed.tick((call, act) => {
    if (call.operation === 'writeLedger') writes += 1;
    return intercept(call, act);
  });
  const condition = outcome?.status.conditions.find(({ type }) => type === 'Degraded');
  return { reason: condition?.reason, message: condition?.message ?? '', writes, outcome };
}

const remembered = (bed: ScalerBed) => bed.world.ledger.unjoined?.map(({ instance }) => instance);

describe('a machine that does not join', () => {
  it('is told after 15 minutes and not before, with what to look at, and counts as pending all the while', async () => {
    const bed = bedWith();
    const first = await later(bed, 0);
    expect(first).toMatchObject({ reason: 'AsExpected', writes: 1 });
    const since = bed.now;
    bed.now = (since + 15 * MINUTE - 1) as EpochMs;
    expect(await later(bed, 0)).toMatchObject({ reason: 'AsExpected', writes: 0 });
    bed.now = (since + 15 * MINUTE) as EpochMs;
    const { reason, message, writes, outcome } = await later(bed, 0);
    expect({ reason, writes }).toEqual({ reason: 'NodesNotJoining', writes: 0 });
    expect(message).toContain('none has joined the cluster as a node: i-late000.');
    expect(message).toContain('aws ec2 get-console-output --latest --instance-id i-late000');
    expect(message.length).toBeLessThan(1_024);
    expect(outcome?.status.nodes).toMatchObject({ active: 2, pending: 1 });
    await later(bed, 600);
    expect(bed.takeLog().increaseBy).toBe(0);
  });

  it('and joins in the 16th minute is forgotten, and not degraded any more', async () => {
    const bed = bedWith();
    await later(bed, 0);
    expect((await later(bed, 15)).reason).toBe('NodesNotJoining');
    bed.addNode({ grow: false, instance: 'i-late000' });
    expect(await later(bed, 1)).toMatchObject({ reason: 'AsExpected', writes: 1 });
    expect(bed.world.ledger).not.toHaveProperty('unjoined');
    expect(await later(bed, 1)).toMatchObject({ writes: 0 });
  });

  it('and is gone is forgotten; the one that the group starts in its place has a time of its own', async () => {
    const bed = bedWith();
    await later(bed, 0);
    await later(bed, 15);
    const { group } = bed.world;
    if (group === undefined) throw new Error('the world has no group');
    const instances = new Map(group.instances).set('i-late000', 'Terminating').set('i-other', 'Pending');
    bed.world.group = { ...group, instances };
    expect(await later(bed, 1)).toMatchObject({ reason: 'AsExpected', writes: 1 });
    expect(remembered(bed)).toEqual(['i-other']);
    expect((await later(bed, 14)).reason).toBe('AsExpected');
    expect((await later(bed, 1)).reason).toBe('NodesNotJoining');
  });

  it('since its node was deleted by somebody else is told as well', async () => {
    const bed = bedWith();
    bed.addNode({ grow: false, instance: 'i-late000' });
    expect(await later(bed, 0)).toMatchObject({ writes: 0 });
    bed.world.nodes.delete('n3');
    await later(bed, 1);
    expect((await later(bed, 15)).reason).toBe('NodesNotJoining');
  });

  it.each(['Standby', 'EnteringStandby', 'Warmed:Stopped', 'Warmed:Pending', 'Detaching', 'Terminating:Wait'])(
    'and is %s is nothing to wait for',
    async (state) => {
      const bed = bedWith(state);
      bed.replicas = 2;
      if (bed.world.group) bed.world.group = { ...bed.world.group, desired: 2 };
      expect(await later(bed, 0)).toMatchObject({ writes: 0 });
      expect(await later(bed, 20)).toMatchObject({ reason: 'AsExpected', writes: 0 });
    },
  );

  it('since this scaler removes its node is none of them', async () => {
    const bed = bedWith();
    const since = bed.now;
    bed.world.ledger = { version: 1, pendingDeletions: [{ node: 'n9', uid: 'uid-n9', instance: 'i-late000', since }] };
    if (bed.world.group) bed.world.group = { ...bed.world.group, steady: true, terminateSuspended: true };
    await later(bed, 0);
    await later(bed, 16);
    expect(bed.world.ledger).not.toHaveProperty('unjoined');
  });

  it('among hundreds: a few are named, and the ledger stays small', async () => {
    const bed = bedWith('InService', 150);
    await later(bed, 0);
    const { message, writes } = await later(bed, 15);
    expect(writes).toBe(0);
    expect(remembered(bed)).toHaveLength(25);
    expect(message).toContain('i-late004 and 20 more.');
    expect(message.length).toBeLessThan(1_024);
  });
});

describe('what is remembered of it', () => {
  it.each([
    ['nothing is written', async () => Promise.reject(new CallError('throttled', 'Throttled', 'no'))],
    [
      'it is written and the answer lost',
      async (act: () => unknown) => {
        act();
        throw new CallError('unknown', 'Timeout', 'no answer');
      },
    ],
  ])('may be lost (%s): then it is told a minute later, and all else is done', async (_, struck) => {
    const bed = bedWith();
    bed.replicas = 5;
    const lost: Intercept = async (call, act) => (call.operation === 'writeLedger' ? struck(act) : act());
    const { outcome } = await later(bed, 0, lost);
    expect(outcome?.report.deeds).toEqual([{ kind: 'increased', by: 2 }]);
    expect(outcome?.report.errors).toMatchObject([{ operation: 'ledger' }]);
    await later(bed, 1);
    expect(remembered(bed)).toEqual(['i-late000']);
    expect((await later(bed, 15)).reason).toBe('NodesNotJoining');
    expect(bed.takeLog()).toMatchObject({ increaseBy: 2, violations: [] });
  });

  it('is written once by two functions at the same time, which order once', async () => {
    const bed = bedWith();
    bed.replicas = 4;
    const mixed = interleaved(untouched);
    await Promise.all([bed.tick(mixed), bed.tick(mixed)]);
    expect(remembered(bed)).toEqual(['i-late000']);
    expect(bed.takeLog()).toMatchObject({ increaseBy: 1, violations: [] });
  });

  it('of a clock that was ahead is set right: it would not be told for days', async () => {
    const bed = bedWith();
    await later(bed, 24 * 60);
    expect(await later(bed, -24 * 60)).toMatchObject({ reason: 'AsExpected', writes: 1 });
    expect(bed.world.ledger.unjoined).toEqual([{ instance: 'i-late000', since: bed.now }]);
    expect((await later(bed, 15)).reason).toBe('NodesNotJoining');
  });

  it('is nothing where the clocks of two functions differ by seconds', async () => {
    const bed = bedWith();
    await later(bed, 0);
    expect(await later(bed, -0.5)).toMatchObject({ reason: 'AsExpected', writes: 0 });
  });

  it('goes where the provider has no group any more', async () => {
    const bed = new ScalerBed('custom', 0);
    bed.world.ledger = { version: 1, pendingDeletions: [], unjoined: [{ instance: 'i-1', since: bed.now }] };
    expect(await later(bed, 20)).toMatchObject({ reason: 'AsExpected', writes: 1 });
    expect(bed.world.ledger).not.toHaveProperty('unjoined');
  });
});

describe('a pool that is not acted on', () => {
  it.each([
    ['paused', { paused: true }],
    ['wrong', { replicas: -1 }],
  ])(
    'since it is %s writes and tells nothing of it; afterwards its time is that of the first sight',
    async (_, extra) => {
      const bed = bedWith();
      await later(bed, 0);
      bed.extra = extra;
      const { reason, writes } = await later(bed, 16);
      expect({ degraded: reason === 'NodesNotJoining', writes }).toEqual({ degraded: false, writes: 0 });
      bed.extra = {};
      expect((await later(bed, 1)).reason).toBe('NodesNotJoining');
    },
  );

  it('since EKS updates its group goes on to tell of it, so that it does not come and go, and writes nothing', async () => {
    const bed = bedWith();
    await later(bed, 0);
    if (bed.world.group) {
      const instances = new Map(bed.world.group.instances).set('i-new', 'InService');
      bed.world.group = { ...bed.world.group, steady: false, instances };
    }
    expect(await later(bed, 15)).toMatchObject({ reason: 'NodesNotJoining', writes: 0 });
  });

  it('since the provider does not answer keeps what is remembered', async () => {
    const bed = bedWith();
    await later(bed, 0);
    expect(await later(bed, 1, faultsOf(bed.world, [{ op: 'describe', error: '500' }]))).toMatchObject({ writes: 0 });
    expect(remembered(bed)).toEqual(['i-late000']);
  });
});

describe('over HTTP', () => {
  let world: HttpWorld;
  afterEach(() => world.close());

  const minutes = async (count: number) => {
    for (let at = 0; at < count; at++) {
      world.now = (world.now + MINUTE) as EpochMs;
      world.outside.settle();
      expect(await world.run().done).toBe('done');
    }
  };
  const degraded = () => {
    const { status } = world.outside.cluster().store.get('gameservernodes', 'game') as KubeObject;
    const { conditions } = status as { conditions: Record<string, string>[] };
    return conditions.find(({ type }) => type === 'Degraded')?.reason;
  };
  const told = (of: string) => {
    const events = world.outside.cluster().store.list('events') as unknown as { reason: string }[];
    return events.filter(({ reason }) => reason === of).length;
  };

  it('it is told in one event, ordered once, and over when the group has replaced it', async () => {
    world = await HttpWorld.start(2, 0);
    world.retarget(2);
    await minutes(3);
    world.outside.machines.failNextJoins(1);
    world.retarget(4);
    await minutes(14);
    expect(degraded()).toBe('AsExpected');
    await minutes(10);
    expect(degraded()).toBe('NodesNotJoining');
    expect(told('NodesNotJoining')).toBe(1);
    expect(world.outside.groups.get('eks-games')?.desired).toBe(4);
    // An idle tick with such a machine asks for no more than any other.
    world.turns.requests = 0;
    await minutes(1);
    expect(world.turns.requests).toBe(2);

    const [lost] = world.outside.machines.list().filter(({ joined }) => !joined);
    world.outside.groups.replaceUnhealthy(lost?.instance ?? '');
    await minutes(5);
    expect(degraded()).toBe('AsExpected');
    expect({ gone: told('Recovered'), nodes: world.outside.cluster().store.list('nodes').length }).toEqual({
      gone: 1,
      nodes: 4,
    });
    expect([...world.violations, ...world.outside.violations]).toEqual([]);
  });
});
