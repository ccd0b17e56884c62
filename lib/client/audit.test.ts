import { DeleteItemCommand, PutItemCommand, QueryCommand, ScanCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type BerthBed, startBerthBed } from '../../test/support/berth-bed.ts';
import type { NodeId, PoolName } from '../ids.ts';
import type { Account } from '../nodes/account.ts';
import { accountItem, accountKey } from '../store/account-item.ts';
import { marshall } from '../store/dynamo.ts';
import { progressItem, taskItem } from '../store/records.ts';
import type { EpochMs } from '../time.ts';
import { berthOver } from './berth.ts';
import type { Task } from './index.ts';

let bed: BerthBed;
let pools = 0;
let pool: string;
let plans = 0;

beforeAll(async () => {
  bed = await startBerthBed();
});
afterAll(() => bed.stop());

beforeEach(async () => {
  pool = `p${pools++}`;
  await bed.berth.registerPool({ pool, shards: 1 });
  for (const nodeId of ['n1', 'n2', 'n3']) {
    await bed.berth.registerNode({ pool, nodeId, capacity: { cpu: 1000 }, cores: [0, 1] });
  }
});

async function place(nodeId: string, wants: object = {}): Promise<string> {
  const planId = `${pool}-${plans++}`;
  const task = { taskId: `${planId}-t`, serviceId: pool, slot: plans, nodeId, resources: { cpu: 100 }, ...wants };
  await bed.berth.push({ planId, pool, placements: [task] });
  await bed.applyWaiting();
  return task.taskId;
}

async function changeAccount(node: string, change: (account: Account) => Account): Promise<void> {
  const { account } = await bed.berth.node(pool, node);
  const key = accountKey(pool as PoolName, 1, node as NodeId);
  const Item = marshall(accountItem(key, change(account)));
  await bed.database.client.send(new PutItemCommand({ TableName: bed.database.tables.nodes, Item }));
}

const leak = (node: string) =>
  changeAccount(node, (account) => ({ ...account, free: { ...account.free, cpu: (account.free.cpu ?? 0) - 50 } }));

async function taskOf(taskId: string): Promise<Task> {
  for await (const task of bed.berth.tasks(pool)) if (task.taskId === taskId) return task;
  throw new Error(`no task ${taskId}`);
}

const putTask = (task: Task) =>
  bed.database.client.send(
    new PutItemCommand({ TableName: bed.database.tables.tasks, Item: marshall(taskItem(task)) }),
  );

/** Berth with something done before each scan of the tasks, or after it. */
function scanning({ before, after }: { before?: () => Promise<unknown>; after?: () => Promise<unknown> }) {
  const { dynamo } = bed.connection;
  const send = async (command: object) => {
    const scan = command instanceof ScanCommand;
    if (scan) await before?.();
    const answer = await (dynamo.send as (command: object) => Promise<unknown>)(command);
    if (scan) await after?.();
    return answer;
  };
  const proxy = new Proxy(dynamo, { get: (target, name) => (name === 'send' ? send : Reflect.get(target, name)) });
  return berthOver({ ...bed.connection, dynamo: proxy });
}

describe('the audit of a pool', () => {
  it('finds nothing where accounts say what tasks hold', async () => {
    await place('n1', { cores: [1], ports: [{ ip: '10.0.0.1', value: 80 }] });
    await place('n2', { volumes: [{ source: 'data', mode: 'reader-only' }] });
    const told: number[] = [];
    expect(await bed.berth.audit(pool, { onProgress: (tasks) => told.push(tasks) })).toEqual({
      ...{ pool, nodes: 3, tasks: 2 },
      ...{ drifts: [], unsettled: [], homeless: [], plansUnderWay: [] },
    });
    expect(told).toEqual([1, 2]);
  });

  it('reports what is wrong with a node, and changes nothing unless it is to mend', async () => {
    await place('n1', { cores: [1] });
    await leak('n1');
    const before = await bed.berth.node(pool, 'n1');
    const { drifts } = await bed.berth.audit(pool);
    expect(drifts).toEqual([
      { nodeId: 'n1', mended: false, drift: [{ at: 'free.cpu', stored: '850', expected: '900', mendable: true }] },
    ]);
    expect(await bed.berth.node(pool, 'n1')).toEqual(before);

    expect((await bed.berth.audit(pool, { mend: true })).drifts).toMatchObject([{ nodeId: 'n1', mended: true }]);
    expect((await bed.berth.audit(pool)).drifts).toEqual([]);
    const { account, events } = await bed.berth.node(pool, 'n1');
    expect(account).toMatchObject({ free: { cpu: 900 }, version: before.account.version + 1 });
    expect(events.at(-1)?.message).toBe('account mended: free.cpu');
  });

  it('mends claims that nobody or somebody else has', async () => {
    const task = await place('n1', { cores: [1], ports: [{ ip: '10.0.0.1', value: 80 }] });
    await changeAccount('n1', (account) => ({
      ...account,
      claims: new Map([...account.claims].map(([key]) => [key, 'ghost'])),
    }));
    await bed.berth.audit(pool, { mend: true });
    const { account } = await bed.berth.node(pool, 'n1');
    expect(Object.fromEntries(account.claims)).toEqual({
      'core/0': '!free',
      'core/1': task,
      'port/10.0.0.1/80': task,
    });
  });

  it('does not take two reads of different moments for drift', async () => {
    await place('n1');
    const busy = scanning({ before: () => place('n1', { resources: { cpu: 1 } }) });
    expect(await busy.audit(pool, { mend: true })).toMatchObject({ drifts: [], unsettled: [] });
    const one = () => place('n1', { resources: { cpu: 1 } });
    const busier = scanning({ before: one, after: one });
    expect(await busier.audit(pool, { mend: true })).toMatchObject({ drifts: [], unsettled: [] });
    const ending = scanning({
      after: async () => {
        const taskId = await place('n1', { resources: { cpu: 1 } });
        const { serviceId, slot, nodeId } = await taskOf(taskId);
        await bed.berth.reportTask(
          { taskId, serviceId, nodeId, ...(slot === undefined ? {} : { slot }) },
          { state: 'failed' },
        );
      },
    });
    expect(await ending.audit(pool, { mend: true })).toMatchObject({ drifts: [], unsettled: [] });
  });

  it('says so, and mends nothing, where a node that looks wrong changes at every look', async () => {
    await leak('n1');
    const busy = scanning({ before: () => place('n1', { resources: { cpu: 1 } }) });
    expect(await busy.audit(pool, { mend: true })).toMatchObject({ drifts: [], unsettled: ['n1'] });
    expect((await bed.berth.audit(pool)).drifts).toMatchObject([{ nodeId: 'n1' }]);
  });

  it('needs two looks: a transaction that is being applied shows on one item before another', async () => {
    const taskId = await place('n1');
    const task = await taskOf(taskId);
    let scans = 0;
    // At the first look the task is not there yet; nothing else moves.
    const Key = marshall({ slotKey: task.slotKey, taskId });
    const half = scanning({
      before: async () => {
        if (scans++ === 0)
          await bed.database.client.send(new DeleteItemCommand({ TableName: bed.database.tables.tasks, Key }));
        else await putTask(task);
      },
    });
    expect((await half.audit(pool, { mend: true })).drifts).toEqual([]);
    expect(scans).toBe(2);
  });

  it('goes by the whole table, not by an index that lags', async () => {
    await place('n1');
    const { dynamo } = bed.connection;
    const send = async (command: object) => {
      if (command instanceof QueryCommand && command.input.IndexName !== undefined) return { Items: [] };
      return (dynamo.send as (command: object) => Promise<unknown>)(command);
    };
    const proxy = new Proxy(dynamo, { get: (target, name) => (name === 'send' ? send : Reflect.get(target, name)) });
    const lagging = berthOver({ ...bed.connection, dynamo: proxy });
    expect(await lagging.audit(pool, { mend: true })).toMatchObject({ drifts: [], unsettled: [] });
  });

  it('names tasks that hold something of a node that is not there', async () => {
    const taskId = await place('n1');
    const Key = marshall(accountKey(pool as PoolName, 1, 'n1' as NodeId));
    await bed.database.client.send(new DeleteItemCommand({ TableName: bed.database.tables.nodes, Key }));
    expect((await bed.berth.audit(pool)).homeless).toEqual([{ taskId, nodeId: 'n1' }]);
    expect(await bed.berth.removeNode(pool, 'n1', { force: true })).toBe(1);
    expect((await bed.berth.audit(pool)).homeless).toEqual([]);
  });

  it('counts what is reserved, and tells of the plan that nobody goes on with', async () => {
    const taskId = await place('n1');
    const task = await taskOf(taskId);
    const reservedAt = bed.now;
    await putTask({ ...task, state: 'pending', stateTimes: { pending: reservedAt } });
    const progress = {
      planId: task.lastPlanId,
      fingerprint: 'f',
      version: 3,
      phase: 'reserving',
      from: 0,
      to: 1,
      step: 1,
    };
    const none = { placements: 0, stops: 0, preemptions: 0, rejected: [], ineligible: [], alreadyGone: [] };
    const item = (version: number) =>
      new PutItemCommand({
        TableName: bed.database.tables.plans,
        Item: marshall(progressItem({ ...progress, version, tally: none, pending: none } as never)),
      });
    await bed.database.client.send(item(3));
    const about = { planId: task.lastPlanId, tasks: 1, since: reservedAt };
    expect(await bed.berth.audit(pool)).toMatchObject({ drifts: [], plansUnderWay: [{ ...about, stuck: false }] });

    bed.now = (bed.now + 3_600_000) as EpochMs;
    expect((await bed.berth.audit(pool)).plansUnderWay).toEqual([{ ...about, stuck: true }]);
  });
});
