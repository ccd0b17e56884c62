import { BatchWriteItemCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openConnection } from '../../lib/client/connection.ts';
import { type Berth, connect } from '../../lib/client/index.ts';
import { marshall } from '../../lib/store/dynamo.ts';
import { taskItem } from '../../lib/store/records.ts';
import { slotKeyOf, type Task } from '../../lib/tasks/task.ts';
import type { EpochMs } from '../../lib/time.ts';
import { type Engine, startEngine } from '../../local/engine.ts';
import { taskOf } from '../support/builders.ts';

/** The reaper as it is deployed: its bundle, the filters and settings of the template, the stream of the tasks. */

const REAPER = 'TaskReaper';
const SWEEPER = 'TaskSweeper';

let engine: Engine;
let berth: Berth;
let connection: ReturnType<typeof openConnection>;

beforeAll(async () => {
  engine = await startEngine();
  berth = connect({ env: engine.env });
  connection = openConnection({ env: engine.env });
  await berth.registerPool({ pool: 'prod', shards: 1 });
  await berth.registerNode({ pool: 'prod', nodeId: 'n1', capacity: { cpu: 1_000_000 } });
});
afterAll(async () => {
  berth.close();
  connection.dynamo.destroy();
  connection.sqs.destroy();
  await engine.stop();
});

const idle = () => engine.eventSources.idle(REAPER);

describe('what invokes the reaper', () => {
  const place = { serviceId: 'web', slot: 1, nodeId: 'n1' };
  const submit = (taskId: string, stops: string[] = []) =>
    berth.submit({
      planId: `plan-${taskId}`,
      pool: 'prod',
      placements: [{ taskId, ...place, resources: { cpu: 10 } }],
      stops: stops.map((stopped) => ({ taskId: stopped, ...place })),
    });
  const report = (taskId: string, state: Task['state']) => berth.reportTask({ taskId, ...place }, { state });

  it('is no placement and no status of a task that runs: the event source lets none of it through', async () => {
    await berth.setService({ serviceId: 'web', mode: 'replicated', historyLimit: 1 });
    await idle();
    const before = engine.eventSources.counts(REAPER);
    await submit('t1');
    for (const state of ['accepted', 'preparing', 'ready', 'starting', 'running'] as const) await report('t1', state);
    await idle();
    const after = engine.eventSources.counts(REAPER);
    expect(after.FilteredOutEventCount - before.FilteredOutEventCount).toBe(6);
    expect(after.InvokedEventCount).toBe(before.InvokedEventCount);
    expect(after.invocations).toBe(before.invocations);
  });

  it('is the end of a task, and the stop of one that has ended, once each; its own deletes are none', async () => {
    const invoked = () => engine.eventSources.counts(REAPER).InvokedEventCount;
    const before = invoked();
    await report('t1', 'failed');
    await idle();
    expect(invoked()).toBe(before + 1);
    // Dealt with, and replaced.
    await submit('t2', ['t1']);
    await idle();
    expect(invoked()).toBe(before + 2);
    await submit('t3', ['t2']);
    await report('t2', 'shutdown');
    await idle();
    expect(invoked()).toBe(before + 3);
    // The oldest first, by when their states were applied: t3 was placed before t2 had ended.
    const { tasks } = await berth.taskHistory('web#1');
    expect(tasks.map(({ task }) => task.taskId)).toEqual(['t3', 't2']);
    const counts = engine.eventSources.counts(REAPER);
    await idle();
    expect(engine.eventSources.counts(REAPER)).toEqual(counts);
  });
});

describe('a sweep', () => {
  const SLOTS = 1_000;
  const LIMIT = 1;

  it('comes to the same state as the stream, which was off for the whole history of 1,000 slots', async () => {
    await berth.setService({ serviceId: 'on', mode: 'replicated', historyLimit: LIMIT });
    await berth.setService({ serviceId: 'off', mode: 'replicated', historyLimit: LIMIT });
    await engine.eventSources.idle(SWEEPER);
    await live('on');
    await idle();
    await engine.eventSources.pause(REAPER);
    await live('off');
    const unswept = await tasksOf('off');
    expect(unswept.length).toBe(4 * SLOTS);
    const record = await berth.waitForSweep(await berth.sweep());
    expect(await tasksOf('off')).toEqual(await tasksOf('on'));
    expect(record).toMatchObject({ malformed: 0, failed: 0, deleted: unswept.length - (await tasksOf('off')).length });
    // What the stream brings later finds nothing to do.
    engine.eventSources.resume(REAPER);
    await idle();
    expect(await tasksOf('off')).toEqual(await tasksOf('on'));
    expect(await berth.waitForSweep(await berth.sweep())).toMatchObject({ deleted: 0, marked: 0 });
  });

  /** Each slot has a task that fails, one that is stopped, one that fails and nobody deals with in every third slot, and one that runs. */
  async function live(service: string): Promise<void> {
    const slots = Array.from({ length: SLOTS }, (_, at) => at);
    const all = (of: (slot: number) => Task) => put(slots.map(of));
    const task = (slot: number, run: number, state: Task['state'], desiredState: Task['desiredState']) => {
      const place = { serviceId: service, slot, nodeId: 'n1' };
      const appliedAt = (1_700_000_000_000 + run * 1_000) as EpochMs;
      const slotKey = slotKeyOf(place as never);
      return taskOf(`t${run}`, place, { slotKey, state, desiredState, appliedAt, released: state !== 'running' });
    };
    await all((slot) => task(slot, 0, 'failed', 'shutdown'));
    await all((slot) => task(slot, 1, 'shutdown', slot % 5 === 0 ? 'remove' : 'shutdown'));
    await all((slot) => task(slot, 2, 'failed', slot % 3 === 0 ? 'running' : 'shutdown'));
    await all((slot) => task(slot, 3, 'running', 'running'));
  }

  async function put(tasks: readonly Task[]): Promise<void> {
    for (let at = 0; at < tasks.length; at += 25) {
      const requests = tasks.slice(at, at + 25).map((task) => ({ PutRequest: { Item: marshall(taskItem(task)) } }));
      await connection.dynamo.send(new BatchWriteItemCommand({ RequestItems: { [engine.tables.tasks]: requests } }));
    }
  }

  async function tasksOf(service: string): Promise<string[]> {
    const found: string[] = [];
    for await (const { serviceId, slot, taskId, state, desiredState } of berth.tasks('prod')) {
      if (serviceId === service) found.push(`${slot} ${taskId} ${state} ${desiredState}`);
    }
    return found.sort();
  }
});
