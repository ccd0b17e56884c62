import { setTimeout as sleep } from 'node:timers/promises';
import { CreateQueueCommand, DeleteMessageCommand, ReceiveMessageCommand, type SQSClient } from '@aws-sdk/client-sqs';
import { type Berth, berthOver } from '../../lib/client/berth.ts';
import { type Connection, openConnection } from '../../lib/client/connection.ts';
import { applyPlans } from '../../lib/plans/apply.ts';
import { readMessage } from '../../lib/plans/read-message.ts';
import { WindowCache } from '../../lib/plans/window-cache.ts';
import { planStore } from '../../lib/store/plan-store.ts';
import { QUEUE_ENV, QUEUE_IDS, type QueueName } from '../../lib/store/tables.ts';
import type { EpochMs } from '../../lib/time.ts';
import { Queues } from '../../local/sqs/queues.ts';
import { startSqsServer } from '../../local/sqs/server.ts';
import { type Database, startDatabase } from './database.ts';

/** Berth without functions: tables and queues of its own, and plans applied when a test says so. */
export interface BerthBed {
  readonly env: Readonly<Record<string, string>>;
  readonly database: Database;
  readonly queues: { readonly [name in QueueName]: string };
  readonly sqs: SQSClient;
  readonly connection: Connection;
  readonly berth: Berth;
  /** The time that the client goes by. Begins with the machine's; moved by assignment. */
  now: EpochMs;
  /** Applies the plans that wait in the queue, as the function does, and answers how many there were. */
  applyWaiting(): Promise<number>;
  stop(): Promise<void>;
}

export async function startBerthBed(): Promise<BerthBed> {
  const database = await startDatabase();
  const local = await Queues.open({ region: 'us-east-1', account: '000000000000' });
  const server = await startSqsServer(local);
  const endpoints = { ...database.env, AWS_ENDPOINT_URL_SQS: server.url };
  const bed = { now: Date.now() as EpochMs };
  const clock = () => bed.now;
  const bare = openConnection({ env: { ...endpoints, [QUEUE_ENV.plans]: 'none' } });
  const urls: Record<string, string> = {};
  for (const [name, { suffix }] of Object.entries(QUEUE_IDS)) {
    const fifo = suffix.endsWith('.fifo')
      ? { FifoQueue: 'true', DeduplicationScope: 'messageGroup', FifoThroughputLimit: 'perMessageGroupId' }
      : {};
    const created = await bare.sqs.send(new CreateQueueCommand({ QueueName: suffix, Attributes: fifo }));
    urls[name] = created.QueueUrl ?? '';
  }
  bare.sqs.destroy();
  bare.dynamo.destroy();
  const queues = urls as BerthBed['queues'];
  const env = {
    ...endpoints,
    ...Object.fromEntries(Object.entries(QUEUE_ENV).map(([name, variable]) => [variable, urls[name] ?? ''])),
  };
  // The queues are in this process: a poll that finds nothing proves that there is nothing.
  const connection: Connection = { ...openConnection({ env, clock }), pollSeconds: 0 };
  const berth = berthOver(connection);
  return Object.assign(bed, {
    env,
    database,
    queues,
    sqs: connection.sqs,
    connection,
    berth,
    applyWaiting: () => applyWaiting(connection, queues.plans),
    async stop() {
      berth.close();
      await server.close();
      local.close();
      await database.stop();
    },
  });
}

async function applyWaiting(connection: Connection, QueueUrl: string): Promise<number> {
  const { sqs, dynamo, tables, clock } = connection;
  const receive = new ReceiveMessageCommand({
    QueueUrl,
    MaxNumberOfMessages: 10,
    MessageSystemAttributeNames: ['MessageGroupId'],
  });
  for (let applied = 0; ; ) {
    const { Messages = [] } = await sqs.send(receive);
    if (Messages.length === 0) return applied;
    for (const { Body = '', Attributes, ReceiptHandle } of Messages) {
      const delivery = readMessage({ body: Body, group: Attributes?.MessageGroupId ?? '', sentAt: clock() });
      if ('reason' in delivery) throw new Error(`not a plan: ${delivery.reason}`);
      const { left, error } = await applyPlans([delivery], {
        store: planStore(dynamo, { ...tables, rejections: connection.rejectionsTable() }),
        clock,
        deadline: (clock() + 60_000) as EpochMs,
        sleep: (ms) => sleep(ms),
        random: Math.random,
        pools: new Map(),
        windows: new WindowCache(),
      });
      if (left.length > 0) throw error ?? new Error('a plan was left');
      await sqs.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle }));
      applied++;
    }
  }
}
