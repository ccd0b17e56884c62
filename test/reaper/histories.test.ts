import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { runSlotHistory } from '../support/run-slot-history.ts';
import { plainHistories, type SlotHistory, slotHistories } from '../support/slot-histories.ts';
import { goners } from '../support/slot-model.ts';
import type { SlotWorld } from '../support/slot-world.ts';
import { SLOT_HISTORIES, SLOT_HISTORIES_MS } from '../support/tries.ts';

const options = { timeout: SLOT_HISTORIES_MS };

/** Runs a history in an order that `scheduler` decides. */
function run(history: SlotHistory, scheduler: fc.Scheduler, stream: 'on' | 'off') {
  const turn = (what: string) => scheduler.schedule(Promise.resolve(), what);
  return scheduler.waitFor(runSlotHistory(history, { turn, stream }));
}

/** Counts over all histories: a property that never meets what it is about proves nothing. */
class Tally {
  readonly #met = new Map<string, number>();

  add(met: Readonly<Record<string, number>>): void {
    for (const what of Object.keys(met)) this.#met.set(what, (this.#met.get(what) ?? 0) + 1);
  }

  /** Those of `whats` that fewer than one history in `every` has met. */
  rare(whats: readonly string[], every: number): string[] {
    return whats.filter((what) => (this.#met.get(what) ?? 0) < SLOT_HISTORIES / every);
  }
}

it('nothing goes that must stay, and nothing stays that must go, whatever befalls the reapers', options, async () => {
  const tally = new Tally();
  await fc.assert(
    fc.asyncProperty(slotHistories, fc.scheduler(), async (history, scheduler) => {
      const { problems, met } = await run(history, scheduler, 'on');
      tally.add(met);
      expect(problems).toEqual([]);
    }),
    { numRuns: SLOT_HISTORIES },
  );
  const often = ['history', 'removable', 'mark', 'killed', 'error', 'page failed', 'page killed'];
  expect(tally.rare(often, 20)).toEqual([]);
  expect(tally.rare(['orphaned', 'conflict'], 100)).toEqual([]);
});

it('one sweep makes good what a stream that was off has lost', options, async () => {
  const tally = new Tally();
  await fc.assert(
    fc.asyncProperty(slotHistories, fc.scheduler(), async (history, scheduler) => {
      const { problems, met } = await run(history, scheduler, 'off');
      tally.add(met);
      expect(problems).toEqual([]);
    }),
    { numRuns: SLOT_HISTORIES / 2 },
  );
  expect(tally.rare(['history', 'removable', 'mark', 'page failed', 'page killed'], 40)).toEqual([]);
});

it(
  'without removals the sweep ends in the state that the stream ends in: the newest, as many as are kept',
  options,
  async () => {
    await fc.assert(
      fc.asyncProperty(plainHistories, fc.scheduler(), fc.scheduler(), async (history, one, other) => {
        const streamed = await run(history, one, 'on');
        const swept = await run(history, other, 'off');
        expect([...streamed.problems, ...swept.problems]).toEqual([]);
        expect(left(streamed.world)).toEqual(left(swept.world));
        expect(left(streamed.world)).toEqual(expected(streamed.world));
      }),
      { numRuns: SLOT_HISTORIES / 4 },
    );
  },
);

function left(world: SlotWorld): string[] {
  const tasks = world.slotKeys.flatMap((slotKey) => world.slot(slotKey));
  return tasks
    .map(({ slotKey, taskId, state, desiredState }) => `${slotKey} ${taskId} ${state} ${desiredState}`)
    .sort();
}

/** What of everything that ever ended the rules leave, all of it looked at once and at the end. */
function expected(world: SlotWorld): string[] {
  return world.slotKeys
    .flatMap((slotKey) => {
      const last = new Map(world.tasksSince(slotKey, 0).flatMap((tasks) => tasks.map((task) => [task.taskId, task])));
      const all = [...last.values()];
      const gone = goners(all, world.setting(slotKey));
      return all.filter(({ taskId }) => !gone.has(taskId));
    })
    .map(({ slotKey, taskId, state, desiredState }) => `${slotKey} ${taskId} ${state} ${desiredState}`)
    .sort();
}
