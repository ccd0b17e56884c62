import { createServer, type Server } from 'node:http';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { APPLIER } from '../../lib/settings.ts';
import type { BusEvent } from '../../local/event-bus/server.ts';
import { listenOnLoopback } from '../../local/loopback-server.ts';
import { type ApplierBed, planOn, recordOf, startApplierBed } from '../../test/support/applier-bed.ts';
import { keepOutput, type Output } from '../../test/support/output.ts';

/** What the applier tells of what it has done: to the event bus, to the log, and to the queue that is to deliver again. */

let applier: ApplierBed;
let output: Output;
beforeAll(async () => {
  applier = await startApplierBed();
});
afterAll(() => applier.stop());
beforeEach(() => {
  output = keepOutput();
  applier.events.length = 0;
  applier.refuses = () => false;
});

const ids = (records: readonly { messageId: string }[]) => records.map(({ messageId }) => messageId);
const failedOf = async (answer: ReturnType<ApplierBed['invoke']>) =>
  (await answer).batchItemFailures.map(({ itemIdentifier }) => itemIdentifier);
const resultOf = async ({ planId }: { planId: string }) => await applier.bed.berth.result(planId);
const detailsOf = (events: readonly BusEvent[]) =>
  events.map(({ bus, source, detailType, detail }) => [bus, source, detailType, detail]);

/** A pool whose node is made ineligible by the first refusal, and a plan that it refuses. */
async function refusal() {
  const pool = await applier.newPool({ tracker: { threshold: 1 } });
  return { pool, plan: { ...planOn(pool, 11), evalId: `${pool}-eval` } };
}

/** What the bus is to be told of such a plan, by what is stored of it. */
async function eventsOf({ pool, plan }: Awaited<ReturnType<typeof refusal>>) {
  const result = await resultOf(plan);
  if (!result) throw new Error(`plan ${plan.planId} has no result`);
  const { planId, index, refreshIndex, appliedAt, rejectedNodes, evalId } = result;
  const refused = { planId, pool, evalId, status: 'rejected', index, refreshIndex, rejectedNodes, rejectedCount: 1 };
  return [
    ['berth', 'berth', 'Plan Refused', { ...refused, appliedAt }],
    ['berth', 'berth', 'Node Made Ineligible', { pool, nodeId: 'n1', planId, index, appliedAt }],
  ];
}

describe('the event bus', () => {
  it('is told of a refusal and of a node made ineligible, by what was committed', async () => {
    const [one, other] = [await refusal(), planOn(await applier.newPool(), 1)];
    await applier.invoke([recordOf(one.pool, one.plan), recordOf(other.pool, other)]);
    expect(detailsOf(applier.events)).toEqual(await eventsOf(one));
    expect((await applier.bed.berth.node(one.pool, 'n1')).account.eligibility).toBe('ineligible');
  });

  it('is told by the redelivery if the function died after the commit and before the events', async () => {
    const one = await refusal();
    // Commits, and tells nobody: what is stored is all that a function leaves that dies then.
    await applier.bed.berth.push(one.plan);
    await applier.bed.applyWaiting();
    const before = await resultOf(one.plan);
    expect([before?.status, applier.events]).toEqual(['rejected', []]);
    await applier.startAnew();
    expect(await failedOf(applier.invoke([recordOf(one.pool, one.plan)]))).toEqual([]);
    expect(detailsOf(applier.events)).toEqual(await eventsOf(one));
    expect(await resultOf(one.plan)).toEqual(before);
  });

  it('that refuses has the plans delivered again, applied once, and no other pool waits', async () => {
    const [one, other] = [await refusal(), await refusal()];
    const next = planOn(one.pool, 1);
    const records = [
      recordOf(one.pool, one.plan),
      recordOf(other.pool, other.plan),
      recordOf(one.pool, next),
      recordOf(other.pool, planOn(other.pool, 1)),
    ];
    applier.refuses = ({ detail }) => (detail as { pool: string }).pool === one.pool;
    const failed = records.filter(({ attributes }) => attributes.MessageGroupId === one.pool);
    expect(await failedOf(applier.invoke(records))).toEqual(ids(failed));
    expect(output.objects()).toContainEqual(
      expect.objectContaining({ level: 'ERROR', message: 'plans returned to the queue', pool: one.pool, messages: 2 }),
    );
    const results = await Promise.all([one.plan, next].map(resultOf));
    expect(results.map((result) => result?.status)).toEqual(['rejected', 'rejected']);

    applier.refuses = () => false;
    await applier.startAnew();
    expect(await failedOf(applier.invoke(failed))).toEqual([]);
    const told = applier.events.filter(({ detail }) => (detail as { pool: string }).pool === one.pool);
    expect(detailsOf(told).slice(0, 2)).toEqual(await eventsOf(one));
    expect(told.map(({ detail }) => (detail as { planId: string }).planId)).toEqual([
      one.plan.planId,
      one.plan.planId,
      next.planId,
    ]);
    expect(await Promise.all([one.plan, next].map(resultOf))).toEqual(results);
  });
});

describe('the log', () => {
  /** Lines that name a plan: level, message, and what else is asked for. */
  const linesOf = (planId: string, ...names: string[]) =>
    output
      .objects()
      .filter((line) => line.planId === planId)
      .map((line) => [line.level, line.message, ...names.map((name) => line[name])]);

  beforeEach(() => applier.startAnew({ POWERTOOLS_LOG_LEVEL: 'DEBUG' }));
  afterEach(() => {
    delete process.env.POWERTOOLS_LOG_LEVEL;
  });

  it('has one line for each plan, which says why it came out as it did', async () => {
    const pool = await applier.newPool();
    const [applied, late, wrong] = [
      planOn(pool, 1),
      { ...planOn(pool, 1), notAfter: '2020-01-01T00:00:00Z' },
      { ...planOn(pool, 1), placements: [{ taskId: 't' }] },
    ];
    await applier.invoke([applied, late, wrong].map((plan) => recordOf(pool, plan)));
    expect(linesOf(applied.planId, 'pool', 'status')).toEqual([['DEBUG', 'plan decided', pool, 'applied']]);
    expect(linesOf(late.planId, 'pool')).toEqual([['INFO', 'plan expired', pool]]);
    expect(linesOf(wrong.planId, 'pool', 'problems')).toEqual([
      ['WARN', 'plan invalid', pool, (await resultOf(wrong))?.problems],
    ]);
  });

  it('has one line for each node that refuses, with node, code, plan, evaluation and pool, and one for a mark', async () => {
    const { pool, plan } = await refusal();
    await applier.invoke([recordOf(pool, plan)]);
    expect(linesOf(plan.planId, 'nodeId', 'code', 'evalId', 'pool').filter(([level]) => level === 'INFO')).toEqual([
      ['INFO', 'plan for node rejected', 'n1', 'cpu', plan.evalId, pool],
    ]);
    expect(output.objects()).toContainEqual(
      expect.objectContaining({
        level: 'WARN',
        message: 'node made ineligible: its plans were refused again and again',
        ...{ pool, nodeId: 'n1', refusals: 1 },
      }),
    );
  });

  it('warns of a plan id that is used again with another content, and says no more of it', async () => {
    const pool = await applier.newPool();
    const plan = planOn(pool, 1);
    await applier.invoke([recordOf(pool, plan)]);
    const before = linesOf(plan.planId).length;
    await applier.invoke([recordOf(pool, { ...plan, priority: 3 })]);
    expect(linesOf(plan.planId, 'status').slice(before)).toEqual([
      ['WARN', 'plan id used again with another content; the first result stands', 'applied'],
      ['DEBUG', 'plan delivered again; its result stands', 'applied'],
    ]);
  });

  it('names a message that was quarantined, as an error', async () => {
    const pool = await applier.newPool();
    const record = recordOf(pool, '[]');
    await applier.invoke([record]);
    expect(output.objects()).toContainEqual(
      expect.objectContaining({
        level: 'ERROR',
        message: 'plan message quarantined',
        reason: expect.stringContaining('a plan is one JSON object'),
        ...{ messageId: record.messageId, pool },
      }),
    );
  });

  it('is all JSON: lines and metrics can be searched for what they say', async () => {
    const { pool, plan } = await refusal();
    await applier.invoke([recordOf(pool, plan), recordOf(pool, 'nonsense')]);
    expect(output.texts()).toEqual([]);
    expect(output.objects()).toContainEqual(
      expect.objectContaining({ 'plan.node_rejected': 1, 'plan.node_marked_ineligible': 1, 'plan.quarantined': 1 }),
    );
  });
});

describe('what answers nothing', () => {
  let silent: Server | undefined;
  afterEach(() => {
    silent?.closeAllConnections();
    silent?.close();
  });

  it('is given up before the invocation ends: a queue that is to deliver again', async () => {
    const { pool, plan } = await refusal();
    const end = new AbortController();
    const timeout = vi.spyOn(AbortSignal, 'timeout').mockReturnValue(end.signal);
    let requests = 0;
    silent = createServer(() => {
      requests++;
      end.abort();
    });
    await applier.startAnew({ AWS_ENDPOINT_URL_SQS: await listenOnLoopback(silent) });
    applier.refuses = () => true;
    const records = [recordOf(pool, plan)];
    expect(await failedOf(applier.invoke(records))).toEqual(ids(records));
    expect(requests).toBe(1);
    timeout.mockRestore();
    await applier.startAnew();
  });

  it('is given up before the invocation ends: a database, and the plans are delivered again in order', async () => {
    const pool = await applier.newPool();
    // The time is up as soon as a request is under way.
    const end = new AbortController();
    const limits: number[] = [];
    const timeout = vi.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => {
      limits.push(ms);
      return end.signal;
    });
    let requests = 0;
    silent = createServer(() => {
      requests++;
      end.abort();
    });
    await applier.startAnew({ AWS_ENDPOINT_URL_DYNAMODB: await listenOnLoopback(silent) });
    const records = [planOn(pool, 1), planOn(pool, 1)].map((plan) => recordOf(pool, plan));
    // So much more than its reserve that it begins.
    const remaining = APPLIER.reserveMs + 2_000;
    expect(await failedOf(applier.invoke(records, remaining))).toEqual(ids(records));
    // What was under way is given up, and nothing is asked after it.
    expect(requests).toBe(1);
    expect(limits).toEqual([remaining - APPLIER.abortMs]);
    timeout.mockRestore();
    await applier.startAnew();
    expect(await failedOf(applier.invoke(records))).toEqual([]);
  });
});
