import { beforeEach, describe, expect, it } from 'vitest';
import { discrepancies } from '../../test/support/audit.ts';
import { taskOf } from '../../test/support/builders.ts';
import { ending, placing } from '../../test/support/deciding.ts';
import { type FaultScript, faultAt, noFaults } from '../../test/support/faults.ts';
import { faultyStore } from '../../test/support/faulty-store.ts';
import { delivered } from '../../test/support/folding.ts';
import { MemoryState, memoryStore } from '../../test/support/memory-store.ts';
import { nodeOf, poolOf, SENT_AT } from '../../test/support/plans.ts';
import { accountOf, exchanged } from '../nodes/account.ts';
import { holdingOf } from '../tasks/holding.ts';
import type { Task } from '../tasks/task.ts';
import type { EpochMs } from '../time.ts';
import { type Applied, applyPlans, type PlanStore } from './apply.ts';
import { taskKeyOf } from './decide-part.ts';
import type { Delivery } from './delivery.ts';
import type { Commit } from './ledger.ts';
import { WindowCache } from './window-cache.ts';

/** Plans in the middle of their steps that turn out to be such as the database can never take. */

const NODES = ['n0', 'n1', 'n2'];
const place = (count: number, nodeOfTask: (at: number) => string) =>
  Array.from({ length: count }, (_, at) =>
    placing(`t${at}`, { slot: at, nodeId: nodeOfTask(at), resources: { cpu: 1 } }),
  );

/** Tasks of an earlier plan, on the first node. */
const THERE = [
  taskOf('stopped', { slot: 101, nodeId: 'n0', resources: { cpu: 2 } }),
  taskOf('preempted', { slot: 102, nodeId: 'n0', resources: { cpu: 2 } }),
  taskOf('updated', { slot: 103, nodeId: 'n0', resources: { cpu: 4 }, ports: [{ ip: '10.0.0.1', value: 80 }] }),
];

/** All at once, with everything that a plan can do to tasks that are there; its last node comes last. */
const ONCE = delivered('once', {
  allAtOnce: true,
  stops: [ending('stopped', { slot: 101, nodeId: 'n0' })],
  preemptions: [ending('preempted', { slot: 102, nodeId: 'n0', preemptedBy: 't0' })],
  placements: [
    ...place(9, (at) => NODES[at % 3] ?? ''),
    placing('updated', { slot: 103, nodeId: 'n0', resources: { cpu: 3 } }),
  ],
});
/** Its second node is past a transaction. */
const EACH = delivered('each', { placements: place(10, (at) => (at < 2 ? 'n0' : 'n1')) });

let state: MemoryState;
beforeEach(() => {
  state = new MemoryState(poolOf('prod', { index: 7 }));
  for (const nodeId of NODES) {
    const account = accountOf(
      nodeOf({ nodeId, pool: 'prod', capacity: { cpu: 11 }, addresses: [{ ip: '10.0.0.1' }], cores: [] }),
    );
    const own = THERE.filter((task) => task.nodeId === nodeId);
    state.accounts.set(nodeId, exchanged(account, { gives: [], takes: own.map(holdingOf) }));
    state.events.set(nodeId, []);
  }
  for (const task of THERE) state.tasks.set(taskKeyOf(task), task);
});

type Never = (commit: Commit) => boolean;
const writes =
  (taskId: string, as: Task['state'] = 'pending'): Never =>
  ({ tasks }) =>
    [...tasks.values()].some(({ image }) => image?.taskId === taskId && image.state === as);

/** One invocation over the state, which never takes what `never` says. */
async function apply(
  deliveries: readonly Delivery[],
  never: Never,
  script: FaultScript = noFaults,
): Promise<Applied | 'killed'> {
  const real = memoryStore(state);
  const picky: PlanStore = {
    ...real,
    async commit(commit) {
      if (never(commit)) throw Object.assign(new Error('the item is too large'), { name: 'PermanentError' });
      return real.commit(commit);
    },
  };
  const { store, killed } = faultyStore(picky, script);
  const applied = applyPlans(deliveries, {
    ...{ store, clock: () => SENT_AT, deadline: (SENT_AT + 25_000) as EpochMs, random: () => 0.5 },
    ...{ sleep: async () => undefined, pools: new Map(), windows: new WindowCache(), allowance: 10 },
  });
  return Promise.race([applied, killed]);
}

/** What there is for others to see, versions apart. */
function seen() {
  const { accounts, tasks } = state;
  return {
    free: Object.fromEntries([...accounts].map(([node, { free }]) => [node, free.cpu])),
    claims: [...accounts].map(([, { claims }]) => [...claims]),
    tasks: new Map([...tasks].map(([key, task]) => [key, { ...task, version: 0 }])),
  };
}

function problems(): string[] {
  const reserved = [...state.tasks.values()].filter((task) => task.state === 'pending' || task.undo);
  return [
    ...reserved.map(({ taskId }) => `${taskId} is reserved`),
    ...[...state.accounts.values()].flatMap((account) =>
      discrepancies({
        account,
        tasks: [...state.tasks.values()].filter((task) => task.nodeId === account.nodeId && !task.released),
      }),
    ),
  ];
}

const PARKED = (planId: string) => ({
  decided: [],
  parked: [{ delivery: { planId }, reason: 'the item is too large' }],
  left: [],
});

describe('a plan of which something can never be written', () => {
  it('gives back all that it has reserved before it is parked', async () => {
    const before = seen();
    const reserving: boolean[] = [];
    const never: Never = (commit) => {
      reserving.push(commit.progress?.phase === 'reserving');
      return writes('t8')(commit);
    };
    expect(await apply([ONCE], never)).toMatchObject(PARKED('once'));
    expect(reserving.filter(Boolean).length).toBeGreaterThan(1);
    expect(seen()).toEqual(before);
    expect(problems()).toEqual([]);
  });

  it('leaves the room to the plans after it', async () => {
    const next = delivered('next', { placements: [placing('u0', { slot: 9, nodeId: 'n1', resources: { cpu: 11 } })] });
    expect(await apply([ONCE, next], writes('t8'))).toMatchObject({
      ...PARKED('once'),
      decided: [{ result: { planId: 'next', status: 'applied' } }],
    });
    expect(problems()).toEqual([]);
  });

  it('keeps the nodes that it has committed, each whole', async () => {
    expect(await apply([EACH], writes('t9'))).toMatchObject(PARKED('each'));
    const there = [...state.tasks.values()].filter(({ planId }) => planId === 'each');
    expect(there.map(({ taskId, state: is }) => [taskId, is])).toEqual([
      ['t0', 'assigned'],
      ['t1', 'assigned'],
    ]);
    expect(problems()).toEqual([]);
  });

  it('comes to the same if the function is killed after any request of it', async () => {
    const start = new Map([...state.accounts]);
    const [tasks, pool] = [new Map([...state.tasks]), state.pool];
    const before = seen();
    let killed = true;
    for (let number = 1; killed; number++) {
      state = new MemoryState(pool);
      for (const [node, account] of start) state.accounts.set(node, account);
      for (const [key, task] of tasks) state.tasks.set(key, task);
      killed = (await apply([ONCE], writes('t8'), faultAt(number, 'kill-after'))) === 'killed';
      if (killed) expect(await apply([ONCE], writes('t8')), `killed after ${number}`).toMatchObject(PARKED('once'));
      expect(seen(), `killed after ${number}`).toEqual(before);
      expect(problems()).toEqual([]);
    }
  });

  it('is applied if its message is delivered again when nothing stands against it any more', async () => {
    await apply([ONCE], writes('t8'));
    expect(await apply([ONCE], () => false)).toMatchObject({
      decided: [{ result: { status: 'applied', committed: { placements: 10, stops: 1, preemptions: 1 } } }],
    });
    expect(problems()).toEqual([]);
  });

  it('is parked as it is once it is committed, and goes on from there', async () => {
    expect(await apply([ONCE], writes('t8', 'assigned'))).toMatchObject(PARKED('once'));
    expect(state.plans.get('once')).toMatchObject({ phase: 'finishing' });
    expect(await apply([ONCE], () => false)).toMatchObject({ decided: [{ result: { status: 'applied' } }] });
    expect(problems()).toEqual([]);
  });

  it('is parked as it is if it cannot be given back either', async () => {
    const never: Never = (commit) => writes('t8')(commit) || commit.progress?.phase === 'undoing';
    expect(await apply([ONCE], never)).toMatchObject(PARKED('once'));
    expect(state.plans.get('once')).toMatchObject({ phase: 'reserving' });
    expect(await apply([ONCE], () => false)).toMatchObject({ decided: [{ result: { status: 'applied' } }] });
    expect(problems()).toEqual([]);
  });
});
