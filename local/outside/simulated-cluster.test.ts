import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { EpochMs } from '../../lib/time.ts';
import { ClusterTestBed, cordon, instanceOn, names, nodes } from './cluster-test-bed.ts';

test('however often the world is settled, it comes to the same', () => {
  const history = (steps: readonly number[]) => {
    const bed = new ClusterTestBed();
    const cluster = bed.running(4, { fleets: [{ name: 'f', replicas: 12 }] });
    bed.pass(20);
    for (let n = 0; n < 5; n += 1) cluster.fleets.allocate('f');
    const [first, second, third = ''] = names(nodes(cluster));
    cluster.machines.lose(instanceOn(cluster, first));
    bed.groups.terminate(instanceOn(cluster, second), true);
    cordon(cluster, third);
    bed.groups.setDesiredCapacity('eks-games', 6);
    const end = bed.now + 1000_000;
    for (const seconds of steps) if (bed.now + seconds * 1000 < end) bed.pass(seconds);
    bed.now = end as EpochMs;
    bed.agenda.settle();
    return {
      objects: ['nodes', 'pods', 'gameservers'].map((one) => cluster.store.list(one)),
      groups: bed.groups.list(),
      verdicts: bed.verdicts,
    };
  };
  const once = history([]);
  expect(once.verdicts.killedSessions.length).toBeGreaterThan(0);
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 120 }), { maxLength: 30 }), (steps) => {
      expect(history(steps)).toEqual(once);
    }),
    { numRuns: 30 },
  );
});
