import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type BerthBed, startBerthBed } from '../../test/support/berth-bed.ts';
import type { FaultScript } from '../../test/support/faults.ts';
import { faultyClient } from '../../test/support/faulty-client.ts';
import type { RegisteredNode } from '../scaler/observation.ts';
import type { NodeRegistry } from '../scaler/ports.ts';
import type { Connection } from './connection.ts';
import { nodeRegistry } from './node-registry.ts';

let bed: BerthBed;
let berthNodes: NodeRegistry;
let pool: string;
let pools = 0;

beforeAll(async () => {
  bed = await startBerthBed();
  berthNodes = nodeRegistry(bed.connection, 'prod');
});
afterAll(() => bed.stop());
beforeEach(async () => {
  pool = `p${pools++}`;
  await bed.berth.registerPool({ pool, shards: 3 });
});

const specOf = (nodeId: string, fields: object = {}) => ({
  pool,
  nodeId,
  capacity: { cpu: 1000, memory: 512 },
  status: 'ready' as const,
  labels: { mark: 'ours' },
  ...fields,
});

/** The connection of a function that was just started, to which the faults of `script` happen. */
function struck(script: FaultScript): { readonly connection: Connection; readonly requests: readonly string[] } {
  const { client, requests } = faultyClient(bed.connection.dynamo, script);
  return { connection: { ...bed.connection, dynamo: client, shards: new Map() }, requests };
}

async function seen(node: string): Promise<RegisteredNode> {
  const stored = (await berthNodes.read(new Map([[pool, [node]]]))).get(pool)?.get(node);
  if (!stored) throw new Error(`no node ${node}`);
  return stored;
}

/** Places a task of 100 thousandths of a core on each of `nodes`. */
async function place(...nodes: readonly string[]): Promise<void> {
  const tasks = nodes.map((nodeId, slot) => ({ taskId: `t-${pool}-${slot}`, serviceId: 'web', slot, nodeId }));
  const placements = tasks.map((task) => ({ ...task, resources: { cpu: 100 } }));
  await bed.berth.push({ planId: `plan-${pool}`, pool, placements });
  await bed.applyWaiting();
}

describe('nodes', () => {
  it('are registered, read, listed, changed and removed as by the client', async () => {
    expect(await berthNodes.register([{ spec: specOf('n1') }, { spec: specOf('n2', { drain: true }) }])).toEqual([]);
    const n1 = await seen('n1');
    expect(n1).toEqual({
      nodeId: 'n1',
      capacity: { cpu: 1000, memory: 512 },
      labels: { mark: 'ours' },
      status: 'ready',
      drain: false,
      ineligible: false,
      revision: expect.any(Number),
    });
    expect((await berthNodes.list(pool)).map(({ nodeId, drain }) => [nodeId, drain]).sort()).toEqual([
      ['n1', false],
      ['n2', true],
    ]);
    await bed.berth.setEligibility(pool, 'n1', 'ineligible');
    await place('n2');
    await berthNodes.register([{ spec: specOf('n1', { capacity: { cpu: 5 } }), seen: n1 }]);
    expect(await seen('n1')).toMatchObject({ capacity: { cpu: 5 }, ineligible: true });
    expect(await berthNodes.remove(pool, await seen('n1'), { force: false })).toBe(0);
    expect((await berthNodes.list(pool)).map(({ nodeId }) => nodeId)).toEqual(['n2']);
  });

  it('that tasks hold go by force alone, and their tasks are orphaned', async () => {
    await berthNodes.register([{ spec: specOf('n1') }]);
    await place('n1');
    expect(await berthNodes.remove(pool, await seen('n1'), { force: false })).toBe('held');
    const node = await seen('n1');
    expect(await berthNodes.remove(pool, node, { force: true })).toBe(1);
    expect(await berthNodes.remove(pool, node, { force: true })).toBe(0);
    for await (const task of bed.berth.tasks(pool)) expect(task).toMatchObject({ state: 'orphaned', released: true });
  });

  it('are ineligible no longer than they were made so for', async () => {
    const settings = { tracker: { threshold: 1 }, ineligibleForSeconds: 60 };
    await bed.berth.registerPool({ pool, settings });
    await berthNodes.register([{ spec: specOf('n1') }]);
    const task = { taskId: `t-${pool}`, serviceId: 'web', slot: 0, nodeId: 'n1', resources: { cpu: 9999 } };
    await bed.berth.push({ planId: `plan-${pool}`, pool, placements: [task] });
    await bed.applyWaiting();
    expect((await seen('n1')).ineligible).toBe(true);
    bed.now = (bed.now + 61_000) as typeof bed.now;
    expect((await seen('n1')).ineligible).toBe(false);
  });

  it('that somebody else has registered since are neither changed nor removed', async () => {
    await berthNodes.register([{ spec: specOf('n1') }]);
    const before = await seen('n1');
    await bed.berth.registerNode({ pool, nodeId: 'n1', capacity: { cpu: 7 } });
    await bed.berth.registerNode({ pool, nodeId: 'n2', capacity: { cpu: 7 } });
    const entries = [{ spec: specOf('n1'), seen: before }, { spec: specOf('n2') }, { spec: specOf('n3') }];
    expect([...(await berthNodes.register(entries))].sort()).toEqual(['n1', 'n2']);
    for (const force of [true, false]) {
      await expect(berthNodes.remove(pool, before, { force })).rejects.toMatchObject({ kind: 'conflict' });
    }
    const after = new Map((await berthNodes.list(pool)).map((node) => [node.nodeId, node]));
    expect(after.get('n1')).toMatchObject({ capacity: { cpu: 7 }, labels: {}, status: 'ready', ineligible: false });
    expect(after.get('n2')).toMatchObject({ capacity: { cpu: 7 } });
    expect(after.get('n3')).toMatchObject({ labels: { mark: 'ours' } });
  });

  it('of a pool that does not exist are none', async () => {
    expect(await berthNodes.list('nowhere')).toEqual([]);
    expect([...(await berthNodes.read(new Map([['nowhere', ['n1']]]))).keys()]).toEqual([]);
    await expect(berthNodes.register([{ spec: specOf('n1', { pool: 'nowhere' }) }])).rejects.toMatchObject({
      name: 'CallError',
      kind: 'refused',
    });
  });
});

it('reads the nodes of twenty pools with as many requests as those of one', async () => {
  const names = Array.from({ length: 20 }, (_, at) => `many-${at}`);
  for (const name of names) await bed.berth.registerPool({ pool: name });
  await berthNodes.register(names.map((name, at) => ({ spec: specOf(`n${at}`, { pool: name }) })));
  const requestsOf = async (nodes: ReadonlyMap<string, readonly string[]>) => {
    const { connection, requests } = struck(() => undefined);
    const cold = nodeRegistry(connection, 'prod');
    await cold.read(nodes);
    const first = [...requests];
    await cold.read(nodes);
    return { first, second: requests.slice(first.length) };
  };
  const one = await requestsOf(new Map([['many-0', names.map((_, at) => `n${at}`)]]));
  expect(one).toEqual({ first: ['BatchGetItem', 'BatchGetItem'], second: ['BatchGetItem'] });
  expect(await requestsOf(new Map(names.map((name, at) => [name, [`n${at}`]])))).toEqual(one);
});

describe('an answer that is none', () => {
  it('is told by what it means for the tick', async () => {
    const denied = nodeRegistry(struck(() => 'denied').connection, 'prod');
    await expect(denied.list(pool)).rejects.toMatchObject({ kind: 'denied', code: 'AccessDeniedException' });
  });

  it('is not waited for, once the tick has no time left', async () => {
    const ends = new AbortController();
    const { connection, requests } = struck(() => {
      ends.abort();
      return 'server-error';
    });
    const call = nodeRegistry(connection, 'prod', ends.signal).list(pool);
    await expect(call).rejects.toMatchObject({ name: 'CallError', kind: 'unknown', code: 'Timeout' });
    expect(requests).toHaveLength(1);
  });

  it('of a registration that was done all the same is made good by doing it again', async () => {
    let lost = false;
    const { connection } = struck(({ name }) => {
      if (lost || name !== 'TransactWriteItems') return undefined;
      lost = true;
      return 'lost-after';
    });
    await nodeRegistry(connection, 'prod').register([{ spec: specOf('n1') }]);
    expect(await seen('n1')).toMatchObject({ labels: { mark: 'ours' } });
  });
});
