import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { NOW, taskOf } from '../../test/support/builders.ts';
import type { EpochMs } from '../time.ts';
import { holdingOf } from './holding.ts';
import { decideReport, taskReportSchema } from './report.ts';
import { compareStates, isTerminal, TASK_STATES, type TaskState } from './states.ts';
import type { Task } from './task.ts';

const at = (ms: number) => (NOW + ms) as EpochMs;
const state = fc.constantFrom(...TASK_STATES);

describe('a report', () => {
  it('moves a task on, and says when', () => {
    const task = taskOf('t1', {}, { state: 'starting', stateTimes: { assigned: at(-5) } });
    expect(decideReport(task, { state: 'running', at: at(-1), message: 'up' }, NOW)).toEqual({
      kind: 'write',
      image: {
        ...task,
        version: task.version + 1,
        state: 'running',
        // By the clock of who writes it; the agent's own is kept beside it.
        appliedAt: NOW,
        stateTimes: { assigned: at(-5), running: at(-1) },
        message: 'up',
      },
      exchange: undefined,
    });
  });

  it('is of now, if it does not say when', () => {
    const decision = decideReport(taskOf('t1', {}, { state: 'ready' }), { state: 'running' }, NOW);
    expect(decision).toMatchObject({ image: { appliedAt: NOW, stateTimes: { running: NOW } } });
  });

  it('takes the message of the state before away', () => {
    const decision = decideReport(taskOf('t1', {}, { state: 'ready', message: 'pulled' }), { state: 'running' }, NOW);
    expect(decision.kind === 'write' && decision.image).not.toHaveProperty('message');
  });

  it('never moves a task back, and changes nothing if it comes again', () => {
    fc.assert(
      fc.property(state, state, (before, reported) => {
        const decision = decideReport(taskOf('t1', {}, { state: before }), { state: reported }, NOW);
        const moves = !isTerminal(before) && compareStates(reported, before) > 0;
        expect(decision.kind).toBe(moves ? 'write' : 'unchanged');
        if (decision.kind === 'write') {
          expect(decision.image.state).toBe(reported);
          expect(decideReport(decision.image, { state: reported }, NOW)).toEqual({ kind: 'unchanged' });
        }
      }),
    );
  });

  it('gives back what the task holds with the first end, and with no other', () => {
    const wants = { resources: { cpu: 5 }, cores: [1] };
    fc.assert(
      fc.property(fc.array(state, { maxLength: 12 }), fc.boolean(), (reports, released) => {
        let task: Task = taskOf('t1', wants, { state: 'assigned', released });
        const given: unknown[] = [];
        let end: TaskState | undefined;
        for (const reported of reports) {
          const decision = decideReport(task, { state: reported }, NOW);
          if (decision.kind === 'unchanged') continue;
          task = decision.image;
          if (isTerminal(reported)) end ??= reported;
          if (decision.exchange) given.push(decision.exchange);
        }
        expect(given).toEqual(end !== undefined && !released ? [{ gives: [holdingOf(task)], takes: [] }] : []);
        expect(task.released).toBe(released || end !== undefined);
        if (end !== undefined) expect(task.state).toBe(end);
      }),
    );
  });

  it('leaves the desired state to those who want something of the task', () => {
    const decision = decideReport(
      taskOf('t1', {}, { desiredState: 'shutdown', released: true }),
      { state: 'shutdown' },
      NOW,
    );
    expect(decision).toMatchObject({ image: { desiredState: 'shutdown', released: true }, exchange: undefined });
  });

  it('changes nothing of the task that it was given', () => {
    const task = taskOf('t1');
    const copy = structuredClone(task);
    decideReport(task, { state: 'failed', message: 'oom' }, NOW);
    expect(task).toEqual(copy);
  });
});

describe('what an agent hands in', () => {
  it.each([{ state: 'running' }, { state: 'failed', at: 0, message: 'exit 1' }])('may be %j', (report) => {
    expect(taskReportSchema.safeParse(report).success).toBe(true);
  });

  it.each([
    {},
    { state: 'stopped' },
    { state: 'toString' },
    { state: 'running', at: -1 },
    { state: 'running', at: 8.64e15 + 1 },
    { state: 'running', at: '2026-03-01' },
    { state: 'running', message: 'x'.repeat(401) },
    { state: 'running', node: 'n1' },
  ])('may not be %j', (report) => {
    expect(taskReportSchema.safeParse(report).success).toBe(false);
  });
});
