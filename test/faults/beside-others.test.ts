import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Berth, connect } from '../../lib/client/index.ts';
import type { PlanInput } from '../../lib/plans/plan.ts';
import { discrepancies } from '../support/audit.ts';
import { type Database, startDatabase } from '../support/database.ts';
import { dynamoBed } from '../support/dynamo-bed.ts';
import type { History } from '../support/histories.ts';
import { nodeOf } from '../support/plans.ts';
import { runHistory } from '../support/run-history.ts';
import type { World } from '../support/summary.ts';

let database: Database;
let berth: Berth;
beforeAll(async () => {
  database = await startDatabase();
  // Nothing here goes over a queue: plans are handed to the applier as they are.
  berth = connect({ env: { ...database.env, BERTH_QUEUE_PLANS: 'http://127.0.0.1:9/plans' } });
});
afterAll(async () => {
  berth.close();
  await database.stop();
});

/** The first request of the large plan below; before it come two of the plan that it builds on. */
const FIRST = 3;

/** A task that is there, and a plan past one transaction: all or nothing, it stops one task and shrinks another. */
function historyOf(pool: string): History {
  const place = (name: string, nodeId: string, cpu: number) => ({ ...ref(pool, name, nodeId), resources: { cpu } });
  const placements = Array.from({ length: 12 }, (_, at) => place(`new${at}`, at % 2 ? 'n1' : 'n2', 2));
  const plans: PlanInput[] = [
    { planId: `${pool}-before`, pool, placements: [place('old', 'n1', 6), place('stopped', 'n2', 4)] },
    {
      planId: `${pool}-large`,
      pool,
      allAtOnce: true,
      stops: [ref(pool, 'stopped', 'n2')],
      placements: [...placements, place('old', 'n1', 3)],
    },
  ];
  return {
    pool,
    nodes: ['n1', 'n2'].map((nodeId) => nodeOf({ nodeId, pool, capacity: { cpu: 16 } })),
    batches: plans.map((plan) => ({ plans: [plan], appliers: [1], again: false, others: [] })),
    settings: { stopRelease: 'plan' },
    allowance: 12,
    faults: [],
  };
}

function ref(pool: string, name: string, nodeId: string) {
  const slot = name.startsWith('new') ? Number(name.slice(3)) : name === 'old' ? 100 : 101;
  return { taskId: `${pool}-${name}`, serviceId: `${pool}-web`, slot, nodeId };
}

/**
 * Plays the history with `meanwhile` before request `number`, and holds that the large plan is there whole or not at
 * all; answers its status.
 */
async function play(pool: string, number: number, meanwhile: () => Promise<unknown>): Promise<string> {
  const history = historyOf(pool);
  const bed = await dynamoBed(database, history);
  const faults = [...Array.from({ length: number - 1 }, () => undefined), { meanwhile }];
  const { problems } = await runHistory({ ...history, faults }, bed);
  const world = await bed.world();
  const status = world.results.get(`${pool}-large`)?.status ?? 'none';
  const whole = { placed: 12, old: 3, stopped: 'shutdown', underWay: 0 };
  const nothing = { placed: 0, old: 6, stopped: 'running', underWay: 0 };
  expect(traces(world, pool), `before request ${number}, ${status}`).toEqual(status === 'applied' ? whole : nothing);
  expect([...problems, ...audit(world)], `before request ${number}, ${status}`).toEqual([]);
  return status;
}

/** What there is of the large plan. */
function traces({ tasks }: World, pool: string) {
  const all = [...tasks.values()];
  const named = (name: string) => all.find(({ taskId }) => taskId === `${pool}-${name}`);
  return {
    placed: all.filter(({ planId }) => planId === `${pool}-large`).length,
    old: named('old')?.resources.cpu,
    stopped: named('stopped')?.desiredState,
    underWay: all.filter((task) => task.state === 'pending' || task.undo).length,
  };
}

/** What does not add up between the accounts and the tasks that count. */
function audit({ accounts, tasks }: World): string[] {
  return [...accounts.values()].flatMap((account) => {
    const own = [...tasks.values()].filter((task) => task.nodeId === account.nodeId && !task.released);
    return discrepancies({ account, tasks: own });
  });
}

interface Case {
  readonly what: string;
  readonly meanwhile: (pool: string) => Promise<unknown>;
  /** What may become of the plan; each does, before some request. */
  readonly outcomes: readonly string[];
}

const n2 = (pool: string, spec: Partial<Parameters<Berth['registerNode']>[0]>) =>
  berth.registerNode({ nodeId: 'n2', pool, capacity: { cpu: 16 }, ...spec });
const end = (pool: string, name: string, nodeId: string) =>
  berth.reportTask(ref(pool, name, nodeId), { state: 'failed' });

const CASES: readonly Case[] = [
  {
    what: 'a node becomes too small',
    meanwhile: (pool) => n2(pool, { capacity: { cpu: 7 } }),
    outcomes: ['applied', 'rejected'],
  },
  { what: 'a node goes down', meanwhile: (pool) => n2(pool, { status: 'down' }), outcomes: ['applied', 'rejected'] },
  {
    what: 'the task to be updated ends',
    meanwhile: (pool) => end(pool, 'old', 'n1'),
    outcomes: ['applied', 'rejected'],
  },
  { what: 'the task to be stopped ends', meanwhile: (pool) => end(pool, 'stopped', 'n2'), outcomes: ['applied'] },
  {
    what: 'a new task is reported on before its time',
    meanwhile: (pool) => end(pool, 'new1', 'n1'),
    outcomes: ['applied'],
  },
  {
    what: 'a new task is reported on before its time and a node goes down',
    meanwhile: async (pool) => {
      await berth.reportTask(ref(pool, 'new1', 'n1'), { state: 'running' });
      await end(pool, 'new3', 'n1');
      await n2(pool, { status: 'down' });
    },
    outcomes: ['applied', 'rejected'],
  },
];

describe('a plan past one transaction, all or nothing', () => {
  it.each(CASES)(
    'is there whole or not at all if $what, before whatever request',
    { timeout: 300_000 },
    async (each) => {
      const outcomes = new Set<string>();
      for (let number = FIRST, reached = true; reached; number++) {
        const pool = `p${++pools}`;
        reached = false;
        const status = await play(pool, number, () => {
          reached = true;
          return each.meanwhile(pool);
        });
        // Not reached: there was no such request any more, the plan was applied before.
        if (reached) outcomes.add(status);
      }
      expect([...outcomes].sort()).toEqual(each.outcomes);
    },
  );
});

let pools = 0;
