import { PutItemCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { ReceiveMessageCommand } from '@aws-sdk/client-sqs';
import type { Context, SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { marshall } from '../../lib/store/dynamo.ts';
import { EVENT_BUS_ENV } from '../../lib/store/tables.ts';
import { type BusEvent, type EventBusServer, startEventBus } from '../../local/event-bus/server.ts';
import { type BerthBed, startBerthBed } from '../../test/support/berth-bed.ts';

let bed: BerthBed;
let bus: EventBusServer;
const events: BusEvent[] = [];
let before: NodeJS.ProcessEnv;
/** The function, over tables, queues and a bus of its own. */
let handler: (event: SQSEvent, context: Context) => Promise<SQSBatchResponse>;

beforeAll(async () => {
  bed = await startBerthBed();
  bus = await startEventBus((event) => events.push(event));
  // Lines and metrics would only hide what the tests say.
  const silent = { POWERTOOLS_LOG_LEVEL: 'SILENT', POWERTOOLS_METRICS_DISABLED: 'true' };
  // Not as stubs, which are taken back before each test: the SDK looks for its endpoints when it first needs them.
  before = { ...process.env };
  Object.assign(process.env, bed.env, silent, { [EVENT_BUS_ENV]: 'berth', AWS_ENDPOINT_URL_EVENTBRIDGE: bus.url });
  ({ handler } = await import('./handler.ts'));
});
afterAll(async () => {
  process.env = before;
  await bus.close();
  await bed.stop();
});

let pools = 0;
async function newPool(): Promise<string> {
  const pool = `p${pools++}`;
  await bed.berth.registerPool({ pool, shards: 1 });
  await bed.berth.registerNode({ pool, nodeId: 'n1', capacity: { cpu: 10 } });
  return pool;
}

let messages = 0;
function record(group: string, body: unknown): SQSRecord {
  const attributes = { MessageGroupId: group, SentTimestamp: '1772366400000', ApproximateReceiveCount: '1' };
  return {
    messageId: `m${messages++}`,
    receiptHandle: `handle-${messages}`,
    body: typeof body === 'string' ? body : JSON.stringify(body),
    attributes: { ...attributes, SenderId: 's', ApproximateFirstReceiveTimestamp: attributes.SentTimestamp },
    messageAttributes: {},
    md5OfBody: '',
    eventSource: 'aws:sqs',
    eventSourceARN: 'arn:aws:sqs:us-east-1:000000000000:berth-plans.fifo',
    awsRegion: 'us-east-1',
  };
}

let plans = 0;
const plan = (pool: string, cpu: number) => {
  const planId = `${pool}-plan-${plans++}`;
  const task = { taskId: `${planId}-t`, serviceId: pool, slot: plans, nodeId: 'n1', resources: { cpu } };
  return { planId, pool, placements: [task] };
};
const statusOf = async ({ planId }: { planId: string }) => (await bed.berth.result(planId))?.status;

const invoke = (records: readonly SQSRecord[], remainingMs = 30_000) =>
  handler({ Records: [...records] }, { getRemainingTimeInMillis: () => remainingMs } as Context);

async function quarantined() {
  const { Messages = [] } = await bed.sqs.send(
    new ReceiveMessageCommand({
      QueueUrl: bed.queues.quarantine,
      MaxNumberOfMessages: 10,
      MessageAttributeNames: ['All'],
    }),
  );
  return Messages.map(({ Body, MessageAttributes = {} }) => ({
    body: Body,
    ...Object.fromEntries(Object.entries(MessageAttributes).map(([name, { StringValue }]) => [name, StringValue])),
  }));
}

describe('the plan applier', () => {
  it('applies the plans of several pools that come in one batch, each pool in its order', async () => {
    const [a, b] = [await newPool(), await newPool()];
    const list = [plan(a, 6), plan(b, 10), plan(a, 6), plan(a, 4), plan(b, 1)];
    expect(await invoke(list.map((each) => record(each.pool, each)))).toEqual({ batchItemFailures: [] });
    expect(await Promise.all(list.map(statusOf))).toEqual(['applied', 'applied', 'rejected', 'applied', 'rejected']);
  });

  it('returns the first that failed and every later one of its pool, and no other pool', async () => {
    const [sound, broken] = [await newPool(), await newPool()];
    // What stands there now is no pool: its plans wait for an operator.
    const item = marshall({ pool: broken, index: 'seven' });
    await bed.database.client.send(new PutItemCommand({ TableName: bed.database.tables.pools, Item: item }));
    const list = [plan(sound, 1), plan(broken, 1), plan(sound, 1), plan(broken, 1)];
    const records = list.map((each) => record(each.pool, each));
    const answer = await invoke(records);
    expect(answer).toEqual({
      batchItemFailures: [{ itemIdentifier: records[1]?.messageId }, { itemIdentifier: records[3]?.messageId }],
    });
    expect(await Promise.all(list.map(statusOf))).toEqual(['applied', undefined, 'applied', undefined]);
  });

  it('puts what is no plan into quarantine as it came, with the reason and where it came from, and goes on', async () => {
    const pool = await newPool();
    const list = [plan(pool, 1), plan(pool, 1)];
    const nonsense = record(pool, 'no plan at all');
    const records = [record(pool, list[0]), nonsense, record(pool, list[1])];
    expect(await invoke(records)).toEqual({ batchItemFailures: [] });
    expect(await Promise.all(list.map(statusOf))).toEqual(['applied', 'applied']);
    const { messageId, eventSourceARN: source } = nonsense;
    const origin = {
      body: 'no plan at all',
      reason: expect.stringMatching(/not JSON/),
      messageId,
      group: pool,
      source,
    };
    expect(await quarantined()).toEqual([expect.objectContaining(origin)]);
  });

  it('answers a plan that is wrong, that came too late or whose pool is not there, and commits nothing', async () => {
    const pool = await newPool();
    const wrong = { ...plan(pool, 1), placements: [{ taskId: 't' }] };
    const late = { ...plan(pool, 1), notAfter: '2020-01-01T00:00:00Z' };
    const nowhere = plan('nowhere', 1);
    const astray = plan('another', 1);
    const records = [record(pool, wrong), record(pool, late), record('nowhere', nowhere), record(pool, astray)];
    expect(await invoke(records)).toEqual({ batchItemFailures: [] });
    expect(await Promise.all([wrong, late, nowhere, astray].map(statusOf))).toEqual([
      'invalid',
      'expired',
      'invalid',
      'invalid',
    ]);
    expect((await bed.berth.snapshot(pool)).nodes[0]?.free.cpu).toBe(10);
  });

  it('finds the stored result of a batch that is delivered again, and tells of it once more', async () => {
    const pool = await newPool();
    const list = [plan(pool, 8), plan(pool, 8)];
    const records = list.map((each) => record(pool, each));
    await invoke(records);
    const first = await Promise.all(list.map(({ planId }) => bed.berth.result(planId)));
    const told = events.length;
    expect(await invoke(records)).toEqual({ batchItemFailures: [] });
    expect(await Promise.all(list.map(({ planId }) => bed.berth.result(planId)))).toEqual(first);
    expect((await bed.berth.snapshot(pool)).nodes[0]?.free.cpu).toBe(2);
    expect(events.slice(told).map(({ detail }) => (detail as { planId: string }).planId)).toEqual([list[1]?.planId]);
  });

  it('sees settings that were changed since the last batch', async () => {
    const pool = await newPool();
    const first = plan(pool, 10);
    await invoke([record(pool, first)]);
    await bed.berth.registerPool({ pool, settings: { stopRelease: 'terminal' } });
    const stop = { planId: `${pool}-stop`, pool, stops: first.placements.map(({ resources: _of, ...ref }) => ref) };
    await invoke([record(pool, stop)]);
    expect(await statusOf(stop)).toBe('applied');
    expect((await bed.berth.snapshot(pool)).nodes[0]?.free.cpu).toBe(0);
  });

  it('goes by what is there, if another applier has moved the pool on since its last batch', async () => {
    const pool = await newPool();
    await invoke([record(pool, plan(pool, 2))]);
    await bed.berth.push(plan(pool, 3));
    await bed.applyWaiting();
    await bed.database.client.send(
      new UpdateItemCommand({
        TableName: bed.database.tables.pools,
        Key: marshall({ pool }),
        UpdateExpression: 'SET #index = #index + :more',
        ExpressionAttributeNames: { '#index': 'index' },
        ExpressionAttributeValues: marshall({ ':more': 100 }),
      }),
    );
    const last = plan(pool, 5);
    expect(await invoke([record(pool, last)])).toEqual({ batchItemFailures: [] });
    expect((await bed.berth.result(last.planId))?.index).toBeGreaterThan(100);
    expect((await bed.berth.snapshot(pool)).nodes[0]?.free.cpu).toBe(0);
  });

  it('takes no plan up for which there is no time', async () => {
    const pool = await newPool();
    const list = [plan(pool, 1), plan(pool, 1)];
    const records = list.map((each) => record(pool, each));
    // Less than it keeps in reserve.
    const { batchItemFailures } = await invoke(records, 4_000);
    expect(batchItemFailures.map(({ itemIdentifier }) => itemIdentifier)).toEqual(
      records.map(({ messageId }) => messageId),
    );
    expect(await Promise.all(list.map(statusOf))).toEqual([undefined, undefined]);
  });
});
