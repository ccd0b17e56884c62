import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Follower } from '../support/follow.ts';
import { histories } from '../support/histories.ts';
import { memoryBed } from '../support/memory-bed.ts';
import { changedAnswers, expectedOf, runHistory } from '../support/run-history.ts';
import { summaryOf } from '../support/summary.ts';

/** How many histories are tried of each kind; `BERTH_HISTORIES=100000` for a night. */
const numRuns = Number(process.env.BERTH_HISTORIES ?? 200);

describe('any history of a pool', () => {
  it('ends as its plans one after the other end, whatever befalls the appliers', async () => {
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
      { numRuns },
    );
  });

  it('breaks no invariant at any step while tasks end and nodes change beside it', async () => {
    await fc.assert(
      fc.asyncProperty(histories('p', { open: true }), fc.scheduler(), async (history, scheduler) => {
        const turn = (what: string) => scheduler.schedule(Promise.resolve(), what);
        let follower: Follower | undefined;
        const bed = memoryBed(history, (state) => (follower = new Follower(history, state)), turn);
        const ran = await scheduler.waitFor(runHistory(history, bed, turn));
        expect([...ran.problems, ...(follower?.problems ?? ['nobody has followed'])]).toEqual([]);
        expect(follower?.undecided()).toEqual([]);
        expect(changedAnswers(ran, bed.state.world().results)).toEqual([]);
      }),
      { numRuns },
    );
  });
});
