import {
  type BatchStatementError,
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
} from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { NodeId, PoolName, ServiceId } from '../../lib/ids.ts';
import { type Account, accountOf, exchanged } from '../../lib/nodes/account.ts';
import { accountFromItem, accountItem, accountKey } from '../../lib/store/account-item.ts';
import { type Item, marshall, unmarshall } from '../../lib/store/dynamo.ts';
import { CLUSTER_KEY } from '../../lib/store/keys.ts';
import { poolItem, taskFromItem, taskItem } from '../../lib/store/records.ts';
import { serviceItem } from '../../lib/store/services.ts';
import { slotStore } from '../../lib/store/slot-store.ts';
import { sweepStore } from '../../lib/store/sweep-store.ts';
import { holdingOf } from '../../lib/tasks/holding.ts';
import type { SlotStore, SlotWrite } from '../../lib/tasks/reap.ts';
import { serviceSpecSchema } from '../../lib/tasks/service.ts';
import { newSweep, type SweepPage } from '../../lib/tasks/sweep.ts';
import { NO_SERVICE, type SlotKey, type Task } from '../../lib/tasks/task.ts';
import type { EpochMs } from '../../lib/time.ts';
import { NOW, taskOf } from '../support/builders.ts';
import { type Database, startDatabase } from '../support/database.ts';
import { type Fault, faultAt } from '../support/faults.ts';
import { faultyClient } from '../support/faulty-client.ts';
import { nodeOf, poolOf } from '../support/plans.ts';

let database: Database;
beforeAll(async () => {
  database = await startDatabase();
});
afterAll(() => database.stop());

let services = 0;

/** A service of its own for each test, whose slot 1 holds what `states` say. */
async function start(...states: readonly (Partial<Task> & { resources?: Record<string, number> })[]) {
  const serviceId = `svc-${++services}.` as ServiceId;
  const pool = `pool-${services}` as PoolName;
  const tasks = states.map((state, at) => {
    const { resources = {}, ...rest } = state;
    const ended = { state: 'failed', desiredState: 'shutdown', released: true } as const;
    return taskOf(`t${String(at).padStart(3, '0')}`, { serviceId, resources }, { ...ended, pool, ...rest });
  });
  await put(database.tables.tasks, tasks.map(taskItem));
  return { serviceId, pool, slotKey: `${serviceId}#1` as SlotKey, tasks };
}

async function put(table: string, items: readonly object[]): Promise<void> {
  for (const item of items) await database.client.send(new PutItemCommand({ TableName: table, Item: marshall(item) }));
}

async function stored({ slotKey, taskId }: Pick<Task, 'slotKey' | 'taskId'>): Promise<Item | undefined> {
  const Key = marshall({ slotKey, taskId });
  const { Item } = await database.client.send(new GetItemCommand({ TableName: database.tables.tasks, Key }));
  return Item && unmarshall(Item);
}

function open(client: DynamoDBClient = database.client, signal?: AbortSignal): SlotStore {
  return slotStore(client, database.tables, new Map(), signal);
}

/** What is to be done to each task of a slot, as it is read now. */
async function writesOf(slotKey: SlotKey, what: SlotWrite['what']): Promise<SlotWrite[]> {
  const { tasks } = await open().readSlot(slotKey);
  return tasks.map((task) => ({ task, what }));
}

/** A client whose statements fail with `errors`, one each; undefined: it does not. */
function failing(errors: readonly (BatchStatementError | undefined)[]): DynamoDBClient {
  const send = async () => ({ Responses: errors.map((failure) => (failure ? { Error: failure } : {})) });
  return { send } as unknown as DynamoDBClient;
}

describe('a slot', () => {
  it('is read whole, and nothing else is', async () => {
    const { slotKey, serviceId } = await start({ state: 'running', desiredState: 'running' }, {});
    await put(database.tables.tasks, [
      taskItem(taskOf('other', { serviceId, slot: 10 })),
      taskItem(taskOf('another', { serviceId: `${serviceId}0` })),
    ]);
    const { tasks, malformed } = await open().readSlot(slotKey);
    expect(
      tasks.map(({ taskId, state, desiredState, version, released }) => [
        taskId,
        state,
        desiredState,
        version,
        released,
      ]),
    ).toEqual([
      ['t000', 'running', 'running', 3, true],
      ['t001', 'failed', 'shutdown', 3, true],
    ]);
    expect(malformed).toEqual([]);
  });

  it('is read whole where it takes more than one page', async () => {
    const { slotKey } = await start(...Array.from({ length: 6 }, () => ({ message: 'x'.repeat(300_000) })));
    const { client, requests } = faultyClient(database.client);
    const { tasks } = await open(client).readSlot(slotKey);
    expect(tasks).toHaveLength(6);
    expect(requests.length).toBeGreaterThan(1);
  });

  it('shows tasks that others have put there without times', async () => {
    const { slotKey } = await start();
    const bare = { slotKey, taskId: 'bare', version: 1, state: 'remove', desiredState: 'shutdown', released: true };
    await put(database.tables.tasks, [bare]);
    expect((await open().readSlot(slotKey)).tasks).toMatchObject([{ taskId: 'bare', state: 'remove' }]);
  });

  it.each([
    ['an unknown state', { state: 'lost' }],
    ['an unknown desired state', { desiredState: 'gone' }],
    ['no version', { version: undefined }],
    ['a time that is none', { appliedAt: 'yesterday' }],
    ['a time before all time', { stateTimes: { failed: -1 } }],
    ['a number past what is safe', { appliedAt: 2n ** 63n }],
    ['an id that is none', { taskId: '!' }],
  ])('keeps and tells of what is malformed: %s', async (_what, wrong) => {
    const { slotKey, tasks } = await start({}, {});
    const item = { ...taskItem(tasks[0] as Task), taskId: 'bad', ...wrong };
    await put(database.tables.tasks, [item]);
    const read = await open().readSlot(slotKey);
    expect(read.tasks).toHaveLength(2);
    expect(read.malformed).toEqual([{ key: `${slotKey} ${item.taskId}`, problem: expect.any(String) }]);
  });

  it('fails as a whole if a page of it does', async () => {
    const { slotKey } = await start({});
    const { client } = faultyClient(database.client, faultAt(1, 'throttled'));
    await expect(open(client).readSlot(slotKey)).rejects.toMatchObject({ name: 'RetryError' });
  });
});

describe('services', () => {
  it('are those that were ever set, the removed as such, and the limit of the cluster', async () => {
    const spec = serviceSpecSchema.parse({ serviceId: 'known', mode: 'global', restartMaxAttempts: 2 ** 64 });
    const removed = { ...spec, serviceId: 'removed' as ServiceId, removedAt: NOW };
    await put(database.tables.services, [
      serviceItem(spec),
      serviceItem(removed),
      { serviceId: CLUSTER_KEY, historyLimit: 7 },
    ]);
    const asked = new Set(['known', 'removed', 'never'] as ServiceId[]);
    const { services, clusterLimit } = await open().readServices(asked);
    expect(services).toEqual(
      new Map<string, unknown>([
        ['known', spec],
        ['removed', 'removed'],
      ]),
    );
    expect(spec.restartMaxAttempts).toBe(Number.MAX_SAFE_INTEGER);
    expect(clusterLimit).toBe(7);
  });

  it('are read a hundred at a time, and what is left out is asked for again', async () => {
    const ids = Array.from({ length: 150 }, (_, at) => `many-${at}` as ServiceId);
    const specs = ids.map((serviceId) => serviceSpecSchema.parse({ serviceId, mode: 'replicated' }));
    await put(database.tables.services, specs.map(serviceItem));
    const { client, requests } = faultyClient(database.client, faultAt(1, 'partly-throttled'));
    const { services } = await open(client).readServices(new Set(ids));
    expect(services.size).toBe(150);
    expect(requests).toEqual(['BatchGetItem', 'BatchGetItem', 'BatchGetItem']);
  });

  it('are no answer while the database is busy', async () => {
    const { client } = faultyClient(database.client, faultAt(1, 'nothing-processed'));
    const asking = open(client).readServices(new Set(['known' as ServiceId]));
    await expect(asking).rejects.toMatchObject({ name: 'RetryError' });
  });

  it('that are not of their shape are told, and count as never set', async () => {
    await put(database.tables.services, [{ serviceId: 'odd', mode: 'sideways' }]);
    const { services, malformed } = await open().readServices(new Set(['odd' as ServiceId]));
    expect([...services]).toEqual([]);
    expect(malformed).toMatchObject([{ key: 'service odd' }]);
  });
});

describe('deleting', () => {
  it('takes tasks that are as they were seen, 25 a request', async () => {
    const { slotKey } = await start(...Array.from({ length: 60 }, () => ({})));
    const writes = await writesOf(slotKey, 'history');
    const { client, requests } = faultyClient(database.client);
    expect(await open(client).write(writes, NOW)).toEqual(Array(60).fill('done'));
    expect(requests).toEqual(Array(3).fill('BatchExecuteStatement'));
    expect((await open().readSlot(slotKey)).tasks).toEqual([]);
  });

  it.each([
    ['state', { state: 'complete' as const }],
    ['desired state', { desiredState: 'remove' as const }],
    ['version', { version: 4 }],
  ])('leaves a task alone whose %s has changed, and takes the others', async (_what, other) => {
    const { slotKey, tasks } = await start({}, {}, {});
    const writes = await writesOf(slotKey, 'history');
    const changed = { ...(tasks[1] as Task), ...other };
    await put(database.tables.tasks, [taskItem(changed)]);
    expect(await open().write(writes, NOW)).toEqual(['done', 'changed', 'done']);
    expect(taskFromItem((await stored(changed)) ?? {})).toEqual(changed);
  });

  it('of what is gone is done', async () => {
    const { slotKey } = await start({}, {});
    const writes = await writesOf(slotKey, 'removable');
    await open().write(writes.slice(0, 1), NOW);
    expect(await open().write(writes, NOW)).toEqual(['done', 'done']);
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
    const { slotKey } = await start({}, {}, {});
    const writes = await writesOf(slotKey, 'history');
    const store = open(failing([undefined, { Code, Message: 'as told' }, undefined]));
    const [first, second, third] = await store.write(writes, NOW);
    expect([first, third]).toEqual(['done', 'done']);
    if (typeof outcome === 'string') expect(second).toBe(outcome);
    else expect(second).toMatchObject({ ...outcome, message: `${Code}: as told` });
  });

  it('that is not answered is no success', async () => {
    const { slotKey } = await start({}, {});
    const outcomes = await open(failing([undefined])).write(await writesOf(slotKey, 'history'), NOW);
    expect(outcomes).toEqual(['done', expect.objectContaining({ name: 'BugError' })]);
  });

  it.each<[Fault, string]>([
    ['throttled', 'RetryError'],
    ['lost-after', 'RetryError'],
    ['denied', 'BugError'],
  ])('by a request that fails (%s) fails for its tasks alone', async (fault, name) => {
    const { slotKey } = await start(...Array.from({ length: 30 }, () => ({})));
    const writes = await writesOf(slotKey, 'history');
    const { client } = faultyClient(database.client, faultAt(1, fault));
    const outcomes = await open(client).write(writes, NOW);
    expect(outcomes.slice(0, 25)).toEqual(Array(25).fill(expect.objectContaining({ name })));
    expect(outcomes.slice(25)).toEqual(Array(5).fill('done'));
  });

  it('ends when there is no time left', async () => {
    const { slotKey } = await start({});
    const writes = await writesOf(slotKey, 'history');
    const signal = AbortSignal.abort();
    const [outcome] = await open(database.client, signal).write(writes, NOW);
    expect(outcome).toMatchObject({ name: 'RetryError' });
    await expect(open(database.client, signal).readSlot(slotKey)).rejects.toMatchObject({ name: 'RetryError' });
  });
});

describe('deleting a task that has given nothing back', () => {
  /** A slot of which the first task holds 3 cpu of its node, and a second one another 2. */
  async function holding(account: (made: Account) => Account | undefined = (made) => made) {
    const held = { released: false, state: 'orphaned' } as const;
    const { slotKey, tasks, pool } = await start(
      { ...held, resources: { cpu: 3 } },
      { ...held, resources: { cpu: 2 }, desiredState: 'remove' },
    );
    const made = exchanged(accountOf(nodeOf({ nodeId: 'n1', pool, capacity: { cpu: 10 } })), {
      gives: [],
      takes: tasks.map(holdingOf),
    });
    await put(database.tables.pools, [poolItem(poolOf(pool, { shards: 4 }))]);
    const key = accountKey(pool, 4, 'n1' as NodeId);
    const stored = account(made);
    if (stored) await put(database.tables.nodes, [accountItem(key, stored)]);
    const readAccount = async () => {
      const command = new GetItemCommand({ TableName: database.tables.nodes, Key: marshall(key) });
      const { Item } = await database.client.send(command);
      return Item && accountFromItem(unmarshall(Item));
    };
    return { slotKey, tasks, readAccount };
  }

  it('gives it back to its node in the same transaction', async () => {
    const { slotKey, readAccount } = await holding();
    const { client, requests } = faultyClient(database.client);
    expect(await open(client).write((await writesOf(slotKey, 'history')).slice(0, 1), NOW)).toEqual(['done']);
    expect(requests).toEqual(['GetItem', 'TransactWriteItems']);
    expect((await readAccount())?.free.cpu).toBe(8);
    expect((await open().readSlot(slotKey)).tasks).toHaveLength(1);
  });

  it('gives back of each what it held, however often it is told to', async () => {
    const { slotKey, readAccount } = await holding();
    const writes = await writesOf(slotKey, 'history');
    expect(await open().write(writes, NOW)).toEqual(['done', 'done']);
    expect(await open().write(writes, NOW)).toEqual(['changed', 'changed']);
    expect((await readAccount())?.free).toMatchObject({ cpu: 10 });
  });

  it('does neither if the task has changed', async () => {
    const { slotKey, tasks, readAccount } = await holding();
    const writes = await writesOf(slotKey, 'history');
    await put(database.tables.tasks, [taskItem({ ...(tasks[0] as Task), version: 9 })]);
    expect(await open().write(writes.slice(0, 1), NOW)).toEqual(['changed']);
    expect((await readAccount())?.free.cpu).toBe(5);
  });

  it('gives nothing to a node that is gone', async () => {
    const { slotKey, readAccount } = await holding(() => undefined);
    expect(await open().write(await writesOf(slotKey, 'history'), NOW)).toEqual(['done', 'done']);
    expect((await open().readSlot(slotKey)).tasks).toEqual([]);
    expect(await readAccount()).toBeUndefined();
  });

  it('fails and keeps it if it is not to be read as a whole', async () => {
    const { slotKey, tasks, readAccount } = await holding();
    const { createdAt: _missing, ...item } = taskItem(tasks[0] as Task) as Item;
    await put(database.tables.tasks, [item]);
    const [outcome] = await open().write((await writesOf(slotKey, 'history')).slice(0, 1), NOW);
    expect(outcome).toMatchObject({ name: 'PermanentError', message: expect.stringContaining('t000') });
    expect(await stored(tasks[0] as Task)).toBeDefined();
    expect((await readAccount())?.free.cpu).toBe(5);
  });

  it('asks for the shards of a pool once', async () => {
    const { slotKey } = await holding();
    const { client, requests } = faultyClient(database.client);
    const store = open(client);
    for (const write of await writesOf(slotKey, 'history')) expect(await store.write([write], NOW)).toEqual(['done']);
    expect(requests.filter((name) => name === 'GetItem')).toHaveLength(1);
  });

  it('tells of a pool that is not there', async () => {
    const { slotKey } = await start({ released: false, state: 'orphaned' });
    const [outcome] = await open().write(await writesOf(slotKey, 'history'), NOW);
    expect(outcome).toMatchObject({ name: 'BugError' });
  });

  it.each<[Fault, string | object]>([
    ['conflict', 'changed'],
    ['throttled', { name: 'RetryError' }],
    ['lost-before', { name: 'RetryError' }],
  ])('fails alone (%s)', async (fault, outcome) => {
    const { slotKey, readAccount } = await holding();
    const { client } = faultyClient(database.client, faultAt(2, fault));
    const [first, second] = await open(client).write(await writesOf(slotKey, 'history'), NOW);
    if (typeof outcome === 'string') expect(first).toBe(outcome);
    else expect(first).toMatchObject(outcome);
    expect(second).toBe('done');
    expect((await readAccount())?.free.cpu).toBe(7);
  });
});

describe('marking', () => {
  it('wants the tasks removed, and takes from them what tells of an end', async () => {
    const { slotKey, tasks } = await start({ state: 'running', desiredState: 'running', released: false });
    const later = (NOW + 5) as EpochMs;
    expect(await open().write(await writesOf(slotKey, 'mark'), later)).toEqual(['done']);
    const after = (await stored(tasks[0] as Task)) ?? {};
    const marked = { ...(tasks[0] as Task), version: 4, desiredState: 'remove', desiredAt: later };
    expect(taskFromItem(after)).toEqual(marked);
    expect(after).not.toHaveProperty('phase');
  });

  it('leaves all of a request alone if one of them has changed, for them to be looked at again', async () => {
    const { slotKey, tasks } = await start({ state: 'running' }, { state: 'running' });
    const writes = await writesOf(slotKey, 'mark');
    const changed = { ...(tasks[1] as Task), version: 8 };
    await put(database.tables.tasks, [taskItem(changed)]);
    expect(await open().write(writes, NOW)).toEqual(['changed', 'changed']);
    expect(await open().write(await writesOf(slotKey, 'mark'), NOW)).toEqual(['done', 'done']);
  });

  it('stands beside deletes in the order in which they were asked for', async () => {
    const { slotKey } = await start({ state: 'running' }, {}, { state: 'running' }, {});
    const writes = (await writesOf(slotKey, 'mark')).map(
      ({ task }): SlotWrite => ({ task, what: task.state === 'running' ? 'mark' : 'removable' }),
    );
    const changed = writes[1]?.task as unknown as { item: Item };
    await put(database.tables.tasks, [{ ...changed.item, version: 9 }]);
    expect(await open().write(writes, NOW)).toEqual(['done', 'changed', 'done', 'done']);
  });
});

describe('a sweep', () => {
  const sent: { body: string; delay: number | undefined }[] = [];
  const sqs = {
    send: async ({ input }: { input: { MessageBody: string; DelaySeconds?: number } }) => {
      sent.push({ body: input.MessageBody, delay: input.DelaySeconds });
    },
  };
  const sweeps = (client = database.client) =>
    sweepStore({ dynamo: client, tables: database.tables, sqs: sqs as never, queueUrl: 'queue' });
  const page = (sweepId: string): SweepPage => ({
    ...{ apiVersion: 'berth/v1', kind: 'SweepPage', reason: 'request', page: 0 },
    sweepId,
  });

  it('goes through the whole table in pages, slot by slot, the malformed told of', async () => {
    const { slotKey, tasks } = await start({}, {}, {}, {}, {});
    await put(database.tables.tasks, [{ ...taskItem(tasks[0] as Task), taskId: 'bad', state: 'lost' }]);
    const seen: string[] = [];
    const malformed: string[] = [];
    let cursor: string | undefined;
    do {
      const read = await sweeps().readTable(cursor, 3);
      expect(read.tasks.length + read.malformed.length).toBeLessThanOrEqual(3);
      seen.push(...read.tasks.filter((task) => task.slotKey === slotKey).map(({ taskId }) => taskId));
      malformed.push(...read.malformed.map(({ key }) => key));
      cursor = read.next;
    } while (cursor !== undefined);
    expect(seen).toEqual(tasks.map(({ taskId }) => taskId));
    expect(malformed).toContain(`${slotKey} bad`);
  });

  it('finds the slots of a service by its index, page by page', async () => {
    const { serviceId } = await start({}, {});
    const others = [2, 3, 10].map((slot) => taskOf(`s${slot}`, { serviceId, slot }));
    await put(database.tables.tasks, others.map(taskItem));
    const attached = taskOf('att', {}, { serviceId: NO_SERVICE, slotKey: '@n1' as SlotKey });
    await put(database.tables.tasks, [taskItem(attached)]);
    const found: string[] = [];
    let cursor: string | undefined;
    do {
      const { slotKeys, next } = await sweeps().readServiceSlots(serviceId, cursor, 2);
      found.push(...slotKeys);
      cursor = next;
    } while (cursor !== undefined);
    expect([...new Set(found)].sort()).toEqual([1, 10, 2, 3].map((slot) => `${serviceId}#${slot}`));
  });

  it('has a record that moves on one page at a time', async () => {
    const store = sweeps();
    const first = { ...newSweep(page('moves'), NOW), page: 1, slots: 5, unknownServices: ['a'] };
    expect(await store.readSweep('moves')).toBeUndefined();
    expect(await store.writeSweep(first)).toBe(true);
    expect(await store.writeSweep(first)).toBe(false);
    expect(await store.writeSweep({ ...first, page: 3 })).toBe(false);
    const second = { ...first, page: 2, serviceId: 'web', finishedAt: NOW };
    expect(await store.writeSweep(second)).toBe(true);
    expect(await store.readSweep('moves')).toEqual(second);
  });

  it('sends its next page after as long as it is told', async () => {
    sent.length = 0;
    await sweeps().send({ ...page('next'), page: 4, cursor: 'there' }, 7);
    expect(sent).toEqual([{ body: JSON.stringify({ ...page('next'), page: 4, cursor: 'there' }), delay: 7 }]);
  });

  it('tells in our words of requests that fail', async () => {
    const { client } = faultyClient(database.client, () => 'throttled');
    const store = sweeps(client);
    await expect(store.readTable(undefined, 5)).rejects.toMatchObject({ name: 'RetryError' });
    await expect(store.readServiceSlots('x' as ServiceId, undefined, 5)).rejects.toMatchObject({ name: 'RetryError' });
    await expect(store.readSweep('x')).rejects.toMatchObject({ name: 'RetryError' });
    await expect(store.writeSweep({ ...newSweep(page('x'), NOW), page: 1 })).rejects.toMatchObject({
      name: 'RetryError',
    });
  });
});
