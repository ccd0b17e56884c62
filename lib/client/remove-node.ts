import { type TransactWriteItem, TransactWriteItemsCommand } from '@aws-sdk/client-dynamodb';
import type { NodeId, PoolName, TaskId } from '../ids.ts';
import { type Account, exchanged, madeIneligible } from '../nodes/account.ts';
import { heldOf } from '../nodes/held.ts';
import { MAX_COMMIT_BYTES } from '../plans/ledger.ts';
import { marshall } from '../store/dynamo.ts';
import { accountWrite, taskWrite } from '../store/writes.ts';
import { holdingOf } from '../tasks/holding.ts';
import { isLeftOnNode, orphanedTask } from '../tasks/orphan.ts';
import { isTerminal } from '../tasks/states.ts';
import type { Task } from '../tasks/task.ts';
import { writeNode } from './change-node.ts';
import type { NodeConnection } from './connection.ts';
import { isOn, readTasks, scanTasks, tasksOfNode } from './node-tasks.ts';
import { NodeNotFoundError, readNode } from './nodes.ts';
import { poolShards } from './pools.ts';
import { pause, retrying } from './retrying.ts';

/** Thrown when a node is to be removed that tasks hold something of. */
export class NodeHoldsTasksError extends Error {
  override readonly name = 'NodeHoldsTasksError';
  readonly nodeId: NodeId;
  /** Those that are known: a task that was placed just now may be missing. */
  readonly taskIds: readonly TaskId[];

  constructor(nodeId: NodeId, tasks: number, taskIds: readonly TaskId[]) {
    const named = taskIds.slice(0, NAMED).join(', ');
    const more = tasks > Math.min(taskIds.length, NAMED) && named !== '' ? ', …' : '';
    super(
      `node ${nodeId} is held by ${tasks} task${tasks === 1 ? '' : 's'}${named && ` (${named}${more})`}; stop them or let them end, or remove it with force, which orphans them`,
    );
    this.nodeId = nodeId;
    this.taskIds = taskIds;
  }
}

/** Tasks that a message names. */
const NAMED = 10;

export interface RemoveNodeOptions {
  /** Orphans the tasks that are on the node, instead of refusing. Default false. */
  readonly force?: boolean;
  /** Told how many tasks were orphaned so far. */
  readonly onProgress?: (orphaned: number) => void;
}

/** Thrown when a node is to be removed as it was seen, and somebody else has registered it meanwhile. */
export class NodeRegisteredAnewError extends Error {
  override readonly name = 'NodeRegisteredAnewError';

  constructor(nodeId: NodeId) {
    super(`node ${nodeId} was registered by somebody else meanwhile, and was not removed`);
  }
}

/** For whoever goes by what it has seen. */
interface AsSeen {
  /** Revision of the profile that the node is to have; of another it is not removed. Default: any. */
  readonly revision?: number;
}

/** Tasks of one transaction. */
const GROUP = 50;
/** Looks at the index, which lags, before the whole table is read for what the node's account says is still there. */
const LOOKS = 5;
const LOOK_PAUSE_MS = 200;

/**
 * Removes a node; answers how many tasks were orphaned. Unless it is forced it is refused while tasks hold something of
 * the node. A forced removal takes the node out of service first, so that nothing is placed on it meanwhile, then orphans
 * its tasks page by page, and deletes the account last: run again after a crash, it goes on where it was.
 * Throws PoolNotFoundError, NodeNotFoundError, NodeHoldsTasksError, NodeRegisteredAnewError.
 */
export async function removeNode(
  connection: NodeConnection,
  pool: PoolName,
  node: NodeId,
  { force = false, onProgress = () => undefined, revision }: RemoveNodeOptions & AsSeen = {},
): Promise<number> {
  await poolShards(connection, pool);
  connection.rejectionsTable();
  let orphaned = 0;
  const orphanAll = async (tasks: AsyncIterable<Task[]>): Promise<number> => {
    let changed = 0;
    for await (const page of tasks) {
      for (const group of groupsOf(page.filter(isLeftOnNode))) {
        const written = await orphan(connection, pool, node, group);
        changed += written.length;
        orphaned += written.filter(({ state, released }) => !isTerminal(state) || !released).length;
        onProgress(orphaned);
      }
    }
    return changed;
  };
  const there = force
    ? await takeOut(connection, pool, node, revision)
    : (await readNode(connection, pool, node)).account;
  if (there && isAnothers(there, revision)) throw new NodeRegisteredAnewError(node);
  const deleteSeen = async (empty?: number): Promise<'deleted' | 'held'> => {
    const outcome = await deleteNode(connection, pool, node, revision, empty);
    if (outcome === 'anothers') throw new NodeRegisteredAnewError(node);
    return outcome;
  };
  if (there && force) {
    for (let look = 1; (await deleteSeen()) !== 'deleted'; look++) {
      if ((await orphanAll(tasksOfNode(connection, pool, node))) > 0) {
        look = 0;
      } else if (look < LOOKS) {
        await pause(LOOK_PAUSE_MS * look);
      } else {
        const { account } = await readNode(connection, pool, node);
        const found = await orphanAll(pagesOf(scanTasks(connection, pool, node)));
        // The whole table shows no task: what this version of the account holds, it holds for nobody.
        if (account && found === 0 && (await deleteSeen(account.version)) === 'deleted') break;
      }
    }
  } else if (there && (await deleteSeen()) === 'held') {
    throw await holdsTasks(connection, pool, node);
  }
  // Tasks that had given back what they held, but not reported their end: nobody will report it any more.
  await orphanAll(tasksOfNode(connection, pool, node));
  if (!there && orphaned === 0) throw new NodeNotFoundError(pool, node);
  return orphaned;
}

function isAnothers({ profile }: Account, revision: number | undefined): boolean {
  return revision !== undefined && profile !== revision;
}

/** Makes the node one that nothing is placed on, if it is there: down, and ineligible should its agent say that it is ready. One that is another's is left as it is. */
async function takeOut(
  connection: NodeConnection,
  pool: PoolName,
  node: NodeId,
  revision: number | undefined,
): Promise<Account | undefined> {
  return retrying(async () => {
    const stored = await readNode(connection, pool, node);
    const { account } = stored;
    if (!account || isAnothers(account, revision)) return account;
    if (account.status === 'down' && account.eligibility === 'ineligible' && !account.eligibleAt) {
      return account;
    }
    const { eligibleAt: _dropped, ...rest } = madeIneligible(account, undefined);
    const image: Account = { ...rest, status: 'down', version: account.version + 1 };
    const event = {
      at: connection.clock(),
      message: 'down and ineligible: it is being removed, its tasks are orphaned',
    };
    await writeNode(connection, stored, image, event);
    return image;
  });
}

/** Orphans the tasks of one transaction; answers those that were still to be dealt with, as they were. */
async function orphan(
  connection: NodeConnection,
  pool: PoolName,
  node: NodeId,
  tasks: readonly Task[],
): Promise<readonly Task[]> {
  const { dynamo, tables } = connection;
  let current: readonly Task[] | undefined = tasks;
  return retrying(async () => {
    const left = (current ?? (await readTasks(connection, tasks))).filter(
      (task) => isLeftOnNode(task) && isOn(task, pool, node),
    );
    current = undefined;
    if (left.length === 0) return [];
    const { account, accountKey } = await readNode(connection, pool, node);
    const now = connection.clock();
    const writes = left.map((task): TransactWriteItem => {
      const image = orphanedTask(task, now, `node ${node} was removed`);
      return taskWrite(tables.tasks, task, { before: task.version, image });
    });
    const gives = left.filter(({ released }) => !released).map(holdingOf);
    if (account && gives.length > 0) {
      const image = { ...exchanged(account, { gives, takes: [] }), version: account.version + 1 };
      writes.push(accountWrite(tables.nodes, accountKey, { kind: 'known', image }));
    }
    await dynamo.send(new TransactWriteItemsCommand({ TransactItems: writes }));
    return left;
  });
}

/** Deletes the node if nothing of it is held, or if it is of a version that is known to hold nothing in truth. */
async function deleteNode(
  connection: NodeConnection,
  pool: PoolName,
  node: NodeId,
  revision?: number,
  empty?: number,
): Promise<'deleted' | 'held' | 'anothers'> {
  const { dynamo, tables } = connection;
  return retrying(async () => {
    const { account, accountKey, profileKey } = await readNode(connection, pool, node);
    if (!account) return 'deleted';
    if (isAnothers(account, revision)) return 'anothers';
    if (heldOf(account) && account.version !== empty) return 'held';
    const unchanged = {
      ConditionExpression: '#version = :version',
      ExpressionAttributeNames: { '#version': 'version' },
      ExpressionAttributeValues: marshall({ ':version': account.version }),
    };
    const writes = [
      { Delete: { TableName: tables.nodes, Key: marshall(accountKey), ...unchanged } },
      { Delete: { TableName: tables.nodes, Key: marshall(profileKey) } },
      // A node of the same name that is registered later begins without its refusals.
      { Delete: { TableName: connection.rejectionsTable(), Key: marshall({ pool, nodeId: node }) } },
      // An applier that has read this account must not write it over one that is registered anew, which counts its
      // versions from the start: a moved index makes it forget what it has read.
      {
        Update: {
          TableName: tables.pools,
          Key: marshall({ pool }),
          UpdateExpression: 'ADD #index :one',
          ConditionExpression: 'attribute_exists(#index)',
          ExpressionAttributeNames: { '#index': 'index' },
          ExpressionAttributeValues: marshall({ ':one': 1 }),
        },
      },
    ];
    await dynamo.send(new TransactWriteItemsCommand({ TransactItems: writes }));
    return 'deleted';
  });
}

async function holdsTasks(connection: NodeConnection, pool: PoolName, node: NodeId): Promise<NodeHoldsTasksError> {
  const { account } = await readNode(connection, pool, node);
  const held = account && heldOf(account);
  const taskIds: TaskId[] = [];
  for await (const page of tasksOfNode(connection, pool, node)) {
    for (const { taskId, released } of page) if (!released) taskIds.push(taskId);
  }
  return new NodeHoldsTasksError(node, Math.max(held?.tasks ?? 0, taskIds.length), taskIds.sort());
}

/** Tasks in groups that one transaction holds, beside the account. */
function groupsOf(tasks: readonly Task[]): Task[][] {
  const groups: Task[][] = [];
  let bytes = 0;
  for (const task of tasks) {
    const size = Buffer.byteLength(JSON.stringify(task));
    const last = groups.at(-1);
    if (last && last.length < GROUP && bytes + size <= MAX_COMMIT_BYTES) {
      last.push(task);
      bytes += size;
    } else {
      groups.push([task]);
      bytes = size;
    }
  }
  return groups;
}

async function* pagesOf(tasks: AsyncIterable<Task>): AsyncGenerator<Task[]> {
  let page: Task[] = [];
  for await (const task of tasks) {
    page.push(task);
    if (page.length < GROUP) continue;
    yield page;
    page = [];
  }
  if (page.length > 0) yield page;
}
