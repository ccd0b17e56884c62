import type { TransactWriteItem } from '@aws-sdk/client-dynamodb';
import type { NodeId, PoolName } from '../ids.ts';
import type { EventsWrite, NodeWrite, PoolWrite, ResultWrite, TaskWrite } from '../plans/ledger.ts';
import type { Progress } from '../plans/progress.ts';
import type { RejectionWindow } from '../plans/rejections.ts';
import { RESULTS } from '../settings.ts';
import type { Task } from '../tasks/task.ts';
import { type EpochMs, expiryAfter } from '../time.ts';
import { type AccountKey, accountItem } from './account-item.ts';
import { blindUpdate } from './account-update.ts';
import { marshall } from './dynamo.ts';
import { changesKey } from './keys.ts';
import { progressItem, resultItem, taskItem, windowItem } from './records.ts';
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

/** Moves the pool's index by one: the fence between two appliers of one pool. */
export function poolIndexWrite(table: TableNames['pools'], { pool, index, marks }: PoolWrite): TransactWriteItem {
  return {
    Update: {
      TableName: table,
      Key: marshall({ pool }),
      UpdateExpression: marks ? 'SET #index = :index, #marks = :marks' : 'SET #index = :index',
      ConditionExpression: '#index = :before',
      ExpressionAttributeNames: { '#index': 'index', ...(marks ? { '#marks': 'marks' } : {}) },
      ExpressionAttributeValues: marshall({ ':index': index, ':before': index - 1, ':marks': marks }),
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

/** Writes or deletes a task, if it is still of the version before; 0: if it is not there. */
export function taskWrite(
  table: TableNames['tasks'],
  { slotKey, taskId }: Pick<Task, 'slotKey' | 'taskId'>,
  { before, image }: TaskWrite,
): TransactWriteItem {
  const condition = { TableName: table, ...unchanged('taskId', before), ...SHOW };
  if (!image) return { Delete: { Key: marshall({ slotKey, taskId }), ...condition } };
  return { Put: { Item: marshall(taskItem(image)), ...condition } };
}

/** Marks a task as to be removed, if it is still as it was seen. It goes when its agent has reported its end. */
export function markWrite(
  table: TableNames['tasks'],
  { slotKey, taskId, version }: Pick<Task, 'slotKey' | 'taskId' | 'version'>,
  now: EpochMs,
): TransactWriteItem {
  return {
    Update: {
      TableName: table,
      Key: marshall({ slotKey, taskId }),
      // It has no phase yet: an agent may have it.
      UpdateExpression: 'SET #desired = :remove, #at = :now, #version = :after REMOVE #phase',
      ConditionExpression: '#version = :before',
      ExpressionAttributeNames: {
        '#desired': 'desiredState',
        '#at': 'desiredAt',
        '#version': 'version',
        '#phase': 'phase',
      },
      ExpressionAttributeValues: marshall({
        ':remove': 'remove',
        ':now': now,
        ':before': version,
        ':after': version + 1,
      }),
      ...SHOW,
    },
  };
}

/** Writes the result of a plan: in place of its progress, or if nothing is stored under its id. */
export function resultWrite(table: TableNames['plans'], stored: ResultWrite): TransactWriteItem {
  return {
    Put: { TableName: table, Item: marshall(resultItem(stored)), ...unchanged('planId', stored.over), ...SHOW },
  };
}

/** Writes how far a plan has come, if it is where the step before left it. */
export function progressWrite(table: TableNames['plans'], progress: Progress): TransactWriteItem {
  return {
    Put: {
      TableName: table,
      Item: marshall(progressItem(progress)),
      ...unchanged('planId', progress.version - 1),
      ...SHOW,
    },
  };
}

/** Writes the refusals of a node, if nobody counted another one in between. */
export function windowWrite(
  table: TableNames['rejections'],
  pool: PoolName,
  window: RejectionWindow,
): TransactWriteItem {
  return {
    Put: {
      TableName: table,
      Item: marshall(windowItem(pool, window)),
      ...unchanged('nodeId', window.version - 1),
      ...SHOW,
    },
  };
}

/** Writes the events of a node, if none was added in between. */
export function eventsWrite(
  table: TableNames['nodes'],
  key: AccountKey,
  { before, events }: EventsWrite,
): TransactWriteItem {
  return {
    Update: {
      TableName: table,
      Key: marshall(key),
      UpdateExpression: 'SET #events = :events',
      ConditionExpression: '#events = :before',
      ExpressionAttributeNames: { '#events': 'events' },
      ExpressionAttributeValues: marshall({ ':events': events, ':before': before }),
      ...SHOW,
    },
  };
}

/** Writes which nodes a commit changed, so that a worker reads those again and no others. */
export function changesWrite(
  table: TableNames['plans'],
  { pool, index }: PoolWrite,
  nodes: Iterable<NodeId>,
  now: EpochMs,
): TransactWriteItem {
  const expiresAt = expiryAfter(now, RESULTS.changesSeconds);
  return {
    Put: { TableName: table, Item: marshall({ planId: changesKey(pool, index), nodes: [...nodes], expiresAt }) },
  };
}
