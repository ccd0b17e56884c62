import { GetItemCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { NodeId, PlanId, PoolName } from '../../lib/ids.ts';
import type { PlanInput } from '../../lib/plans/plan.ts';
import { PLATFORM } from '../../lib/settings.ts';
import { accountKey } from '../../lib/store/account-item.ts';
import { marshall } from '../../lib/store/dynamo.ts';
import { type BerthBed, startBerthBed } from '../support/berth-bed.ts';
import { itemBytes } from '../support/item-size.ts';

/** Ports and volumes are anybody's to name: a node that is asked for more than an item holds refuses, and no plan is lost. */

const pool = 'crowded';
let bed: BerthBed;
beforeAll(async () => {
  bed = await startBerthBed();
  await bed.berth.registerPool({ pool, shards: 1 });
});
afterAll(() => bed.stop());

let plans = 0;
async function apply(plan: Partial<PlanInput>) {
  const planId = `plan-${plans++}` as PlanId;
  await bed.berth.push({ planId, pool, ...plan });
  await bed.applyWaiting();
  const result = await bed.berth.result(planId);
  // Without a result it is parked.
  if (!result) throw new Error(`${planId} has no result`);
  return result;
}

const ref = (at: number, nodeId: string) => ({
  taskId: `${nodeId}-${'t'.repeat(110)}-${at}`,
  serviceId: 's',
  slot: at,
  nodeId,
});
const portsFrom = (from: number, count: number, ignoreCollision: boolean) =>
  Array.from({ length: count }, (_, at) => ({ ip: `fe80::${'0'.repeat(39)}`, value: from + at, ignoreCollision }));

async function bytesOf(nodeId: string): Promise<number> {
  const Key = marshall(accountKey(pool as PoolName, 1, nodeId as NodeId));
  const { Item } = await bed.database.client.send(new GetItemCommand({ TableName: bed.database.tables.nodes, Key }));
  return itemBytes(Item ?? {});
}

/** By conditions, and by what was read: of so many ports at once, conditions cannot speak. */
test.each([
  ['few', 20, false],
  ['few, past their holders,', 20, true],
  ['many', 64, false],
  ['many, past their holders,', 64, true],
] as const)(
  'a node that is asked for %s ports again and again refuses before its account is full',
  async (_few, count, ignoring) => {
    const nodeId = `n${count}-${ignoring}`;
    await bed.berth.registerNode({ nodeId, pool, capacity: { cpu: 100 } });
    const place = (at: number) =>
      apply({ placements: [{ ...ref(at, nodeId), ports: portsFrom(at * count, count, ignoring) }] });
    let at = 0;
    let result = await place(at);
    for (; result.status === 'applied' && at < 100; result = await place(at)) at++;
    expect(result).toMatchObject({ status: 'rejected', rejectedNodes: [{ nodeId, code: 'max-tasks' }] });
    expect(result.rejectedNodes[0]?.message).toMatch(
      /^the ports and volumes asked for take \d+ bytes to write down, \d+ of 98304 are left on the node$/,
    );
    const bytes = await bytesOf(nodeId);
    expect(bytes).toBeGreaterThan(80_000);
    expect(bytes).toBeLessThan(PLATFORM.itemBytes / 2);

    expect(await apply({ placements: [{ ...ref(at, nodeId), resources: { cpu: 1 } }] })).toMatchObject({
      status: 'applied',
    });
    expect(await apply({ stops: [ref(0, nodeId)] })).toMatchObject({ status: 'applied' });
    expect(await place(at + 1)).toMatchObject({ status: 'applied' });
    expect((await bed.berth.audit(pool)).drifts).toEqual([]);
  },
);
