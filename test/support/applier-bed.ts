import { ReceiveMessageCommand } from '@aws-sdk/client-sqs';
import type { Context, SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import { vi } from 'vitest';
import type { PoolSettingsInput } from '../../lib/nodes/pool.ts';
import type { PlanInput } from '../../lib/plans/plan.ts';
import { EVENT_BUS_ENV } from '../../lib/store/tables.ts';
import { type BusEvent, startEventBus } from '../../local/event-bus/server.ts';
import { type BerthBed, startBerthBed } from './berth-bed.ts';

/** The plan applier as it is deployed, over tables, queues and an event bus of its own, invoked by the test. */
export interface ApplierBed {
  readonly bed: BerthBed;
  /** What the bus has taken, in order. */
  readonly events: BusEvent[];
  /** Events that the bus refuses, until it is told otherwise. Default: none. */
  refuses: (event: BusEvent) => boolean;
  invoke(records: readonly SQSRecord[], remainingMs?: number): Promise<SQSBatchResponse>;
  /** What comes from here on is invoked in an environment that was just started, over `env` as well. */
  startAnew(env?: Readonly<Record<string, string>>): Promise<void>;
  /** A pool with a node `n1` of ten thousandths of a core; answers its name. */
  newPool(settings?: PoolSettingsInput): Promise<string>;
  /** What waits in the quarantine queue: bodies, and attributes by name. */
  quarantined(): Promise<Record<string, string | undefined>[]>;
  stop(): Promise<void>;
}

export async function startApplierBed(): Promise<ApplierBed> {
  const bed = await startBerthBed();
  const events: BusEvent[] = [];
  const bus = await startEventBus((event) => {
    if (applier.refuses(event)) throw new Error('not now');
    events.push(event);
  });
  // Not as stubs, which are taken back before each test: the SDK looks for its endpoints when it first needs them.
  const before = { ...process.env };
  Object.assign(process.env, bed.env, {
    [EVENT_BUS_ENV]: 'berth',
    AWS_ENDPOINT_URL_EVENTBRIDGE: bus.url,
    POWERTOOLS_METRICS_NAMESPACE: 'berth',
  });
  let handler: (event: SQSEvent, context: Context) => Promise<SQSBatchResponse>;
  let pools = 0;
  const applier: ApplierBed = {
    bed,
    events,
    refuses: () => false,
    invoke: (records, remainingMs = 30_000) =>
      handler({ Records: [...records] }, { getRemainingTimeInMillis: () => remainingMs } as Context),
    async startAnew(env = {}) {
      Object.assign(process.env, bed.env, env);
      vi.resetModules();
      ({ handler } = await import('../../functions/plan-applier/handler.ts'));
    },
    async newPool(settings = {}) {
      const pool = `p${pools++}`;
      await bed.berth.registerPool({ pool, shards: 1, settings });
      await bed.berth.registerNode({ pool, nodeId: 'n1', capacity: { cpu: 10 } });
      return pool;
    },
    quarantined: () => quarantined(bed),
    async stop() {
      process.env = before;
      await bus.close();
      await bed.stop();
    },
  };
  await applier.startAnew();
  return applier;
}

async function quarantined({ sqs, queues }: BerthBed): Promise<Record<string, string | undefined>[]> {
  const { Messages = [] } = await sqs.send(
    new ReceiveMessageCommand({
      QueueUrl: queues.quarantine,
      MaxNumberOfMessages: 10,
      MessageAttributeNames: ['All'],
    }),
  );
  return Messages.map(({ Body, MessageAttributes = {} }) => ({
    body: Body,
    ...Object.fromEntries(Object.entries(MessageAttributes).map(([name, { StringValue }]) => [name, StringValue])),
  }));
}

let messages = 0;
/** A message of the plan queue as Lambda hands it over. */
export function recordOf(group: string, body: unknown): SQSRecord {
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
/** A plan that places one task on node `n1`. */
export function planOn(pool: string, cpu: number): PlanInput & { readonly placements: object[] } {
  const planId = `${pool}-plan-${plans++}`;
  const task = { taskId: `${planId}-t`, serviceId: pool, slot: plans, nodeId: 'n1', resources: { cpu } };
  return { planId, pool, placements: [task] };
}
