import { GetItemCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { NodeId } from '../../lib/ids.ts';
import { type Account, accountOf, exchanged } from '../../lib/nodes/account.ts';
import { accountFromItem, accountItem, accountKey } from '../../lib/store/account-item.ts';
import { type Item, marshall, unmarshall } from '../../lib/store/dynamo.ts';
import { poolItem, taskFromItem, taskItem } from '../../lib/store/records.ts';
import { holdingOf } from '../../lib/tasks/holding.ts';
import type { SlotWrite } from '../../lib/tasks/reap.ts';
import type { Task } from '../../lib/tasks/task.ts';
import type { EpochMs } from '../../lib/time.ts';
import { NOW } from '../support/builders.ts';
import { type Fault, faultAt } from '../support/faults.ts';
import { faultyClient } from '../support/faulty-client.ts';
import { nodeOf, poolOf } from '../support/plans.ts';
import { failing, type SlotBed, startSlotBed } from '../support/slot-bed.ts';

let bed: SlotBed;
beforeAll(async () => {
  bed = await startSlotBed();
});
afterAll(() => bed.database.stop());

describe('deleting', () => {
  it('takes tasks that are as they were seen, 25 a request', async () => {
    const { slotKey } = await bed.start(...Array.from({ length: 60 }, () => ({})));
    const writes = await bed.writesOf(slotKey, 'history');
    const { client, requests } = faultyClient(bed.database.client);
    expect(await bed.open(client).write(writes, NOW)).toEqual(Array(60).fill('done'));
    expect(requests).toEqual(Array(3).fill('BatchExecuteStatement'));
    expect((await bed.open().readSlot(slotKey)).tasks).toEqual([]);
  });

  it.each([
    ['state', { state: 'complete' as const }],
    ['desired state', { desiredState: 'remove' as const }],
    ['version', { version: 4 }],
  ])('leaves a task alone whose %s has changed, and takes the others', async (_what, other) => {
    const { slotKey, tasks } = await bed.start({}, {}, {});
    const writes = await bed.writesOf(slotKey, 'history');
    const changed = { ...(tasks[1] as Task), ...other };
    await bed.put(bed.database.tables.tasks, [taskItem(changed)]);
    expect(await bed.open().write(writes, NOW)).toEqual(['done', 'changed', 'done']);
    expect(taskFromItem((await bed.stored(changed)) ?? {})).toEqual(changed);
  });

  it('of what is gone is done', async () => {
    const { slotKey } = await bed.start({}, {});
    const writes = await bed.writesOf(slotKey, 'removable');
    await bed.open().write(writes.slice(0, 1), NOW);
    expect(await bed.open().write(writes, NOW)).toEqual(['done', 'done']);
  });

  it.each([
    ['ConditionalCheckFailed', 'changed'],
    ['TransactionConflict', 'changed'],
    ['ProvisionedThroughputExceeded', { name: 'RetryError' }],
    ['ThrottlingError', { name: 'RetryError' }],
    ['RequestLimitExceeded', { name: 'RetryError' }],
    ['InternalServerError', { name: 'RetryError' }],
    ['ValidationError', { name: 'PermanentError' }],
    ['ResourceNotFound', { name: 'BugError' }],
    ['AccessDenied', { name: 'BugError' }],
  ] as const)('tells of each statement what became of it: %s', async (Code, outcome) => {
    const { slotKey } = await bed.start({}, {}, {});
    const writes = await bed.writesOf(slotKey, 'history');
    const store = bed.open(failing([undefined, { Code, Message: 'as told' }, undefined]));
    const [first, second, third] = await store.write(writes, NOW);
    expect([first, third]).toEqual(['done', 'done']);
    if (typeof outcome === 'string') expect(second).toBe(outcome);
    else expect(second).toMatchObject({ ...outcome, message: `${Code}: as told` });
  });

  it('that is not answered is no success', async () => {
    const { slotKey } = await bed.start({}, {});
    const outcomes = await bed.open(failing([undefined])).write(await bed.writesOf(slotKey, 'history'), NOW);
    expect(outcomes).toEqual(['done', expect.objectContaining({ name: 'BugError' })]);
  });

  it.each<[Fault, string]>([
    ['throttled', 'RetryError'],
    ['lost-after', 'RetryError'],
    ['denied', 'BugError'],
  ])('by a request that fails (%s) fails for its tasks alone', async (fault, name) => {
    const { slotKey } = await bed.start(...Array.from({ length: 30 }, () => ({})));
    const writes = await bed.writesOf(slotKey, 'history');
    const { client } = faultyClient(bed.database.client, faultAt(1, fault));
    const outcomes = await bed.open(client).write(writes, NOW);
    expect(outcomes.slice(0, 25)).toEqual(Array(25).fill(expect.objectContaining({ name })));
    expect(outcomes.slice(25)).toEqual(Array(5).fill('done'));
  });

  it('ends when there is no time left', async () => {
    const { slotKey } = await bed.start({});
    const writes = await bed.writesOf(slotKey, 'history');
    const signal = AbortSignal.abort();
    const [outcome] = await bed.open(bed.database.client, signal).write(writes, NOW);
    expect(outcome).toMatchObject({ name: 'RetryError' });
    await expect(bed.open(bed.database.client, signal).readSlot(slotKey)).rejects.toMatchObject({ name: 'RetryError' });
  });
});

describe('deleting a task that has given nothing back', () => {
  /** A slot of which the first task holds 3 cpu of its node, and a second one another 2. */
  async function holding(account: (made: Account) => Account | undefined = (made) => made) {
    const held = { released: false, state: 'orphaned' } as const;
    const { slotKey, tasks, pool } = await bed.start(
      { ...held, resources: { cpu: 3 } },
      { ...held, resources: { cpu: 2 }, desiredState: 'remove' },
    );
    const made = exchanged(accountOf(nodeOf({ nodeId: 'n1', pool, capacity: { cpu: 10 } })), {
      gives: [],
      takes: tasks.map(holdingOf),
    });
    await bed.put(bed.database.tables.pools, [poolItem(poolOf(pool, { shards: 4 }))]);
    const key = accountKey(pool, 4, 'n1' as NodeId);
    const stored = account(made);
    if (stored) await bed.put(bed.database.tables.nodes, [accountItem(key, stored)]);
    const readAccount = async () => {
      const command = new GetItemCommand({ TableName: bed.database.tables.nodes, Key: marshall(key) });
      const { Item } = await bed.database.client.send(command);
      return Item && accountFromItem(unmarshall(Item));
    };
    return { slotKey, tasks, readAccount };
  }

  it('gives it back to its node in the same transaction', async () => {
    const { slotKey, readAccount } = await holding();
    const { client, requests } = faultyClient(bed.database.client);
    expect(await bed.open(client).write((await bed.writesOf(slotKey, 'history')).slice(0, 1), NOW)).toEqual(['done']);
    expect(requests).toEqual(['GetItem', 'TransactWriteItems']);
    expect((await readAccount())?.free.cpu).toBe(8);
    expect((await bed.open().readSlot(slotKey)).tasks).toHaveLength(1);
  });

  it('gives back of each what it held, however often it is told to', async () => {
    const { slotKey, readAccount } = await holding();
    const writes = await bed.writesOf(slotKey, 'history');
    expect(await bed.open().write(writes, NOW)).toEqual(['done', 'done']);
    expect(await bed.open().write(writes, NOW)).toEqual(['changed', 'changed']);
    expect((await readAccount())?.free).toMatchObject({ cpu: 10 });
  });

  it('does neither if the task has changed', async () => {
    const { slotKey, tasks, readAccount } = await holding();
    const writes = await bed.writesOf(slotKey, 'history');
    await bed.put(bed.database.tables.tasks, [taskItem({ ...(tasks[0] as Task), version: 9 })]);
    expect(await bed.open().write(writes.slice(0, 1), NOW)).toEqual(['changed']);
    expect((await readAccount())?.free.cpu).toBe(5);
  });

  it('gives nothing to a node that is gone', async () => {
    const { slotKey, readAccount } = await holding(() => undefined);
    expect(await bed.open().write(await bed.writesOf(slotKey, 'history'), NOW)).toEqual(['done', 'done']);
    expect((await bed.open().readSlot(slotKey)).tasks).toEqual([]);
    expect(await readAccount()).toBeUndefined();
  });

  it('fails and keeps it if it is not to be read as a whole', async () => {
    const { slotKey, tasks, readAccount } = await holding();
    const { createdAt: _missing, ...item } = taskItem(tasks[0] as Task) as Item;
    await bed.put(bed.database.tables.tasks, [item]);
    const [outcome] = await bed.open().write((await bed.writesOf(slotKey, 'history')).slice(0, 1), NOW);
    expect(outcome).toMatchObject({ name: 'PermanentError', message: expect.stringContaining('t000') });
    expect(await bed.stored(tasks[0] as Task)).toBeDefined();
    expect((await readAccount())?.free.cpu).toBe(5);
  });

  it('asks for the shards of a pool once', async () => {
    const { slotKey } = await holding();
    const { client, requests } = faultyClient(bed.database.client);
    const store = bed.open(client);
    for (const write of await bed.writesOf(slotKey, 'history'))
      expect(await store.write([write], NOW)).toEqual(['done']);
    expect(requests.filter((name) => name === 'GetItem')).toHaveLength(1);
  });

  it('tells of a pool that is not there', async () => {
    const { slotKey } = await bed.start({ released: false, state: 'orphaned' });
    const [outcome] = await bed.open().write(await bed.writesOf(slotKey, 'history'), NOW);
    expect(outcome).toMatchObject({ name: 'BugError' });
  });

  it.each<[Fault, string | object]>([
    ['conflict', 'changed'],
    ['throttled', { name: 'RetryError' }],
    ['lost-before', { name: 'RetryError' }],
  ])('fails alone (%s)', async (fault, outcome) => {
    const { slotKey, readAccount } = await holding();
    const { client } = faultyClient(bed.database.client, faultAt(2, fault));
    const [first, second] = await bed.open(client).write(await bed.writesOf(slotKey, 'history'), NOW);
    if (typeof outcome === 'string') expect(first).toBe(outcome);
    else expect(first).toMatchObject(outcome);
    expect(second).toBe('done');
    expect((await readAccount())?.free.cpu).toBe(7);
  });
});

describe('marking', () => {
  it('wants the tasks removed, and takes from them what tells of an end', async () => {
    const { slotKey, tasks } = await bed.start({ state: 'running', desiredState: 'running', released: false });
    const later = (NOW + 5) as EpochMs;
    expect(await bed.open().write(await bed.writesOf(slotKey, 'mark'), later)).toEqual(['done']);
    const after = (await bed.stored(tasks[0] as Task)) ?? {};
    const marked = { ...(tasks[0] as Task), version: 4, desiredState: 'remove', desiredAt: later };
    expect(taskFromItem(after)).toEqual(marked);
    expect(after).not.toHaveProperty('phase');
  });

  it('leaves all of a request alone if one of them has changed, for them to be looked at again', async () => {
    const { slotKey, tasks } = await bed.start({ state: 'running' }, { state: 'running' });
    const writes = await bed.writesOf(slotKey, 'mark');
    const changed = { ...(tasks[1] as Task), version: 8 };
    await bed.put(bed.database.tables.tasks, [taskItem(changed)]);
    expect(await bed.open().write(writes, NOW)).toEqual(['changed', 'changed']);
    expect(await bed.open().write(await bed.writesOf(slotKey, 'mark'), NOW)).toEqual(['done', 'done']);
  });

  it('stands beside deletes in the order in which they were asked for', async () => {
    const { slotKey } = await bed.start({ state: 'running' }, {}, { state: 'running' }, {});
    const writes = (await bed.writesOf(slotKey, 'mark')).map(
      ({ task }): SlotWrite => ({ task, what: task.state === 'running' ? 'mark' : 'removable' }),
    );
    const changed = writes[1]?.task as unknown as { item: Item };
    await bed.put(bed.database.tables.tasks, [{ ...changed.item, version: 9 }]);
    expect(await bed.open().write(writes, NOW)).toEqual(['done', 'changed', 'done', 'done']);
  });
});
