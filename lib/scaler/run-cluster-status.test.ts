import { beforeEach, describe, expect, test } from 'vitest';
import { OBJECT } from '../../test/scaler/bed.ts';
import { ClusterBed, LEASE_MS, MINUTE_MS } from '../../test/scaler/cluster-bed.ts';

let bed: ClusterBed;

beforeEach(() => {
  bed = new ClusterBed();
});

describe('the status', () => {
  test('is of the generation that was read, with times of conditions that move only with their status', async () => {
    bed.objects = [bed.objectOf(OBJECT, { generation: 7 })];
    await bed.run();
    const first = new Date(bed.now).toISOString();
    expect(bed.status()).toMatchObject({ observedGeneration: 7, nodes: { active: 2 }, effectiveTarget: 2 });
    expect(bed.condition('AtTarget')).toMatchObject({ status: 'True', lastTransitionTime: first });
    bed.later(MINUTE_MS);
    bed.replicas = 3;
    await bed.run();
    const second = new Date(bed.now).toISOString();
    expect(bed.condition('AtTarget')).toMatchObject({
      status: 'False',
      reason: 'ScalingUp',
      lastTransitionTime: second,
    });
    expect(bed.condition('Valid')).toMatchObject({ status: 'True', lastTransitionTime: first });
  });

  test('keeps what was seen last where the pool cannot be seen, and says that it cannot', async () => {
    await bed.run();
    bed.told();
    bed.later(MINUTE_MS);
    bed.refuse('snapshot');
    await bed.run();
    expect(bed.status()).toMatchObject({ nodes: { active: 2 }, provider: { name: 'eks', desired: 2 } });
    expect(
      bed
        .status()
        .conditions.map(({ type, status }) => `${type} ${status}`)
        .toSorted(),
    ).toEqual(['AtTarget True', 'Degraded True', 'TargetClamped False', 'Valid True']);
    expect(bed.told()).toEqual(['Warning ObservationFailed']);
    bed.later(MINUTE_MS);
    bed.recover();
    await bed.run();
    expect(bed.told()).toEqual(['Normal Recovered']);
  });

  test('that could not be written is written by the next tick, and what it tells with it, once', async () => {
    bed.refuse('writeStatus');
    bed.extra = { bad: true };
    expect(await bed.run()).toMatchObject({
      errors: [{ operation: 'status', subject: OBJECT, code: '500', kind: 'refused' }],
    });
    expect(bed.told()).toEqual([]);
    bed.recover();
    for (let nth = 0; nth < 2; nth++) {
      bed.later(MINUTE_MS);
      await bed.run();
    }
    expect(bed.told()).toEqual(['Warning InvalidSpec']);
    expect(bed.condition('Valid')).toMatchObject({ status: 'False', reason: 'InvalidSpec' });
  });

  test('of a tick that was paused past its lease is not written: another may have written since', async () => {
    bed.meanwhile = (name) => {
      if (name === 'snapshot') bed.later(LEASE_MS);
    };
    await bed.run();
    expect(bed.calls).not.toContain('writeStatus');
    expect(bed.status()).toBeUndefined();
  });
});
