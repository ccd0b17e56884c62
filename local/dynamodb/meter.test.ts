import { existsSync, mkdtempSync } from 'node:fs';
import * as http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  CreateTableCommand,
  DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  TransactWriteItemsCommand,
} from '@aws-sdk/client-dynamodb';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { listenOnLoopback } from '../loopback-server.ts';
import { type DynamoDb, startDynoxide } from './dynoxide.ts';
import { Meter } from './meter.ts';
import { totalUsage, usageBetween } from './usage.ts';

let database: DynamoDb;
let temporary: string;
let meter: Meter;
const clients: DynamoDBClient[] = [];

beforeAll(async () => {
  temporary = mkdtempSync(join(tmpdir(), 'berth-meter-'));
  database = await startDynoxide(temporary);
  const client = new DynamoDBClient({ endpoint: database.url });
  await client.send(
    new CreateTableCommand({
      TableName: 'things',
      BillingMode: 'PAY_PER_REQUEST',
      KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
      AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' }],
    }),
  );
  client.destroy();
});

afterAll(async () => {
  await database.stop();
  expect(existsSync(temporary)).toBe(false);
});

beforeEach(() => {
  meter = new Meter(database.url);
});

afterEach(async () => {
  for (const client of clients.splice(0)) client.destroy();
  await meter.close();
});

async function clientOf(consumer: string): Promise<DynamoDBClient> {
  const client = new DynamoDBClient({ endpoint: await meter.endpointFor(consumer), maxAttempts: 1 });
  clients.push(client);
  return client;
}

const put = (id: string, size = 1) =>
  new PutItemCommand({
    TableName: 'things',
    Item: { id: { S: id }, data: { S: 'x'.repeat(size) } },
    ReturnConsumedCapacity: 'INDEXES',
  });

const claim = (...ids: string[]) =>
  new TransactWriteItemsCommand({
    TransactItems: ids.map((id) => ({
      Put: { TableName: 'things', Item: { id: { S: id } }, ConditionExpression: 'attribute_not_exists(id)' },
    })),
    ReturnConsumedCapacity: 'INDEXES',
  });

describe('a meter', () => {
  test('counts each consumer for itself: requests, items, units of capacity', async () => {
    const [applier, client] = [await clientOf('PlanApplier'), await clientOf('client')];
    await applier.send(claim('a', 'b', 'c'));
    await applier.send(put('d', 1500));
    await client.send(
      new GetItemCommand({
        TableName: 'things',
        Key: { id: { S: 'd' } },
        ConsistentRead: true,
        ReturnConsumedCapacity: 'INDEXES',
      }),
    );
    expect(meter.read()).toEqual({
      PlanApplier: {
        TransactWriteItems: { requests: 1, items: 3, readUnits: 0, writeUnits: 6, failed: {} },
        PutItem: { requests: 1, items: 1, readUnits: 0, writeUnits: 2, failed: {} },
      },
      client: { GetItem: { requests: 1, items: 1, readUnits: 1, writeUnits: 0, failed: {} } },
    });
  });

  test('passes errors on as they are, and counts them', async () => {
    const client = await clientOf('client');
    await client.send(claim('taken'));
    const error = await client.send(claim('taken', 'free')).catch((it: unknown) => it);
    expect(error).toMatchObject({
      name: 'TransactionCanceledException',
      CancellationReasons: [{ Code: 'ConditionalCheckFailed' }, { Code: 'None' }],
    });
    expect(meter.read().client?.TransactWriteItems).toMatchObject({
      requests: 2,
      failed: { TransactionCanceledException: 1 },
    });
  });

  test('gives readings that stay as they are', async () => {
    const client = await clientOf('client');
    await client.send(put('e'));
    const before = meter.read();
    await client.send(put('f'));
    expect(totalUsage(before.client).requests).toBe(1);
    expect(totalUsage(usageBetween(before, meter.read()).client)).toMatchObject({
      requests: 1,
      items: 1,
      writeUnits: 1,
    });
  });

  test('has one endpoint for a name', async () => {
    expect(await meter.endpointFor('client')).toBe(await meter.endpointFor('client'));
    expect(await meter.endpointFor('other')).not.toBe(await meter.endpointFor('client'));
  });

  test('passes on many requests at once and bodies of 300 KB', async () => {
    const client = await clientOf('client');
    await Promise.all(Array.from({ length: 40 }, (_, index) => client.send(put(`big-${index}`, 300_000))));
    const { Item } = await client.send(new GetItemCommand({ TableName: 'things', Key: { id: { S: 'big-7' } } }));
    expect(Item?.data?.S).toHaveLength(300_000);
    expect(meter.read().client?.PutItem?.requests).toBe(40);
  });
});

describe('without a database behind it', () => {
  test('a client sees a broken connection', async () => {
    const nowhere = new Meter('http://127.0.0.1:9');
    const client = new DynamoDBClient({ endpoint: await nowhere.endpointFor('client'), maxAttempts: 1 });
    await expect(client.send(put('x'))).rejects.toThrow(/socket hang up|ECONNRESET/);
    client.destroy();
    await nowhere.close();
  });

  test('a database that breaks off in the middle of its answer breaks that of the client', async () => {
    const broken = http.createServer((_, response) => {
      response.writeHead(200, { 'content-length': 100 });
      response.write('{', () => response.destroy());
    });
    const behind = new Meter(await listenOnLoopback(broken));
    const client = new DynamoDBClient({ endpoint: await behind.endpointFor('client'), maxAttempts: 1 });
    await expect(client.send(put('x'))).rejects.toThrow();
    expect(behind.read()).toEqual({ client: {} });
    client.destroy();
    await behind.close();
    broken.closeAllConnections();
    broken.close();
  });
});
