import { GetItemCommand, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { SWEEPER } from '../../lib/settings.ts';
import { marshall, unmarshall } from '../../lib/store/dynamo.ts';
import { sweepKey } from '../../lib/store/keys.ts';
import type { SweepPageInput } from '../../lib/tasks/sweep.ts';
import type { EpochMs } from '../../lib/time.ts';
import { taskOf } from '../../test/support/builders.ts';
import { keepOutput, type Output } from '../../test/support/output.ts';
import {
  isQueryOf,
  messageOf,
  noteMessages,
  noteRequests,
  oldTasks,
  type ReaperBed,
  startReaperBed,
  throttled,
} from '../../test/support/reaper-bed.ts';

let sweeper: ReaperBed;
let output: Output;
beforeAll(async () => {
  sweeper = await startReaperBed();
});
afterAll(() => sweeper.stop());
beforeEach(() => {
  vi.stubEnv('POWERTOOLS_METRICS_NAMESPACE', 'berth');
  output = keepOutput();
});
// A sweep goes through all the tasks that there are.
afterEach(() => sweeper.clear());

/** The receive at which a page is at its smallest: ten tasks. */
const SMALLEST = 8;

let sweeps = 0;
const pageOf = (more: Partial<SweepPageInput> = {}): SweepPageInput => ({
  ...{ apiVersion: 'berth/v1', kind: 'SweepPage', sweepId: `sweep-${sweeps++}`, reason: 'request' },
  ...more,
});
const failedOf = async (answer: ReturnType<ReaperBed['sweep']>) =>
  (await answer).batchItemFailures.map(({ itemIdentifier }) => itemIdentifier);
/** The lines of the log, metrics aside. */
const lines = () => output.objects().filter(({ message }) => message !== undefined);
const metric = (name: string) => output.objects().flatMap((line) => (name in line ? [line[name]] : []));

/** How a sweep goes, as it is stored. */
async function recordOf({ sweepId }: SweepPageInput) {
  const { client, tables } = sweeper.bed.database;
  const Key = marshall({ serviceId: sweepKey(sweepId) });
  const { Item } = await client.send(new GetItemCommand({ TableName: tables.services, Key }));
  return Item && unmarshall(Item);
}

/** Slots of a new service that keeps one old task of each, with `count` old ones each; answers their keys. */
async function slotsWith(count: number, slots: number): Promise<string[]> {
  const serviceId = await sweeper.newService(1);
  const numbers = Array.from({ length: slots }, (_, slot) => slot);
  for (const slot of numbers) await sweeper.put(...oldTasks(serviceId, slot, count));
  return numbers.map((slot) => `${serviceId}#${slot}`);
}
const leftOf = async (slotKeys: readonly string[]) =>
  (await Promise.all(slotKeys.map(sweeper.tasksOf))).map(({ length }) => length);

describe('a page', () => {
  it('brings the slots of the table to their limit, and says at the end how the sweep went', async () => {
    const slotKeys = await slotsWith(3, 2);
    const page = pageOf();
    expect(await failedOf(sweeper.sweep([messageOf(page)]))).toEqual([]);
    expect(await leftOf(slotKeys)).toEqual([1, 1]);
    const counts = { slots: 2, tasks: 6, deleted: 4, marked: 0, conflicts: 0, malformed: 0, failed: 0 };
    expect(await recordOf(page)).toMatchObject({ ...counts, page: 1, finishedAt: expect.any(Number) });
    const { sweepId } = page;
    expect(lines().at(-1)).toMatchObject({
      ...{ level: 'INFO', message: 'sweep done', service: 'task-sweeper', sweepId, reason: 'request', ...counts },
      seconds: expect.any(Number),
    });
    const lost = lines().filter(({ message }) => message === 'tasks deleted');
    expect(lost.map(({ slot, deleted }) => [slot, deleted])).toEqual(slotKeys.map((slotKey) => [slotKey, 2]));
    expect(output.texts()).toEqual([]);
  });

  it('sends the next one where there is more, late by the slots it was about, and says nothing of an end', async () => {
    const slotKeys = await slotsWith(3, 5);
    const page = pageOf();
    const sent = noteMessages();
    expect(await failedOf(sweeper.sweep([messageOf(page, SMALLEST)]))).toEqual([]);
    expect(sent).toEqual([
      {
        QueueUrl: sweeper.bed.queues.sweep,
        MessageBody: expect.any(String),
        DelaySeconds: 1,
      },
    ]);
    const next = JSON.parse(sent[0]?.MessageBody ?? '');
    expect(next).toEqual({ ...page, page: 1, cursor: expect.any(String) });
    const record = await recordOf(page);
    expect(record).toMatchObject({ page: 1, tasks: 10 });
    expect(record).not.toHaveProperty('finishedAt');
    expect(lines().filter(({ message }) => message === 'sweep done')).toEqual([]);

    expect(await failedOf(sweeper.sweep([messageOf(next)]))).toEqual([]);
    expect(await leftOf(slotKeys)).toEqual([1, 1, 1, 1, 1]);
    expect(await recordOf(page)).toMatchObject({ page: 2, deleted: 10, finishedAt: expect.any(Number) });
  });

  it('that was done before is not done again, nor counted, and sends nothing', async () => {
    const slotKeys = await slotsWith(3, 5);
    const page = pageOf();
    await sweeper.sweep([messageOf(page, SMALLEST)]);
    const [before, left] = [await recordOf(page), await leftOf(slotKeys)];
    output = keepOutput();
    const [requests, sent] = [noteRequests(), noteMessages()];
    expect(await failedOf(sweeper.sweep([messageOf(page)]))).toEqual([]);
    expect(requests.map(({ name }) => name)).toEqual(['GetItem']);
    expect(sent).toEqual([]);
    expect(output.objects()).toEqual([]);
    expect([await recordOf(page), await leftOf(slotKeys)]).toEqual([before, left]);
  });

  it('of slots that are scaled away keeps what was placed after that was sent, on this page and on the next', async () => {
    const serviceId = await sweeper.newService(1);
    const slots: [number, number][] = [[0, SWEEPER.pageSlots]];
    const first = messageOf(pageOf({ reason: 'scaled-away', serviceId, slots }));
    const sentAt = Number(first.attributes.SentTimestamp);
    for (const slot of [0, SWEEPER.pageSlots]) {
      const placed = (id: string, createdAt: number) =>
        taskOf(
          `${id}-${slot}`,
          { serviceId, slot },
          { state: 'failed', released: true, createdAt: createdAt as EpochMs },
        );
      await sweeper.put(placed('before', sentAt - 1), placed('later', sentAt + 1));
    }
    const sent = noteMessages();
    expect(await failedOf(sweeper.sweep([first]))).toEqual([]);
    expect(await sweeper.tasksOf(`${serviceId}#0`)).toEqual(['later-0']);
    const next = messageOf(sent[0]?.MessageBody ?? '');
    next.attributes.SentTimestamp = String(sentAt + 5_000);
    expect(await failedOf(sweeper.sweep([next]))).toEqual([]);
    expect(await sweeper.tasksOf(`${serviceId}#${SWEEPER.pageSlots}`)).toEqual([`later-${SWEEPER.pageSlots}`]);
  });

  it('of a removed service marks what an agent may have, and deletes the rest, history and all', async () => {
    const [slotKey = ''] = await slotsWith(2, 1);
    const [serviceId = ''] = slotKey.split('#');
    await sweeper.put(taskOf('alive', { serviceId, slot: 0 }));
    await remove(serviceId);
    const page = pageOf({ reason: 'service-removed', serviceId });
    await sweeper.sweep([messageOf(page)]);
    expect(await sweeper.tasksOf(slotKey)).toEqual(['alive']);
    expect(await recordOf(page)).toMatchObject({ deleted: 2, marked: 1 });
    expect(lines()).toContainEqual(
      expect.objectContaining({ message: 'tasks deleted', slot: slotKey, deleted: 2, marked: 1, remaining: 1 }),
    );
    expect(lines().at(-1)).toMatchObject({ message: 'sweep done', reason: 'service-removed', serviceId });
  });

  it('counts a malformed task once and tells of it once, though its slot is read on its own as well', async () => {
    const [slotKey = ''] = await slotsWith(3, 1);
    await sweeper.putItem({ slotKey, taskId: 'odd', version: 1, state: 'exploded', desiredState: 'shutdown' });
    const page = pageOf();
    expect(await failedOf(sweeper.sweep([messageOf(page)]))).toEqual([]);
    expect(await sweeper.tasksOf(slotKey)).toHaveLength(2);
    expect(await recordOf(page)).toMatchObject({ malformed: 1 });
    expect(metric('reaper.malformed')).toEqual([1]);
    const warned = lines().filter(({ level }) => level === 'WARN');
    expect(warned).toEqual([expect.objectContaining({ message: 'task malformed; it is kept', key: `${slotKey} odd` })]);
  });

  it('tells of a malformed task in a slot that need not be read on its own', async () => {
    const [slotKey = ''] = await slotsWith(1, 1);
    await sweeper.putItem({ slotKey, taskId: 'odd', version: 1, state: 'exploded', desiredState: 'shutdown' });
    await sweeper.sweep([messageOf(pageOf())]);
    expect(metric('reaper.malformed')).toEqual([1]);
    expect(lines()).toContainEqual(expect.objectContaining({ level: 'WARN', key: `${slotKey} odd` }));
  });
});

describe('what a sweep has found', () => {
  it.each(['schedule', 'request'] as const)('is told of one by %s, normally none', async (reason) => {
    const [slotKey = ''] = await slotsWith(3, 1);
    await sweeper.sweep([messageOf(pageOf({ reason }))]);
    await sweeper.sweep([messageOf(pageOf({ reason }))]);
    expect(metric('reaper.sweep_found')).toEqual([2, 0]);
    expect(await sweeper.tasksOf(slotKey)).toHaveLength(1);
  });

  it.each(['limit', 'service-removed', 'scaled-away'] as const)(
    'is not told of one by %s: the stream was not to find it',
    async (reason) => {
      const [slotKey = ''] = await slotsWith(3, 1);
      const [serviceId = ''] = slotKey.split('#');
      const slots: [number, number][] = [[0, 0]];
      await sweeper.sweep([messageOf(pageOf({ reason, serviceId, ...(reason === 'scaled-away' ? { slots } : {}) }))]);
      expect(metric('reaper.tasks_deleted')).not.toEqual([]);
      expect(metric('reaper.sweep_found')).toEqual([]);
    },
  );
});

describe('a page of which a slot fails', () => {
  it('is delivered again, with what was done told, the slot named, and nothing counted as done', async () => {
    const [sound = '', broken = ''] = await slotsWith(3, 2);
    noteRequests((request) => (isQueryOf(request, broken) ? throttled() : undefined));
    const sent = noteMessages();
    const page = pageOf();
    const message = messageOf(page);
    expect(await failedOf(sweeper.sweep([message]))).toEqual([message.messageId]);
    expect([sent, await recordOf(page)]).toEqual([[], undefined]);
    expect(lines()).toEqual([
      expect.objectContaining({ level: 'INFO', message: 'tasks deleted', slot: sound, deleted: 2 }),
      expect.objectContaining({ level: 'ERROR', message: 'slot left for another time', slot: broken }),
      expect.objectContaining({
        ...{ level: 'ERROR', message: 'page of a sweep failed; it is delivered again', messageId: message.messageId },
        error: expect.objectContaining({
          name: 'PageError',
          message: expect.stringMatching(/^1 slots of page 0 of sweep/),
        }),
      }),
    ]);
  });

  it('is smaller at each receive, and the smaller one goes on where it ends', async () => {
    await slotsWith(3, 5);
    const page = pageOf();
    const requests = noteRequests(({ input: { Limit } }) => (Number(Limit) > 10 ? throttled() : undefined));
    for (const receives of [1, 2, 3, SMALLEST]) await sweeper.sweep([messageOf(page, receives)]);
    const scans = requests.filter(({ name }) => name === 'Scan');
    expect(scans.map(({ input }) => input.Limit)).toEqual([1000, 500, 250, 10]);
    expect(await recordOf(page)).toMatchObject({ page: 1, tasks: 10 });
  });

  it('is done without that slot from the fourth receive on, so that the sweep goes on', async () => {
    const slotKeys = await slotsWith(3, 3);
    const [, broken = ''] = slotKeys;
    let fails = true;
    noteRequests((request) => (fails && isQueryOf(request, broken) ? throttled() : undefined));
    const page = pageOf();
    const before = messageOf(page, SWEEPER.tolerantFrom - 1);
    expect(await failedOf(sweeper.sweep([before]))).toEqual([before.messageId]);
    expect(await failedOf(sweeper.sweep([messageOf(page, SWEEPER.tolerantFrom)]))).toEqual([]);
    fails = false;
    expect(await leftOf(slotKeys)).toEqual([1, 3, 1]);
    expect(await recordOf(page)).toMatchObject({ failed: 1, page: 1, finishedAt: expect.any(Number) });
    expect(lines().at(-1)).toMatchObject({ message: 'sweep done', failed: 1 });
    expect(metric('reaper.slots_failed').at(-1)).toBe(1);
  });
});

describe('a message that is no page', () => {
  it('goes to the failure queue as it came, with the reason and where it came from, and is not received again', async () => {
    const message = messageOf('no page at all');
    const [slotKey = ''] = await slotsWith(3, 1);
    expect(await failedOf(sweeper.sweep([message, messageOf(pageOf())]))).toEqual([]);
    const { messageId, eventSourceARN: source } = message;
    expect(await sweeper.received('reaperFailures')).toEqual([
      {
        body: 'no page at all',
        attributes: expect.objectContaining({ messageId, source, reason: expect.stringMatching(/^not JSON/) }),
      },
    ]);
    expect(lines()).toContainEqual(
      expect.objectContaining({
        ...{ level: 'ERROR', message: 'message is no page of a sweep; it is set aside', messageId },
        reason: expect.stringMatching(/^not JSON/),
      }),
    );
    // The other one is done all the same.
    expect(await sweeper.tasksOf(slotKey)).toHaveLength(1);
  });
});

describe('when the time runs out', () => {
  it('no slot is begun within the reserve, and the page is delivered again', async () => {
    const slotKeys = await slotsWith(3, 2);
    const message = messageOf(pageOf());
    expect(await failedOf(sweeper.sweep([message], SWEEPER.reserveMs - 1_000))).toEqual([message.messageId]);
    expect(await leftOf(slotKeys)).toEqual([3, 3]);
  });

  it('what is under way is given up before the invocation ends, and the page is delivered again', async () => {
    const slotKeys = await slotsWith(3, 1);
    const limits: number[] = [];
    const timeout = vi.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => {
      limits.push(ms);
      return AbortSignal.abort();
    });
    const message = messageOf(pageOf());
    expect(await failedOf(sweeper.sweep([message], 40_000))).toEqual([message.messageId]);
    expect(limits).toEqual([40_000 - SWEEPER.abortMs]);
    timeout.mockRestore();
    expect(await leftOf(slotKeys)).toEqual([3]);
  });
});

/** Sets a service as removed. */
async function remove(serviceId: string): Promise<void> {
  const { client, tables } = sweeper.bed.database;
  const item = { serviceId, mode: 'replicated', restartMaxAttempts: 0, jobIteration: 0, removedAt: 1 };
  await client.send(new PutItemCommand({ TableName: tables.services, Item: marshall(item) }));
}
