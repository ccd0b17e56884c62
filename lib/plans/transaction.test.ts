import { describe, expect, it } from 'vitest';
import { ending, placing, planOf } from '../../test/support/deciding.ts';
import { isStaged } from './transaction.ts';

describe('a plan', () => {
  // The pool, its list of changes, the plan's record; each task; each node's account, or window, account and events.
  const plan = planOf({
    placements: [placing('t1'), placing('t2', { slot: 2, nodeId: 'n2' })],
    stops: [ending('t3', { slot: 3 })],
    preemptions: [ending('t4', { slot: 4, nodeId: 'n3' })],
  });

  it('takes one transaction if it fits one whatever becomes of it, every node refusing and being marked', () => {
    expect(isStaged(plan, 3 + 4 + 3 * 3)).toBe(false);
  });

  it('takes several if it might not', () => {
    expect(isStaged(plan, 3 + 4 + 3 * 3 - 1)).toBe(true);
  });
});
