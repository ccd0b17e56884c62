import { DeleteItemCommand, DynamoDBClient, PutItemCommand, QueryCommand, ScanCommand } from '@aws-sdk/client-dynamodb';
import {
  ReceiveMessageCommand,
  SendMessageCommand,
  type SendMessageCommandInput,
  SQSClient,
} from '@aws-sdk/client-sqs';
import type {
  Context,
  DynamoDBBatchResponse,
  DynamoDBRecord,
  DynamoDBStreamEvent,
  SQSBatchResponse,
  SQSEvent,
  SQSRecord,
} from 'aws-lambda';
import { vi } from 'vitest';
import type { ServiceId } from '../../lib/ids.ts';
import { type Item, marshall, unmarshall } from '../../lib/store/dynamo.ts';
import { taskItem } from '../../lib/store/records.ts';
import { serviceItem } from '../../lib/store/services.ts';
import type { QueueName } from '../../lib/store/tables.ts';
import type { Service } from '../../lib/tasks/service.ts';
import type { Task } from '../../lib/tasks/task.ts';
import { type BerthBed, startBerthBed } from './berth-bed.ts';
import { taskOf } from './builders.ts';

/** A request to DynamoDB: `Query`, `BatchGetItem`, ..., and what it asks. */
export interface DynamoRequest {
  readonly name: string;
  readonly input: Readonly<Record<string, unknown>>;
}

/** The task reaper and the task sweeper as they are deployed, over tables and queues of their own, invoked by the test. */
export interface ReaperBed {
  readonly bed: BerthBed;
  reap(records: readonly DynamoDBRecord[], remainingMs?: number): Promise<DynamoDBBatchResponse>;
  sweep(records: readonly SQSRecord[], remainingMs?: number): Promise<SQSBatchResponse>;
  /** A service of which each slot keeps `limit` old tasks; answers its id. */
  newService(limit?: number): Promise<string>;
  put(...tasks: readonly Task[]): Promise<void>;
  /** Stores what may be no task. */
  putItem(item: Item): Promise<void>;
  /** Deletes every task. */
  clear(): Promise<void>;
  /** Ids of the tasks that are stored under `slotKey`, in order. */
  tasksOf(slotKey: string): Promise<string[]>;
  /** Takes what waits in a queue: bodies, delays aside, and attributes by name. */
  received(queue: QueueName): Promise<{ body: string; attributes: Record<string, string | undefined> }[]>;
  stop(): Promise<void>;
}

export async function startReaperBed(): Promise<ReaperBed> {
  const bed = await startBerthBed();
  const { client, tables } = bed.database;
  // Not as stubs, which are taken back before each test: the SDK looks for its endpoints when it first needs them.
  const before = { ...process.env };
  Object.assign(process.env, bed.env);
  vi.resetModules();
  const reaper: { handler: (event: DynamoDBStreamEvent, context: Context) => Promise<DynamoDBBatchResponse> } =
    await import('../../functions/task-reaper/handler.ts');
  const sweeper: { handler: (event: SQSEvent, context: Context) => Promise<SQSBatchResponse> } = await import(
    '../../functions/task-sweeper/handler.ts'
  );
  const contextOf = (remainingMs: number) => ({ getRemainingTimeInMillis: () => remainingMs }) as Context;
  const putItem = async (item: Item) => {
    await client.send(new PutItemCommand({ TableName: tables.tasks, Item: marshall(item) }));
  };
  let services = 0;
  return {
    bed,
    reap: (records, remainingMs = 60_000) => reaper.handler({ Records: [...records] }, contextOf(remainingMs)),
    sweep: (records, remainingMs = 60_000) => sweeper.handler({ Records: [...records] }, contextOf(remainingMs)),
    async newService(limit = 1) {
      const serviceId = `s${services++}` as ServiceId;
      const service: Service = {
        ...{ serviceId, mode: 'replicated', restartMaxAttempts: 0, jobIteration: 0 },
        historyLimit: limit,
      };
      await client.send(new PutItemCommand({ TableName: tables.services, Item: marshall(serviceItem(service)) }));
      return serviceId;
    },
    async put(...tasks) {
      for (const task of tasks) await putItem(taskItem(task) as Item);
    },
    putItem,
    async clear() {
      const { Items = [] } = await client.send(new ScanCommand({ TableName: tables.tasks }));
      for (const { slotKey, taskId } of Items) {
        await client.send(new DeleteItemCommand({ TableName: tables.tasks, Key: { slotKey, taskId } as never }));
      }
    },
    async tasksOf(slotKey) {
      const { Items = [] } = await client.send(
        new QueryCommand({
          TableName: tables.tasks,
          KeyConditionExpression: 'slotKey = :slotKey',
          ExpressionAttributeValues: marshall({ ':slotKey': slotKey }),
        }),
      );
      return Items.map((item) => String(unmarshall(item).taskId));
    },
    async received(queue) {
      const { Messages = [] } = await bed.sqs.send(
        new ReceiveMessageCommand({
          QueueUrl: bed.queues[queue],
          MaxNumberOfMessages: 10,
          MessageAttributeNames: ['All'],
        }),
      );
      return Messages.map(({ Body = '', MessageAttributes = {} }) => ({
        body: Body,
        attributes: Object.fromEntries(
          Object.entries(MessageAttributes).map(([name, { StringValue }]) => [name, StringValue]),
        ),
      }));
    },
    async stop() {
      process.env = before;
      await bed.stop();
    },
  };
}

/** Old tasks of a slot, `from` the eldest on, that have given back what they held. */
export function oldTasks(serviceId: string, slot: number, count: number, state: Partial<Task> = {}): Task[] {
  return Array.from({ length: count }, (_, at) => {
    const ended = { state: 'failed', desiredState: 'shutdown', released: true } as const;
    const task = taskOf(`${serviceId}-${slot}-t${at}`, { serviceId, slot }, { ...ended, ...state });
    return { ...task, appliedAt: (task.appliedAt + at) as Task['appliedAt'] };
  });
}

let sequence = 0;
/** A change of `task` as Lambda hands it over, later than those before it. */
export function changeOf(slotKey: string, { phase = 'old', at = Date.now() / 1000 } = {}): DynamoDBRecord {
  return {
    eventID: `e${sequence++}`,
    eventName: 'MODIFY',
    dynamodb: {
      Keys: { slotKey: { S: slotKey }, taskId: { S: 't' } },
      NewImage: { phase: { S: phase } },
      // Longer than what a number holds, as they are.
      SequenceNumber: `4421584500000000017450439${String(sequence).padStart(5, '0')}`,
      ApproximateCreationDateTime: at,
    },
  };
}

let messages = 0;
/** A message of the sweep queue as Lambda hands it over, received for the n-th time. */
export function messageOf(body: unknown, receives = 1): SQSRecord {
  messages++;
  return {
    messageId: `m${messages}`,
    receiptHandle: `handle-${messages}`,
    body: typeof body === 'string' ? body : JSON.stringify(body),
    attributes: {
      ApproximateReceiveCount: String(receives),
      SentTimestamp: '1772366400000',
      SenderId: 's',
      ApproximateFirstReceiveTimestamp: '1772366400000',
    },
    messageAttributes: {},
    md5OfBody: '',
    eventSource: 'aws:sqs',
    eventSourceARN: 'arn:aws:sqs:us-east-1:000000000000:berth-sweep',
    awsRegion: 'us-east-1',
  };
}

/**
 * Notes the requests to DynamoDB of every client from here on, until the test ends: spies are taken back then.
 * `fails`: what a request is refused with; undefined: nothing.
 */
export function noteRequests(fails: (request: DynamoRequest) => Error | undefined = () => undefined): DynamoRequest[] {
  const requests: DynamoRequest[] = [];
  const send = DynamoDBClient.prototype.send as (this: DynamoDBClient, ...args: unknown[]) => Promise<unknown>;
  vi.spyOn(DynamoDBClient.prototype, 'send').mockImplementation(function (this: DynamoDBClient, ...args: unknown[]) {
    const command = args[0] as { constructor: { name: string }; input: DynamoRequest['input'] };
    const request = { name: command.constructor.name.replace(/Command$/, ''), input: command.input };
    requests.push(request);
    const failure = fails(request);
    return (failure ? Promise.reject(failure) : send.apply(this, args)) as never;
  });
  return requests;
}

/** Notes what every client sends to queues from here on, until the test ends. */
export function noteMessages(): SendMessageCommandInput[] {
  const sent: SendMessageCommandInput[] = [];
  const send = SQSClient.prototype.send as (this: SQSClient, ...args: unknown[]) => Promise<unknown>;
  vi.spyOn(SQSClient.prototype, 'send').mockImplementation(function (this: SQSClient, ...args: unknown[]) {
    if (args[0] instanceof SendMessageCommand) sent.push(args[0].input);
    return send.apply(this, args) as never;
  });
  return sent;
}

/** What DynamoDB says when it is asked for too much. */
export function throttled(): Error {
  return Object.assign(new Error('too much'), { name: 'ProvisionedThroughputExceededException' });
}

/** Whether a request is the query of slot `slotKey`. */
export function isQueryOf({ name, input }: DynamoRequest, slotKey: string): boolean {
  return name === 'Query' && JSON.stringify(input.ExpressionAttributeValues).includes(JSON.stringify(slotKey));
}
