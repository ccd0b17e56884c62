import { afterEach, describe, expect, it } from 'vitest';
import type { Intercept, WorldCall } from '../../cases/scaler/world.ts';
import { ADMISSION_DENIED, CallError } from '../../lib/scaler/call-error.ts';
import type { EpochMs } from '../../lib/time.ts';
import type { KubeObject } from '../../local/kubernetes/kube-object.ts';
import { ScalerBed } from './bed.ts';
import { HttpWorld } from './http-world.ts';

/** What a webhook of the cluster keeps from being done to one object: all the rest is done. */

const WHY = 'admission webhook "guard.example.com" denied the request: the match is recorded';

/** Denies every call of `operation`, or those about `subject`. */
function denying(operation: WorldCall['operation'], subject?: string): Intercept {
  return async (call, act) => {
    const isDenied = call.operation === operation && (subject === undefined || call.subject === subject);
    if (isDenied) throw new CallError('refused', ADMISSION_DENIED, WHY);
    return act();
  };
}

function bedWith(nodes: number, replicas: number): ScalerBed {
  const bed = new ScalerBed('eks', replicas);
  for (let at = 0; at < nodes; at++) bed.addNode();
  return bed;
}

async function degradedAfter(bed: ScalerBed, intercept: Intercept) {
  const outcome = await bed.tick(intercept);
  const condition = outcome?.status.conditions.find(({ type }) => type === 'Degraded');
  return { reason: condition?.reason, message: condition?.message, errors: outcome?.report.errors };
}

describe('a deed that a webhook denies', () => {
  it('is left out, and told with its words; what comes after it is done', async () => {
    const bed = bedWith(3, 1);
    bed.drain('n3');
    const [kept, gone] = [bed.addServer('n3', 'Ready'), bed.addServer('n3', 'Ready')];
    const { reason, message, errors } = await degradedAfter(bed, denying('deleteGameServer', kept));
    expect(bed.takeLog()).toMatchObject({ gameServersDeleted: [gone], cordoned: [expect.any(String)], violations: [] });
    expect(reason).toBe('AdmissionDenied');
    expect(message).toContain(
      `deleteGameServer of ${kept}, which every tick tries again, and nothing waits for: ${WHY}`,
    );
    expect(errors).toMatchObject([{ operation: 'deleteGameServer', subject: kept, code: ADMISSION_DENIED }]);
  });

  it('takes nothing of the limit, which it would use up in every tick', async () => {
    const bed = bedWith(2, 1);
    bed.limit = 1;
    bed.drain('n2');
    const [kept, gone, later] = [1, 2, 3].map(() => bed.addServer('n2', 'Ready'));
    await bed.tick(denying('deleteGameServer', kept));
    expect(bed.takeLog().gameServersDeleted).toEqual([gone]);
    await bed.tick(denying('deleteGameServer', kept));
    expect(bed.takeLog().gameServersDeleted).toEqual([later]);
  });

  it('that is a cordon keeps no other node from being cordoned, and no order from being placed', async () => {
    const bed = bedWith(4, 1);
    await bed.tick(denying('cordon', 'n2'));
    expect(bed.takeLog().cordoned).toEqual(['n1', 'n3']);
    bed.replicas = 6;
    const { reason } = await degradedAfter(bed, denying('uncordon', 'n1'));
    expect(reason).toBe('AdmissionDenied');
    expect(bed.takeLog().increaseBy).toBe(2);
  });

  it.each(['annotate', 'deleteNode'] as const)(
    'that is %s leaves a node with its machine ended, or neither',
    async (operation) => {
      const bed = bedWith(3, 1);
      for (const name of ['n2', 'n3']) bed.drain(name);
      await bed.tick(denying(operation, 'n2'));
      const log = bed.takeLog();
      expect(log.violations).toEqual([]);
      expect(log.nodesDeleted).toEqual(['n3']);
      expect(log.instancesDeleted.includes('i-2')).toBe(operation === 'deleteNode');
      expect(bed.world.ledger.pendingDeletions.map(({ node }) => node)).toEqual(operation === 'annotate' ? [] : ['n2']);
      await bed.tick(async (_, act) => act());
      expect(bed.takeLog().nodesDeleted).toEqual(['n2']);
      expect(bed.world.ledger.pendingDeletions).toEqual([]);
    },
  );

  it('is no missing right, which goes on to stop the tick', async () => {
    const bed = bedWith(3, 1);
    bed.drain('n3');
    for (let at = 0; at < 2; at++) bed.addServer('n3', 'Ready');
    const { reason } = await degradedAfter(bed, async (call, act) => {
      if (call.operation === 'deleteGameServer') throw new CallError('denied', '403', 'no right');
      return act();
    });
    expect(reason).toBe('AccessDenied');
    expect(bed.takeLog().gameServersDeleted).toEqual([]);
  });
});

describe('over HTTP', () => {
  let world: HttpWorld;
  afterEach(() => world.close());

  const minute = async () => {
    world.now = (world.now + 60_000) as EpochMs;
    world.outside.settle();
    expect(await world.run().done).toBe('done');
  };
  const conditionOf = (type: string) => {
    const { status } = world.outside.cluster().store.get('gameservernodes', 'game') as KubeObject;
    const { conditions } = status as { conditions: Record<string, string>[] };
    return conditions.find((one) => one.type === type);
  };
  const nodes = () => world.outside.cluster().store.list('nodes').length;

  it.each([403, 404, 422])('one server that a webhook keeps (%d) keeps its node, and no other', async (status) => {
    world = await HttpWorld.start(3, 9);
    world.retarget(3);
    for (let at = 0; at < 3; at++) await minute();
    const { faults, cluster, violations } = world.outside;
    const subject = cluster().store.list('gameservers')[0]?.metadata.name ?? '';
    const lift = faults.add({
      ...{ service: 'kubernetes', operation: 'delete gameservers', subject, times: Number.POSITIVE_INFINITY },
      fault: { kind: 'refuse', code: 'AdmissionDenied', message: 'the match is recorded', status },
    });
    // All are to go: the node that it is on is among them.
    world.retarget(0);
    for (let at = 0; at < 6; at++) await minute();
    expect(nodes()).toBe(1);
    expect(conditionOf('Degraded')).toMatchObject({ status: 'True', reason: 'AdmissionDenied' });
    expect(conditionOf('Degraded')?.message).toContain(`deleteGameServer of ${subject}`);
    expect(conditionOf('Degraded')?.message).toContain(WHY);
    const events = cluster().store.list('events') as unknown as { reason: string }[];
    expect(events.filter(({ reason }) => reason === 'AdmissionDenied')).toHaveLength(1);
    lift();
    for (let at = 0; at < 4; at++) await minute();
    expect(nodes()).toBe(0);
    expect(conditionOf('Degraded')).toMatchObject({ status: 'False' });
    expect([...violations, ...world.violations]).toEqual([]);
  });
});
