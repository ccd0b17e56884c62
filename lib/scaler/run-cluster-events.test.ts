import { beforeEach, describe, expect, test } from 'vitest';
import { OBJECT } from '../../test/scaler/bed.ts';
import { ClusterBed, MINUTE_MS } from '../../test/scaler/cluster-bed.ts';

let bed: ClusterBed;

beforeEach(() => {
  bed = new ClusterBed();
});

describe('events', () => {
  test('tell of cordons, of what was brought back, and of orders', async () => {
    bed.replicas = 1;
    await bed.run();
    expect(bed.told()).toEqual(['Normal NodeCordoned']);
    bed.later(MINUTE_MS);
    bed.replicas = 4;
    await bed.run();
    expect(bed.told()).toEqual(['Normal NodeUncordoned', 'Normal NodesOrdered']);
  });

  test('tell of machines and nodes, with the object that they are about', async () => {
    bed.replicas = 1;
    await bed.run();
    bed.told();
    bed.later(MINUTE_MS);
    await bed.run();
    expect(bed.events).toMatchObject([
      { reason: 'MachineEnded', object: { name: OBJECT, uid: `uid-${OBJECT}` }, at: bed.now },
      { reason: 'NodeRemoved', message: expect.stringMatching(/^node n\d is removed$/) },
    ]);
  });

  test('tell once of a drain that is blocked, and when it is not any more', async () => {
    const server = bed.addServer('n1', 'Allocated');
    bed.addServer('n2', 'Allocated');
    bed.extra = { drainWarningSeconds: 60 };
    bed.replicas = 0;
    await bed.run();
    bed.told();
    for (let minute = 0; minute < 3; minute++) {
      bed.later(MINUTE_MS);
      await bed.run();
    }
    expect(bed.told()).toEqual(['Warning DrainBlocked']);
    bed.removeServer(server);
    bed.replicas = 2;
    bed.later(MINUTE_MS);
    await bed.run();
    expect(bed.told()).toContain('Normal Recovered');
  });

  test('that are lost do no harm', async () => {
    bed.refuse('tell');
    bed.replicas = 1;
    expect(await bed.run()).toMatchObject({ kind: 'done', errors: [{ operation: 'event', code: '500' }] });
    expect(bed.condition('AtTarget')).toMatchObject({ reason: 'ScalingDown' });
  });
});
