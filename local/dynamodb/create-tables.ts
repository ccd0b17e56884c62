import {
  CreateTableCommand,
  DescribeTableCommand,
  DescribeTimeToLiveCommand,
  type DynamoDBClient,
  ResourceNotFoundException,
  type TableDescription,
  UpdateTimeToLiveCommand,
  waitUntilTableExists,
} from '@aws-sdk/client-dynamodb';
import type { DeclaredTable } from '../template/tables.ts';

/** A table that is there. */
export interface CreatedTable {
  readonly name: string;
  readonly streamArn?: string | undefined;
  /** Names of the key's attributes, the partition key first. */
  readonly keys: readonly string[];
  /** Attribute with the time after which an item may go. */
  readonly ttlAttribute?: string | undefined;
}

/** Seconds that a table may take until it can be used. */
const ACTIVE_SECONDS = 30;

/**
 * Creates `table` if it is missing.
 *
 * @throws Error when there is a table of this name with other keys or indexes: its data are of another version
 */
export async function createTable(client: DynamoDBClient, table: DeclaredTable): Promise<CreatedTable> {
  let found = await describe(client, table.name);
  if (found === undefined) {
    await client.send(new CreateTableCommand(table.create));
    await waitUntilTableExists({ client, maxWaitTime: ACTIVE_SECONDS }, { TableName: table.name });
    found = await describe(client, table.name);
  } else if (keysOf(found) !== keysOf(table.create)) {
    throw new Error(
      `table ${table.name} has other keys or indexes than this version of Berth: ${keysOf(found)}, expected ` +
        `${keysOf(table.create)}. Use another data directory, or delete this one with all that is in it`,
    );
  }
  if (table.ttlAttribute !== undefined) await enableExpiry(client, table.name, table.ttlAttribute);
  const { name, ttlAttribute } = table;
  const keys = (table.create.KeySchema ?? []).toSorted((one, other) =>
    (one.KeyType ?? '').localeCompare(other.KeyType ?? ''),
  );
  return { name, streamArn: found?.LatestStreamArn, keys: keys.map((key) => key.AttributeName ?? ''), ttlAttribute };
}

async function describe(client: DynamoDBClient, name: string): Promise<TableDescription | undefined> {
  try {
    return (await client.send(new DescribeTableCommand({ TableName: name }))).Table;
  } catch (error) {
    if (error instanceof ResourceNotFoundException) return undefined;
    throw error;
  }
}

async function enableExpiry(client: DynamoDBClient, name: string, attribute: string): Promise<void> {
  const { TimeToLiveDescription: now } = await client.send(new DescribeTimeToLiveCommand({ TableName: name }));
  // To enable what is enabled is an error.
  if (now?.AttributeName === attribute) return;
  const TimeToLiveSpecification = { AttributeName: attribute, Enabled: true };
  await client.send(new UpdateTimeToLiveCommand({ TableName: name, TimeToLiveSpecification }));
}

type Keys = Pick<TableDescription, 'KeySchema' | 'GlobalSecondaryIndexes' | 'LocalSecondaryIndexes'>;

/** What cannot be changed of a table that holds something, in one line. */
function keysOf(table: Keys | DeclaredTable['create']): string {
  const schema = (keys: TableDescription['KeySchema']) => (keys ?? []).map((key) => key.AttributeName).join('/');
  const indexes = [...(table.GlobalSecondaryIndexes ?? []), ...(table.LocalSecondaryIndexes ?? [])];
  const named = indexes.map((index) => `${index.IndexName} ${schema(index.KeySchema)}`).sort();
  return [schema(table.KeySchema), ...named].join(', ');
}
