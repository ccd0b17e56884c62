import { describe, expect, it } from 'vitest';
import { accountWith, NOW, taskOf } from '../../test/support/builders.ts';
import { ending, placing } from '../../test/support/deciding.ts';
import { delivered, factsOf, folded } from '../../test/support/folding.ts';
import { poolOf } from '../../test/support/plans.ts';
import { COMMITTED, errorNamed, refused, type Script, scriptedStore } from '../../test/support/scripted-store.ts';
import type { NodeId, PoolName } from '../ids.ts';
import type { Pool } from '../nodes/pool.ts';
import type { EpochMs } from '../time.ts';
import { type Applied, type ApplyContext, applyPlans, OutOfTimeError } from './apply.ts';
import { taskKeyOf } from './decide-part.ts';
import type { Delivery } from './delivery.ts';
import { WindowCache } from './window-cache.ts';

const PROD = 'prod' as PoolName;
const place = (planId: string, wants: object = {}, more: object = {}) =>
  delivered(planId, { placements: [placing(`t-${planId}`, { nodeId: `n-${planId}`, ...wants })], ...more });

/** Applies `deliveries` with a clock that moves by pauses, and by a second with every commit. */
async function apply(deliveries: readonly Delivery[], script: Script = {}, more: Partial<ApplyContext> = {}) {
  let now: number = NOW;
  const pauses: number[] = [];
  const store = scriptedStore(script);
  const context: ApplyContext = {
    store: {
      ...store,
      async commit(commit) {
        now += 1000;
        return store.commit(commit);
      },
    },
    clock: () => now as EpochMs,
    deadline: (NOW + 60_000) as EpochMs,
    sleep: async (ms) => {
      pauses.push(ms);
      now += ms;
    },
    random: () => 0.5,
    pools: new Map(),
    windows: new WindowCache(),
    ...more,
  };
  return { applied: await applyPlans(deliveries, context), store, pauses, context };
}

const summary = ({ decided, parked, left }: Applied) => ({
  decided: decided.map(({ result }) => `${result.planId} ${result.status}`),
  parked: parked.map(({ delivery }) => delivery.planId),
  left: left.map(({ planId }) => planId),
});

describe('a batch', () => {
  it('that nothing stands against takes one write, and no read of what it places', async () => {
    const { applied, store } = await apply([place('p1'), place('p2')]);
    expect(summary(applied)).toEqual({ decided: ['p1 applied', 'p2 applied'], parked: [], left: [] });
    expect(store.calls).toEqual(['readPool', 'commit']);
  });

  it('of nothing asks for nothing', async () => {
    const { applied, store } = await apply([]);
    expect(applied).toEqual({ decided: [], parked: [], left: [] });
    expect(store.calls).toEqual([]);
  });

  it('past one transaction takes several, each seeing what the one before has done', async () => {
    const { applied, store } = await apply([place('p1'), place('p2'), place('p3')], {}, { allowance: 8 });
    expect(summary(applied).decided).toEqual(['p1 applied', 'p2 applied', 'p3 applied']);
    expect(store.commits.map(({ pool, results }) => [pool?.index, results.length])).toEqual([
      [8, 2],
      [9, 1],
    ]);
  });

  it('reads what it stops, once for all', async () => {
    const stops = [delivered('p1', { stops: [ending('a')] }), delivered('p2', { stops: [ending('b')] })];
    const { applied, store } = await apply(stops);
    expect(store.calls).toEqual(['readPool', 'read', 'commit']);
    expect([...(store.needs[0]?.tasks ?? [])]).toEqual(['web#1 a', 'web#1 b']);
    expect(applied.decided.map(({ result }) => result.alreadyGone)).toEqual([['a'], ['b']]);
  });
});

describe('the pool', () => {
  it('that was known from the batch before is not read', async () => {
    const pools = new Map([[PROD, poolOf('prod', { index: 41 })]]);
    const { store } = await apply([place('p1')], {}, { pools });
    expect(store.calls).toEqual(['commit']);
    expect(store.commits[0]?.pool?.index).toBe(42);
    expect(pools.get(PROD)?.index).toBe(42);
  });

  it('that moved meanwhile is seen with the refusal, and decided on anew', async () => {
    const pools = new Map([[PROD, poolOf('prod', { index: 41 })]]);
    const moved: Pool = poolOf('prod', { index: 50, settings: { stopRelease: 'terminal' } });
    const { applied, store } = await apply([place('p1')], { commit: [refused({ pool: moved })] }, { pools });
    expect(store.calls).toEqual(['commit', 'commit']);
    expect(applied.decided[0]?.result.index).toBe(51);
    expect(pools.get(PROD)).toEqual({ ...moved, index: 51 });
  });

  it('that is not there makes its plans invalid, and is forgotten', async () => {
    const pools = new Map([[PROD, poolOf('prod', { index: 41 })]]);
    const { applied } = await apply([place('p1'), place('p2')], { commit: [refused({ pool: 'missing' })] }, { pools });
    expect(summary(applied).decided).toEqual(['p1 invalid', 'p2 invalid']);
    expect(pools.has(PROD)).toBe(false);
  });

  it('takes what was seen before it moved with it: a refusal goes by what was seen since', async () => {
    const full = accountWith({ nodeId: 'n-p1', capacity: {} });
    const free = accountWith({ nodeId: 'n-p1', capacity: { cpu: 1 } });
    const noTask = new Map([[taskKeyOf(placing('t-p1', { nodeId: 'n-p1' }) as never), 'missing' as const]]);
    const n1 = 'n-p1' as NodeId;
    const script: Script = {
      commit: [
        refused({ accounts: new Map([[n1, full]]) }),
        refused({ pool: poolOf('prod', { index: 8 }), accounts: new Map([[n1, full]]) }),
        refused({ accounts: new Map([[n1, free]]) }),
      ],
      read: [{ tasks: noTask, windows: new Map([[n1, 'missing']]) }],
    };
    const { applied, store } = await apply([place('p1', { resources: { cpu: 1 } })], script);
    expect(summary(applied).decided).toEqual(['p1 applied']);
    expect(store.commits.map(({ results: [stored] }) => stored?.result.status)).toEqual([
      'applied',
      'rejected',
      'applied',
      'applied',
    ]);
  });

  it('takes the tasks that were seen before with it too', async () => {
    const task = { ...taskOf('t-p1', { nodeId: 'n-p1' }), version: 41 };
    const script: Script = {
      commit: [refused({ tasks: new Map([[taskKeyOf(task), task]]) }), refused({ pool: poolOf('prod', { index: 8 }) })],
    };
    const { store } = await apply([place('p1')], script);
    const before = store.commits.map(({ tasks }) => [...tasks.values()].map((write) => write.before));
    expect(before).toEqual([[0], [41], [0]]);
  });
});

describe('a refused transaction', () => {
  it('shows what stands against it, and is decided again on that', async () => {
    const full = accountWith({ nodeId: 'n-p2', capacity: { cpu: 1 } });
    const n2 = 'n-p2' as NodeId;
    const batch = [place('p1'), place('p2', { resources: { cpu: 2 } }), place('p3')];
    const { applied, store, pauses } = await apply(batch, { commit: [refused({ accounts: new Map([[n2, full]]) })] });
    expect(summary(applied)).toEqual({ decided: ['p1 applied', 'p2 rejected', 'p3 applied'], parked: [], left: [] });
    expect(pauses).toEqual([]);
    expect(store.calls).toEqual(['readPool', 'commit', 'read', 'commit']);
    expect(applied.decided[1]?.result).toMatchObject({
      refreshIndex: 8,
      rejectedNodes: [{ nodeId: 'n-p2', code: 'cpu' }],
    });
  });

  it('shows a plan that was applied before, whose first result stands', async () => {
    const [before] = folded([place('p1', { slot: 9 })], factsOf()).commit.results;
    if (!before) throw new Error('no result');
    const { applied, store } = await apply([place('p1'), place('p2')], { commit: [refused({ results: [before] })] });
    expect(applied.decided.map(({ stored, differs }) => [stored, differs])).toEqual([
      [true, true],
      [false, false],
    ]);
    expect(applied.decided[0]?.result).toBe(before.result);
    expect(store.commits[1]?.results.map(({ result }) => result.planId)).toEqual(['p2']);
  });

  it('of a busy state is tried again after a pause that grows, with jitter', async () => {
    const busy = Array.from({ length: 4 }, () => refused({}, true));
    const { applied, pauses } = await apply([place('p1')], { commit: busy });
    expect(summary(applied).decided).toEqual(['p1 applied']);
    expect(pauses).toEqual([10, 20, 40, 80]);
  });

  it('pauses anew for the next plans', async () => {
    const script: Script = { commit: [refused({}, true), refused({}, true), COMMITTED, refused({}, true)] };
    const { pauses } = await apply([place('p1'), place('p2')], script, { allowance: 7 });
    expect(pauses).toEqual([10, 20, 10]);
  });
});

describe('an error', () => {
  it.each(['RetryError', 'ConflictError'])(
    'that is a %s is tried again after a pause, and never half done',
    async (name) => {
      const { applied, pauses, store } = await apply([place('p1')], { commit: [errorNamed(name), errorNamed(name)] });
      expect(summary(applied).decided).toEqual(['p1 applied']);
      expect(pauses).toEqual([10, 20]);
      expect(store.calls).toEqual(['readPool', 'commit', 'commit', 'commit']);
    },
  );

  it('pauses as long as the database asks for, and never more than two seconds by itself', async () => {
    const long = await apply([place('p1')], { commit: [errorNamed('RetryError', { afterMs: 700 })] });
    expect(long.pauses).toEqual([700]);
    const many = await apply([place('p1')], { commit: Array.from({ length: 20 }, () => errorNamed('RetryError')) });
    expect(Math.max(...many.pauses)).toBe(1000);
  });

  it('of reading the pool or the state is tried again too', async () => {
    const script: Script = { readPool: [errorNamed('RetryError')], read: [errorNamed('ConflictError')] };
    const { applied, store } = await apply([delivered('p1', { stops: [ending('a')] })], script);
    expect(summary(applied).decided).toEqual(['p1 applied']);
    expect(store.calls).toEqual(['readPool', 'readPool', 'read', 'read', 'commit']);
  });

  it('that can never pass parks the one plan that brings it, and no other', async () => {
    const bad = (commit: { results: readonly { result: { planId: string } }[] }) =>
      commit.results.some(({ result }) => result.planId === 'p3') ? errorNamed('PermanentError') : COMMITTED;
    const batch = ['p1', 'p2', 'p3', 'p4', 'p5'].map((id) => place(id));
    const { applied, store } = await apply(batch, { commit: Array.from({ length: 20 }, () => bad) });
    expect(summary(applied)).toEqual({
      decided: ['p1 applied', 'p2 applied', 'p4 applied', 'p5 applied'],
      parked: ['p3'],
      left: [],
    });
    expect(applied.parked[0]?.reason).toBe('a PermanentError');
    // Tried alone only until it is found: the last two go together again.
    expect(store.commits.map(({ results }) => results.length)).toEqual([5, 1, 4, 1, 3, 1, 2]);
  });

  it('that can never pass may come of what a plan reads', async () => {
    const { applied } = await apply([delivered('p1', { stops: [ending('a')] }), place('p2')], {
      read: [errorNamed('PermanentError'), errorNamed('PermanentError')],
    });
    expect(summary(applied)).toEqual({ decided: ['p2 applied'], parked: ['p1'], left: [] });
  });

  it.each(['BugError', 'TypeError'])('that is a %s leaves the plan and all after it, in order', async (name) => {
    const script: Script = { commit: [COMMITTED, errorNamed(name)] };
    const { applied } = await apply([place('p1'), place('p2'), place('p3')], script, { allowance: 7 });
    expect(summary(applied)).toEqual({ decided: ['p1 applied'], parked: [], left: ['p2', 'p3'] });
    expect(applied.error?.name).toBe(name);
  });
});

describe('the deadline', () => {
  it('has passed: nothing is begun', async () => {
    const { applied, store } = await apply([place('p1')], {}, { deadline: NOW });
    expect(summary(applied)).toEqual({ decided: [], parked: [], left: ['p1'] });
    expect(store.calls).toEqual([]);
    expect(applied.error).toMatchObject({ name: 'OutOfTimeError', progressed: false });
  });

  it('passes: the rest is left, and what was committed stays decided', async () => {
    const deadline = (NOW + 2000) as EpochMs;
    const { applied } = await apply([place('p1'), place('p2'), place('p3')], {}, { deadline, allowance: 7 });
    expect(summary(applied)).toEqual({ decided: ['p1 applied', 'p2 applied'], parked: [], left: ['p3'] });
    expect(applied.error).toBeInstanceOf(OutOfTimeError);
    expect(applied.error).toMatchObject({ progressed: true });
  });

  it('ends tries that get nowhere, and no pause outlasts it', async () => {
    const always = Array.from({ length: 1000 }, () => errorNamed('RetryError', { afterMs: 10_000 }));
    const deadline = (NOW + 4000) as EpochMs;
    const { applied, pauses } = await apply([place('p1')], { commit: always }, { deadline });
    expect(summary(applied).left).toEqual(['p1']);
    // The first try took a second.
    expect(pauses).toEqual([3000]);
    expect(applied.error).toMatchObject({ progressed: false });
  });
});

describe('what is told of a commit', () => {
  it('is told once it has taken effect, and not before', async () => {
    const told: string[][] = [];
    const script: Script = { commit: [refused({}, true), errorNamed('RetryError'), COMMITTED] };
    await apply([place('p1'), place('p2')], script, {
      committed: ({ pool, decided }) => told.push([pool, ...decided.map(({ result }) => result.planId)]),
    });
    expect(told).toEqual([['prod', 'p1', 'p2']]);
  });
});

describe('what is known after a commit', () => {
  it('serves the plans after it: accounts that were read, tasks, and nothing of nodes that were written blindly', async () => {
    const t1 = taskOf('t1', { resources: { cpu: 4 } });
    const account = accountWith({ capacity: { cpu: 4 } }, [t1]);
    const batch = [
      delivered('p1', { stops: [ending('t1')] }),
      delivered('p2', { placements: [placing('t2', { slot: 2, resources: { cpu: 4 } })] }),
      delivered('p3', { placements: [placing('t3', { slot: 3 })] }),
      delivered('p4', { placements: [placing('t4', { slot: 4, resources: { cpu: 1 } })] }),
    ];
    const script: Script = {
      read: [{ tasks: new Map([[taskKeyOf(t1), t1]]) }],
      commit: [refused({ accounts: new Map([['n1' as NodeId, account]]) })],
    };
    const { applied, store } = await apply(batch, script, { allowance: 7 });
    expect(summary(applied).decided).toEqual(['p1 applied', 'p2 applied', 'p3 applied', 'p4 rejected']);
    const versions = store.commits.map(({ nodes }) =>
      [...nodes.values()].map((write) => (write.kind === 'known' ? write.image.version : 'blind')),
    );
    expect(versions).toEqual([['blind'], [2], [3]]);
  });
});
