import * as fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { accountOf, exchanged } from '../../lib/nodes/account.ts';
import { type Applied, applyPlans } from '../../lib/plans/apply.ts';
import { taskKeyOf } from '../../lib/plans/decide-part.ts';
import type { Delivery } from '../../lib/plans/delivery.ts';
import type { PlanResult } from '../../lib/plans/result.ts';
import { WindowCache } from '../../lib/plans/window-cache.ts';
import { holdingOf } from '../../lib/tasks/holding.ts';
import type { EpochMs } from '../../lib/time.ts';
import { discrepancies } from '../support/audit.ts';
import { taskOf } from '../support/builders.ts';
import { ending, placing } from '../support/deciding.ts';
import { type FaultScript, faultAt, noFaults } from '../support/faults.ts';
import { faultyStore } from '../support/faulty-store.ts';
import { delivered } from '../support/folding.ts';
import { copyOf, differencesOf } from '../support/large-plan.ts';
import { MemoryState, memoryStore } from '../support/memory-store.ts';
import { nodeOf, poolOf, SENT_AT } from '../support/plans.ts';
import { HISTORIES, HISTORIES_MS, RUN_SEED } from '../support/tries.ts';

/**
 * Plans of several transactions that an operator gives up, wherever the applier has left them: killed after whatever
 * request, going on at the same time, or with others that have used what they had given.
 */

const NODES = ['n0', 'n1', 'n2'];
/** A port that a task of an earlier plan holds until the plan stops it. */
const PORT = { ip: '10.0.0.1', value: 80 };
const place = (count: number, nodeOfTask: (at: number) => string) =>
  Array.from({ length: count }, (_, at) =>
    placing(`t${at}`, { slot: at, nodeId: nodeOfTask(at), resources: { cpu: 1 } }),
  );

const THERE = [
  taskOf('stopped', { slot: 101, nodeId: 'n0', resources: { cpu: 2 }, ports: [PORT] }),
  taskOf('preempted', { slot: 102, nodeId: 'n0', resources: { cpu: 2 } }),
  taskOf('updated', { slot: 103, nodeId: 'n0', resources: { cpu: 4 } }),
];

/** All at once, with everything that a plan can do to tasks that are there. */
const ONCE = delivered('once', {
  allAtOnce: true,
  stops: [ending('stopped', { slot: 101, nodeId: 'n0' })],
  preemptions: [ending('preempted', { slot: 102, nodeId: 'n0', preemptedBy: 't0' })],
  placements: [
    ...place(9, (at) => NODES[at % 3] ?? ''),
    placing('updated', { slot: 103, nodeId: 'n0', resources: { cpu: 3 } }),
  ],
});
/** Node by node: two of its nodes are past a transaction, and the last is not there. */
const EACH = delivered('each', {
  placements: [
    ...place(17, (at) => NODES[1 + (at % 2)] ?? ''),
    ...[17, 18].map((at) => placing(`t${at}`, { slot: at, nodeId: at === 17 ? 'n0' : 'n3', resources: { cpu: 1 } })),
  ],
});
const PLANS = [
  { how: 'all at once', delivery: ONCE },
  { how: 'node by node', delivery: EACH },
];

const start = (() => {
  const state = new MemoryState(poolOf('prod', { index: 7 }));
  for (const nodeId of NODES) {
    const account = accountOf(
      nodeOf({ nodeId, pool: 'prod', capacity: { cpu: 11 }, addresses: [{ ip: PORT.ip }], cores: [] }),
    );
    const own = THERE.filter((task) => task.nodeId === nodeId);
    state.accounts.set(nodeId, exchanged(account, { gives: [], takes: own.map(holdingOf) }));
    state.events.set(nodeId, []);
  }
  for (const task of THERE) state.tasks.set(taskKeyOf(task), task);
  return state;
})();

let state: MemoryState;
beforeEach(() => {
  state = copyOf(start);
});

type Turn = (what: string) => Promise<unknown>;

/** One process that is handed `delivery` and knows nothing but what is stored. */
async function hand(delivery: Delivery, script: FaultScript = noFaults, turn?: Turn): Promise<Applied | 'killed'> {
  const { store, killed } = faultyStore(memoryStore(state), script, turn);
  const applied = applyPlans([delivery], {
    ...{ store, clock: () => SENT_AT, deadline: (SENT_AT + 25_000) as EpochMs, random: () => 0.5 },
    sleep: async () => {
      await turn?.('pause');
    },
    ...{ pools: new Map(), windows: new WindowCache(), allowance: 10 },
  });
  return Promise.race([applied, killed]);
}

const given = (delivery: Delivery): Delivery => ({ ...delivery, givenUp: true });

function resultOf(applied: Applied | 'killed'): PlanResult {
  const [first] = applied === 'killed' ? [] : applied.decided;
  if (!first) throw new Error(`not decided: ${JSON.stringify(applied)}`);
  return first.result;
}

/** What there is for others to see, versions apart. */
function seen({ accounts, tasks }: MemoryState) {
  return {
    free: Object.fromEntries([...accounts].map(([node, { free }]) => [node, free])),
    claims: [...accounts].map(([, { claims }]) => [...claims]),
    tasks: new Map([...tasks].map(([key, task]) => [key, { ...task, version: 0 }])),
  };
}

/** What is reserved yet, does not add up, or is more than there is. */
function problems({ accounts, tasks }: MemoryState): string[] {
  const all = [...tasks.values()];
  return [
    ...all.filter((task) => task.state === 'pending' || task.undo).map(({ taskId }) => `${taskId} is reserved`),
    ...[...accounts.values()].flatMap((account) => [
      ...discrepancies({ account, tasks: all.filter((task) => task.nodeId === account.nodeId && !task.released) }),
      ...Object.entries(account.free).flatMap(([name, left]) =>
        left < 0 ? [`${account.nodeId} has ${left} ${name}`] : [],
      ),
    ]),
  ];
}

/** The state after each commit that an applier makes of `delivery`, and before the first; the last has its result. */
async function pointsOf(delivery: Delivery): Promise<MemoryState[]> {
  const points: MemoryState[] = [];
  for (let number = 1, before = -1; ; number++) {
    state = copyOf(start);
    const outcome = await hand(delivery, faultAt(number, 'kill-after'));
    const { pool } = state;
    const index = pool === 'missing' ? 0 : pool.index;
    if (index !== before) points.push(copyOf(state));
    before = index;
    if (outcome !== 'killed') return points;
  }
}

/** Holds that what is there of `delivery` is what its result says: of each node all or nothing, of an all-at-once plan of all. */
function holdsWhole(delivery: Delivery, result: PlanResult): void {
  expect(problems(state)).toEqual([]);
  expect(state.plans.get(delivery.planId)).toMatchObject({ result });
  const { planId, content } = delivery;
  if (!('plan' in content)) throw new Error('not a plan');
  const { placements, allAtOnce } = content.plan;
  const refused = new Set(result.rejectedNodes.map(({ nodeId }) => nodeId));
  const due = placements.filter(({ nodeId }) => !refused.has(nodeId) && !(allAtOnce && refused.size > 0));
  const there = [...state.tasks.values()].filter((task) => task.lastPlanId === planId);
  const placed = there.filter((task) => placements.some(({ taskId }) => taskId === task.taskId));
  expect(new Set(placed.map(({ taskId }) => taskId))).toEqual(new Set(due.map(({ taskId }) => taskId)));
  expect(placed.filter((task) => task.planId === planId && task.state !== 'assigned')).toEqual([]);
  expect(result.committed.placements).toBe(due.length);
  if (allAtOnce && refused.size > 0) expect(seen(state)).toEqual(seen(start));
}

const phaseOf = (at: MemoryState, { planId }: Delivery) => {
  const stored = at.plans.get(planId);
  return stored === undefined ? 'none' : 'result' in stored ? 'ended' : stored.phase;
};

describe.each(PLANS)('a plan that is given up, $how', ({ delivery }) => {
  it('is turned back wherever the applier has left it, and carried out where it is committed', async () => {
    const phases = new Map<string, string[]>();
    for (const point of await pointsOf(delivery)) {
      state = copyOf(point);
      const phase = phaseOf(point, delivery);
      const result = resultOf(await hand(given(delivery)));
      holdsWhole(delivery, result);
      phases.set(phase, [...new Set([...(phases.get(phase) ?? []), result.status])]);
      if (phase === 'ended') expect(differencesOf(state, point)).toEqual([]);
    }
    const refused = { none: ['rejected'], reserving: ['rejected'], finishing: ['applied'], ended: ['applied'] };
    expect(Object.fromEntries(phases)).toMatchObject(
      delivery === ONCE ? refused : { none: ['rejected'], ended: ['partial'] },
    );
    if (delivery === EACH) expect(phases.get('reserving')).toEqual(['partial']);
  });

  it('says of each node that it does not have why, and which view to plan again on', async () => {
    const result = resultOf(await hand(given(delivery)));
    expect(result).toMatchObject({ status: 'rejected', index: 8, refreshIndex: 8 });
    expect(result.rejectedNodes.map(({ nodeId, code }) => [nodeId, code])).toEqual(
      (delivery === ONCE ? NODES : [...NODES, 'n3']).map((node) => [node, 'discarded']),
    );
    expect(result.rejectedNodes[0]?.message).toMatch(/an operator gave the plan up.*plan again/);
    // It says nothing of the nodes.
    expect(state.windows.size).toBe(0);
  });

  it('comes to the same if whoever gives it up is killed after whatever request, and again', async () => {
    for (const [at, point] of (await pointsOf(delivery)).entries()) {
      state = copyOf(point);
      const result = resultOf(await hand(given(delivery)));
      const end = copyOf(state);
      for (let number = 1, killed = true; killed; number++) {
        state = copyOf(point);
        killed = (await hand(given(delivery), faultAt(number, 'kill-after'))) === 'killed';
        // A second one is killed as well, one request on.
        if (killed) await hand(given(delivery), faultAt(2, 'kill-before'));
        const again = resultOf(await hand(given(delivery)));
        expect([again, differencesOf(state, end)], `left at ${at}, killed after ${number}`).toEqual([result, []]);
      }
    }
  });

  it('keeps its result when its message is delivered after all, before it was deleted', async () => {
    for (const point of await pointsOf(delivery)) {
      state = copyOf(point);
      const result = resultOf(await hand(given(delivery)));
      const end = copyOf(state);
      expect(await hand(delivery)).toMatchObject({ decided: [{ result, stored: true }] });
      expect(differencesOf(state, end)).toEqual([]);
    }
  });

  it('is applied if whoever gives it up is killed and its message is redriven instead', async () => {
    const ends = delivery === ONCE ? 'applied' : 'partial';
    for (const point of (await pointsOf(delivery)).filter((each) => phaseOf(each, delivery) !== 'ended')) {
      for (let number = 1, killed = true; killed; number++) {
        state = copyOf(point);
        killed = (await hand(given(delivery), faultAt(number, 'kill-before'))) === 'killed';
        if (killed) expect(resultOf(await hand(delivery))).toMatchObject({ status: ends });
        expect(problems(state)).toEqual([]);
      }
    }
  });

  it(
    'comes to one result with an applier that goes on with it and another who gives it up, in whatever order',
    async () => {
      const points = await pointsOf(delivery);
      const statuses = new Set<string>();
      await fc.assert(
        fc.asyncProperty(
          fc.scheduler(),
          fc.nat(points.length - 1),
          fc.array(fc.option(fc.constantFrom('lost-after' as const, 'conflict' as const), { nil: undefined }), {
            maxLength: 8,
          }),
          async (scheduler, at, faults) => {
            state = copyOf(points[at] ?? start);
            const turn: Turn = (what) => scheduler.schedule(Promise.resolve(), what);
            const script: FaultScript = () => faults.shift();
            const all = Promise.all([
              hand(delivery, script, turn),
              hand(given(delivery), script, turn),
              hand(given(delivery), script, turn),
            ]);
            const [applier, ...others] = await scheduler.waitFor(all);
            const result = resultOf(applier);
            expect(others.map(resultOf)).toEqual([result, result]);
            holdsWhole(delivery, result);
            statuses.add(result.status);
          },
        ),
        { numRuns: HISTORIES, ...(RUN_SEED === undefined ? {} : { seed: RUN_SEED }) },
      );
      // Each of them wins now and then.
      expect([...statuses].sort()).toEqual(delivery === ONCE ? ['applied', 'rejected'] : ['partial', 'rejected']);
    },
    HISTORIES_MS,
  );
});

describe('what a plan had given before it was given up', () => {
  const taking = [
    { what: 'an amount', wants: { resources: { cpu: 4 } } },
    { what: 'a port', wants: { ports: [PORT] } },
  ];
  it.each(taking)('stays with those who have taken it since: $what', async ({ wants }) => {
    const taker = delivered('taker', { placements: [placing('u', { slot: 9, nodeId: 'n0', ...wants })] });
    const taken = new Set<string>();
    for (const point of (await pointsOf(ONCE)).filter((each) => phaseOf(each, ONCE) !== 'ended')) {
      state = copyOf(point);
      const { status } = resultOf(await hand(taker));
      taken.add(status);
      expect(resultOf(await hand(given(ONCE)))).toMatchObject(
        phaseOf(point, ONCE) === 'finishing' ? { status: 'applied' } : { status: 'rejected' },
      );
      expect(problems(state), phaseOf(point, ONCE)).toEqual([]);
    }
    expect(taken).toContain('applied');
  });

  it('goes back, though the node has become smaller, if nobody was beside the plan', async () => {
    const [, point] = await pointsOf(ONCE);
    if (!point) throw new Error('the plan has no second step');
    state = copyOf(point);
    const account = state.accounts.get('n0');
    if (!account) throw new Error('no node');
    const smaller = { ...account, capacity: { ...account.capacity, cpu: 4 }, version: account.version + 1 };
    state.accounts.set('n0', { ...smaller, free: { ...account.free, cpu: (account.free.cpu ?? 0) - 7 } });
    expect(resultOf(await hand(given(ONCE)))).toMatchObject({ status: 'rejected' });
    expect(seen(state).tasks).toEqual(seen(start).tasks);
  });
});

describe('a message that is given up', () => {
  it('gets the result that it would get anyway, if no state has a say in it', async () => {
    const invalid = delivered('invalid', { placements: 'none' });
    expect(resultOf(await hand(given(invalid)))).toMatchObject({ status: 'invalid' });
    const expired = delivered('expired', { notAfter: '2020-01-01T00:00:00Z', placements: place(3, () => 'n0') });
    expect(resultOf(await hand(given(expired)))).toMatchObject({ status: 'expired' });
    state.pool = 'missing';
    const homeless = delivered('homeless', { placements: place(3, () => 'n0') });
    expect(resultOf(await hand(given(homeless)))).toMatchObject({ status: 'invalid' });
  });

  it('keeps a plan of one transaction from taking effect', async () => {
    const small = delivered('small', { placements: place(1, () => 'n0') });
    expect(resultOf(await hand(given(small)))).toMatchObject({ status: 'rejected', rejectedNodes: [{ nodeId: 'n0' }] });
    expect(resultOf(await hand(small))).toMatchObject({ status: 'rejected' });
    expect(seen(state)).toEqual(seen(start));
  });

  it('does not touch another plan of its id that is under way', async () => {
    const other = delivered('once', { placements: place(2, () => 'n1') });
    const [, point] = await pointsOf(ONCE);
    state = copyOf(point ?? start);
    const before = copyOf(state);
    expect(await hand(given(other))).toMatchObject({
      ...{ decided: [], left: [] },
      parked: [{ reason: expect.stringMatching(/another plan of the id once is under way/) }],
    });
    expect(differencesOf(state, before)).toEqual([]);
  });
});
