import * as fc from 'fast-check';
import { expect } from 'vitest';
import { Follower } from './follow.ts';
import { type HistoryOptions, histories } from './histories.ts';
import { memoryBed } from './memory-bed.ts';
import { changedAnswers, runHistory } from './run-history.ts';
import { HISTORIES } from './tries.ts';

/** Tries histories in which others act too, and follows each step by step. */
export async function holdsAtEveryStep(options: HistoryOptions): Promise<void> {
  await fc.assert(
    fc.asyncProperty(histories('p', options), fc.scheduler(), async (history, scheduler) => {
      const turn = (what: string) => scheduler.schedule(Promise.resolve(), what);
      const followers: Follower[] = [];
      const follow = (state: ConstructorParameters<typeof Follower>[1]) => {
        const follower = new Follower(history, state);
        followers.push(follower);
        return follower;
      };
      const bed = memoryBed(history, follow, turn);
      const ran = await scheduler.waitFor(runHistory(history, bed, turn));
      const [follower] = followers;
      expect([...ran.problems, ...(follower?.problems ?? ['nobody has followed'])]).toEqual([]);
      expect(follower?.undecided()).toEqual([]);
      expect(changedAnswers(ran, bed.state.world().results)).toEqual([]);
    }),
    { numRuns: HISTORIES },
  );
}
