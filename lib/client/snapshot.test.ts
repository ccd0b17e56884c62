import type { QueryCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type BerthBed, startBerthBed } from '../../test/support/berth-bed.ts';
import { faultAt, faultsInTurn } from '../../test/support/faults.ts';
import { faultyBerth } from '../../test/support/faulty-berth.ts';

let bed: BerthBed;
let pools = 0;
let pool: string;

beforeAll(async () => {
  bed = await startBerthBed();
});
afterAll(() => bed.stop());
beforeEach(async () => {
  pool = `p${pools++}`;
  await bed.berth.registerPool({ pool, shards: 4 });
  await bed.berth.registerNodes(
    Array.from({ length: 12 }, (_, at) => ({
      pool,
      nodeId: `n${at}`,
      capacity: { cpu: 1000 },
      labels: { rack: 'r1' },
    })),
  );
});

let plans = 0;
/** Places a task on each of three nodes; answers the index of the commit. */
async function place(): Promise<number> {
  const planId = `${pool}-plan-${plans++}`;
  const placements = [0, 1, 2].map((at) => ({
    ...{ taskId: `${planId}-${at}`, serviceId: pool, slot: plans * 3 + at, nodeId: `n${at}` },
    resources: { cpu: 10 },
  }));
  await bed.berth.push({ planId, pool, placements });
  await bed.applyWaiting();
  return (await bed.berth.result(planId))?.index ?? 0;
}

describe('a snapshot', () => {
  it('shows every commit up to its index, whatever is committed while it is read', async () => {
    const committed: number[] = [];
    for (let number = 1; number <= 6; number++) {
      const meanwhile = async () => committed.push(await place());
      const { berth } = faultyBerth(bed, faultAt(number, { meanwhile }));
      const { index, nodes } = await berth.snapshot(pool);
      const upTo = committed.filter((commit) => commit <= index).length;
      for (const { nodeId, free } of nodes.filter((view) => ['n0', 'n1', 'n2'].includes(view.nodeId))) {
        expect(1000 - (free.cpu ?? 0), `${nodeId} at ${index}`).toBeGreaterThanOrEqual(upTo * 10);
      }
    }
    expect(committed).toHaveLength(6);
  });

  it('asks for the index first, and for what is there now', async () => {
    const { dynamo } = bed.connection;
    const inputs: { ConsistentRead?: boolean | undefined }[] = [];
    const { berth, requests } = faultyBerth({
      ...bed,
      connection: {
        ...bed.connection,
        dynamo: new Proxy(dynamo, {
          get: (target, name) =>
            name === 'send'
              ? (command: QueryCommand) => {
                  inputs.push(command.input);
                  return dynamo.send(command);
                }
              : Reflect.get(target, name),
        }),
      },
    });
    await berth.snapshot(pool);
    expect(requests[0]).toBe('GetItem');
    expect(inputs.length).toBeGreaterThan(4);
    for (const input of inputs) expect(input.ConsistentRead).toBe(true);
  });

  it('reads profiles once, and again those of a node that was registered again', async () => {
    const { berth, requests } = faultyBerth(bed);
    const queries = async (read: () => Promise<unknown>) => {
      const before = requests.length;
      await read();
      return requests.slice(before).filter((name) => name === 'Query').length;
    };
    // Four shards of accounts, and as many of profiles.
    expect(await queries(() => berth.snapshot(pool))).toBe(8);
    expect(await queries(() => berth.snapshot(pool))).toBe(4);
    await place();
    expect(await queries(() => berth.snapshot(pool))).toBe(4);
    await bed.berth.registerNode({ pool, nodeId: 'n5', capacity: { cpu: 1000 }, labels: { rack: 'r2' } });
    expect(await queries(() => berth.snapshot(pool))).toBe(5);
    const { nodes } = await berth.snapshot(pool);
    expect(nodes.find(({ nodeId }) => nodeId === 'n5')?.labels).toEqual({ rack: 'r2' });
    expect(nodes.find(({ nodeId }) => nodeId === 'n6')?.labels).toEqual({ rack: 'r1' });
  });

  it('comes about while reads are throttled, fail and get lost', async () => {
    const faults = ['throttled', undefined, 'lost-before', 'server-error', undefined, 'lost-after'] as const;
    const { berth } = faultyBerth(bed, faultsInTurn(faults));
    expect((await berth.snapshot(pool)).nodes).toHaveLength(12);
  });

  it('shows what nobody may place on as not schedulable', async () => {
    await bed.berth.registerNodes([
      { pool, nodeId: 'n0', capacity: {}, status: 'down' },
      { pool, nodeId: 'n1', capacity: {}, eligibility: 'ineligible' },
      { pool, nodeId: 'n2', capacity: {}, drain: true },
    ]);
    const { nodes } = await bed.berth.snapshot(pool);
    const not = nodes.filter(({ schedulable }) => !schedulable).map(({ nodeId }) => nodeId);
    expect(not.sort()).toEqual(['n0', 'n1', 'n2']);
  });
});
