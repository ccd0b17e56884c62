import { describe, expect, it } from 'vitest';
import { accountWith, NOW } from '../../test/support/builders.ts';
import type { EpochMs } from '../time.ts';
import { type Account, madeIneligible } from './account.ts';
import { decideNodeChange, type NodeChange } from './change-node.ts';

const later = (NOW + 60_000) as EpochMs;
const earlier = (NOW - 1) as EpochMs;

function imageOf(account: Account, change: NodeChange): Account {
  const decision = decideNodeChange(account, change, NOW);
  if (decision.kind !== 'write') throw new Error(`it is ${decision.kind}`);
  return decision.image;
}

describe('a change of a node', () => {
  const ready = accountWith({ capacity: { cpu: 1000 } });

  it.each<[NodeChange, Partial<Account>, string]>([
    [{ kind: 'status', status: 'down' }, { status: 'down' }, 'status down, was ready'],
    [{ kind: 'drain', drain: true }, { drain: true }, 'drain begun'],
    [{ kind: 'eligibility', eligibility: 'ineligible' }, { eligibility: 'ineligible' }, 'ineligible, was eligible'],
  ])('%j is written with an event, over the version that was read', (change, image, message) => {
    expect(decideNodeChange(ready, change, NOW)).toEqual({
      kind: 'write',
      image: { ...ready, ...image, version: ready.version + 1 },
      event: { at: NOW, message },
    });
  });

  it.each<NodeChange>([
    { kind: 'status', status: 'ready' },
    { kind: 'drain', drain: false },
    { kind: 'eligibility', eligibility: 'eligible' },
  ])('%j is nothing new', (change) => {
    expect(decideNodeChange(ready, change, NOW)).toEqual({ kind: 'unchanged' });
  });

  it('ends a drain', () => {
    const decision = decideNodeChange({ ...ready, drain: true }, { kind: 'drain', drain: false }, NOW);
    expect(decision).toMatchObject({ kind: 'write', image: { drain: false }, event: { message: 'drain ended' } });
  });

  it.each(['eligible', 'ineligible'] as const)('to eligible is refused while an %s node drains', (eligibility) => {
    const draining: Account = { ...ready, drain: true, eligibility };
    expect(decideNodeChange(draining, { kind: 'eligibility', eligibility: 'eligible' }, NOW)).toEqual({
      kind: 'refused',
      reason: 'node n1 is draining and cannot be made eligible; end its drain first',
    });
  });

  it('to ineligible is taken while it drains', () => {
    expect(imageOf({ ...ready, drain: true }, { kind: 'eligibility', eligibility: 'ineligible' })).toMatchObject({
      eligibility: 'ineligible',
      drain: true,
    });
  });

  it.each([
    ['eligible', later, 'eligible, was ineligible'],
    ['ineligible', later, 'ineligible for good'],
    ['ineligible', earlier, 'ineligible, was eligible'],
    ['eligible', earlier, 'eligible for good'],
  ] as const)('to %s drops a time at which it would be eligible again', (eligibility, eligibleAt, message) => {
    const marked = madeIneligible(ready, eligibleAt);
    const decision = decideNodeChange(marked, { kind: 'eligibility', eligibility }, NOW);
    expect(decision).toMatchObject({ kind: 'write', image: { eligibility }, event: { message } });
    expect(imageOf(marked, { kind: 'eligibility', eligibility })).not.toHaveProperty('eligibleAt');
  });

  it('of another kind keeps that time', () => {
    expect(imageOf(madeIneligible(ready, later), { kind: 'status', status: 'down' }).eligibleAt).toBe(later);
  });
});
