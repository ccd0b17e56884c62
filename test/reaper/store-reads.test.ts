import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ServiceId } from '../../lib/ids.ts';
import { CLUSTER_KEY } from '../../lib/store/keys.ts';
import { taskItem } from '../../lib/store/records.ts';
import { serviceItem } from '../../lib/store/services.ts';
import { sweepStore } from '../../lib/store/sweep-store.ts';
import { serviceSpecSchema } from '../../lib/tasks/service.ts';
import { newSweep, type SweepPage } from '../../lib/tasks/sweep.ts';
import { NO_SERVICE, type SlotKey, type Task } from '../../lib/tasks/task.ts';
import { NOW, taskOf } from '../support/builders.ts';
import { faultAt } from '../support/faults.ts';
import { faultyClient } from '../support/faulty-client.ts';
import { type SlotBed, startSlotBed } from '../support/slot-bed.ts';

let bed: SlotBed;
beforeAll(async () => {
  bed = await startSlotBed();
});
afterAll(() => bed.database.stop());

describe('a slot', () => {
  it('is read whole, and nothing else is', async () => {
    const { slotKey, serviceId } = await bed.start({ state: 'running', desiredState: 'running' }, {});
    await bed.put(bed.database.tables.tasks, [
      taskItem(taskOf('other', { serviceId, slot: 10 })),
      taskItem(taskOf('another', { serviceId: `${serviceId}0` })),
    ]);
    const { tasks, malformed } = await bed.open().readSlot(slotKey);
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
    const { slotKey } = await bed.start(...Array.from({ length: 6 }, () => ({ message: 'x'.repeat(300_000) })));
    const { client, requests } = faultyClient(bed.database.client);
    const { tasks } = await bed.open(client).readSlot(slotKey);
    expect(tasks).toHaveLength(6);
    expect(requests.length).toBeGreaterThan(1);
  });

  it('shows tasks that others have put there without times', async () => {
    const { slotKey } = await bed.start();
    const bare = { slotKey, taskId: 'bare', version: 1, state: 'remove', desiredState: 'shutdown', released: true };
    await bed.put(bed.database.tables.tasks, [bare]);
    expect((await bed.open().readSlot(slotKey)).tasks).toMatchObject([{ taskId: 'bare', state: 'remove' }]);
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
    const { slotKey, tasks } = await bed.start({}, {});
    const item = { ...taskItem(tasks[0] as Task), taskId: 'bad', ...wrong };
    await bed.put(bed.database.tables.tasks, [item]);
    const read = await bed.open().readSlot(slotKey);
    expect(read.tasks).toHaveLength(2);
    expect(read.malformed).toEqual([{ key: `${slotKey} ${item.taskId}`, problem: expect.any(String) }]);
  });

  it('fails as a whole if a page of it does', async () => {
    const { slotKey } = await bed.start({});
    const { client } = faultyClient(bed.database.client, faultAt(1, 'throttled'));
    await expect(bed.open(client).readSlot(slotKey)).rejects.toMatchObject({ name: 'RetryError' });
  });
});

describe('services', () => {
  it('are those that were ever set, the removed as such, and the limit of the cluster', async () => {
    const spec = serviceSpecSchema.parse({ serviceId: 'known', mode: 'global', restartMaxAttempts: 2 ** 64 });
    const removed = { ...spec, serviceId: 'removed' as ServiceId, removedAt: NOW };
    await bed.put(bed.database.tables.services, [
      serviceItem(spec),
      serviceItem(removed),
      { serviceId: CLUSTER_KEY, historyLimit: 7 },
    ]);
    const asked = new Set(['known', 'removed', 'never'] as ServiceId[]);
    const { services, clusterLimit } = await bed.open().readServices(asked);
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
    await bed.put(bed.database.tables.services, specs.map(serviceItem));
    const { client, requests } = faultyClient(bed.database.client, faultAt(1, 'partly-throttled'));
    const { services } = await bed.open(client).readServices(new Set(ids));
    expect(services.size).toBe(150);
    expect(requests).toEqual(['BatchGetItem', 'BatchGetItem', 'BatchGetItem']);
  });

  it('are no answer while the bed.database is busy', async () => {
    const { client } = faultyClient(bed.database.client, faultAt(1, 'nothing-processed'));
    const asking = bed.open(client).readServices(new Set(['known' as ServiceId]));
    await expect(asking).rejects.toMatchObject({ name: 'RetryError' });
  });

  it('that are not of their shape are told, and count as never set', async () => {
    await bed.put(bed.database.tables.services, [{ serviceId: 'odd', mode: 'sideways' }]);
    const { services, malformed } = await bed.open().readServices(new Set(['odd' as ServiceId]));
    expect([...services]).toEqual([]);
    expect(malformed).toMatchObject([{ key: 'service odd' }]);
  });
});

describe('a sweep', () => {
  const sent: { body: string; delay: number | undefined }[] = [];
  const sqs = {
    send: async ({ input }: { input: { MessageBody: string; DelaySeconds?: number } }) => {
      sent.push({ body: input.MessageBody, delay: input.DelaySeconds });
    },
  };
  const sweeps = (client = bed.database.client) =>
    sweepStore({ dynamo: client, tables: bed.database.tables, sqs: sqs as never, queueUrl: 'queue' });
  const page = (sweepId: string): SweepPage => ({
    ...{ apiVersion: 'berth/v1', kind: 'SweepPage', reason: 'request', page: 0 },
    sweepId,
  });

  it('goes through the whole table in pages, slot by slot, the malformed told of', async () => {
    const { slotKey, tasks } = await bed.start({}, {}, {}, {}, {});
    await bed.put(bed.database.tables.tasks, [{ ...taskItem(tasks[0] as Task), taskId: 'bad', state: 'lost' }]);
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
    const { serviceId } = await bed.start({}, {});
    const others = [2, 3, 10].map((slot) => taskOf(`s${slot}`, { serviceId, slot }));
    await bed.put(bed.database.tables.tasks, others.map(taskItem));
    const attached = taskOf('att', {}, { serviceId: NO_SERVICE, slotKey: '@n1' as SlotKey });
    await bed.put(bed.database.tables.tasks, [taskItem(attached)]);
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
    const { client } = faultyClient(bed.database.client, () => 'throttled');
    const store = sweeps(client);
    await expect(store.readTable(undefined, 5)).rejects.toMatchObject({ name: 'RetryError' });
    await expect(store.readServiceSlots('x' as ServiceId, undefined, 5)).rejects.toMatchObject({ name: 'RetryError' });
    await expect(store.readSweep('x')).rejects.toMatchObject({ name: 'RetryError' });
    await expect(store.writeSweep({ ...newSweep(page('x'), NOW), page: 1 })).rejects.toMatchObject({
      name: 'RetryError',
    });
  });
});
