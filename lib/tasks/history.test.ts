import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { goners } from '../../test/support/slot-model.ts';
import type { Setting, WorldTask } from '../../test/support/slot-world.ts';
import type { ServiceId, TaskId } from '../ids.ts';
import type { EpochMs } from '../time.ts';
import { decideSlot, isRemovable, type KeepReason, REASONS, type SlotService, type SlotTask } from './history.ts';
import { SERVICE_MODES, type Service } from './service.ts';
import { DESIRED_STATES, type DesiredState, isTerminal, TASK_STATES, type TaskState } from './states.ts';
import type { SlotKey } from './task.ts';

function service(other: Partial<Service> = {}): Service {
  return { serviceId: 'web' as ServiceId, mode: 'replicated', restartMaxAttempts: 0, jobIteration: 0, ...other };
}

function task(taskId: string, state: SlotTask['state'], desiredState: DesiredState, other: Partial<SlotTask> = {}) {
  return { taskId: taskId as TaskId, state, desiredState, ...other } satisfies SlotTask;
}

const at = (ms: number) => ({ appliedAt: ms as EpochMs });
const old = (taskId: string, ms?: number) => task(taskId, 'failed', 'shutdown', ms === undefined ? {} : at(ms));
const running = task('run', 'running', 'running', at(900));

/** What becomes of each task, by id, in the order of the verdicts. */
function fates(tasks: readonly SlotTask[], of: SlotService, clusterLimit?: number): Record<string, string> {
  const { verdicts } = decideSlot(tasks, of, clusterLimit);
  return Object.fromEntries(
    verdicts.map((verdict) => [verdict.task.taskId, 'reap' in verdict ? verdict.reap : verdict.keep]),
  );
}

const gone = (tasks: readonly SlotTask[], of: SlotService, clusterLimit?: number) =>
  Object.entries(fates(tasks, of, clusterLimit))
    .filter(([, fate]) => ['removable', 'history', 'orphaned'].includes(fate))
    .map(([taskId]) => taskId);

const LIVE = TASK_STATES.filter((state) => !['new', 'pending'].includes(state) && !isTerminal(state));
const ENDS = TASK_STATES.filter(isTerminal);
const PAIRS = TASK_STATES.flatMap((state) => DESIRED_STATES.map((desired) => [state, desired] as const));

describe('of any service', () => {
  it.each(PAIRS)('a task that is %s and wanted %s', (state, desired) => {
    const wantedStates: readonly DesiredState[] = ['ready', 'running'];
    const expected = (job: boolean) => {
      if (LIVE.includes(state)) return 'agent';
      if (desired === 'remove') return 'removable';
      if (ENDS.includes(state)) return wantedStates.includes(desired) ? 'end-not-dealt-with' : 'history';
      return wantedStates.includes(desired) || (job && desired === 'complete') ? 'wanted' : 'history';
    };
    // Beside one that runs, so that it is no last trace; of a job, in an earlier iteration, so that it is no progress.
    const one = task('it', state, desired, { ...at(1), jobIteration: 1 });
    const beside = { ...running, jobIteration: 2 };
    for (const mode of SERVICE_MODES) {
      const of = service({ mode, historyLimit: 0, jobIteration: 2 });
      expect(fates([one, beside], of)).toEqual({ it: expected(mode.endsWith('job')), run: 'agent' });
    }
  });

  it.each(['ready', 'running', 'shutdown', 'remove'] as const)(
    'the state that is only ever a desired one counts as an end, wanted %s',
    (desired) => {
      const expected = { shutdown: 'history', remove: 'removable' } as Record<string, string>;
      const one = task('it', 'remove', desired, at(1));
      expect(fates([one, running], service({ historyLimit: 0 })).it).toBe(expected[desired] ?? 'end-not-dealt-with');
    },
  );
});

describe('the limit', () => {
  const six = [1, 2, 3, 4, 5, 6].map((n) => old(`h${n}`, n));

  it.each([
    ['the default', {}, undefined, ['h1']],
    ["the cluster's", {}, 2, ['h1', 'h2', 'h3', 'h4']],
    ['its own', { historyLimit: 4 }, 1, ['h1', 'h2']],
    ['none', { historyLimit: 0 }, 5, ['h1', 'h2', 'h3', 'h4', 'h5', 'h6']],
    ['all', { historyLimit: -1 }, 0, []],
    ['raised by attempts', { historyLimit: 0, restartMaxAttempts: 3 }, undefined, ['h1', 'h2']],
    ['not lowered by attempts', { historyLimit: 5, restartMaxAttempts: 1 }, undefined, ['h1']],
    ['all, attempts or not', { historyLimit: -1, restartMaxAttempts: 1 }, undefined, []],
  ])('is %s', (_what, set, clusterLimit, expected) => {
    expect(gone([...six, running], service(set), clusterLimit)).toEqual(expected);
  });

  it('is told with the decision', () => {
    expect(decideSlot([], service({ historyLimit: -1 }), 3).limit).toBe(Number.POSITIVE_INFINITY);
    expect(decideSlot([], service(), 3).limit).toBe(3);
    for (const none of ['none', 'unknown', 'removed'] as const) expect(decideSlot([], none, 3).limit).toBeUndefined();
  });

  it('is of old tasks alone: live ones and those that are to be removed do not count', () => {
    const live = [task('s', 'running', 'shutdown', at(0)), task('w', 'new', 'ready', at(0)), running];
    const removed = [task('x', 'shutdown', 'remove', at(0)), task('y', 'pending', 'remove', at(0))];
    expect(gone([...live, ...removed, old('a', 1), old('b', 2)], service(), 2)).toEqual(['x', 'y']);
  });

  it('counts tasks that it does not touch', () => {
    const undealt = task('u', 'failed', 'running', at(1));
    expect(fates([undealt, old('a', 2), old('b', 3), running], service(), 1)).toEqual({
      u: 'end-not-dealt-with',
      a: 'history',
      b: 'history',
      run: 'agent',
    });
    expect(gone([undealt, old('a', 2), running], service(), 2)).toEqual([]);
  });

  it('takes tasks that never ran as well as those that did', () => {
    const never = task('p', 'pending', 'shutdown', at(1));
    expect(gone([old('a', 2), never, running], service(), 1)).toEqual(['p']);
  });
});

describe('the oldest', () => {
  const stateTimes = (ms: number) => ({ stateTimes: { failed: ms as EpochMs, running: 1 as EpochMs } });
  const orderOf = (tasks: readonly SlotTask[]) => Object.keys(fates(tasks, service(), 0));

  it('is by when its state was applied, else by the time of the state, those with neither first, then by id', () => {
    const applied = task('d', 'failed', 'shutdown', { ...at(30), ...stateTimes(99) });
    const byState = task('c', 'failed', 'shutdown', stateTimes(20));
    const later = task('e', 'failed', 'shutdown', stateTimes(40));
    expect(orderOf([later, applied, byState, old('b'), old('a')])).toEqual(['a', 'b', 'c', 'd', 'e']);
    expect(orderOf([old('b', 5), old('c', 5), old('a', 5)])).toEqual(['a', 'b', 'c']);
  });

  it('does not depend on the order in which the tasks were read', () => {
    const tasks = [old('a', 1), old('b', 1), old('c'), old('d', 3), running, task('p', 'new', 'shutdown')];
    const expected = fates(tasks, service(), 1);
    fc.assert(
      fc.property(fc.shuffledSubarray(tasks, { minLength: tasks.length }), (shuffled) => {
        expect(fates(shuffled, service(), 1)).toEqual(expected);
      }),
    );
  });

  it('takes no state for a time that an object has of itself', () => {
    const odd = task('odd', 'failed', 'shutdown', { stateTimes: {} });
    expect(orderOf([old('a', 1), odd])).toEqual(['odd', 'a']);
  });
});

describe('the last trace', () => {
  it('is the newest that ran, where nothing is alive', () => {
    const never = task('p', 'pending', 'shutdown', at(9));
    expect(fates([old('a', 1), old('b', 2), never], service(), 0)).toEqual({
      a: 'history',
      b: 'last-trace',
      p: 'history',
    });
  });

  it.each([
    ['runs', task('x', 'running', 'running')],
    ['stops', task('x', 'running', 'shutdown')],
    ['is to be removed and an agent has it', task('x', 'running', 'remove')],
    ['waits', task('x', 'new', 'ready')],
  ])('is nobody where one %s', (_what, alive) => {
    expect(gone([old('a', 1), alive], service(), 0)).toEqual(['a']);
  });

  it('is no task that is to be removed', () => {
    expect(fates([old('a', 1), task('x', 'shutdown', 'remove', at(2))], service(), 0)).toEqual({
      a: 'last-trace',
      x: 'removable',
    });
  });

  it('is no reason of its own within the limit', () => {
    expect(fates([old('a', 1)], service(), 1)).toEqual({ a: 'within-limit' });
  });
});

describe('of a job', () => {
  const job = service({ mode: 'replicated-job', jobIteration: 2, historyLimit: 0 });
  const complete = (taskId: string, jobIteration?: number) =>
    task(taskId, 'complete', 'complete', { ...at(1), jobIteration });

  it('what is complete in the present iteration is progress, of others history', () => {
    const tasks = [complete('a', 0), complete('b', 1), complete('c', 2), complete('d', 3), complete('e'), running];
    expect(gone(tasks, job)).toEqual(['a', 'b', 'e']);
    expect(fates(tasks, job)).toMatchObject({ c: 'job-progress', d: 'job-progress' });
    expect(gone([complete('e'), running], { ...job, jobIteration: 0 })).toEqual([]);
  });

  it('failures are history in any iteration', () => {
    const failed = task('f', 'failed', 'complete', { ...at(1), jobIteration: 2 });
    expect(gone([failed, running], job)).toEqual(['f']);
  });

  it('of no job nothing is progress', () => {
    expect(gone([complete('c', 2), running], service({ historyLimit: 0 }))).toEqual(['c']);
  });
});

describe('while a plan that changes it is under way', () => {
  const undo = { undo: { released: false } };

  it('a task stays, whatever it is', () => {
    for (const [state, desired] of PAIRS) {
      for (const of of [service({ historyLimit: 0 }), 'none', 'unknown', 'removed'] as const) {
        expect(gone([task('it', state, desired, undo), running], of)).toEqual([]);
      }
    }
    expect(isRemovable(task('it', 'failed', 'remove', undo))).toBe(false);
  });

  it('it counts', () => {
    const tasks = [{ ...old('a', 1), ...undo }, old('b', 2), running];
    expect(fates(tasks, service(), 1)).toMatchObject({ a: 'plan-under-way', b: 'history' });
  });
});

describe('without a service', () => {
  const reasons: Record<'unknown' | 'removed', KeepReason> = { unknown: 'service-unknown', removed: 'service-removed' };

  it.each(['unknown', 'removed'] as const)('%s: only what is to be removed goes, and that no agent has', (of) => {
    for (const [state, desired] of PAIRS) {
      const expected = LIVE.includes(state) ? 'agent' : desired === 'remove' ? 'removable' : reasons[of];
      expect(fates([task('it', state, desired)], of, 0).it).toBe(expected);
    }
  });

  it('what is attached to a node goes when it is orphaned, or is to be removed', () => {
    for (const [state, desired] of PAIRS) {
      const removable = desired === 'remove' && !LIVE.includes(state);
      const expected = removable ? 'removable' : state === 'orphaned' ? 'orphaned' : 'attached';
      expect(fates([task('it', state, desired)], 'none', 0).it).toBe(expected);
    }
  });
});

it('each verdict can be explained', () => {
  for (const [state, desired] of PAIRS) {
    for (const of of [service({ historyLimit: 0 }), 'none', 'unknown', 'removed'] as const) {
      const [fate] = Object.values(fates([task('it', state, desired)], of));
      expect(REASONS[fate as KeepReason]).toMatch(/^[a-z].* [a-z]+/);
    }
  }
});

const limit = fc.option(fc.integer({ min: -1, max: 4 }), { nil: undefined });
const anyTask = fc.record({
  state: fc.constantFrom<TaskState>(...TASK_STATES),
  desiredState: fc.constantFrom(...DESIRED_STATES),
  appliedAt: fc.option(fc.integer({ min: 0, max: 5 }), { nil: undefined }),
  jobIteration: fc.option(fc.nat(2), { nil: undefined }),
  undo: fc.option(fc.constant(true), { nil: undefined, freq: 8 }),
});
const anyService = fc.oneof(
  fc.constantFrom('none' as const, 'unknown' as const, 'removed' as const),
  fc
    .record({
      mode: fc.constantFrom(...SERVICE_MODES),
      historyLimit: limit,
      restartMaxAttempts: fc.nat(3),
      jobIteration: fc.nat(2),
    })
    .map((set) => service(set as Partial<Service>)),
);

it('decides as the specification does, of any slot', () => {
  fc.assert(
    fc.property(fc.array(anyTask, { maxLength: 9 }), anyService, limit, (made, of, clusterLimit) => {
      const tasks = made.map(
        (one, index) =>
          ({ ...one, taskId: `t${index}`, slotKey: 'web#1' as SlotKey, version: 1, released: true }) as WorldTask,
      );
      const setting: Setting = { service: of, clusterLimit, away: false };
      const { verdicts } = decideSlot(tasks, of, clusterLimit);
      const reaped = verdicts.flatMap((verdict) => ('reap' in verdict ? [[verdict.task.taskId, verdict.reap]] : []));
      expect(verdicts).toHaveLength(tasks.length);
      expect(Object.fromEntries(reaped)).toEqual(Object.fromEntries(goners(tasks, setting)));
    }),
    { numRuns: 3_000 },
  );
});
