import { DeleteItemCommand, PutItemCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { discrepancies } from '../../test/support/audit.ts';
import { type BerthBed, startBerthBed } from '../../test/support/berth-bed.ts';
import { readWorld } from '../../test/support/dynamo-state.ts';
import { type Fault, faultAt, faultsInTurn } from '../../test/support/faults.ts';
import { faultyBerth } from '../../test/support/faulty-berth.ts';
import type { NodeId, PoolName } from '../ids.ts';
import type { Account } from '../nodes/account.ts';
import { portKey } from '../nodes/claims.ts';
import type { PlanInput } from '../plans/plan.ts';
import { InvalidInputError } from '../schema.ts';
import { accountItem, accountKey } from '../store/account-item.ts';
import { marshall } from '../store/dynamo.ts';
import type { TaskState } from '../tasks/states.ts';
import type { EpochMs } from '../time.ts';

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
  await bed.berth.registerNode({ nodeId: 'n1', pool, capacity: { cpu: 1000 }, cores: [0, 1], devices: [{ id: 'd0' }] });
});

type Wants = Partial<NonNullable<PlanInput['placements']>[number]>;
const ref = (name: string) => ({ taskId: `${pool}-${name}`, serviceId: pool, slot: name.charCodeAt(0), nodeId: 'n1' });
const HTTP = { ip: '10.0.0.1', value: 80 };
const PORT = portKey(HTTP.ip, HTTP.value);

let plans = 0;
async function apply(plan: Partial<PlanInput>): Promise<void> {
  const planId = `${pool}-plan-${plans++}`;
  await bed.berth.push({ planId, pool, ...plan });
  await bed.applyWaiting();
  expect((await bed.berth.result(planId))?.status).toBe('applied');
}
const place = (name: string, wants: Wants = { resources: { cpu: 400 } }) =>
  apply({ placements: [{ ...ref(name), ...wants }] });

async function look(name = 'a') {
  const { accounts, tasks } = await readWorld(bed.database, await bed.berth.pool(pool), []);
  const problems = [...accounts.values()].flatMap((account) => {
    const own = [...tasks.values()].filter((task) => task.nodeId === account.nodeId && !task.released);
    return discrepancies({ account, tasks: own });
  });
  const task = [...tasks.values()].find(({ taskId }) => taskId === `${pool}-${name}`);
  return { account: accounts.get('n1'), task, problems };
}

/** Puts another account in the place of that of `n1`. */
async function rewrite(change: (account: Account) => Account): Promise<void> {
  const { account } = await bed.berth.node(pool, 'n1');
  const Item = marshall(accountItem(accountKey(pool as PoolName, 2, account.nodeId), change(account)));
  await bed.database.client.send(new PutItemCommand({ TableName: bed.database.tables.nodes, Item }));
}

/** Takes from the account of `n1` how much its ports and volumes take of it, which an earlier version did not write down. */
const forgetNames = () =>
  bed.database.client.send(
    new UpdateItemCommand({
      TableName: bed.database.tables.nodes,
      Key: marshall(accountKey(pool as PoolName, 2, 'n1' as NodeId)),
      UpdateExpression: 'REMOVE namedBytes',
    }),
  );

const report = (name: string, state: TaskState, message?: string) =>
  bed.berth.reportTask(ref(name), { state, ...(message === undefined ? {} : { message }) });

describe('reports of a task', () => {
  it('move it on, with the time of each state', async () => {
    await place('a');
    for (const [at, state] of (['accepted', 'starting', 'running'] as const).entries()) {
      expect(
        await bed.berth.reportTask(ref('a'), { state, at: (1_000 + at) as EpochMs, message: `it is ${state}` }),
      ).toBe('applied');
    }
    const { task, account } = await look();
    expect(task).toMatchObject({ state: 'running', appliedAt: bed.now, message: 'it is running', released: false });
    expect(task?.stateTimes).toMatchObject({ accepted: 1_000, starting: 1_001, running: 1_002 });
    expect(account?.free.cpu).toBe(600);
  });

  it('that come late, twice or out of order change nothing', async () => {
    await place('a');
    expect(await report('a', 'running')).toBe('applied');
    const before = await look();
    expect([await report('a', 'running'), await report('a', 'starting'), await report('a', 'new')]).toEqual([
      'unchanged',
      'unchanged',
      'unchanged',
    ]);
    expect(await look()).toEqual(before);
  });

  it('that end it give back everything it held, the first one does, and no later one', async () => {
    await place('a', {
      resources: { cpu: 400 },
      cores: [0],
      devices: ['d0'],
      ports: [HTTP],
      volumes: [
        { source: 'data', mode: 'single-writer' },
        { source: 'logs', mode: 'multi-writer' },
      ],
    });
    await place('b', { resources: { cpu: 100 }, volumes: [{ source: 'logs', mode: 'reader-only' }] });
    expect(await report('a', 'failed', 'exit status 1')).toBe('applied');
    const after = await look();
    expect(after.task).toMatchObject({ state: 'failed', released: true, message: 'exit status 1' });
    expect(after.account?.free).toMatchObject({ cpu: 900, 'max-tasks': 999_999_999 });
    expect(after.problems).toEqual([]);
    expect([await report('a', 'complete'), await report('a', 'running'), await report('a', 'orphaned')]).toEqual([
      'unchanged',
      'unchanged',
      'unchanged',
    ]);
    expect(await look()).toEqual(after);
  });

  it('of which two end it at once give it back once', async () => {
    await place('a');
    const states = ['complete', 'failed', 'shutdown', 'complete', 'orphaned'] as const;
    const outcomes = await Promise.all(states.map((state) => report('a', state)));
    expect(outcomes.filter((outcome) => outcome === 'applied')).toHaveLength(1);
    const { task, account, problems } = await look();
    expect(task?.state).toBe(states[outcomes.indexOf('applied')]);
    expect([account?.free.cpu, problems]).toEqual([1000, []]);
  });

  it('of many tasks of one node at once lose nothing', async () => {
    const names = [...'abcdefgh'];
    await apply({ placements: names.map((name) => ({ ...ref(name), resources: { cpu: 100 } })) });
    expect(await Promise.all(names.map((name) => report(name, 'complete')))).toEqual(names.map(() => 'applied'));
    const { account, problems } = await look();
    expect([account?.free.cpu, problems]).toEqual([1000, []]);
  });

  it('that end one whose resources a plan has given back give nothing more', async () => {
    await place('a');
    await apply({ stops: [ref('a')] });
    expect((await look()).account?.free.cpu).toBe(1000);
    expect(await report('a', 'shutdown')).toBe('applied');
    const { task, account, problems } = await look();
    expect([task?.state, account?.free.cpu, problems]).toEqual(['shutdown', 1000, []]);
  });

  it('that end one which was stopped give it back, where stops do not', async () => {
    await bed.berth.registerPool({ pool, settings: { stopRelease: 'terminal' } });
    await place('a');
    await apply({ stops: [ref('a')] });
    expect((await look()).account?.free.cpu).toBe(600);
    expect(await report('a', 'shutdown')).toBe('applied');
    expect((await look()).account?.free.cpu).toBe(1000);
  });

  it('leave a port with its holder, and with those who hold it past the holder', async () => {
    for (const name of ['b', 'c']) await place(name, { ports: [{ ...HTTP, ignoreCollision: true }] });
    expect(await report('b', 'complete')).toBe('applied');
    expect((await look()).account?.sharers.get(PORT)).toEqual(new Set([`${pool}-c`]));
    expect(await report('c', 'complete')).toBe('applied');
    await place('a', { ports: [HTTP] });
    await place('d', { ports: [{ ...HTTP, ignoreCollision: true }] });
    expect(await report('a', 'complete')).toBe('applied');
    const { account, problems } = await look();
    expect([account?.claims.has(PORT), account?.sharers.get(PORT), problems]).toEqual([
      false,
      new Set([`${pool}-d`]),
      [],
    ]);
  });

  it.each([
    ['by a report', (name: string) => report(name, 'complete')],
    ['by a plan', (name: string) => apply({ stops: [ref(name)] })],
  ])(
    'and plans give back what an earlier version has written down of a port past its holder, %s',
    async (_how, end) => {
      await place('a', { ports: [{ ...HTTP, ignoreCollision: true }] });
      await place('b', { ports: [{ ...HTTP, ignoreCollision: true }] });
      await rewrite((account) => ({
        ...account,
        claims: new Map(account.claims).set(PORT, `${pool}-a`),
        sharers: new Map(),
      }));
      await forgetNames();
      await end('b');
      expect((await look()).account?.claims.get(PORT)).toBe(`${pool}-a`);
      await end('a');
      const { account, problems } = await look();
      expect([account?.claims.has(PORT), account?.free.cpu, problems]).toEqual([false, 1000, []]);
    },
  );

  it('and plans find an account that does not say how much its names take', async () => {
    await place('a', { ports: [HTTP] });
    await place('b', { ports: [{ ...HTTP, value: 81 }] });
    await forgetNames();
    expect(await report('a', 'complete')).toBe('applied');
    await forgetNames();
    await place('c', { ports: [HTTP] });
    await forgetNames();
    await apply({ stops: [ref('b'), ref('c')] });
    const { account, problems } = await look();
    expect([account?.claims.has(PORT), problems]).toEqual([false, []]);
  });

  it('give back to a node that was registered again meanwhile, with less than is used', async () => {
    await place('a', { resources: { cpu: 400 }, cores: [0] });
    await bed.berth.registerNode({ nodeId: 'n1', pool, capacity: { cpu: 100 }, cores: [1] });
    expect((await look()).account?.free.cpu).toBe(-300);
    expect(await report('a', 'complete')).toBe('applied');
    expect((await look()).account?.free.cpu).toBe(100);
  });

  it('end a task whose node is gone', async () => {
    await place('a');
    const key = accountKey(pool as PoolName, 2, 'n1' as NodeId);
    await bed.database.client.send(new DeleteItemCommand({ TableName: bed.database.tables.nodes, Key: marshall(key) }));
    expect(await report('a', 'orphaned')).toBe('applied');
    const { task, account } = await look();
    expect([task?.state, task?.released, account]).toEqual(['orphaned', true, undefined]);
  });

  it('of a task that is not there say so', async () => {
    expect(await report('z', 'running')).toBe('not-found');
  });

  it('are refused before anything is sent if they make no sense', async () => {
    const { berth, requests } = faultyBerth(bed);
    await expect(berth.reportTask(ref('a'), { state: 'resting' as never })).rejects.toThrow(/state: expected one of/);
    await expect(berth.reportTask(ref('a'), { state: 'failed', at: -1 as never })).rejects.toBeInstanceOf(
      InvalidInputError,
    );
    await expect(berth.reportTask({ ...ref('a'), taskId: '' }, { state: 'failed' })).rejects.toThrow(
      /the task.*taskId/,
    );
    expect(requests).toEqual([]);
  });
});

describe('a report', () => {
  it.each<[string, (Fault | undefined)[], string]>([
    ['meets another transaction', [undefined, 'conflict', undefined, undefined, 'conflict'], 'applied'],
    ['is throttled', ['throttled', undefined, undefined, 'partly-throttled'], 'applied'],
    ['is not heard', ['lost-before', 'server-error'], 'applied'],
    // Asked again, it finds that it has been written.
    ['is heard, and not answered', [undefined, undefined, 'lost-after'], 'unchanged'],
  ])('gives back once if it %s', async (_name, faults, outcome) => {
    await place('a');
    const { berth } = faultyBerth(bed, faultsInTurn(faults));
    expect(await berth.reportTask(ref('a'), { state: 'complete' })).toBe(outcome);
    const { task, account, problems } = await look();
    expect([task?.state, account?.free.cpu, problems]).toEqual(['complete', 1000, []]);
  });

  it('gives back once if its sender dies after any request and another one reports again', async () => {
    await place('a');
    for (let number = 1; number <= 4; number++) {
      const { berth, killed } = faultyBerth(bed, faultAt(number, 'kill-after'));
      await Promise.race([berth.reportTask(ref('a'), { state: 'complete' }), killed]);
    }
    await report('a', 'complete');
    const { account, problems } = await look();
    expect([account?.free.cpu, problems]).toEqual([1000, []]);
  });

  it('sees what a plan has made of the task and of the node since it looked', async () => {
    await place('a');
    const meanwhile = async () => {
      await apply({
        placements: [
          { ...ref('a'), resources: { cpu: 700 } },
          { ...ref('b'), resources: { cpu: 200 } },
        ],
      });
    };
    // Its requests: the task, the pool, and the write, before which the plan comes.
    const { berth } = faultyBerth(bed, faultAt(3, { meanwhile }));
    expect(await berth.reportTask(ref('a'), { state: 'failed' })).toBe('applied');
    const { task, account, problems } = await look();
    expect([task?.resources.cpu, account?.free.cpu, problems]).toEqual([700, 800, []]);
  });

  it('sees that a port has got another holder since it looked', async () => {
    await place('a', { ports: [{ ...HTTP, ignoreCollision: true }] });
    const meanwhile = () =>
      apply({
        placements: [
          { ...ref('a'), ports: [] },
          { ...ref('b'), ports: [HTTP] },
        ],
      });
    const { berth } = faultyBerth(bed, faultAt(3, { meanwhile }));
    expect(await berth.reportTask(ref('a'), { state: 'failed' })).toBe('applied');
    const { account, problems } = await look();
    expect([account?.claims.get(PORT), problems]).toEqual([`${pool}-b`, []]);
  });
});
