import { beforeEach, describe, expect, it } from 'vitest';
import { discrepancies } from '../../test/support/audit.ts';
import { taskOf } from '../../test/support/builders.ts';
import { ending, placing } from '../../test/support/deciding.ts';
import { delivered } from '../../test/support/folding.ts';
import { MemoryState, memoryStore } from '../../test/support/memory-store.ts';
import { nodeOf, poolOf, SENT_AT } from '../../test/support/plans.ts';
import { accountOf, exchanged } from '../nodes/account.ts';
import { PermanentError } from '../store/errors.ts';
import { holdingOf } from '../tasks/holding.ts';
import type { EpochMs } from '../time.ts';
import { type Applied, applyPlans } from './apply.ts';
import { taskKeyOf } from './decide-part.ts';
import type { Delivery } from './delivery.ts';
import { type Commit, countWrites } from './ledger.ts';
import { WindowCache } from './window-cache.ts';

/** Plans that take few actions, and items of which many are more bytes than a transaction takes. */

const NODES = Array.from({ length: 20 }, (_, at) => `n${at}`);
let state: MemoryState;
let commits: Commit[];
beforeEach(() => {
  state = new MemoryState(poolOf('prod', { index: 7 }));
  commits = [];
  for (const nodeId of NODES) {
    state.accounts.set(nodeId, accountOf(nodeOf({ nodeId, pool: 'prod', capacity: { cpu: 100 } })));
    state.events.set(nodeId, []);
  }
});

/** Applies over a database that takes no transaction that `refuses` says is too large. */
function apply(deliveries: readonly Delivery[], refuses: (commit: Commit) => boolean): Promise<Applied> {
  const real = memoryStore(state, (commit) => commits.push(commit));
  return applyPlans(deliveries, {
    store: {
      ...real,
      async commit(commit) {
        if (refuses(commit)) throw new PermanentError('the transaction is too large', { cause: new Error('of 4 MB') });
        return real.commit(commit);
      },
    },
    // A second a transaction: one that never ends must not run for ever.
    ...{
      clock: () => (SENT_AT + commits.length * 1000) as EpochMs,
      deadline: (SENT_AT + 25_000) as EpochMs,
      random: () => 0.5,
    },
    ...{ sleep: async () => undefined, pools: new Map(), windows: new WindowCache() },
  });
}

function problems(): string[] {
  return [...state.accounts.values()].flatMap((account) =>
    discrepancies({
      account,
      tasks: [...state.tasks.values()].filter((task) => task.nodeId === account.nodeId && !task.released),
    }),
  );
}

const placements = NODES.map((nodeId, slot) => placing(`t${slot}`, { slot, nodeId, resources: { cpu: 1 } }));
const moreThan = (writes: number) => (commit: Commit) => countWrites(commit) > writes;

describe('a plan whose accounts are more than a transaction takes', () => {
  it.each([
    { allAtOnce: false, most: 16 },
    { allAtOnce: true, most: 16 },
    { allAtOnce: false, most: 5 },
    { allAtOnce: true, most: 5 },
  ])('is applied by as many as it does take: $most, all at once $allAtOnce', async ({ allAtOnce, most }) => {
    const applied = await apply([delivered('p1', { allAtOnce, placements })], moreThan(most));
    expect(applied).toMatchObject({
      decided: [{ result: { status: 'applied', committed: { placements: 20 } } }],
      parked: [],
      left: [],
    });
    expect([...state.tasks.values()].map((task) => task.state)).toEqual(NODES.map(() => 'assigned'));
    expect(problems()).toEqual([]);
  });

  it('does not make those after it smaller', async () => {
    const later = delivered('p2', { placements: placements.map((each) => ({ ...each, taskId: `u${each.slot}` })) });
    const first = (commit: Commit) =>
      moreThan(16)(commit) && [...commit.tasks.values()].some(({ image }) => image?.planId === 'p1');
    const { decided } = await apply([delivered('p1', { placements }), later], first);
    expect(decided.map(({ result }) => result.status)).toEqual(['applied', 'applied']);
    expect(commits.at(-1)?.tasks.size).toBe(20);
  });

  it('is parked if not even the smallest passes', async () => {
    const { parked } = await apply([delivered('p1', { placements })], moreThan(0));
    expect(parked).toMatchObject([{ delivery: { planId: 'p1' }, reason: 'the transaction is too large' }]);
    expect(state.tasks.size).toBe(0);
  });
});

describe('a node that fits a transaction by its actions, and not by its bytes', () => {
  const fat = Array.from({ length: 90 }, (_, slot) =>
    taskOf(`f${slot}`, { slot, nodeId: 'n0', resources: { cpu: 1 } }, { message: 'm'.repeat(40_000) }),
  );
  const stops = fat.map(({ taskId, slot }) => ending(taskId, { slot: slot ?? 0, nodeId: 'n0' }));
  const bytes = ({ tasks }: Commit) =>
    [...tasks.values()].reduce((sum, { image }) => sum + JSON.stringify(image).length, 0);

  it.each([
    { what: 'and no other', more: [] },
    { what: 'beside others', more: placements.slice(1) },
  ])('is reserved in steps: $what', async ({ more }) => {
    for (const task of fat) state.tasks.set(taskKeyOf(task), task);
    const account = state.accounts.get('n0');
    if (account) state.accounts.set('n0', exchanged(account, { gives: [], takes: fat.map(holdingOf) }));
    const plan = delivered('p1', { stops, placements: more });
    expect(await apply([plan], (commit) => bytes(commit) > 3_000_000)).toMatchObject({
      decided: [{ result: { status: 'applied', committed: { stops: 90, placements: more.length } } }],
    });
    expect(
      [...state.tasks.values()].filter(({ undo, desiredState }) => undo || desiredState === 'running'),
    ).toHaveLength(more.length);
    expect(problems()).toEqual([]);
  });
});
