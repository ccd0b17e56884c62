import { describe, expect, test } from 'vitest';
import { ClusterBed, Dead, MINUTE_MS } from '../../test/scaler/cluster-bed.ts';

describe('a function that dies', () => {
  /** The calls of a tick that cordons, drains and removes what it may, of one that orders, and how each pool ends. */
  const SCENES: readonly {
    readonly what: string;
    readonly prepare: (bed: ClusterBed) => void;
    readonly replicas: number;
  }[] = [
    {
      what: 'while it removes a node and cordons another',
      replicas: 1,
      prepare: (bed) => {
        const third = bed.addNode();
        bed.drain(third);
        bed.addServer('n1', 'Ready');
      },
    },
    { what: 'while it orders', replicas: 5, prepare: () => undefined },
  ];

  const settle = async (bed: ClusterBed) => {
    bed.dies = undefined;
    for (let minute = 0; minute < 6; minute++) {
      bed.later(MINUTE_MS);
      await bed.run();
      for (const { name, deleting } of bed.world.servers.values()) if (deleting) bed.removeServer(name);
    }
  };

  for (const { what, prepare, replicas } of SCENES) {
    for (const arrives of [true, false]) {
      test(`${what}, at any of its calls${arrives ? ', that call done' : ''}, leaves what the next ticks go on from`, async () => {
        let after = 0;
        for (let dead = true; dead; after++) {
          const bed = new ClusterBed();
          bed.replicas = replicas;
          prepare(bed);
          bed.dies = { after, arrives };
          dead = await bed.run().then(
            // Whose last call alone was lost has not noticed.
            (outcome) => 'unreleased' in outcome,
            (error: unknown) => {
              if (!(error instanceof Dead)) throw error;
              return true;
            },
          );
          await settle(bed);
          expect(bed.world.log.violations).toEqual([]);
          expect(bed.world.group?.desired).toBe(replicas);
          expect(bed.world.ledger.pendingDeletions).toEqual([]);
        }
        expect(after).toBeGreaterThan(8);
      });
    }
  }
});
