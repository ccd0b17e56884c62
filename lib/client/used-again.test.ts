import { DeleteItemCommand, QueryCommand, TransactWriteItemsCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { discrepancies } from '../../test/support/audit.ts';
import { type BerthBed, startBerthBed } from '../../test/support/berth-bed.ts';
import { readWorld } from '../../test/support/dynamo-state.ts';
import { marshall } from '../store/dynamo.ts';
import { berthOver } from './berth.ts';

/** The id of a task that was reaped is used again, while others still go by what they have seen of the first. */

let bed: BerthBed;
let pools = 0;
let pool: string;

beforeAll(async () => {
  bed = await startBerthBed();
});
afterAll(() => bed.stop());
beforeEach(async () => {
  pool = `p${pools++}`;
  await bed.berth.registerPool({ pool, shards: 1 });
  for (const nodeId of ['n1', 'n2']) await bed.berth.registerNode({ pool, nodeId, capacity: { cpu: 10 } });
});

const ref = (nodeId: string) => ({ taskId: `${pool}-t`, serviceId: pool, slot: 1, nodeId });

let plans = 0;
async function place(nodeId: string, cpu: number): Promise<void> {
  const planId = `${pool}-${plans++}`;
  // No two tasks of an id are made in one millisecond: one of them ends and is reaped in between.
  bed.now = (bed.now + 1000) as typeof bed.now;
  await bed.berth.push({ planId, pool, placements: [{ ...ref(nodeId), resources: { cpu } }] });
  await bed.applyWaiting();
  expect((await bed.berth.result(planId))?.status).toBe('applied');
}

/** Ends the task on `from`, reaps it, and places another of its id. */
async function again(from: string, to: string, cpu: number): Promise<void> {
  await bed.berth.reportTask(ref(from), { state: 'complete' });
  await bed.database.client.send(
    new DeleteItemCommand({
      TableName: bed.database.tables.tasks,
      Key: marshall({ slotKey: `${pool}#1`, taskId: `${pool}-t` }),
    }),
  );
  await place(to, cpu);
}

async function look() {
  const { accounts, tasks } = await readWorld(bed.database, await bed.berth.pool(pool), []);
  const own = [...tasks.values()].filter((task) => task.pool === pool);
  const problems = [...accounts.values()].flatMap((account) =>
    discrepancies({ account, tasks: own.filter((task) => task.nodeId === account.nodeId && !task.released) }),
  );
  return { task: own[0], problems };
}

/** Berth whose requests of one kind something happens before, once, or after. */
function meeting(kind: new (input: never) => object, when: 'before' | 'after', happens: () => Promise<void>) {
  const { dynamo } = bed.connection;
  let met = false;
  const send = async (command: object) => {
    const meets = !met && command instanceof kind;
    if (meets) met = true;
    if (meets && when === 'before') await happens();
    const answer = await (dynamo.send as (command: object) => Promise<unknown>)(command);
    if (meets && when === 'after') await happens();
    return answer;
  };
  const proxy = new Proxy(dynamo, { get: (target, name) => (name === 'send' ? send : Reflect.get(target, name)) });
  return berthOver({ ...bed.connection, dynamo: proxy });
}

it('is not ended by a late report from the node of the first', async () => {
  await place('n1', 3);
  await again('n1', 'n2', 4);
  expect(await bed.berth.reportTask(ref('n1'), { state: 'failed' })).toBe('not-found');
  expect(await look()).toMatchObject({
    task: { nodeId: 'n2', state: 'assigned', resources: { cpu: 4 } },
    problems: [],
  });
});

it('is not overwritten by a report that has read the first', async () => {
  await place('n1', 3);
  const slow = meeting(TransactWriteItemsCommand, 'before', () => again('n1', 'n1', 4));
  await slow.reportTask(ref('n1'), { state: 'running' });
  expect(await look()).toMatchObject({ task: { state: 'running', resources: { cpu: 4 } }, problems: [] });
});

it('is not orphaned with the node of the first, where the index does not know yet', async () => {
  await place('n1', 3);
  const lagging = meeting(QueryCommand, 'after', () => again('n1', 'n2', 4));
  await lagging.removeNode(pool, 'n1', { force: true });
  expect(await look()).toMatchObject({ task: { nodeId: 'n2', state: 'assigned' }, problems: [] });
});

it('is not shown as a task of the node of the first, where the index does not know yet', async () => {
  await place('n1', 3);
  const lagging = meeting(QueryCommand, 'after', () => again('n1', 'n2', 4));
  expect((await lagging.node(pool, 'n1')).tasks).toEqual([]);
});

it('is not orphaned with the node of the first by one who has read that', async () => {
  await place('n1', 3);
  let transactions = 0;
  // The first takes the node out of service, the second orphans.
  const { dynamo } = bed.connection;
  const send = async (command: object) => {
    if (command instanceof TransactWriteItemsCommand && ++transactions === 2) await again('n1', 'n2', 4);
    return (dynamo.send as (command: object) => Promise<unknown>)(command);
  };
  const proxy = new Proxy(dynamo, { get: (target, name) => (name === 'send' ? send : Reflect.get(target, name)) });
  await berthOver({ ...bed.connection, dynamo: proxy }).removeNode(pool, 'n1', { force: true });
  expect(await look()).toMatchObject({ task: { nodeId: 'n2', state: 'assigned' }, problems: [] });
});
