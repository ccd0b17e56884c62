import { describe, expect, it } from 'vitest';
import { faultsOf } from '../../cases/scaler/faults.ts';
import type { Intercept } from '../../cases/scaler/world.ts';
import { MARKS } from '../../lib/scaler/pool/marks.ts';
import type { EpochMs } from '../../lib/time.ts';
import { OBJECT, ScalerBed } from './bed.ts';

/** What cases and histories do not show by themselves. */

function bedWith(nodes: number, replicas: number, kind: 'eks' | 'custom' | 'minikube' = 'eks'): ScalerBed {
  const bed = new ScalerBed(kind, replicas);
  for (let at = 0; at < nodes; at++) bed.addNode();
  return bed;
}

const untouched: Intercept = async (_, act) => act();

async function conditionAfter(bed: ScalerBed, type: string): Promise<string | undefined> {
  const outcome = await bed.tick(untouched);
  return outcome?.status.conditions.find((condition) => condition.type === type)?.reason;
}

describe('a window that the limits of the group will not let be', () => {
  const evening = { name: 'evening', timezone: 'UTC', cron: '0 17 * * FRI', durationMinutes: 60, replicas: 21 };

  it.each([false, true])(
    'is told from the first tick on, and keeps nothing from being done (paused: %s)',
    async (paused) => {
      const bed = bedWith(3, 3);
      bed.extra = { schedules: [evening], paused };
      const outcome = await bed.tick(untouched);
      const [valid, , clamped] = outcome?.status.conditions ?? [];
      expect(valid).toMatchObject({
        ...{ type: 'Valid', status: 'True', reason: 'Accepted' },
        message: expect.stringContaining('group\'s maximum of 20: schedule "evening" (21).'),
      });
      // It is not its turn yet.
      expect(clamped).toMatchObject({ type: 'TargetClamped', status: 'False' });
      expect(bed.takeLog().changes).toBe(0);
    },
  );

  it('is no window of a pool whose provider has no limits', async () => {
    const bed = bedWith(3, 3, 'custom');
    bed.extra = { schedules: [evening] };
    const outcome = await bed.tick(untouched);
    expect(outcome?.status.conditions[0]).toMatchObject({ type: 'Valid', status: 'True', message: '' });
  });
});

describe('nothing is changed', () => {
  it('of an object that is paused, which shows its target all the same', async () => {
    const bed = bedWith(3, 1);
    bed.extra = { paused: true };
    const outcome = await bed.tick();
    expect(bed.takeLog().changes).toBe(0);
    expect(outcome?.status).toMatchObject({ effectiveTarget: 1, nodes: { active: 3 } });
    expect(await conditionAfter(bed, 'AtTarget')).toBe('Paused');
  });

  it('of an object that is wrong, not even to finish a drain', async () => {
    const bed = bedWith(2, 1);
    bed.drain('n2');
    bed.extra = { grpcHook: { address: 'a:1', caBundle: 'LS0tLS1CRUdJTg==' } };
    expect(await conditionAfter(bed, 'Valid')).toBe('InvalidSpec');
    expect(bed.takeLog().changes).toBe(0);
  });

  it.each(['validate', 'describe', 'snapshot', 'readLedger'] as const)(
    'where %s is not answered',
    async (operation) => {
      const bed = bedWith(3, 1);
      const outcome = await bed.tick(
        faultsOf(bed.world, [
          { op: operation === 'snapshot' ? 'list' : operation, error: '500', reason: 'ProviderUnreachable' },
        ]),
      );
      expect(bed.takeLog().changes).toBe(0);
      const reasons = outcome?.status.conditions.map(({ reason }) => reason);
      expect(reasons).toContain(operation === 'validate' ? 'ProviderUnreachable' : 'ObservationFailed');
    },
  );

  it.each([
    ['nothing', undefined],
    ['no time', 'game 12'],
    ['a time that is far ahead', '2999-01-01T00:00:00Z'],
    ['a time that no status could show', '+275760-09-13T00:00:00.000Z'],
  ])('of a cordon of ours that says %s of when, until it has been dated anew and has settled', async (_, at) => {
    const bed = bedWith(2, 1);
    const annotations = { [MARKS.cordonedBy]: OBJECT, ...(at === undefined ? {} : { [MARKS.cordonedAt]: at }) };
    bed.changeNode('n2', { unschedulable: true, annotations });
    const outcome = await bed.tick(untouched);
    expect(outcome?.status.drains).toEqual([{ node: 'n2', protectedServers: 0, gamePods: 0 }]);
    expect(bed.world.nodes.get('n2')?.annotations[MARKS.cordonedAt]).toBe(new Date(bed.now).toISOString());
    expect(bed.takeLog().instancesDeleted).toEqual([]);
    bed.now = (bed.now + 60_000) as EpochMs;
    await bed.tick(untouched);
    expect(bed.world.nodes.has('n2')).toBe(false);
  });

  it('once there is no right to', async () => {
    const bed = bedWith(4, 2);
    const outcome = await bed.tick(faultsOf(bed.world, [{ op: 'cordon', error: '403' }]));
    expect(bed.takeLog().changes).toBe(0);
    expect(outcome?.status.conditions.at(-1)).toMatchObject({
      type: 'Degraded',
      status: 'True',
      reason: 'AccessDenied',
    });
  });

  it('after the deadline, and the status says that there is more to do', async () => {
    const bed = bedWith(3, 1);
    const outcome = await bed.tick(untouched, 0);
    expect(bed.takeLog().changes).toBe(0);
    expect(outcome?.report.outOfTime).toBe(true);
  });

  it('of nodes that another tool holds, though they are ours', async () => {
    const bed = bedWith(2, 1);
    bed.drain('n2');
    bed.addServer('n2', 'Ready');
    bed.changeNode('n2', { taints: ['ToBeDeletedByClusterAutoscaler'] });
    await bed.tick();
    expect(bed.takeLog().changes).toBe(0);
  });

  it('of nodes that another object cordoned', async () => {
    const bed = bedWith(2, 2);
    bed.drain('n2');
    const annotations = { [MARKS.cordonedBy]: 'another', [MARKS.cordonedAt]: '2026-01-15T11:00:00Z' };
    bed.changeNode('n2', { annotations });
    await bed.tick();
    expect(bed.takeLog()).toMatchObject({ uncordoned: [], nodesDeleted: [], increaseBy: 1 });
  });
});

describe('marks', () => {
  it('that are stale are taken off, so that a later cordon of somebody else is not taken for ours', async () => {
    const bed = bedWith(2, 2);
    bed.drain('n2');
    bed.changeNode('n2', { unschedulable: false });
    await bed.tick();
    expect(bed.world.nodes.get('n2')?.annotations).toEqual({});
    bed.changeNode('n2', { unschedulable: true });
    bed.now = (bed.now + 600_000) as EpochMs;
    await bed.tick();
    expect(bed.takeLog()).toMatchObject({ uncordoned: [], nodesDeleted: [] });
  });

  it('without a date get one, and the node settles from then on', async () => {
    const bed = bedWith(2, 1);
    bed.changeNode('n2', { unschedulable: true, annotations: { [MARKS.cordonedBy]: OBJECT } });
    await bed.tick();
    expect(bed.takeLog().nodesDeleted).toEqual([]);
    bed.now = (bed.now + 30_000) as EpochMs;
    await bed.tick();
    expect(bed.takeLog().nodesDeleted).toEqual(['n2']);
  });

  it('of a machine that is not ended after all are taken off, and the node may come back', async () => {
    const bed = bedWith(2, 1);
    bed.drain('n2');
    await bed.tick(faultsOf(bed.world, [{ op: 'providerDelete', error: 'ValidationError' }]));
    expect(bed.world.nodes.get('n2')?.annotations[MARKS.pendingDelete]).toBeUndefined();
    expect(bed.world.ledger.pendingDeletions).toEqual([]);
    bed.replicas = 2;
    await bed.tick(untouched);
    expect(bed.takeLog().uncordoned).toEqual(['n2']);
  });

  it('of a machine that may be ended stay, and the node does not come back', async () => {
    const bed = bedWith(2, 1);
    bed.drain('n2');
    await bed.tick(faultsOf(bed.world, [{ op: 'providerDelete', error: 'Timeout' }]));
    expect(bed.world.nodes.get('n2')?.annotations[MARKS.pendingDelete]).toBe('i-2');
    expect(bed.world.ledger.pendingDeletions).toMatchObject([{ node: 'n2', uid: 'uid-n2', instance: 'i-2' }]);
    bed.replicas = 2;
    await bed.tick(untouched);
    expect(bed.takeLog()).toMatchObject({ uncordoned: [], nodesDeleted: ['n2'], instancesDeleted: ['i-2'] });
    expect(bed.world.ledger.pendingDeletions).toEqual([]);
  });
});

describe('orders', () => {
  it('of a hook that refuses leave what was under way before', async () => {
    const bed = bedWith(1, 3, 'custom');
    await bed.tick();
    const before = bed.world.ledger.pendingIncrease;
    bed.replicas = 5;
    await bed.tick(faultsOf(bed.world, [{ op: 'increase', error: 'RESOURCE_EXHAUSTED' }]));
    expect(bed.world.ledger.pendingIncrease).toEqual(before);
  });

  it('of a hook that may have heard count, until they would have come', async () => {
    const bed = bedWith(1, 3, 'custom');
    await bed.tick(faultsOf(bed.world, [{ op: 'increase', error: 'DEADLINE_EXCEEDED' }]));
    await bed.tick(untouched);
    expect(bed.takeLog().increaseBy).toBe(0);
    bed.now = (bed.now + 15 * 60_000) as EpochMs;
    await bed.tick();
    expect(bed.takeLog().increaseBy).toBe(2);
  });

  it('go to the maximum and no further', async () => {
    const bed = bedWith(2, 6);
    if (bed.world.group) bed.world.group = { ...bed.world.group, max: 4 };
    bed.changeNode('n2', { unschedulable: true });
    expect(await conditionAfter(bed, 'Degraded')).toBe('AtProviderMaximum');
    expect(bed.takeLog().increaseBy).toBe(2);
  });
});

describe('the way down', () => {
  it('cordons nothing where Terminate is suspended: nothing that is emptied could go', async () => {
    const bed = bedWith(3, 1);
    if (bed.world.group) bed.world.group = { ...bed.world.group, terminateSuspended: true };
    expect(await conditionAfter(bed, 'Degraded')).toBe('TerminateSuspended');
    expect(bed.takeLog().changes).toBe(0);
  });

  it('deletes at most as many servers in a tick as the object allows', async () => {
    const bed = bedWith(2, 1);
    bed.limit = 2;
    for (let at = 0; at < 3; at++) bed.addServer('n1', 'Ready');
    for (let at = 0; at < 4; at++) bed.addServer('n2', 'Ready');
    await bed.tick();
    expect(bed.takeLog().gameServersDeleted).toHaveLength(2);
    await bed.tick();
    expect(bed.takeLog().gameServersDeleted).toHaveLength(1);
  });

  it('keeps servers in a state that it does not know', async () => {
    const bed = bedWith(2, 1);
    bed.addServer('n1', 'Allocated');
    bed.addServer('n1', 'Allocated');
    bed.addServer('n2', 'Migrating');
    bed.drain('n2');
    await bed.tick();
    expect(bed.takeLog().changes).toBe(0);
  });

  it('takes nodes first that Berth has made ineligible, whatever is on them', async () => {
    const bed = bedWith(3, 2);
    bed.addServer('n2', 'Allocated');
    bed.changeNode('n2', { ineligible: true });
    await bed.tick();
    expect(bed.takeLog().cordoned).toEqual(['n2']);
  });
});

describe('nodes that are to be replaced', () => {
  it('are cordoned once another has joined, and not brought back', async () => {
    const bed = bedWith(2, 2);
    bed.extra = { config: { nodegroup: 'games', pool: 'eu', replaceIneligible: 'true' } };
    bed.changeNode('n2', { ineligible: true });
    await bed.tick();
    expect(bed.takeLog()).toMatchObject({ increaseBy: 1, cordoned: [] });
    bed.addNode({ grow: false });
    await bed.tick();
    expect(bed.takeLog()).toMatchObject({ increaseBy: 0, cordoned: ['n2'] });
    bed.replicas = 3;
    await bed.tick();
    expect(bed.takeLog()).toMatchObject({ increaseBy: 1, uncordoned: [] });
  });
});

describe('a machine whose node is gone', () => {
  const entry = { node: 'n2', uid: 'uid-n2', instance: 'i-2', since: 0 as EpochMs };

  it('is not ended while games may run on it', async () => {
    const bed = bedWith(2, 1);
    bed.addServer('n2', 'Allocated');
    bed.world.nodes.delete('n2');
    bed.world.ledger = { version: 1, pendingDeletions: [entry] };
    await bed.tick();
    expect(bed.takeLog().instancesDeleted).toEqual([]);
    bed.world.pods.clear();
    await bed.tick();
    expect(bed.takeLog().instancesDeleted).toEqual(['i-2']);
  });

  it('that has registered again, under another uid, is left alone', async () => {
    const bed = bedWith(2, 2);
    bed.changeNode('n2', { uid: 'uid-again' });
    bed.world.ledger = { version: 1, pendingDeletions: [entry] };
    await bed.tick();
    expect(bed.takeLog().changes).toBe(0);
    expect(bed.world.ledger.pendingDeletions).toEqual([]);
  });
});

it('shows the oldest of the drains where there are more than a status has room for', async () => {
  const bed = bedWith(505, 0);
  for (let at = 1; at <= 505; at++) {
    bed.drain(`n${at}`, at);
    bed.addServer(`n${at}`, 'Allocated');
  }
  const { drains = [], nodes } = (await bed.tick(untouched))?.status ?? {};
  expect(nodes?.draining).toBe(505);
  expect(drains).toHaveLength(500);
  expect([drains[0]?.node, drains[499]?.node]).toEqual(['n505', 'n6']);
});

describe('provider auto', () => {
  const auto = (bed: ScalerBed) => {
    bed.extra = { provider: 'auto' };
    return bed;
  };

  it('is found from the nodes, and remembered for when there are none', async () => {
    const bed = auto(bedWith(1, 2));
    await bed.tick();
    expect(bed.world.ledger.detectedProvider).toBe('eks');
    bed.world.nodes.clear();
    expect(await conditionAfter(bed, 'Valid')).toBe('Accepted');
  });

  it.each([
    ['no node', []],
    ['nodes of a provider that is not offered', ['gce://p/z/n']],
    ['nodes of several', ['aws:///a/i-1', '']],
  ])('is not known with %s', async (_, providerIds) => {
    const bed = auto(bedWith(providerIds.length, 2));
    for (const [at, providerId] of providerIds.entries()) bed.changeNode(`n${at + 1}`, { providerId });
    expect(await conditionAfter(bed, 'Valid')).toBe('UnknownProvider');
    expect(bed.takeLog().changes).toBe(0);
  });
});

it('a tick with nothing to do asks for nothing but what it looks at', async () => {
  const bed = bedWith(3, 3);
  bed.addServer('n1', 'Allocated');
  const calls: string[] = [];
  await bed.tick(async ({ operation }, act) => {
    calls.push(operation);
    return act();
  });
  expect(calls).toEqual(['readLedger', 'validate', 'describe', 'snapshot']);
});

describe('what is under way shows in the status', () => {
  it('of an order to a hook, in the tick that sends it', async () => {
    const bed = bedWith(1, 4, 'custom');
    expect((await bed.tick())?.status.pendingIncrease).toEqual({ count: 3, since: bed.now });
  });

  it('of a machine whose end is not certain, until it is', async () => {
    const bed = bedWith(2, 1);
    bed.drain('n2');
    const unanswered = faultsOf(bed.world, [{ op: 'providerDelete', error: 'Timeout' }]);
    const { status } = (await bed.tick(unanswered)) ?? {};
    expect(status?.pendingDeletions).toEqual([{ node: 'n2', instance: 'i-2', since: bed.now }]);
    expect((await bed.tick(untouched))?.status.pendingDeletions).toBeUndefined();
  });
});
