import { DynamoDBClient, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { DeleteMessageCommand, ReceiveMessageCommand } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { type BerthBed, startBerthBed } from '../../test/support/berth-bed.ts';
import { taskOf } from '../../test/support/builders.ts';
import { sweepWaiting } from '../../test/support/sweep-waiting.ts';
import type { ServiceId } from '../ids.ts';
import { marshall } from '../store/dynamo.ts';
import { taskItem } from '../store/records.ts';
import { slotKeyOf, type Task } from '../tasks/task.ts';
import type { EpochMs } from '../time.ts';
import { SweepTimeoutError } from './sweeps.ts';

let bed: BerthBed;
let services = 0;
let service: string;

beforeAll(async () => {
  bed = await startBerthBed();
});
afterAll(() => bed.stop());
beforeEach(async () => {
  service = `s${services++}`;
  await bed.berth.setHistoryLimit(null);
  await sweepWaiting(bed);
});

/** Puts tasks `h0`, `h1`, … into a slot, the oldest first, each with a state and a desired state. */
async function slotOf(slot: number | undefined, ...states: (readonly [Task['state'], Task['desiredState']])[]) {
  for (const [at, [state, desiredState]] of states.entries()) {
    const place = { serviceId: service, nodeId: 'n1', ...(slot === undefined ? {} : { slot }) };
    const appliedAt = (1_000 * (at + 1)) as EpochMs;
    const written = { state, desiredState, appliedAt, released: true, slotKey: slotKeyOf(place as never) };
    const task = taskOf(`h${at}`, place, written);
    const { tasks } = bed.database.tables;
    await bed.connection.dynamo.send(new PutItemCommand({ TableName: tasks, Item: marshall(taskItem(task)) }));
  }
}

const OLD = ['failed', 'shutdown'] as const;
const LIVE = ['running', 'running'] as const;
const left = async (slot = '#1') =>
  (await bed.berth.taskHistory(`${service}${slot}`)).tasks.map(
    ({ task }) => `${task.taskId} ${task.state}/${task.desiredState}`,
  );

describe('setting a service', () => {
  it('keeps what it is told, and tells it', async () => {
    const { set } = await bed.berth.setService({ serviceId: service, mode: 'global-job', restartMaxAttempts: 2 });
    expect(set).toEqual({ serviceId: service, mode: 'global-job', restartMaxAttempts: 2, jobIteration: 0 });
    expect(await bed.berth.services()).toContainEqual(set);
  });

  it('brings its slots to their limit, though no task of theirs changes', async () => {
    await slotOf(1, OLD, OLD, OLD, OLD, LIVE);
    expect(await left()).toHaveLength(5);
    await bed.berth.setService({ serviceId: service, mode: 'replicated', historyLimit: 2 });
    await sweepWaiting(bed);
    expect(await left()).toEqual(['h2 failed/shutdown', 'h3 failed/shutdown', 'h4 running/running']);
  });

  it('sweeps for a lower limit and for the same once more, and for none that keeps more', async () => {
    const set = (limit: number) =>
      bed.berth.setService({ serviceId: service, mode: 'replicated', historyLimit: limit });
    expect((await set(5)).sweepId).toBeDefined();
    expect((await set(3)).sweepId).toBeDefined();
    expect((await set(3)).sweepId).toBeDefined();
    expect((await set(4)).sweepId).toBeUndefined();
    expect((await set(-1)).sweepId).toBeUndefined();
    expect((await set(100)).sweepId).toBeDefined();
  });

  it('sweeps for another iteration of a job, whose progress before is history then, though more is kept', async () => {
    const set = (jobIteration: number, historyLimit: number) =>
      bed.berth.setService({ serviceId: service, mode: 'replicated-job', jobIteration, historyLimit });
    const complete = ['complete', 'shutdown'] as const;
    await slotOf(1, complete, complete, complete, complete, LIVE);
    await set(0, 1);
    await sweepWaiting(bed);
    expect(await left()).toHaveLength(5);
    await set(1, 2);
    await sweepWaiting(bed);
    expect(await left()).toEqual(['h2 complete/shutdown', 'h3 complete/shutdown', 'h4 running/running']);
    expect((await set(1, 3)).sweepId).toBeUndefined();
    expect(
      (await bed.berth.setService({ serviceId: service, mode: 'replicated', historyLimit: 4 })).sweepId,
    ).toBeDefined();
  });

  it('sweeps by what it takes the place of, and not by what was there before somebody else set it', async () => {
    const set = (historyLimit: number) =>
      bed.berth.setService({ serviceId: service, mode: 'replicated', historyLimit });
    await set(3);
    let others = 0;
    const send = DynamoDBClient.prototype.send as (this: DynamoDBClient, command: unknown) => Promise<unknown>;
    const spy = vi.spyOn(DynamoDBClient.prototype, 'send').mockImplementation(async function (
      this: DynamoDBClient,
      command: unknown,
    ) {
      // Somebody raises the limit right before this call writes its own, which is higher than the one that it began with.
      if (command instanceof PutItemCommand && others++ === 0) await set(10);
      return send.call(this, command);
    } as never);
    const { sweepId } = await set(5);
    spy.mockRestore();
    expect(sweepId).toBeDefined();
  });

  it('takes the place of what cannot be read, as of one that was never set; so does a removal', async () => {
    const { dynamo, servicesTable } = bed.connection;
    const spoil = (id: string) =>
      dynamo.send(new PutItemCommand({ TableName: servicesTable(), Item: marshall({ serviceId: id, mode: 'odd' }) }));
    await spoil(service);
    await spoil(`${service}-other`);
    const malformed: string[] = [];
    const listed = await bed.berth.services({ onMalformed: ({ key }) => malformed.push(key) });
    expect(listed.map(({ serviceId }) => serviceId)).not.toContain(service);
    expect(malformed).toEqual(expect.arrayContaining([`service ${service}`, `service ${service}-other`]));
    expect(await bed.berth.taskHistory(`${service}#1`)).toMatchObject({
      service: 'unknown',
      malformed: [{ key: `service ${service}` }],
    });
    expect((await bed.berth.setService({ serviceId: service, mode: 'global', historyLimit: 9 })).sweepId).toBeDefined();
    await bed.berth.removeService(`${service}-other`);
    expect(await bed.berth.services()).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ serviceId: service, mode: 'global' }),
        expect.objectContaining({ serviceId: `${service}-other`, removedAt: bed.now }),
      ]),
    );
  });

  it.each([
    [{ mode: 'replicated' }, /serviceId: expected a text of 1 to 128 characters/],
    [{ serviceId: 'a#b', mode: 'replicated' }, /serviceId: expected/],
    [
      { serviceId: 'a', mode: 'swarm' },
      /mode: expected one of replicated, global, replicated-job, global-job, got "swarm"/,
    ],
    [{ serviceId: 'a', mode: 'global', historyLimit: 1.5 }, /historyLimit: expected a whole number/],
    [
      { serviceId: 'a', mode: 'global', restartMaxAttempts: -1 },
      /restartMaxAttempts: expected a whole number from 0 on/,
    ],
    [{ serviceId: 'a', mode: 'global', replicas: 3 }, /replicas: unknown field/],
  ])('refuses nonsense: %j', async (spec, message) => {
    await expect(bed.berth.setService(spec as never)).rejects.toThrow(message);
  });

  it('takes a number of attempts past the safe integers for as many as there can be', async () => {
    const { set } = await bed.berth.setService({ serviceId: service, mode: 'global', restartMaxAttempts: 2 ** 64 - 1 });
    expect(set.restartMaxAttempts).toBe(Number.MAX_SAFE_INTEGER);
    expect(await bed.berth.services()).toContainEqual(set);
  });
});

describe('what the cluster keeps', () => {
  it('holds for services that say nothing of it', async () => {
    await slotOf(1, OLD, OLD, OLD, LIVE);
    await bed.berth.setService({ serviceId: service, mode: 'replicated' });
    await sweepWaiting(bed);
    expect(await left()).toHaveLength(4);
    expect(await bed.berth.historyLimit()).toBeUndefined();
    const { sweepId } = await bed.berth.setHistoryLimit(1);
    await sweepWaiting(bed);
    expect(await left()).toEqual(['h2 failed/shutdown', 'h3 running/running']);
    expect(await bed.berth.historyLimit()).toBe(1);
    expect(await bed.berth.sweepRecord(sweepId ?? '')).toMatchObject({ reason: 'limit', deleted: 2 });
    expect((await bed.berth.setHistoryLimit(2)).sweepId).toBeUndefined();
  });
});

describe('the removal of a service', () => {
  it('has all its tasks go, those that run when they have ended, and can be repeated', async () => {
    await slotOf(1, OLD, ['complete', 'running'], LIVE);
    await slotOf(2, ['pending', 'running']);
    await bed.berth.setService({ serviceId: service, mode: 'replicated', historyLimit: -1 });
    for (const _again of [1, 2]) {
      const sweepId = await bed.berth.removeService(service);
      await sweepWaiting(bed);
      expect(await bed.berth.sweepRecord(sweepId)).toMatchObject({ serviceId: service, reason: 'service-removed' });
      expect([await left(), await left('#2')]).toEqual([['h2 running/remove'], []]);
    }
    const removed = (await bed.berth.services()).find(({ serviceId }) => serviceId === service);
    expect(removed).toMatchObject({ mode: 'replicated', removedAt: expect.any(Number), expiresAt: expect.any(Number) });
  });

  it('is found by a sweep, whatever became of its own', async () => {
    await slotOf(1, OLD, LIVE);
    await bed.berth.removeService(service);
    // Its message is lost.
    const { Messages = [] } = await bed.sqs.send(new ReceiveMessageCommand({ QueueUrl: bed.queues.sweep }));
    for (const { ReceiptHandle } of Messages) {
      await bed.sqs.send(new DeleteMessageCommand({ QueueUrl: bed.queues.sweep, ReceiptHandle }));
    }
    await bed.berth.sweep();
    await sweepWaiting(bed, 1);
    expect(await left()).toEqual(['h1 running/remove']);
  });
});

describe('scaling slots away', () => {
  it('has their tasks go and leaves the others', async () => {
    for (const slot of [1, 2, 4, 9]) await slotOf(slot, OLD, LIVE);
    await bed.berth.setService({ serviceId: service, mode: 'replicated' });
    await bed.berth.scaleService(service, [
      [9, 400],
      [2, 4],
    ]);
    await sweepWaiting(bed);
    expect(await left('#1')).toEqual(['h0 failed/shutdown', 'h1 running/running']);
    for (const slot of ['#2', '#4', '#9']) expect(await left(slot)).toEqual(['h1 running/remove']);
  });

  it.each([
    [[[3, 1]], /two slot numbers, the smaller first/],
    [[[1]], /two slot numbers/],
    [[[0, 2_000_000]], /at most 1000000 slots in all/],
  ])('refuses nonsense: %j', async (away, message) => {
    await expect(bed.berth.scaleService(service, away as never)).rejects.toThrow(message);
  });
});

describe('a sweep', () => {
  it('finds what nobody came to, page by page, and tells what it found and what it knows nothing of', async () => {
    for (const slot of [1, 2, 3]) await slotOf(slot, OLD, OLD, OLD, LIVE);
    await slotOf(undefined, OLD, OLD);
    await bed.berth.setService({ serviceId: service, mode: 'replicated', historyLimit: 1 });
    await sweepWaiting(bed);
    const known = service;
    service = `s${services++}`;
    await slotOf(1, OLD, OLD, OLD);
    const sweepId = await bed.berth.sweep();
    await sweepWaiting(bed, 2);
    const record = await bed.berth.waitForSweep(sweepId);
    expect(record).toMatchObject({ reason: 'request', deleted: 0, finishedAt: expect.any(Number) });
    expect(record.unknownServices).toContain(service);
    expect(record.page).toBeGreaterThan(2);
    expect(await left()).toHaveLength(3);
    service = known;
    expect(await left()).toHaveLength(2);
  });

  it('that is not done in time goes on, and who waits for it is told so', async () => {
    const sweepId = await bed.berth.sweep();
    await expect(bed.berth.waitForSweep(sweepId, { timeoutMs: 1 })).rejects.toThrow(SweepTimeoutError);
    await sweepWaiting(bed);
    expect((await bed.berth.waitForSweep(sweepId)).finishedAt).toBeDefined();
    expect(await bed.berth.sweepRecord('none')).toBeUndefined();
  });

  it.each(['', 'x'.repeat(3_000), 7])('is asked for by no id that no sweep can have', async (id) => {
    await expect(bed.berth.sweepRecord(id as string)).rejects.toThrow(/the id of the sweep.*1 to 128 characters/);
    await expect(bed.berth.waitForSweep(id as string)).rejects.toThrow(/the id of the sweep.*1 to 128 characters/);
  });
});

describe('the history of a slot', () => {
  it('says of each task what becomes of it and why', async () => {
    await slotOf(1, OLD, ['failed', 'running'], OLD, ['shutdown', 'remove'], LIVE);
    await bed.berth.setService({ serviceId: service, mode: 'replicated', historyLimit: 2 });
    const { limit, tasks, service: found } = await bed.berth.taskHistory(`${service}#1`);
    expect({ limit, found }).toMatchObject({ limit: 2, found: { serviceId: service as ServiceId } });
    expect(tasks.map(({ task, verdict, rule }) => [task.taskId, verdict, rule])).toEqual([
      ['h0', 'goes', 'history'],
      ['h1', 'stays', 'end-not-dealt-with'],
      ['h2', 'stays', 'within-limit'],
      ['h3', 'goes', 'removable'],
      ['h4', 'stays', 'agent'],
    ]);
    for (const { why } of tasks) expect(why).toMatch(/^it is|^it ended|^an agent/);
  });

  it.each(['', 'web', '#1', 'web#', 'web#one', 'a b#1', 'web@'])('refuses %j, which is no slot', async (slot) => {
    await expect(bed.berth.taskHistory(slot)).rejects.toThrow(/expected service#number, or service@node/);
  });

  it.each([undefined, 7, 'x'.repeat(1_000_000)])('tells shortly of what is no slot', async (slot) => {
    const asking = bed.berth.taskHistory(slot as string);
    await expect(asking).rejects.toThrow(/^the slot is invalid: expected service#number.{1,150}$/);
  });
});
