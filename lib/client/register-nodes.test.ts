import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { discrepancies, overcommitted } from '../../test/support/audit.ts';
import { type BerthBed, startBerthBed } from '../../test/support/berth-bed.ts';
import { readWorld } from '../../test/support/dynamo-state.ts';
import { type Fault, faultAt, faultsInTurn } from '../../test/support/faults.ts';
import { faultyBerth } from '../../test/support/faulty-berth.ts';
import type { Account } from '../nodes/account.ts';
import type { NodeSpecInput } from '../nodes/node.ts';
import type { PlanInput } from '../plans/plan.ts';
import { InvalidInputError } from '../schema.ts';
import { PoolNotFoundError, PoolShardsError } from './pools.ts';

let bed: BerthBed;
let pools = 0;
let pool: string;

beforeAll(async () => {
  bed = await startBerthBed();
});
afterAll(() => bed.stop());
beforeEach(async () => {
  pool = `p${pools++}`;
  await bed.berth.registerPool({ pool, shards: 2 });
});

const node = (spec: Partial<NodeSpecInput> = {}): NodeSpecInput => ({
  nodeId: 'n1',
  pool,
  capacity: { cpu: 1000 },
  ...spec,
});

/** What the database has of the pool, and whether it adds up. */
async function look() {
  const world = await readWorld(bed.database, await bed.berth.pool(pool), []);
  const problems = [...world.accounts.values()].flatMap((account) => {
    const tasks = [...world.tasks.values()].filter((task) => task.nodeId === account.nodeId && !task.released);
    return [...discrepancies({ account, tasks }), ...overcommitted({ account, tasks }).keys()];
  });
  return { ...world, problems };
}

async function account(nodeId = 'n1'): Promise<Account> {
  const found = (await look()).accounts.get(nodeId);
  if (!found) throw new Error(`there is no node ${nodeId}`);
  return found;
}

let plans = 0;
/** Places a task, and answers the status of its plan. */
async function place(wants: Partial<NonNullable<PlanInput['placements']>[number]>): Promise<string | undefined> {
  const planId = `${pool}-plan-${plans++}`;
  const task = { taskId: `${planId}-t`, serviceId: 'web', slot: plans, nodeId: 'n1', ...wants };
  await bed.berth.push({ planId, pool, placements: [task] });
  await bed.applyWaiting();
  return (await bed.berth.result(planId))?.status;
}

describe('a node', () => {
  it('is there with everything free once it is registered', async () => {
    await bed.berth.registerNode(
      node({ cores: [0], devices: [{ id: 'd0' }], reservedPorts: '22', labels: { rack: 'r1' } }),
    );
    const { nodes } = await bed.berth.snapshot(pool);
    expect(nodes).toMatchObject([
      {
        nodeId: 'n1',
        schedulable: true,
        free: { cpu: 1000 },
        cores: [0],
        labels: { rack: 'r1' },
        devices: [{ id: 'd0', healthy: true }],
      },
    ]);
  });

  it('that is registered again keeps what tasks hold; what is free moves by the difference', async () => {
    await bed.berth.registerNode(node({ cores: [0, 1], devices: [{ id: 'd0' }] }));
    expect(
      await place({ resources: { cpu: 600 }, cores: [0], devices: ['d0'], ports: [{ ip: '10.0.0.1', value: 80 }] }),
    ).toBe('applied');
    const before = await account();
    await bed.berth.registerNode(node({ capacity: { cpu: 1500, memory: 64 }, cores: [0, 1], devices: [{ id: 'd0' }] }));
    expect(await account()).toMatchObject({
      free: { cpu: 900, memory: 64 },
      claims: before.claims,
      version: before.version + 1,
    });
    await bed.berth.registerNode(node({ capacity: { cpu: 500 }, cores: [1] }));
    expect(await account()).toMatchObject({ free: { cpu: -100 }, withdrawn: new Set(['core/0', 'device/d0']) });
    expect((await look()).problems).toEqual(['cpu']);
    expect(await place({ cores: [1] })).toBe('applied');
    expect(await place({ resources: { cpu: 1 } })).toBe('rejected');
  });

  it('may be registered beside many others, with word of how far it has come', async () => {
    const told: [number, number][] = [];
    const specs = Array.from({ length: 130 }, (_, at) => node({ nodeId: `n${at}` }));
    await bed.berth.registerNodes(specs, (done, of) => told.push([done, of]));
    expect((await bed.berth.snapshot(pool)).nodes).toHaveLength(130);
    expect(told.at(-1)).toEqual([130, 130]);
    expect(told.map(([done]) => done)).toEqual(told.map(([done]) => done).toSorted((a, b) => a - b));
    // Some of a group are there already: they are written anew, and the others with them.
    await bed.berth.registerNodes([...specs.slice(100), node({ nodeId: 'new', capacity: { cpu: 7 } })]);
    expect(await account('new')).toMatchObject({ version: 1, free: { cpu: 7 } });
    expect(await account('n120')).toMatchObject({ version: 2 });
    expect(await account('n20')).toMatchObject({ version: 1 });
  });
});

describe('the registration of a node', () => {
  it.each<[string, (Fault | undefined)[]]>([
    ['meets another transaction', [undefined, 'conflict', 'conflict']],
    ['is throttled', ['throttled', 'partly-throttled', 'throttled']],
    ['is not answered', [undefined, 'lost-after', 'lost-before', 'server-error']],
  ])('goes on if it %s', async (_name, faults) => {
    await bed.berth.registerNode(node());
    expect(await place({ resources: { cpu: 300 } })).toBe('applied');
    const { berth } = faultyBerth(bed, faultsInTurn(faults));
    await berth.registerNode(node({ capacity: { cpu: 400 } }));
    expect(await account()).toMatchObject({ capacity: { cpu: 400 }, free: { cpu: 100 } });
    expect((await look()).problems).toEqual([]);
  });

  it('sees what a plan has taken between its two looks', async () => {
    await bed.berth.registerNode(node());
    // Its requests: the pool, the node as if it were new, the node as it was found.
    const meanwhile = async () => expect(await place({ resources: { cpu: 250 } })).toBe('applied');
    const { berth, requests } = faultyBerth(bed, faultAt(3, { meanwhile }));
    await berth.registerNode(node({ capacity: { cpu: 2000 } }));
    expect(requests).toHaveLength(4);
    expect(await account()).toMatchObject({ free: { cpu: 1750 } });
    expect((await look()).problems).toEqual([]);
  });

  it('loses nothing beside another one and beside plans', async () => {
    await bed.berth.registerNode(node({ capacity: { cpu: 1_000_000 } }));
    const registering = Array.from({ length: 8 }, (_, at) =>
      bed.berth.registerNode(node({ capacity: { cpu: 1_000_000 + at } })),
    );
    const placing = (async () => {
      for (let at = 0; at < 5; at++) expect(await place({ resources: { cpu: 10 } })).toBe('applied');
    })();
    await Promise.all([...registering, placing]);
    expect((await look()).problems).toEqual([]);
    const { capacity, free } = await account();
    expect((capacity.cpu ?? 0) - (free.cpu ?? 0)).toBe(50);
  });

  it('is refused before anything is sent if something is wrong with any of the nodes', async () => {
    const { berth, requests } = faultyBerth(bed);
    const wrong = [node(), node({ nodeId: 'n2', capacity: { cpu: -1 } })];
    const refusal = berth.registerNodes(wrong);
    await expect(refusal).rejects.toBeInstanceOf(InvalidInputError);
    await expect(refusal).rejects.toThrow(/node \[1\].*capacity\.cpu/);
    await expect(berth.registerNodes([node(), node({ nodeId: 'n2' }), node()])).rejects.toThrow(
      /\[2\]\.nodeId.*already/,
    );
    await expect(berth.registerNode(node({ reservedPorts: '80-70' }))).rejects.toBeInstanceOf(InvalidInputError);
    expect(requests).toEqual([]);
  });

  it('is refused if there is no such pool, before anything is written', async () => {
    const { berth, requests } = faultyBerth(bed);
    const refusal = berth.registerNode({ nodeId: 'n1', pool: 'nowhere', capacity: {} });
    await expect(refusal).rejects.toBeInstanceOf(PoolNotFoundError);
    await expect(refusal).rejects.toMatchObject({ pool: 'nowhere' });
    expect(requests).toEqual(['GetItem']);
  });
});

describe('a pool', () => {
  it('has the settings that it was last given, and moves its index with them', async () => {
    const first = await bed.berth.pool(pool);
    const second = await bed.berth.registerPool({ pool, settings: { stopRelease: 'terminal' } });
    expect(second).toMatchObject({ index: first.index + 1, shards: 2, settings: { stopRelease: 'terminal' } });
    expect(await bed.berth.pool(pool)).toEqual(second);
  });

  it('keeps its shards, whoever asks for others', async () => {
    await expect(bed.berth.registerPool({ pool, shards: 3 })).rejects.toBeInstanceOf(PoolShardsError);
    expect((await bed.berth.pool(pool)).shards).toBe(2);
    expect((await bed.berth.registerPool({ pool })).shards).toBe(2);
  });

  it('that is not there, or whose name is none, is an error', async () => {
    const { berth, requests } = faultyBerth(bed);
    await expect(berth.pool('nowhere')).rejects.toThrow(/there is no pool nowhere/);
    await expect(berth.snapshot('nowhere')).rejects.toBeInstanceOf(PoolNotFoundError);
    const asked = requests.length;
    await expect(berth.pool('no name')).rejects.toBeInstanceOf(InvalidInputError);
    await expect(berth.snapshot('a#b')).rejects.toBeInstanceOf(InvalidInputError);
    await expect(berth.registerPool({ pool, shards: 0 })).rejects.toBeInstanceOf(InvalidInputError);
    expect(requests).toHaveLength(asked);
  });
});
