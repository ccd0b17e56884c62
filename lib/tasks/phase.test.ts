import { describe, expect, it } from 'vitest';
import { taskOf } from '../../test/support/builders.ts';
import { phaseOf } from './phase.ts';
import { DESIRED_STATES, isAssigned, isTerminal, TASK_STATES } from './states.ts';

const PAIRS = TASK_STATES.flatMap((state) => DESIRED_STATES.map((desired) => [state, desired] as const));

describe('phaseOf', () => {
  it.each(PAIRS)('of a task that is %s and wanted %s', (state, desiredState) => {
    const owned = isAssigned(state) && !isTerminal(state);
    const never = !isAssigned(state) && desiredState === 'shutdown';
    const expected = owned
      ? undefined
      : desiredState === 'remove'
        ? 'removable'
        : isTerminal(state) || never
          ? 'old'
          : undefined;
    expect(phaseOf(taskOf('t', {}, { state, desiredState }))).toBe(expected);
  });

  it('is none while a plan that changes the task is under way: it is written again when that is through', () => {
    const { resources, ports, cores, devices, volumes, jobIteration, released, lastPlanId } = taskOf('t');
    const undo = { resources, ports, cores, devices, volumes, jobIteration, released, lastPlanId };
    for (const [state, desiredState] of PAIRS) {
      expect(phaseOf(taskOf('t', {}, { state, desiredState, undo }))).toBeUndefined();
    }
  });
});
