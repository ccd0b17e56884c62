import { describe, expect, it } from 'vitest';
import { compareStates, DESIRED_STATES, isTerminal, laterDesired, TASK_STATES } from './states.ts';

describe('the states of a task', () => {
  it('are those of SwarmKit, in order', () => {
    expect(TASK_STATES).toEqual([
      'new',
      'pending',
      'assigned',
      'accepted',
      'preparing',
      'ready',
      'starting',
      'running',
      'complete',
      'shutdown',
      'failed',
      'rejected',
      'orphaned',
    ]);
    for (const [at, state] of TASK_STATES.entries()) {
      for (const [other, later] of TASK_STATES.entries()) {
        expect(Math.sign(compareStates(state, later))).toBe(Math.sign(at - other));
      }
    }
  });

  it('are ends from complete on', () => {
    expect(TASK_STATES.filter(isTerminal)).toEqual(['complete', 'shutdown', 'failed', 'rejected', 'orphaned']);
  });
});

describe('the desired states', () => {
  it('only ever move up', () => {
    expect(DESIRED_STATES).toEqual(['ready', 'running', 'complete', 'shutdown', 'remove']);
    for (const [at, state] of DESIRED_STATES.entries()) {
      for (const [other, later] of DESIRED_STATES.entries()) {
        expect(laterDesired(state, later)).toBe(DESIRED_STATES[Math.max(at, other)]);
      }
    }
  });
});
