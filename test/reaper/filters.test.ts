import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { STREAM_FILTERS } from '../../infra/stream-filters.ts';
import type { ServiceId, TaskId } from '../../lib/ids.ts';
import { decideSlot, type SlotService } from '../../lib/tasks/history.ts';
import type { Service } from '../../lib/tasks/service.ts';
import { DESIRED_STATES, type DesiredState, isAssigned, isTerminal, TASK_STATES } from '../../lib/tasks/states.ts';
import type { SlotKey } from '../../lib/tasks/task.ts';
import type { EpochMs } from '../../lib/time.ts';
import { compileFilterPattern } from '../../local/event-sources/filter-pattern.ts';
import { imageOf, type WorldTask } from '../support/slot-world.ts';

const filters = STREAM_FILTERS.map((pattern) => compileFilterPattern(JSON.stringify(pattern)));

/** The filters that let a change through. */
function passing(before: WorldTask | undefined, after: WorldTask | undefined) {
  const eventName = before === undefined ? 'INSERT' : after === undefined ? 'REMOVE' : 'MODIFY';
  const images = { ...(before ? { OldImage: imageOf(before) } : {}), ...(after ? { NewImage: imageOf(after) } : {}) };
  const record = { eventName, eventSource: 'aws:dynamodb', dynamodb: { Keys: {}, ...images } };
  return filters.filter((filter) => filter(record));
}

/** Whether a change comes to the reaper. */
const passes = (...change: Parameters<typeof passing>) => passing(...change).length > 0;

function task(state: WorldTask['state'], desiredState: DesiredState, other: Partial<WorldTask> = {}): WorldTask {
  return {
    ...{ slotKey: 'web#1' as SlotKey, taskId: 'it' as TaskId, version: 1, released: true },
    ...{ state, desiredState, appliedAt: 1 as EpochMs },
    ...other,
  };
}

const PAIRS = TASK_STATES.flatMap((state) => DESIRED_STATES.map((desired) => [state, desired] as const));
const owned = TASK_STATES.filter((state) => isAssigned(state) && !isTerminal(state));

const anyTask = fc
  .record({
    state: fc.constantFrom(...TASK_STATES),
    desiredState: fc.constantFrom(...DESIRED_STATES),
    appliedAt: fc.nat(5),
    undo: fc.option(fc.constant(true), { nil: undefined, freq: 6 }),
    jobIteration: fc.nat(1),
  })
  .map(({ state, desiredState, ...other }) => task(state, desiredState, other as Partial<WorldTask>));

const rank = (states: readonly string[], state: string) => states.indexOf(state);

/** An update as there are any: neither state goes back, an end is an end, and an agent has what it ends. */
function isLegal(before: WorldTask, after: WorldTask): boolean {
  const forward =
    rank(TASK_STATES, after.state) >= rank(TASK_STATES, before.state) &&
    rank(DESIRED_STATES, after.desiredState) >= rank(DESIRED_STATES, before.desiredState);
  const ends = isTerminal(after.state) && before.state !== after.state;
  return forward && !(isTerminal(before.state) && ends);
}

const MODES = ['replicated', 'global', 'replicated-job', 'global-job'] as const;
const anyService: fc.Arbitrary<SlotService> = fc.oneof(
  fc.constantFrom('none' as const, 'unknown' as const),
  fc
    .record({ mode: fc.constantFrom(...MODES), historyLimit: fc.nat(2), jobIteration: fc.nat(1) })
    .map((set): Service => ({ serviceId: 'web' as ServiceId, restartMaxAttempts: 0, ...set })),
);

/** Of no job is a task ever wanted `complete`, and of a job never less. */
const fits = (service: SlotService, { desiredState }: WorldTask) => {
  if (typeof service === 'string') return desiredState !== 'complete';
  const job = service.mode.endsWith('job');
  return job ? rank(DESIRED_STATES, desiredState) >= 2 : desiredState !== 'complete';
};

describe('the filters of the stream', () => {
  it('are no more than Lambda takes', () => {
    expect(STREAM_FILTERS.length).toBeLessThanOrEqual(5);
  });

  it.each(STREAM_FILTERS.map((_, nth) => nth))('are all needed: something comes by number %i alone', (nth) => {
    const tasks = PAIRS.map(([state, desired]) => task(state, desired));
    const changes = [undefined, ...tasks].flatMap((before) => tasks.map((after) => [before, after] as const));
    const only = changes.filter(([before, after]) => {
      const matching = passing(before, after);
      return matching.length === 1 && matching[0] === filters[nth] && (!before || isLegal(before, after));
    });
    expect(only).not.toEqual([]);
  });

  it('let through every update by which something of the slot comes to be one that goes', () => {
    let met = 0;
    const gone = (tasks: WorldTask[], service: SlotService) =>
      decideSlot(tasks, service, undefined).verdicts.flatMap((verdict) =>
        'reap' in verdict ? verdict.task.taskId : [],
      );
    fc.assert(
      fc.property(fc.array(anyTask, { maxLength: 3 }), anyTask, anyTask, anyService, (made, before, after, service) => {
        const others = made.map((one, at) => ({ ...one, taskId: `t${at}` as TaskId }));
        fc.pre(isLegal(before, after) && [...others, before, after].every((one) => fits(service, one)));
        const was = gone([...others, before], service);
        const more = gone([...others, after], service).some((taskId) => !was.includes(taskId));
        if (!more) return;
        // What comes to life makes a trace the last no longer: what is alive triggers nothing, its end will.
        const comesToLife = owned.includes(after.state) && !owned.includes(before.state);
        // While a plan is under way the task has no phase; it comes when that is through.
        if (comesToLife || after.undo) return;
        met++;
        expect(passes(before, after)).toBe(true);
      }),
      { numRuns: 6_000 },
    );
    expect(met).toBeGreaterThan(50);
  });

  it.each(PAIRS)(
    'let through a task that was brought in as one that is %s and wanted %s, if it has ended',
    (state, desired) => {
      const inserted = task(state, desired);
      const never = !isAssigned(state) && (desired === 'shutdown' || desired === 'remove');
      expect(passes(undefined, inserted)).toBe(isTerminal(state) || never);
    },
  );

  it('let no delete through, the reaper being who deletes', () => {
    for (const [state, desired] of PAIRS) expect(passes(task(state, desired), undefined)).toBe(false);
  });

  it('let nothing through that changes nothing for the reaper', () => {
    for (const [state, desired] of PAIRS) {
      const one = task(state, desired);
      expect(passes(one, { ...one, version: 2 })).toBe(false);
    }
    for (const state of owned) {
      for (const later of owned) {
        for (const desired of DESIRED_STATES) {
          expect(passes(task(state, 'running'), task(later, desired))).toBe(false);
        }
      }
    }
  });

  it('let through the end of a task that a plan was about when that plan is through', () => {
    const undo = { undo: true };
    expect(passes(task('failed', 'running'), task('failed', 'shutdown', undo))).toBe(false);
    expect(passes(task('failed', 'shutdown', undo), task('failed', 'shutdown'))).toBe(true);
    expect(passes(task('failed', 'remove', undo), task('failed', 'remove'))).toBe(true);
  });

  it('let through that an end is dealt with, once', () => {
    expect(passes(task('failed', 'ready'), task('failed', 'running'))).toBe(false);
    for (const wanted of ['ready', 'running'] as const) {
      for (const dealt of ['complete', 'shutdown'] as const) {
        expect(passes(task('failed', wanted), task('failed', dealt))).toBe(true);
      }
    }
    expect(passes(task('failed', 'complete'), task('failed', 'shutdown'))).toBe(false);
  });
});
