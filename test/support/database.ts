import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CreateTableCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { TABLES, type TableDefinition, type TableName, type TableNames } from '../../lib/store/tables.ts';
import { startDynoxide } from '../../local/dynamodb/dynoxide.ts';

/** A DynamoDB of its own, with every table of Berth. */
export interface Database {
  readonly url: string;
  readonly client: DynamoDBClient;
  readonly tables: TableNames;
  /** What `connect` needs, besides the queue. */
  readonly env: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

export async function startDatabase(): Promise<Database> {
  const directory = await mkdtemp(join(tmpdir(), 'berth-test-'));
  const dynamo = await startDynoxide(directory);
  const client = new DynamoDBClient({
    endpoint: dynamo.url,
    region: 'us-east-1',
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
  });
  const entries = Object.entries(TABLES) as [TableName, TableDefinition][];
  for (const [, table] of entries) await client.send(createTable(table));
  return {
    url: dynamo.url,
    client,
    tables: Object.fromEntries(entries.map(([name, { id }]) => [name, id])) as TableNames,
    env: {
      ...Object.fromEntries(entries.map(([, { env, id }]) => [env, id])),
      AWS_ENDPOINT_URL_DYNAMODB: dynamo.url,
      AWS_REGION: 'us-east-1',
      AWS_ACCESS_KEY_ID: 'test',
      AWS_SECRET_ACCESS_KEY: 'test',
    },
    async stop() {
      client.destroy();
      await dynamo.stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

function createTable({ id, partitionKey, sortKey, indexes }: TableDefinition): CreateTableCommand {
  const keys = new Set([
    partitionKey,
    ...(sortKey ? [sortKey] : []),
    ...indexes.flatMap((index) => [index.partitionKey, index.sortKey]),
  ]);
  const schema = (partition: string, sort?: string) => [
    { AttributeName: partition, KeyType: 'HASH' as const },
    ...(sort ? [{ AttributeName: sort, KeyType: 'RANGE' as const }] : []),
  ];
  return new CreateTableCommand({
    TableName: id,
    BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions: [...keys].map((AttributeName) => ({ AttributeName, AttributeType: 'S' as const })),
    KeySchema: schema(partitionKey, sortKey),
    ...(indexes.length > 0
      ? {
          GlobalSecondaryIndexes: indexes.map((index) => ({
            IndexName: index.name,
            KeySchema: schema(index.partitionKey, index.sortKey),
            Projection: { ProjectionType: 'KEYS_ONLY' as const },
          })),
        }
      : {}),
  });
}
