import { ScanCommand, type ScanCommandInput, type ScanCommandOutput } from '@aws-sdk/client-dynamodb';
import { type Item, unmarshall } from '../store/dynamo.ts';
import type { NodeConnection } from './connection.ts';
import { retrying } from './retrying.ts';

/** Every item of a table that `input` lets through, in no order, by consistent reads, a page at a time. */
export async function* scanned(
  { dynamo }: NodeConnection,
  input: Omit<ScanCommandInput, 'ConsistentRead' | 'ExclusiveStartKey'>,
): AsyncGenerator<Item> {
  let start: ScanCommandOutput['LastEvaluatedKey'];
  do {
    const command = new ScanCommand({
      ...input,
      ConsistentRead: true,
      ...(start ? { ExclusiveStartKey: start } : {}),
    });
    const page: ScanCommandOutput = await retrying(() => dynamo.send(command));
    for (const item of page.Items ?? []) yield unmarshall(item);
    start = page.LastEvaluatedKey;
  } while (start);
}
