import { DeleteMessageCommand, PurgeQueueCommand, SendMessageCommand } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { berthOver } from '../../lib/client/berth.ts';
import type { PlanInput } from '../../lib/client/index.ts';
import { applyPlans } from '../../lib/plans/apply.ts';
import type { PlanResult } from '../../lib/plans/result.ts';
import { WindowCache } from '../../lib/plans/window-cache.ts';
import { planStore } from '../../lib/store/plan-store.ts';
import type { EpochMs } from '../../lib/time.ts';
import { type BerthBed, startBerthBed } from '../support/berth-bed.ts';
import { faultAt } from '../support/faults.ts';
import { faultyBerth } from '../support/faulty-berth.ts';
import { faultyClient } from '../support/faulty-client.ts';
import { deliveryOf } from '../support/plans.ts';

/** Dead letters that an operator gives up, in DynamoDB and SQS. */

let bed: BerthBed;
let pool: string;
let pools = 0;
let sent = 0;

beforeAll(async () => {
  bed = await startBerthBed();
});
afterAll(() => bed.stop());
beforeEach(async () => {
  await bed.sqs.send(new PurgeQueueCommand({ QueueUrl: bed.queues.plansDead }));
  await newPool();
});

async function newPool(): Promise<void> {
  pool = `p${pools++}`;
  await bed.berth.registerPool({ pool, shards: 1 });
  for (const nodeId of ['n1', 'n2']) await bed.berth.registerNode({ pool, nodeId, capacity: { cpu: 1_000 } });
  await bed.berth.push({ planId: `${pool}-before`, pool, placements: [task('old', 'n1', 400)] });
  await bed.applyWaiting();
}

const task = (name: string, nodeId: string, cpu: number) => ({
  ...{ taskId: `${pool}-${name}`, serviceId: `${pool}-s`, slot: name === 'old' ? 999 : Number(name) },
  ...{ nodeId, resources: { cpu } },
});

/** A plan of 210 tasks, which takes several transactions, and a stop if it is all at once. */
const largePlan = (allAtOnce = true): PlanInput => ({
  ...{ planId: `${pool}-large`, pool, allAtOnce },
  stops: allAtOnce ? [{ taskId: `${pool}-old`, serviceId: `${pool}-s`, slot: 999, nodeId: 'n1' }] : [],
  placements: Array.from({ length: 210 }, (_, at) => task(String(at), at < 10 ? 'n1' : 'n2', 4)),
});

/** Has an applier make so many commits of `plan` before it dies, and its message end among the dead letters. */
async function leave(plan: PlanInput, commits: number): Promise<void> {
  let left = commits;
  const { client, killed } = faultyClient(bed.connection.dynamo, ({ name }) =>
    name === 'TransactWriteItems' && --left === 0 ? 'kill-after' : undefined,
  );
  const applied = applyPlans([deliveryOf(plan)], {
    store: planStore(client, { ...bed.connection.tables, rejections: bed.connection.rejectionsTable() }),
    ...{ clock: bed.connection.clock, deadline: (bed.now + 60_000) as EpochMs, sleep: async () => undefined },
    ...{ random: () => 0.5, pools: new Map(), windows: new WindowCache() },
  });
  if (commits > 0) expect(await Promise.race([applied, killed])).toBe('killed');
  await die(JSON.stringify(plan));
}

async function die(body: string, redrivenAt?: string): Promise<string> {
  const mark = { redrivenAt: { DataType: 'String', StringValue: redrivenAt } };
  const { MessageId = '' } = await bed.sqs.send(
    new SendMessageCommand({
      ...{ QueueUrl: bed.queues.plansDead, MessageBody: body, MessageGroupId: pool },
      MessageDeduplicationId: `dead-${sent++}`,
      ...(redrivenAt === undefined ? {} : { MessageAttributes: mark }),
    }),
  );
  return MessageId;
}

/** What there is of the large plan and of the task that was there. */
async function traces() {
  const found = { placed: 0, reserved: 0, old: '' };
  for await (const each of bed.berth.tasks(pool)) {
    if (each.planId === `${pool}-large`) found.placed++;
    if (each.state === 'pending' || each.undo) found.reserved++;
    if (each.taskId === `${pool}-old`) found.old = each.desiredState;
  }
  const { drifts, plansUnderWay } = await bed.berth.audit(pool);
  return { ...found, drifts, plansUnderWay };
}

const CLEAN = { reserved: 0, drifts: [], plansUnderWay: [] };
const BACK = { ...CLEAN, placed: 0, old: 'running' };
const CODES = (result: PlanResult | undefined) => result?.rejectedNodes.map(({ nodeId, code }) => [nodeId, code]);

describe('a plan that was left in the middle, discarded', () => {
  it('gives back what it has reserved; its worker gets a result; then its message goes', async () => {
    await leave(largePlan(), 2);
    expect((await traces()).reserved).toBeGreaterThan(0);
    const waiting = bed.berth.waitForResult(`${pool}-large`);
    const [outcome, ...others] = await bed.berth.deadLetters.discard('all');
    expect(others).toEqual([]);
    expect(outcome).toMatchObject({ planId: `${pool}-large`, stored: false, refusal: undefined });
    const result = await waiting;
    expect(result).toMatchObject({ status: 'rejected', committed: { placements: 0, stops: 0, preemptions: 0 } });
    expect(CODES(result)).toEqual(['n1', 'n2'].map((node) => [node, 'discarded']));
    expect(result.refreshIndex).toBe((await bed.berth.pool(pool)).index);
    expect(outcome?.result).toEqual(result);
    expect(await traces()).toEqual(BACK);
    expect(await bed.berth.deadLetters.list()).toEqual([]);
  });

  it('keeps the nodes that it has committed', async () => {
    await leave(largePlan(false), 2);
    const [outcome] = await bed.berth.deadLetters.discard('all');
    expect(outcome?.result).toMatchObject({ status: 'partial', committed: { placements: 10 } });
    expect(CODES(outcome?.result)).toEqual([['n2', 'discarded']]);
    expect(await traces()).toEqual({ ...CLEAN, placed: 10, old: 'running' });
  });

  it('comes to the same if the command is killed after whatever request to the database', async () => {
    for (let number = 1, killed = true; killed; number++) {
      await newPool();
      await leave(largePlan(), 2);
      const dying = faultyBerth(bed, faultAt(number, 'kill-after'));
      killed = (await Promise.race([dying.berth.deadLetters.discard('all'), dying.killed])) === 'killed';
      if (killed) {
        // Its messages are hidden until their visibility ends: as if that were now.
        await bed.sqs.send(new PurgeQueueCommand({ QueueUrl: bed.queues.plansDead }));
        await die(JSON.stringify(largePlan()));
        expect(await bed.berth.deadLetters.discard('all')).toMatchObject([{ result: { status: 'rejected' } }]);
      }
      expect(await traces(), `killed after ${number}`).toEqual(BACK);
      expect(await bed.berth.deadLetters.list()).toEqual([]);
    }
  });

  it('has its result if the command dies before the message goes, and keeps it when that is delivered after all', async () => {
    await leave(largePlan(), 2);
    const { sqs } = bed.connection;
    const send = async (command: object, ...rest: unknown[]) => {
      if (command instanceof DeleteMessageCommand) throw new TypeError('crashed');
      return (sqs.send as (...args: unknown[]) => Promise<unknown>)(command, ...rest);
    };
    const proxy = new Proxy(sqs, { get: (target, name) => (name === 'send' ? send : Reflect.get(target, name)) });
    const dying = berthOver({ ...bed.connection, sqs: proxy });
    await expect(dying.deadLetters.discard('all')).rejects.toThrow('crashed');
    const result = await bed.berth.result(`${pool}-large`);
    expect(result).toMatchObject({ status: 'rejected' });
    await bed.berth.push(largePlan());
    await bed.applyWaiting();
    expect(await bed.berth.result(`${pool}-large`)).toEqual(result);
    expect(await bed.berth.deadLetters.discard('all')).toMatchObject([{ result, stored: true, refusal: undefined }]);
    expect(await traces()).toEqual(BACK);
  });

  it('comes to one result with an applier that goes on with it at the same time', async () => {
    await leave(largePlan(), 2);
    await bed.berth.push(largePlan());
    const [[outcome], applied] = await Promise.all([bed.berth.deadLetters.discard('all'), bed.applyWaiting()]);
    expect(applied).toBe(1);
    const result = await bed.berth.result(`${pool}-large`);
    expect(outcome?.result).toEqual(result);
    expect(await traces()).toEqual(result?.status === 'applied' ? { ...CLEAN, placed: 210, old: 'shutdown' } : BACK);
  });

  it('holds its message as long as it is worked on', async () => {
    await leave(largePlan(), 2);
    const { sqs } = bed.connection;
    const held: (number | undefined)[] = [];
    const send = async (command: object, ...rest: unknown[]) => {
      const { Entries } = (command as { input: { Entries?: { VisibilityTimeout?: number }[] } }).input;
      held.push(...(Entries ?? []).map(({ VisibilityTimeout }) => VisibilityTimeout));
      return (sqs.send as (...args: unknown[]) => Promise<unknown>)(command, ...rest);
    };
    const proxy = new Proxy(sqs, { get: (target, name) => (name === 'send' ? send : Reflect.get(target, name)) });
    let looks = 0;
    // Each look at the clock finds it two seconds on: the slices of the work end in the middle.
    const clock = () => (bed.now + 2_000 * looks++) as EpochMs;
    const [outcome] = await berthOver({ ...bed.connection, sqs: proxy, clock }).deadLetters.discard('all');
    expect(outcome?.result).toMatchObject({ status: 'rejected' });
    expect(held.length).toBeGreaterThan(1);
    expect(new Set(held)).toEqual(new Set([120]));
  });
});

describe('a dead letter, discarded', () => {
  it('whose plan has a result goes, and nothing else is done', async () => {
    const id = await die(JSON.stringify({ planId: `${pool}-before`, pool, placements: [task('old', 'n1', 400)] }));
    const { index } = await bed.berth.pool(pool);
    expect(await bed.berth.deadLetters.discard([id, 'nobody'])).toMatchObject([
      { messageId: id, stored: true, result: { status: 'applied' }, refusal: undefined },
      { messageId: 'nobody', refusal: expect.stringMatching(/not among the messages/) },
    ]);
    expect(await bed.berth.pool(pool)).toMatchObject({ index });
    expect(await bed.berth.deadLetters.list()).toEqual([]);
  });

  it('whose plan was not begun keeps it from taking effect', async () => {
    await leave(largePlan(), 0);
    const [outcome] = await bed.berth.deadLetters.discard('all');
    expect(outcome).toMatchObject({ stored: false, result: { status: 'rejected' }, refusal: undefined });
    await bed.berth.push(largePlan());
    await bed.applyWaiting();
    expect(await bed.berth.result(`${pool}-large`)).toEqual(outcome?.result);
    expect(await traces()).toEqual(BACK);
  });

  it('whose plan may have had a result before it was redriven gets no second one', async () => {
    await die(JSON.stringify(largePlan()), '2026-03-01T12:00:00.000Z');
    expect(await bed.berth.deadLetters.discard('all')).toMatchObject([
      { planId: `${pool}-large`, result: undefined, refusal: undefined },
    ]);
    expect(await bed.berth.result(`${pool}-large`)).toBeUndefined();
    expect(await bed.berth.deadLetters.list()).toEqual([]);
  });

  it('whose plan was redriven and left in the middle is turned back', async () => {
    await leave(largePlan(), 2);
    await bed.sqs.send(new PurgeQueueCommand({ QueueUrl: bed.queues.plansDead }));
    await die(JSON.stringify(largePlan()), '2026-03-01T12:00:00.000Z');
    expect(await bed.berth.deadLetters.discard('all')).toMatchObject([{ result: { status: 'rejected' } }]);
    expect(await traces()).toEqual(BACK);
  });

  it('that is no plan, or of an id that another plan has, stays unless it is forced', async () => {
    await leave(largePlan(), 2);
    const other = await die(JSON.stringify({ ...largePlan(), allAtOnce: false, stops: [] }));
    const nonsense = await die('nonsense');
    const outcomes = await bed.berth.deadLetters.discard([other, nonsense]);
    expect(outcomes).toMatchObject([
      { messageId: other, refusal: expect.stringMatching(/another plan of the id .* is under way.*force deletes/) },
      { messageId: nonsense, refusal: expect.stringMatching(/no plan: the message is not JSON.*redrive.*force/) },
    ]);
    expect(await bed.berth.deadLetters.list()).toHaveLength(3);
    expect(await bed.berth.deadLetters.discard([other, nonsense], { force: true })).toMatchObject([
      { messageId: other, result: undefined, refusal: undefined },
      { messageId: nonsense, planId: undefined, refusal: undefined },
    ]);
    expect(await bed.berth.deadLetters.discard('all')).toMatchObject([{ result: { status: 'rejected' } }]);
    expect(await traces()).toEqual(BACK);
  });
});
