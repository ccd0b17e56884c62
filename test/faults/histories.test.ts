import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { histories } from '../support/histories.ts';
import { memoryBed } from '../support/memory-bed.ts';
import { changedAnswers, expectedOf, runHistory } from '../support/run-history.ts';
import { summaryOf } from '../support/summary.ts';
import { HISTORIES, HISTORIES_MS } from '../support/tries.ts';

it('any history ends as its plans one after the other end, whatever befalls the appliers', {
  timeout: HISTORIES_MS,
}, async () => {
  await fc.assert(
    fc.asyncProperty(histories('p'), fc.scheduler(), async (history, scheduler) => {
      const turn = (what: string) => scheduler.schedule(Promise.resolve(), what);
      const bed = memoryBed(history, () => ({}), turn);
      const ran = await scheduler.waitFor(runHistory(history, bed, turn));
      const world = bed.state.world();
      expect(ran.problems).toEqual([]);
      expect(summaryOf(world)).toEqual(expectedOf(history));
      expect(changedAnswers(ran, world.results)).toEqual([]);
    }),
    { numRuns: HISTORIES },
  );
});
