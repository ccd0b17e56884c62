import { describe, expect, it } from 'vitest';
import type { EpochMs } from '../../lib/time.ts';
import { judged } from '../judge.ts';
import type { Way } from '../outcome.ts';
import { PURE_WAY } from '../pure-way.ts';
import type { ReaperOutcome, TaskView } from './state.ts';

const NOW = Date.UTC(2026, 0, 1) as EpochMs;

const task = { serviceId: 'svc', slot: 1, state: 'FAILED', desiredState: 'SHUTDOWN' };

/** Three old tasks at limit 1, and one that is scaled away while it runs. */
const CONTENT = {
  id: 'X',
  retentionLimit: 1,
  service: { id: 'svc', mode: 'replicated' },
  tasks: [
    { id: 'a', ...task, statusTimestamp: '2026-01-01T00:00:01Z' },
    { id: 'b', ...task, statusTimestamp: '2026-01-01T00:00:02Z' },
    { id: 'live', ...task, slot: 2, state: 'RUNNING', desiredState: 'RUNNING' },
    { id: 'old', ...task, slot: 2 },
  ],
  event: { type: 'service-scaled-down', serviceId: 'svc', removedSlots: [2] },
  expect: { deleted: ['old'], kept: ['a', 'b', 'live'], markedRemove: ['live', 'old'] },
};

async function problemsOf(content: Record<string, unknown>, way: Way = PURE_WAY): Promise<string[]> {
  const problems: string[] = [];
  for await (const verdict of judged({ id: 'X', kind: undefined, content }, 3, [way], NOW)) {
    problems.push(...verdict.problems);
  }
  return problems;
}

const expecting = (other: object) => ({ ...CONTENT, expect: { ...CONTENT.expect, ...other } });

/** The pure way, with something wrong about what it comes to. */
function spoiled(spoil: (outcome: ReaperOutcome) => Partial<ReaperOutcome>): Way {
  return {
    ...PURE_WAY,
    reaper: async (reaperCase, now) => {
      const outcome = await PURE_WAY.reaper(reaperCase, now);
      return { ...outcome, ...spoil(outcome) };
    },
  };
}

const withTask = (id: string, view: TaskView) =>
  spoiled(({ after }) => ({ after: new Map([...after, [id, view] as const]) }));

describe('a case of the reaper', () => {
  it('holds when everything came as expected', async () => {
    expect(await problemsOf(CONTENT)).toEqual([]);
  });

  it.each([
    ['deleted', { deleted: [], kept: ['a', 'b', 'live', 'old'] }, ['expected deleted [], came [old]']],
    ['kept', { kept: ['a', 'b'] }, ['each task is expected', 'expected kept [a, b], came [a, b, live]']],
    ['marked', { markedRemove: ['old'] }, ['markedRemove of those that are left [], came [live]']],
    ['marked and deleted', { markedRemove: ['live'] }, ['expected markedRemove [live], came [live, old]']],
    ['orphaned', { markedOrphaned: ['a'] }, ['markedOrphaned of those that are left [a], came []']],
  ])('does not hold if other tasks are %s', async (_what, other, expected) => {
    const problems = (await problemsOf(expecting(other))).join('\n');
    for (const problem of expected) expect(problems).toContain(problem);
  });

  it('does not hold if a task was marked that nobody expects to be', async () => {
    const marked = withTask('a', { state: 'failed', desiredState: 'remove' });
    expect(await problemsOf(CONTENT, marked)).toEqual([
      'expected markedRemove of those that are left [live], came [a, live]',
    ]);
  });

  it('does not hold if a task has changed otherwise', async () => {
    const changed = withTask('a', { state: 'complete', desiredState: 'shutdown' });
    expect(await problemsOf(CONTENT, changed)).toEqual(['task a has changed']);
  });

  it('does not hold if something else is wrong, told under the names of the file', async () => {
    const wrong = spoiled(() => ({ problems: ['node case-3.n1: does not add up'] }));
    expect(await problemsOf(CONTENT, wrong)).toEqual(['node n1: does not add up']);
  });

  it.each([
    [{ expect: { ...CONTENT.expect, removed: [] } }, /not a case of the reaper: expect: /],
    [{ tasks: [{ id: 'a', ...task, state: 'GONE' }] }, /not a case of the reaper: tasks\[0\]\.state: /],
    [{ tasks: [{ id: 'a', ...task, colour: 'red' }] }, /not a case of the reaper: tasks\[0\]: /],
    [{ tasks: [CONTENT.tasks[0], CONTENT.tasks[0]] }, /not a case of the reaper: tasks: an id that comes twice/],
    [{ event: { type: 'full-moon' } }, /not a case of the reaper: event\.type: /],
  ])('must be of its shape: %j', async (other, problem) => {
    expect((await problemsOf({ ...CONTENT, ...other }))[0]).toMatch(problem);
  });
});
