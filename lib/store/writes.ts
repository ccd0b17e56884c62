import type { TransactWriteItem } from '@aws-sdk/client-dynamodb';
import type { PoolName } from '../ids.ts';
import type { StoredResult } from '../plans/facts.ts';
import type { NodeWrite, TaskWrite } from '../plans/fold.ts';
import { type AccountKey, accountItem } from './account-item.ts';
import { blindUpdate } from './account-update.ts';
import { marshall } from './dynamo.ts';
import { resultItem, taskItem } from './records.ts';
import type { TableNames } from './tables.ts';

/**
 * The writes that every transaction is made of. Each carries the condition that what it was computed from is still so,
 * and asks for the item that stands in its way.
 */

const SHOW = { ReturnValuesOnConditionCheckFailure: 'ALL_OLD' } as const;

/** The condition that an item, known by `key`, is of version `before`; 0: that it is not there. */
function unchanged(key: string, before: number) {
  return before === 0
    ? { ConditionExpression: 'attribute_not_exists(#key)', ExpressionAttributeNames: { '#key': key } }
    : {
        ConditionExpression: '#version = :before',
        ExpressionAttributeNames: { '#version': 'version' },
        ExpressionAttributeValues: marshall({ ':before': before }),
      };
}

/** Moves the pool's index from `index` - 1 to `index`: the fence between two appliers of one pool. */
export function poolIndexWrite(table: TableNames['pools'], pool: PoolName, index: number): TransactWriteItem {
  return {
    Update: {
      TableName: table,
      Key: marshall({ pool }),
      UpdateExpression: 'SET #index = :index',
      ConditionExpression: '#index = :before',
      ExpressionAttributeNames: { '#index': 'index' },
      ExpressionAttributeValues: marshall({ ':index': index, ':before': index - 1 }),
      ...SHOW,
    },
  };
}

/** Writes an account: what was computed from a copy if that is still current, else a change on conditions. */
export function accountWrite(
  table: TableNames['nodes'],
  key: AccountKey,
  write: NodeWrite,
  index?: number,
): TransactWriteItem {
  if (write.kind === 'known') {
    return {
      Put: {
        TableName: table,
        Item: marshall(accountItem(key, write.image)),
        ...unchanged('nodeId', write.image.version - 1),
        ...SHOW,
      },
    };
  }
  const { UpdateExpression, ConditionExpression, names, values } = blindUpdate(write.change, index);
  return {
    Update: {
      TableName: table,
      Key: marshall(key),
      UpdateExpression,
      ConditionExpression,
      ExpressionAttributeNames: names,
      ExpressionAttributeValues: marshall(values),
      ...SHOW,
    },
  };
}

/** Writes a task, if it is still of the version before; 0: if it is not there. */
export function taskWrite(table: TableNames['tasks'], { before, image }: TaskWrite): TransactWriteItem {
  return {
    Put: {
      TableName: table,
      Item: marshall(taskItem(image)),
      ...unchanged('taskId', before),
      ...SHOW,
    },
  };
}

/** Writes the result of a plan, if it has none. */
export function resultWrite(table: TableNames['plans'], stored: StoredResult): TransactWriteItem {
  return {
    Put: {
      TableName: table,
      Item: marshall(resultItem(stored)),
      ...unchanged('planId', 0),
      ...SHOW,
    },
  };
}
