import { PutItemCommand, QueryCommand, TransactWriteItemsCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type BerthBed, startBerthBed } from '../../test/support/berth-bed.ts';
import type { NodeId, PoolName } from '../ids.ts';
import { accountItem, accountKey } from '../store/account-item.ts';
import { marshall } from '../store/dynamo.ts';
import { isTerminal } from '../tasks/states.ts';
import { berthOver } from './berth.ts';
import type { Task } from './index.ts';
import { NodeHoldsTasksError } from './remove-node.ts';

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
  for (const nodeId of ['n1', 'n2']) {
    await bed.berth.registerNode({ pool, nodeId, capacity: { cpu: 100_000 }, cores: [0] });
  }
});

const placement = (taskId: string, nodeId = 'n1', cores: number[] = []) => ({
  ...{ taskId, serviceId: pool, slot: Number(taskId.replace(/\D/g, '')), nodeId, cores },
  resources: { cpu: 10 },
});

async function place(count: number, nodeId = 'n1'): Promise<void> {
  const placements = Array.from({ length: count }, (_, at) => placement(`t${at}`, nodeId, at === 0 ? [0] : []));
  await apply({ planId: `${pool}-place-${nodeId}`, placements });
}

async function apply(plan: Omit<Parameters<BerthBed['berth']['push']>[0], 'pool'>): Promise<string | undefined> {
  await bed.berth.push({ ...plan, pool });
  await bed.applyWaiting();
  return (await bed.berth.result(plan.planId))?.status;
}

async function tasks(): Promise<Task[]> {
  const all: Task[] = [];
  for await (const task of bed.berth.tasks(pool)) all.push(task);
  return all;
}

const nodeIds = async () => (await bed.berth.snapshot(pool)).nodes.map(({ nodeId }) => nodeId);

/** Berth whose requests a test sees before they are sent, and may keep from being sent by throwing. */
function watched(before: (command: object) => void | Promise<void>) {
  const { dynamo } = bed.connection;
  const send = async (command: object) => {
    await before(command);
    return (dynamo.send as (command: object) => Promise<unknown>)(command);
  };
  const proxy = new Proxy(dynamo, { get: (target, name) => (name === 'send' ? send : Reflect.get(target, name)) });
  return berthOver({ ...bed.connection, dynamo: proxy });
}

describe('the removal of a node', () => {
  it('takes one that nothing is on', async () => {
    expect(await bed.berth.removeNode(pool, 'n1')).toBe(0);
    expect(await nodeIds()).toEqual(['n2']);
    await expect(bed.berth.node(pool, 'n1')).rejects.toThrow('there is no node n1');
    await expect(bed.berth.removeNode(pool, 'n1')).rejects.toThrow(`there is no node n1 in pool ${pool}`);
  });

  it('has the slot of a global service there go, history included', async () => {
    const daemon = (taskId: string) => ({ taskId, serviceId: pool, nodeId: 'n1' });
    await apply({ planId: `${pool}-1`, placements: [daemon('d1')] });
    await bed.berth.reportTask(daemon('d1'), { state: 'failed' });
    await apply({ planId: `${pool}-2`, placements: [daemon('d2'), placement('t7')] });
    expect(await bed.berth.removeNode(pool, 'n1', { force: true })).toBe(2);
    expect((await tasks()).map(({ taskId, state, desiredState }) => [taskId, state, desiredState]).sort()).toEqual([
      ['d1', 'failed', 'remove'],
      ['d2', 'orphaned', 'remove'],
      ['t7', 'orphaned', 'running'],
    ]);
  });

  it('is refused while tasks hold something of it, and names them', async () => {
    await place(3);
    const refusal = await bed.berth.removeNode(pool, 'n1').catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(NodeHoldsTasksError);
    expect(refusal).toMatchObject({
      message:
        'node n1 is held by 3 tasks (t0, t1, t2); stop them or let them end, or remove it with force, which orphans them',
      taskIds: ['t0', 't1', 't2'],
    });
    expect(await nodeIds()).toEqual(['n1', 'n2']);
    expect((await tasks()).every(({ state }) => state === 'assigned')).toBe(true);
  });

  it('orphans tasks that were stopped and will never report their end', async () => {
    await place(1);
    await apply({ planId: `${pool}-stop`, stops: [{ taskId: 't0', serviceId: pool, slot: 0, nodeId: 'n1' }] });
    expect(await bed.berth.removeNode(pool, 'n1')).toBe(1);
    expect(await tasks()).toMatchObject([{ state: 'orphaned', released: true, message: 'node n1 was removed' }]);
  });

  it('by force orphans any number of tasks, of which it tells, and gives back what they held', async () => {
    await place(130);
    await place(1, 'n2');
    const told: number[] = [];
    expect(await bed.berth.removeNode(pool, 'n1', { force: true, onProgress: (n) => told.push(n) })).toBe(130);
    expect(told).toEqual([50, 100, 130]);
    const all = await tasks();
    expect(all.filter(({ nodeId }) => nodeId === 'n1')).toHaveLength(130);
    expect(all.every(({ nodeId, state, released }) => (nodeId === 'n1') === (state === 'orphaned' && released))).toBe(
      true,
    );
    expect(await nodeIds()).toEqual(['n2']);
  });

  it('by force goes on after a crash between any two of its writes', async () => {
    await place(130);
    for (let crashes = 0; ; crashes++) {
      let writes = 0;
      const crashing = watched((command) => {
        if (command instanceof TransactWriteItemsCommand && ++writes > 1) throw new TypeError('crashed');
      });
      const outcome = await crashing.removeNode(pool, 'n1', { force: true }).catch((error: Error) => error.message);
      if (typeof outcome === 'number') break;
      expect(outcome).toContain('crashed');
      expect(crashes).toBeLessThan(10);
      const [node] = (await bed.berth.snapshot(pool)).nodes;
      // Whatever was written, what is free and what tasks use make the capacity.
      const used = (await tasks()).filter(({ released }) => !released).length * 10;
      expect(node).toMatchObject({ status: 'down', eligibility: 'ineligible', free: { cpu: 100_000 - used } });
      expect(await apply({ planId: `${pool}-late-${crashes}`, placements: [placement('t900')] })).toBe('rejected');
    }
    expect((await tasks()).every(({ state, released }) => isTerminal(state) && released)).toBe(true);
    expect(await nodeIds()).toEqual(['n2']);
  });

  it('by force looks again for tasks that the index does not show yet', async () => {
    await place(2);
    let blind = 2;
    const lagging = watched((command) => {
      // A query of the index for another node finds nothing, as if none of the entries had arrived.
      if (!(command instanceof QueryCommand) || command.input.IndexName === undefined || blind-- <= 0) return;
      command.input.ExpressionAttributeValues = marshall({ ':poolNode': 'nobody#none' });
    });
    expect(await lagging.removeNode(pool, 'n1', { force: true })).toBe(2);
    expect((await tasks()).every(({ state }) => state === 'orphaned')).toBe(true);
  });

  it('by force reads the whole table if the index never shows them, and trusts it over a drifted account', async () => {
    await place(2);
    const { account } = await bed.berth.node(pool, 'n1');
    const drifted = { ...account, free: { ...account.free, cpu: 1 } };
    const key = accountKey(pool as PoolName, 1, 'n1' as NodeId);
    const item = marshall(accountItem(key, drifted));
    await bed.database.client.send(new PutItemCommand({ TableName: bed.database.tables.nodes, Item: item }));
    const blind = watched((command) => {
      if (!(command instanceof QueryCommand) || command.input.IndexName === undefined) return;
      command.input.ExpressionAttributeValues = marshall({ ':poolNode': 'nobody#none' });
    });
    expect(await blind.removeNode(pool, 'n1', { force: true })).toBe(2);
    expect(await nodeIds()).toEqual(['n2']);
  });

  it('is stopped by a placement that comes just before the end', async () => {
    let once = true;
    const raced = watched(async (command) => {
      if (!(command instanceof TransactWriteItemsCommand) || !once) return;
      once = false;
      expect(await apply({ planId: `${pool}-race`, placements: [placement('t7')] })).toBe('applied');
    });
    await expect(raced.removeNode(pool, 'n1')).rejects.toThrow('node n1 is held by 1 task (t7)');
    expect(await nodeIds()).toEqual(['n1', 'n2']);
  });

  it('keeps an applier that has read the node from writing it over one that is registered anew', async () => {
    const before = (await bed.berth.pool(pool)).index;
    await bed.berth.removeNode(pool, 'n1');
    expect((await bed.berth.pool(pool)).index).toBe(before + 1);
  });

  it('lets the node be registered anew, with nothing of what it was', async () => {
    const spec = { pool, nodeId: 'n3', capacity: { cpu: 5 } };
    await bed.berth.registerNode({ ...spec, labels: { rack: 'old' } });
    await bed.berth.setDrain(pool, 'n3', true);
    await bed.berth.snapshot(pool);
    await bed.berth.removeNode(pool, 'n3');
    bed.now = (bed.now + 1000) as typeof bed.now;
    await bed.berth.registerNode({ ...spec, labels: { rack: 'new' } });
    const { nodes } = await bed.berth.snapshot(pool);
    const node = nodes.find(({ nodeId }) => nodeId === 'n3');
    expect(node).toMatchObject({ labels: { rack: 'new' }, capacity: { cpu: 5 }, drain: false });
    expect((await bed.berth.node(pool, 'n3')).events).toEqual([]);
  });
});
