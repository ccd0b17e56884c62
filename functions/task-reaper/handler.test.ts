import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { REAPER } from '../../lib/settings.ts';
import { keepOutput, type Output } from '../../test/support/output.ts';
import {
  changeOf,
  isQueryOf,
  noteRequests,
  oldTasks,
  type ReaperBed,
  startReaperBed,
  throttled,
} from '../../test/support/reaper-bed.ts';

let reaper: ReaperBed;
let output: Output;
beforeAll(async () => {
  reaper = await startReaperBed();
});
afterAll(() => reaper.stop());
beforeEach(() => {
  vi.stubEnv('POWERTOOLS_METRICS_NAMESPACE', 'berth');
  output = keepOutput();
});

const sequenceOf = (record: ReturnType<typeof changeOf>) => record.dynamodb?.SequenceNumber;
const failedOf = async (answer: ReturnType<ReaperBed['reap']>) =>
  (await answer).batchItemFailures.map(({ itemIdentifier }) => itemIdentifier);

/** A service that keeps one old task of each slot, and slots of it that hold `count` old ones each. */
async function slotsWith(count: number, slots: number): Promise<{ serviceId: string; slotKeys: string[] }> {
  const serviceId = await reaper.newService(1);
  const numbers = Array.from({ length: slots }, (_, slot) => slot);
  for (const slot of numbers) await reaper.put(...oldTasks(serviceId, slot, count));
  return { serviceId, slotKeys: numbers.map((slot) => `${serviceId}#${slot}`) };
}

describe('the task reaper', () => {
  it('looks once at each slot that records are about, however many they are, and at no other', async () => {
    const { serviceId, slotKeys } = await slotsWith(3, 3);
    const [a = '', b = '', other = ''] = slotKeys;
    const requests = noteRequests();
    const records = [a, b, a, a, b, a].map((slotKey) => changeOf(slotKey));
    expect(await failedOf(reaper.reap(records))).toEqual([]);
    expect(requests.map(({ name }) => name).toSorted()).toEqual([
      'BatchExecuteStatement',
      'BatchGetItem',
      'Query',
      'Query',
    ]);
    expect(await Promise.all([a, b, other].map(reaper.tasksOf))).toEqual([
      [`${serviceId}-0-t2`],
      [`${serviceId}-1-t2`],
      [0, 1, 2].map((at) => `${serviceId}-2-t${at}`),
    ]);
  });

  it('finds nothing to do when a batch is delivered again', async () => {
    const { slotKeys } = await slotsWith(4, 2);
    const records = slotKeys.map((slotKey) => changeOf(slotKey));
    await reaper.reap(records);
    const before = await Promise.all(slotKeys.map(reaper.tasksOf));
    const requests = noteRequests();
    expect(await failedOf(reaper.reap(records))).toEqual([]);
    expect(requests.map(({ name }) => name)).not.toContain('BatchExecuteStatement');
    expect(await Promise.all(slotKeys.map(reaper.tasksOf))).toEqual(before);
  });

  it('reads no slot of a service that keeps all, unless a record speaks of something removable', async () => {
    const serviceId = await reaper.newService(-1);
    const marked = { desiredState: 'remove' } as const;
    await reaper.put(...oldTasks(serviceId, 1, 2), ...oldTasks(serviceId, 2, 2, marked));
    const requests = noteRequests();
    await reaper.reap([changeOf(`${serviceId}#1`), changeOf(`${serviceId}#2`, { phase: 'removable' })]);
    expect(requests.filter(({ name }) => name === 'Query')).toHaveLength(1);
    expect(await reaper.tasksOf(`${serviceId}#1`)).toHaveLength(2);
    expect(await reaper.tasksOf(`${serviceId}#2`)).toEqual([]);
  });

  it('has the batch delivered again from the first record of a slot that fails, and does the others', async () => {
    const { slotKeys } = await slotsWith(3, 3);
    const [sound = '', broken = '', last = ''] = slotKeys;
    let fails = true;
    noteRequests((request) => (fails && isQueryOf(request, broken) ? throttled() : undefined));
    const records = [sound, broken, sound, broken, last].map((slotKey) => changeOf(slotKey));
    expect(await failedOf(reaper.reap(records))).toEqual([sequenceOf(records[1] as (typeof records)[0])]);
    fails = false;
    expect((await Promise.all([sound, broken, last].map(reaper.tasksOf))).map(({ length }) => length)).toEqual([
      1, 3, 1,
    ]);

    expect(await failedOf(reaper.reap(records.slice(1)))).toEqual([]);
    expect(await reaper.tasksOf(broken)).toHaveLength(1);
  });

  it('has all of them delivered again if services cannot be read, and deletes nothing', async () => {
    const { slotKeys } = await slotsWith(3, 2);
    noteRequests(({ name }) => (name === 'BatchGetItem' ? throttled() : undefined));
    const records = [...slotKeys, ...slotKeys].map((slotKey) => changeOf(slotKey));
    expect(await failedOf(reaper.reap(records))).toEqual(records.slice(0, 2).map(sequenceOf));
    expect((await Promise.all(slotKeys.map(reaper.tasksOf))).map(({ length }) => length)).toEqual([3, 3]);
  });

  it('has delivered again what deletes may or may not have come to', async () => {
    const { slotKeys } = await slotsWith(3, 1);
    noteRequests(({ name }) => (name === 'BatchExecuteStatement' ? throttled() : undefined));
    const records = slotKeys.map((slotKey) => changeOf(slotKey));
    expect(await failedOf(reaper.reap(records))).toEqual(records.map(sequenceOf));
    expect(await reaper.tasksOf(slotKeys[0] ?? '')).toHaveLength(3);
  });

  it('is stopped by no bad record and by no bad task: they are told of, counted and kept', async () => {
    const { serviceId, slotKeys } = await slotsWith(3, 1);
    const [slotKey = ''] = slotKeys;
    await reaper.putItem({ slotKey, taskId: 'odd', version: 1, state: 'exploded', desiredState: 'shutdown' });
    const records = [
      { eventID: 'empty' },
      changeOf('no slot'),
      changeOf(slotKey),
      { ...changeOf(''), eventID: 'keyless' },
    ];
    expect(await failedOf(reaper.reap(records))).toEqual([]);
    expect(await reaper.tasksOf(slotKey)).toEqual(['odd', `${serviceId}-0-t2`]);
    const warned = output.objects().filter(({ level }) => level === 'WARN');
    expect(warned.map(({ message, key }) => [message, key]).toSorted()).toEqual([
      ['task malformed; it is kept', 'no slot'],
      ['task malformed; it is kept', 'record empty'],
      ['task malformed; it is kept', 'record keyless'],
      ['task malformed; it is kept', `${slotKey} odd`],
    ]);
    expect(output.objects()).toContainEqual(expect.objectContaining({ 'reaper.malformed': 4 }));
  });
});

describe('what it tells', () => {
  it('is one line for each slot that lost tasks: the slot, how many, by which rule, which, and what remains', async () => {
    const { serviceId, slotKeys } = await slotsWith(4, 2);
    const quiet = await reaper.newService(9);
    await reaper.put(...oldTasks(quiet, 1, 2), ...oldTasks(serviceId, 7, 1, { desiredState: 'remove' }));
    const keys = [...slotKeys, `${quiet}#1`, `${serviceId}#7`];
    await reaper.reap(keys.map((slotKey) => changeOf(slotKey, { phase: 'removable' })));
    const lines = output.objects().filter(({ message }) => message !== undefined);
    const line = { level: 'INFO', message: 'tasks deleted', service: 'task-reaper' };
    const lost = (slot: number, count: number) => ({
      ...line,
      ...{ slot: `${serviceId}#${slot}`, deleted: count, rules: { history: count }, remaining: 1 },
      tasks: Array.from({ length: count }, (_, at) => `${serviceId}-${slot}-t${at}`),
    });
    expect(lines).toEqual(
      [
        lost(0, 3),
        lost(1, 3),
        {
          ...line,
          ...{ slot: `${serviceId}#7`, deleted: 1, rules: { removable: 1 }, remaining: 0 },
          tasks: [`${serviceId}-7-t0`],
        },
      ].map((expected) => expect.objectContaining(expected)),
    );
    expect(output.texts()).toEqual([]);
  });

  it('names a slot that failed, as an error', async () => {
    const { slotKeys } = await slotsWith(3, 1);
    noteRequests((request) => (request.name === 'Query' ? throttled() : undefined));
    await reaper.reap(slotKeys.map((slotKey) => changeOf(slotKey)));
    expect(output.objects()).toContainEqual(
      expect.objectContaining({
        ...{ level: 'ERROR', message: 'slot left for another time', slot: slotKeys[0] },
        error: expect.objectContaining({ name: 'RetryError' }),
      }),
    );
    expect(output.objects()).toContainEqual(expect.objectContaining({ 'reaper.slots_failed': 1 }));
  });

  it('measures from the first change of a slot to its deletes, of each slot that lost something', async () => {
    const { slotKeys } = await slotsWith(3, 2);
    const quiet = await reaper.newService(9);
    const now = Date.now() / 1000;
    const [a = '', b = ''] = slotKeys;
    const records = [
      changeOf(a, { at: now - 50 }),
      changeOf(b, { at: now - 10 }),
      changeOf(a, { at: now - 5 }),
      changeOf(`${quiet}#1`, { at: now - 1_000 }),
    ];
    await reaper.reap(records);
    const lags = output.objects().flatMap((line) => line['reaper.lag_seconds'] ?? []) as number[];
    expect(lags).toHaveLength(2);
    expect(lags[0]).toBeGreaterThanOrEqual(50);
    expect(lags[1]).toBeGreaterThanOrEqual(10);
    expect((lags[0] ?? 0) - (lags[1] ?? 0)).toBeCloseTo(40, 3);
  });

  it('measures nothing of a change whose time the stream does not tell', async () => {
    const { slotKeys } = await slotsWith(3, 1);
    const record = changeOf(slotKeys[0] ?? '');
    delete record.dynamodb?.ApproximateCreationDateTime;
    await reaper.reap([record]);
    expect(output.objects()).toContainEqual(expect.objectContaining({ 'reaper.tasks_deleted': 2 }));
    expect(output.objects().some((line) => 'reaper.lag_seconds' in line)).toBe(false);
  });
});

describe('when the time runs out', () => {
  it('begins no slot within its reserve, and has all of them delivered again', async () => {
    const { slotKeys } = await slotsWith(3, 2);
    const requests = noteRequests();
    const records = slotKeys.map((slotKey) => changeOf(slotKey));
    expect(await failedOf(reaper.reap(records, REAPER.reserveMs - 1_000))).toEqual(records.map(sequenceOf));
    expect(requests.filter(({ name }) => name === 'Query')).toEqual([]);
    expect((await Promise.all(slotKeys.map(reaper.tasksOf))).map(({ length }) => length)).toEqual([3, 3]);
  });

  it('gives up what is under way before the invocation ends, and has it delivered again', async () => {
    const { slotKeys } = await slotsWith(3, 1);
    const limits: number[] = [];
    const timeout = vi.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => {
      limits.push(ms);
      return AbortSignal.abort();
    });
    const records = slotKeys.map((slotKey) => changeOf(slotKey));
    expect(await failedOf(reaper.reap(records, 40_000))).toEqual(records.map(sequenceOf));
    expect(limits).toEqual([40_000 - REAPER.abortMs]);
    timeout.mockRestore();
    expect(await reaper.tasksOf(slotKeys[0] ?? '')).toHaveLength(3);
    expect(await failedOf(reaper.reap(records))).toEqual([]);
    expect(await reaper.tasksOf(slotKeys[0] ?? '')).toHaveLength(1);
  });
});
