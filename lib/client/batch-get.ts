import { BatchGetItemCommand, type BatchGetItemCommandInput } from '@aws-sdk/client-dynamodb';
import { PLATFORM } from '../settings.ts';
import { type Item, marshall, unmarshall } from '../store/dynamo.ts';
import { RetryError } from '../store/errors.ts';
import type { NodeConnection } from './connection.ts';
import { retrying } from './retrying.ts';

type Requests = NonNullable<BatchGetItemCommandInput['RequestItems']>;

/** The items of `keys` that are there, read consistently, in no order. Each is read at a moment of its own. */
export async function batchGet(connection: NodeConnection, table: string, keys: readonly object[]): Promise<Item[]> {
  const items: Item[] = [];
  for (let at = 0; at < keys.length; at += PLATFORM.batchGetKeys) {
    const Keys = keys.slice(at, at + PLATFORM.batchGetKeys).map((key) => marshall(key));
    let requests: Requests = { [table]: { Keys, ConsistentRead: true } };
    await retrying(async () => {
      while (Object.keys(requests).length > 0) {
        const asked = requests;
        const { Responses, UnprocessedKeys } = await connection.dynamo.send(
          new BatchGetItemCommand({ RequestItems: asked }),
        );
        for (const item of Responses?.[table] ?? []) items.push(unmarshall(item));
        requests = UnprocessedKeys ?? {};
        // DynamoDB leaves keys out when it throttles: the rest is asked for after a pause.
        if (Object.keys(requests).length > 0) throw new RetryError('BatchGetItem: some keys were not processed');
      }
    });
  }
  return items;
}
