import {
  type AttributeValue,
  ConditionalCheckFailedException,
  DeleteItemCommand,
  type DynamoDBClient,
  paginateScan,
} from '@aws-sdk/client-dynamodb';
import type { EpochMs } from '../../lib/time.ts';
import type { CreatedTable } from './create-tables.ts';

export type Key = Record<string, AttributeValue>;

/** Times that lie further back than this are taken for mistakes, seconds. Source: DynamoDB developer guide, "TTL". */
const TOO_OLD_SECONDS = 5 * 365 * 24 * 60 * 60;

/** Deletes the items of `table` whose expiry has passed by `now`, unless they are changed meanwhile. Answers their keys. */
export async function expireItems(client: DynamoDBClient, table: CreatedTable, now: EpochMs): Promise<Key[]> {
  if (table.ttlAttribute === undefined) return [];
  const seconds = Math.floor(now / 1000);
  const condition = 'attribute_type(#ttl, :number) AND #ttl <= :now AND #ttl > :tooOld';
  const names = { '#ttl': table.ttlAttribute };
  const values = { ':number': { S: 'N' }, ':now': number(seconds), ':tooOld': number(seconds - TOO_OLD_SECONDS) };
  const keyNames = Object.fromEntries(table.keys.map((key, index) => [`#key${index}`, key]));
  const deleted: Key[] = [];
  const pages = paginateScan(
    { client },
    {
      TableName: table.name,
      FilterExpression: condition,
      ProjectionExpression: Object.keys(keyNames).join(', '),
      ExpressionAttributeNames: { ...names, ...keyNames },
      ExpressionAttributeValues: values,
    },
  );
  for await (const { Items = [] } of pages) {
    for (const Key of Items) {
      const input = { TableName: table.name, Key, ConditionExpression: condition };
      const expressions = { ExpressionAttributeNames: names, ExpressionAttributeValues: values };
      try {
        await client.send(new DeleteItemCommand({ ...input, ...expressions }));
        deleted.push(Key);
      } catch (error) {
        if (!(error instanceof ConditionalCheckFailedException)) throw error;
      }
    }
  }
  return deleted;
}

function number(value: number): AttributeValue {
  return { N: String(value) };
}
