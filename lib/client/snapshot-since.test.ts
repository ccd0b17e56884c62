import {
  BatchGetItemCommand,
  DeleteItemCommand,
  QueryCommand,
  TransactGetItemsCommand,
} from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type BerthBed, startBerthBed } from '../../test/support/berth-bed.ts';
import { marshall } from '../store/dynamo.ts';
import type { EpochMs } from '../time.ts';
import { berthOver } from './berth.ts';
import type { Berth, PoolSnapshot } from './index.ts';

/** So many that to read the few that changed is cheaper than to read all. */
const NODES = 40;

let bed: BerthBed;
let pools = 0;
let pool: string;
let plans = 0;
/** A client that notes what it reads. */
let berth: Berth;
let reads: object[] = [];
/** Changes an answer before the client gets it. */
let answered: (command: object, answer: unknown) => unknown = (_command, answer) => answer;

beforeAll(async () => {
  bed = await startBerthBed();
  const { dynamo } = bed.connection;
  const send = async (command: object) => {
    reads.push(command);
    return answered(command, await (dynamo.send as (command: object) => Promise<unknown>)(command));
  };
  const proxy = new Proxy(dynamo, { get: (target, name) => (name === 'send' ? send : Reflect.get(target, name)) });
  berth = berthOver({ ...bed.connection, dynamo: proxy });
});
afterAll(() => bed.stop());

beforeEach(async () => {
  pool = `p${pools++}`;
  answered = (_command, answer) => answer;
  await bed.berth.registerPool({ pool, shards: 2, settings: { tracker: { threshold: 1 }, ineligibleForSeconds: 60 } });
  await bed.berth.registerNodes(
    Array.from({ length: NODES }, (_, at) => ({ pool, nodeId: `n${at}`, capacity: { cpu: 1000 } })),
  );
});

const placement = (taskId: string, nodeId: string, cpu = 100) => ({
  ...{ taskId, serviceId: pool, slot: plans, nodeId },
  resources: { cpu },
});

async function place(nodeId: string, cpu = 100) {
  const planId = `plan-${plans++}`;
  await bed.berth.push({ planId, pool, placements: [placement(`${planId}-t`, nodeId, cpu)] });
  await bed.applyWaiting();
  const result = await bed.berth.result(planId);
  if (!result) throw new Error(`plan ${planId} has no result`);
  return result;
}

/** What a snapshot is without when it was read. */
function shown({ readAt: _when, nodes, ...rest }: PoolSnapshot) {
  return { ...rest, nodes: nodes.toSorted((a, b) => (a.nodeId < b.nodeId ? -1 : 1)) };
}

const fullReads = () => reads.filter((command) => command instanceof QueryCommand).length;
const nodesRead = () =>
  reads
    .filter((command) => command instanceof BatchGetItemCommand)
    .flatMap(({ input }) => input.RequestItems?.[bed.database.tables.nodes]?.Keys ?? []).length;

describe('a snapshot since an earlier one', () => {
  it('reads what commits have changed and nothing else, and shows what a whole read shows', async () => {
    const since = await berth.snapshot(pool);
    await place('n3');
    await place('n7');
    await place('n3');
    reads = [];
    const refreshed = await berth.snapshot(pool, { since });
    expect(fullReads()).toBe(0);
    expect(nodesRead()).toBe(2);
    expect(shown(refreshed)).toEqual(shown(await berth.snapshot(pool)));
    expect(refreshed.index).toBe(since.index + 3);
    expect(refreshed.readAt).toBe(since.readAt);
  });

  it('reads nothing but the index where there was no commit', async () => {
    const since = await berth.snapshot(pool);
    reads = [];
    expect(shown(await berth.snapshot(pool, { since }))).toEqual(shown(since));
    expect(reads).toHaveLength(1);
  });

  it('passes over commits that changed no node: refusals, and settings', async () => {
    await bed.berth.changePool(pool, { tracker: { enabled: false } });
    const since = await berth.snapshot(pool);
    expect((await place('n1', 5000)).status).toBe('rejected');
    await bed.berth.changePool(pool, { stopRelease: 'terminal' });
    reads = [];
    const refreshed = await berth.snapshot(pool, { since });
    expect([fullReads(), nodesRead()]).toEqual([0, 0]);
    expect(refreshed).toMatchObject({ index: since.index + 2, settings: { stopRelease: 'terminal' } });
  });

  it('shows a node that was made ineligible, and that it is eligible again when its time has come', async () => {
    const since = await berth.snapshot(pool);
    const { ineligibleNodes, refreshIndex } = await place('n1', 5000);
    expect(ineligibleNodes).toEqual(['n1']);
    const marked = await berth.snapshot(pool, { since, atLeast: refreshIndex });
    const find = ({ nodes }: PoolSnapshot) => nodes.find(({ nodeId }) => nodeId === 'n1');
    expect(find(marked)).toMatchObject({ eligibility: 'ineligible', schedulable: false });
    bed.now = (bed.now + 60_000) as EpochMs;
    const later = await berth.snapshot(pool, { since: marked, maxAgeMs: 1_800_000 });
    expect(find(later)).toMatchObject({ eligibility: 'eligible', schedulable: true });
    expect(shown(later)).toEqual(shown(await berth.snapshot(pool)));
  });

  it('is read in full once it is too old, and then shows ends of tasks, registrations and removals', async () => {
    await place('n1');
    const since = await berth.snapshot(pool);
    await bed.berth.reportTask(
      { taskId: `plan-${plans - 1}-t`, serviceId: pool, slot: plans, nodeId: 'n1' },
      { state: 'failed' },
    );
    await bed.berth.registerNode({ pool, nodeId: 'new', capacity: { cpu: 1 } });
    await bed.berth.removeNode(pool, 'n9');
    bed.now = (bed.now + 30_000) as EpochMs;
    const young = await berth.snapshot(pool, { since });
    expect(young.nodes.map(({ nodeId }) => nodeId)).toEqual(since.nodes.map(({ nodeId }) => nodeId));
    bed.now = (bed.now + 1) as EpochMs;
    const old = await berth.snapshot(pool, { since });
    expect(old.readAt).toBe(bed.now);
    expect(old.nodes.find(({ nodeId }) => nodeId === 'n1')?.free.cpu).toBe(1000);
    expect(old.nodes.map(({ nodeId }) => nodeId)).toContain('new');
    expect(old.nodes.map(({ nodeId }) => nodeId)).not.toContain('n9');
  });

  it('reads the nodes that it is told to, whatever became of them', async () => {
    const since = await berth.snapshot(pool);
    await bed.berth.registerNode({ pool, nodeId: 'n1', capacity: { cpu: 50 }, labels: { rack: 'r2' } });
    await bed.berth.registerNode({ pool, nodeId: 'new', capacity: { cpu: 1 } });
    await bed.berth.setDrain(pool, 'n2', true);
    await bed.berth.removeNode(pool, 'n9');
    reads = [];
    const refreshed = await berth.snapshot(pool, { since, nodes: ['n1', 'n2', 'n9', 'new', 'nobody'] });
    expect(fullReads()).toBe(0);
    expect(shown(refreshed)).toEqual(shown(await berth.snapshot(pool)));
    expect(refreshed.nodes.find(({ nodeId }) => nodeId === 'n1')?.labels).toEqual({ rack: 'r2' });
  });

  it('is read in full where that is cheaper', async () => {
    const since = await berth.snapshot(pool);
    const planId = `plan-${plans++}`;
    const placements = Array.from({ length: 12 }, (_, at) => ({ ...placement(`${planId}-${at}`, `n${at}`), slot: at }));
    await bed.berth.push({ planId, pool, placements });
    await bed.applyWaiting();
    reads = [];
    const all = await berth.snapshot(pool, { since });
    expect(fullReads()).toBe(2);
    expect(all.nodes.filter(({ free }) => free.cpu === 900)).toHaveLength(12);
  });

  it('is read in full if the pool was made anew', async () => {
    const since = await berth.snapshot(pool);
    const Key = marshall({ pool });
    await bed.database.client.send(new DeleteItemCommand({ TableName: bed.database.tables.pools, Key }));
    await bed.berth.registerPool({ pool, shards: 2 });
    reads = [];
    expect((await berth.snapshot(pool, { since: { ...since, index: since.index + 5 } })).index).toBe(1);
    expect(fullReads()).toBe(2);
  });

  it('reads an account again that does not show its commit yet', async () => {
    const since = await berth.snapshot(pool);
    const before = since.nodes.find(({ nodeId }) => nodeId === 'n4');
    await place('n4');
    let late = 2;
    answered = (command, answer) => {
      const items = (answer as { Responses?: Record<string, Record<string, unknown>[]> }).Responses?.Nodes;
      if (!(command instanceof BatchGetItemCommand) || !items || late-- <= 0) return answer;
      for (const item of items) Object.assign(item, marshall({ index: before?.index, free: before?.free }));
      return answer;
    };
    const refreshed = await berth.snapshot(pool, { since });
    expect(refreshed.nodes.find(({ nodeId }) => nodeId === 'n4')?.free.cpu).toBe(900);
  });

  it('asks for records in a transaction, so that none is missed that is just being written', async () => {
    const since = await berth.snapshot(pool);
    await place('n4');
    reads = [];
    await berth.snapshot(pool, { since });
    expect(reads.some((command) => command instanceof TransactGetItemsCommand)).toBe(true);
  });

  it('must be of the same pool, and no older than records of changes are kept', async () => {
    const since = await berth.snapshot(pool);
    await bed.berth.registerPool({ pool: 'other' });
    await expect(berth.snapshot('other', { since })).rejects.toThrow(
      `since: a snapshot of pool other is expected, it is one of pool ${pool}`,
    );
    await expect(berth.snapshot(pool, { since, maxAgeMs: 3_600_000 })).rejects.toThrow(
      'maxAgeMs: expected a whole number from 0 to 1800000, got 3600000',
    );
  });
});

describe('a snapshot at or after an index', () => {
  it('waits until the pool has come to it', async () => {
    const { index } = await berth.snapshot(pool);
    let looks = 0;
    answered = async (_command, answer) => {
      if (++looks === 3) await bed.berth.changePool(pool, { stopRelease: 'terminal' });
      return answer;
    };
    expect((await berth.snapshot(pool, { atLeast: index + 1 })).index).toBe(index + 1);
    expect(looks).toBeGreaterThan(3);
  });

  it('gives up in time, or when it is told to', async () => {
    const { index } = await berth.snapshot(pool);
    await expect(berth.snapshot(pool, { atLeast: index + 1, timeoutMs: 50 })).rejects.toThrow(
      `pool ${pool} is at index ${index} and has not come to ${index + 1} in 50 ms`,
    );
    const signal = AbortSignal.abort(new Error('enough'));
    await expect(berth.snapshot(pool, { atLeast: index + 1, signal })).rejects.toThrow('enough');
  });
});
