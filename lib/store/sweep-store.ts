import {
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  type QueryCommandOutput,
  ScanCommand,
  type ScanCommandOutput,
} from '@aws-sdk/client-dynamodb';
import { SendMessageCommand, type SQSClient } from '@aws-sdk/client-sqs';
import * as z from 'zod/mini';
import { abortable } from '../aws/requests.ts';
import type { SweepStore } from '../tasks/run-page.ts';
import { SWEEP_REASONS, type SweepPageInput, type SweepRecord } from '../tasks/sweep.ts';
import { placeOfSlot, type SlotKey } from '../tasks/task.ts';
import { type Item, marshall, unmarshall } from './dynamo.ts';
import { BugError, ours, storeError } from './errors.ts';
import { sweepKey } from './keys.ts';
import { readSlotTasks, SLOT_TASK_ATTRIBUTES } from './slot-item.ts';
import { fromItem, storedMs, storedSeconds } from './stored.ts';
import { BY_SERVICE_INDEX, type TableNames } from './tables.ts';

const recordSchema = z.object({
  sweepId: z.string(),
  reason: z.enum(SWEEP_REASONS),
  sweptService: z.optional(z.string()),
  startedAt: storedMs,
  page: z.int(),
  finishedAt: z.optional(storedMs),
  unknownServices: z.array(z.string()),
  expiresAt: storedSeconds,
  ...{ slots: z.int(), tasks: z.int(), deleted: z.int(), marked: z.int() },
  ...{ conflicts: z.int(), malformed: z.int(), failed: z.int() },
});

/** A sweep's record as an item of the table of services, in which `serviceId` is the key of every item. */
function sweepItem({ serviceId, ...record }: SweepRecord): Item {
  return {
    serviceId: sweepKey(record.sweepId),
    ...record,
    unknownServices: [...record.unknownServices],
    ...(serviceId === undefined ? {} : { sweptService: serviceId }),
  };
}

export function sweepFromItem(item: Item): SweepRecord {
  const { sweptService, ...record } = fromItem(recordSchema, item, `sweep ${String(item.sweepId)}`, BugError);
  return { ...record, ...(sweptService === undefined ? {} : { serviceId: sweptService }) };
}

/** Sends a page of a sweep onto the sweep queue, to be received after so many seconds. */
export async function sendPage(
  sqs: SQSClient,
  queueUrl: string,
  page: SweepPageInput,
  delaySeconds = 0,
  signal?: AbortSignal,
): Promise<void> {
  await sqs.send(
    new SendMessageCommand({ QueueUrl: queueUrl, MessageBody: JSON.stringify(page), DelaySeconds: delaySeconds }),
    abortable(signal),
  );
}

export interface SweepConnection {
  readonly dynamo: DynamoDBClient;
  readonly tables: Pick<TableNames, 'tasks' | 'services'>;
  readonly sqs: SQSClient;
  readonly queueUrl: string;
  readonly signal?: AbortSignal | undefined;
}

/** Sweeps in DynamoDB and SQS; reading services is the slots' own. */
export function sweepStore(connection: SweepConnection): Omit<SweepStore, 'readServices'> {
  const { dynamo, tables, sqs, queueUrl, signal } = connection;
  const options = abortable(signal);
  return {
    async readTable(cursor, limit) {
      const names = Object.fromEntries(SLOT_TASK_ATTRIBUTES.map((name) => [`#${name}`, name]));
      const command = new ScanCommand({
        TableName: tables.tasks,
        Limit: limit,
        ProjectionExpression: Object.keys(names).join(', '),
        ExpressionAttributeNames: names,
        ...(cursor === undefined ? {} : { ExclusiveStartKey: startOf(cursor) }),
      });
      const page: ScanCommandOutput = await ours(dynamo.send(command, options));
      return { ...readSlotTasks(page.Items), next: cursorOf(page.LastEvaluatedKey) };
    },

    async readServiceSlots(service, cursor, limit) {
      const command = new QueryCommand({
        TableName: tables.tasks,
        IndexName: BY_SERVICE_INDEX,
        KeyConditionExpression: '#service = :service',
        ExpressionAttributeNames: { '#service': 'serviceId' },
        ExpressionAttributeValues: marshall({ ':service': service }),
        Limit: limit,
        ...(cursor === undefined ? {} : { ExclusiveStartKey: startOf(cursor) }),
      });
      const page: QueryCommandOutput = await ours(dynamo.send(command, options));
      const keys = (page.Items ?? []).map((item) => String(unmarshall(item).slotKey));
      const slotKeys = [...new Set(keys)].filter((key): key is SlotKey => placeOfSlot(key) !== undefined);
      return { slotKeys, next: cursorOf(page.LastEvaluatedKey) };
    },

    async readSweep(sweepId) {
      const key = marshall({ serviceId: sweepKey(sweepId) });
      const command = new GetItemCommand({ TableName: tables.services, Key: key, ConsistentRead: true });
      const { Item } = await ours(dynamo.send(command, options));
      return Item && sweepFromItem(unmarshall(Item));
    },

    async writeSweep(record) {
      const before = record.page - 1;
      const command = new PutItemCommand({
        TableName: tables.services,
        Item: marshall(sweepItem(record)),
        ConditionExpression: before === 0 ? 'attribute_not_exists(#key) OR #page = :before' : '#page = :before',
        ExpressionAttributeNames: { '#page': 'page', ...(before === 0 ? { '#key': 'serviceId' } : {}) },
        ExpressionAttributeValues: marshall({ ':before': before }),
      });
      try {
        await dynamo.send(command, options);
        return true;
      } catch (error) {
        const failure = storeError(error);
        if (failure.name === 'ConflictError') return false;
        throw failure;
      }
    },

    send: (page, delaySeconds) => ours(sendPage(sqs, queueUrl, page, delaySeconds, signal)),
  };
}

/** A key of DynamoDB's as a text, and back. */
function cursorOf(key: Parameters<typeof unmarshall>[0] | undefined): string | undefined {
  return key && JSON.stringify(unmarshall(key));
}

function startOf(cursor: string) {
  return marshall(JSON.parse(cursor) as object);
}
