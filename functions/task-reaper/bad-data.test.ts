import { PutItemCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { marshall } from '../../lib/store/dynamo.ts';
import { CLUSTER_KEY } from '../../lib/store/keys.ts';
import { taskItem } from '../../lib/store/records.ts';
import { taskOf } from '../../test/support/builders.ts';
import { keepOutput, type Output } from '../../test/support/output.ts';
import { changeOf, messageOf, oldTasks, type ReaperBed, startReaperBed } from '../../test/support/reaper-bed.ts';

// What others have written, or an earlier version has, must stop neither its slot nor the slots beside it.

let reaper: ReaperBed;
let output: Output;
beforeAll(async () => {
  reaper = await startReaperBed();
  await reaper.bed.berth.registerPool({ pool: 'prod' });
});
afterAll(() => reaper.stop());
beforeEach(() => {
  vi.stubEnv('POWERTOOLS_METRICS_NAMESPACE', 'berth');
  output = keepOutput();
});
afterEach(async () => {
  await reaper.clear();
  await reaper.bed.berth.setHistoryLimit(null);
});

const failedBy = async (answer: ReturnType<ReaperBed['reap']>) => (await answer).batchItemFailures;
/** What was told to be malformed: of each its key, and what is wrong. */
const told = () => output.objects().filter(({ message }) => message === 'task malformed; it is kept');

/** Slot 0 of a new service that keeps one old task, with three old ones; answers its key. */
async function slotOfThree(): Promise<string> {
  const serviceId = await reaper.newService(1);
  await reaper.put(...oldTasks(serviceId, 0, 3));
  return `${serviceId}#0`;
}

async function putService(item: object): Promise<void> {
  const { client, tables } = reaper.bed.database;
  await client.send(new PutItemCommand({ TableName: tables.services, Item: marshall(item) }));
}

it('a service that is not of its shape keeps its history, is told of once, and stops no other', async () => {
  const [good, bad] = [await slotOfThree(), await slotOfThree()];
  const [serviceId] = bad.split('#');
  await putService({ serviceId, mode: 'sideways', historyLimit: 1 });
  await reaper.put(...oldTasks(serviceId ?? '', 1, 2));
  const records = [changeOf(bad), changeOf(`${serviceId}#1`), changeOf(good)];
  expect(await failedBy(reaper.reap(records))).toEqual([]);
  expect([await reaper.tasksOf(good), await reaper.tasksOf(bad)]).toMatchObject([{ length: 1 }, { length: 3 }]);
  expect(told()).toEqual([
    expect.objectContaining({
      key: `service ${serviceId}`,
      problem: expect.stringMatching(/keep their whole history; .*berth service set/),
    }),
  ]);
});

it('a limit of the cluster that is none keeps the history of services that go by it, and of no others', async () => {
  const own = await slotOfThree();
  const byCluster = await slotOfThree();
  const [serviceId = ''] = byCluster.split('#');
  await reaper.bed.berth.setService({ serviceId, mode: 'replicated' });
  await reaper.put(...oldTasks(serviceId, 0, 9));
  await putService({ serviceId: CLUSTER_KEY, historyLimit: 'many' });
  expect(await failedBy(reaper.reap([changeOf(own), changeOf(byCluster)]))).toEqual([]);
  expect([await reaper.tasksOf(own), await reaper.tasksOf(byCluster)]).toMatchObject([{ length: 1 }, { length: 9 }]);
  expect(told()).toMatchObject([{ key: 'settings of the cluster' }]);
});

it('a task that holds something, and is not known whole, is kept and told of; the others go', async () => {
  const slotKey = await slotOfThree();
  const [serviceId = ''] = slotKey.split('#');
  const holder = taskOf('holder', { serviceId, slot: 0 }, { state: 'failed', desiredState: 'remove', released: false });
  const { createdAt: _none, ...item } = taskItem(holder);
  await reaper.putItem({ ...item, slotKey });
  expect(await failedBy(reaper.reap([changeOf(slotKey)]))).toEqual([]);
  expect(await reaper.tasksOf(slotKey)).toEqual(['holder', `${serviceId}-0-t2`]);
  expect(told()).toMatchObject([{ key: `${slotKey} holder`, problem: expect.stringContaining('createdAt') }]);
});

it('a task that can never be marked keeps no other of its request from being marked', async () => {
  const serviceId = await reaper.newService(1);
  const live = { state: 'running', desiredState: 'running' } as const;
  const slots = Array.from({ length: 9 }, (_, slot) => slot);
  for (const slot of slots) {
    const version = slot === 4 ? Number.MAX_SAFE_INTEGER : 1;
    await reaper.put(taskOf(`t${slot}`, { serviceId, slot }, { ...live, version }));
  }
  const page = {
    ...{ apiVersion: 'berth/v1', kind: 'SweepPage', sweepId: 'marks', reason: 'scaled-away' },
    ...{ serviceId, slots: [[0, 8]] },
  };
  const message = messageOf(page);
  const { batchItemFailures } = await reaper.sweep([message]);
  expect(batchItemFailures).toEqual([{ itemIdentifier: message.messageId }]);
  const histories = await Promise.all(slots.map((slot) => reaper.bed.berth.taskHistory(`${serviceId}#${slot}`)));
  const wanted = histories.map(({ tasks }) => tasks[0]?.task.desiredState);
  expect(wanted).toEqual(slots.map((slot) => (slot === 4 ? 'running' : 'remove')));
});
