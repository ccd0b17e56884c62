import {
  BatchGetItemCommand,
  type DynamoDBClient,
  GetItemCommand,
  type TransactWriteItem,
  TransactWriteItemsCommand,
} from '@aws-sdk/client-dynamodb';
import { abortable } from '../aws/requests.ts';
import type { NodeId, PlanId } from '../ids.ts';
import type { Pool } from '../nodes/pool.ts';
import type { CommitOutcome, Learned, PlanStore } from '../plans/apply.ts';
import { type TaskKey, taskOfKey } from '../plans/decide-part.ts';
import type { Needs, StoredResult } from '../plans/facts.ts';
import type { Commit } from '../plans/ledger.ts';
import { PLATFORM } from '../settings.ts';
import { accountFromItem, accountKey, profileKey } from './account-item.ts';
import { chunksOf } from './chunks.ts';
import { type Item, marshall, unmarshall } from './dynamo.ts';
import { BugError, type CancellationReason, cancellationReasons, ours, RetryError, storeError } from './errors.ts';
import {
  eventsFromItem,
  poolFromItem,
  progressFromItem,
  resultFromItem,
  taskFromItem,
  windowFromItem,
} from './records.ts';
import type { TableNames } from './tables.ts';
import {
  accountWrite,
  changesWrite,
  eventsWrite,
  poolIndexWrite,
  progressWrite,
  resultWrite,
  taskWrite,
  windowWrite,
} from './writes.ts';

/** The tables that plans are applied to. */
export type PlanTables = Pick<TableNames, 'nodes' | 'tasks' | 'plans' | 'pools' | 'rejections'>;

/** What an item is about: what one action of a transaction writes, or what one key of a read names. */
type Subject =
  | { readonly kind: 'pool' }
  /** Which nodes the commit changed: written, never read by the applier. */
  | { readonly kind: 'changes' }
  | { readonly kind: 'account'; readonly node: NodeId }
  | { readonly kind: 'events'; readonly node: NodeId }
  | { readonly kind: 'window'; readonly node: NodeId }
  | { readonly kind: 'task'; readonly key: TaskKey }
  | { readonly kind: 'plan'; readonly plan: PlanId };

interface Action {
  readonly subject: Subject;
  readonly write: TransactWriteItem;
}

interface ReadRequest {
  readonly subject: Subject;
  readonly table: string;
  readonly key: Readonly<Record<string, string>>;
}

/**
 * The state in DynamoDB. `signal` ends what is under way when the invocation has no time left: what became of it then is
 * seen at the redelivery, which finds the stored result or none.
 */
export function planStore(client: DynamoDBClient, tables: PlanTables, signal?: AbortSignal): PlanStore {
  const options = abortable(signal);
  return {
    async readPool(pool) {
      const command = new GetItemCommand({
        TableName: tables.pools,
        Key: marshall({ pool }),
        ConsistentRead: true,
        ReturnConsumedCapacity: 'INDEXES',
      });
      const { Item } = await ours(client.send(command, options));
      return Item ? poolFromItem(unmarshall(Item)) : 'missing';
    },

    async read(pool, needs) {
      const lesson = new Lesson();
      for (const chunk of chunksOf(requestsOf(pool, needs, tables), PLATFORM.batchGetKeys)) {
        const subjects = new Map(chunk.map((request) => [keyText(request.key), request.subject]));
        // What does not come back is not there.
        for (const { subject } of chunk) lesson.learn(subject, undefined);
        let keys = keysByTable(chunk);
        while (countKeys(keys) > 0) {
          const command = new BatchGetItemCommand({ RequestItems: keys, ReturnConsumedCapacity: 'INDEXES' });
          const { Responses, UnprocessedKeys } = await ours(client.send(command, options));
          for (const item of Object.values(Responses ?? {}).flat()) {
            const found = unmarshall(item);
            const subject = subjects.get(keyText(found));
            if (subject) lesson.learn(subject, found);
          }
          const unread = (UnprocessedKeys ?? {}) as typeof keys;
          // DynamoDB leaves keys out when it throttles: asking at once for all of them again would make it worse.
          if (countKeys(unread) > 0 && countKeys(unread) === countKeys(keys)) {
            throw new RetryError('BatchGetItem: no key was processed');
          }
          keys = unread;
        }
      }
      return lesson.learned;
    },

    async commit(commit) {
      const actions = actionsOf(commit, tables);
      const command = new TransactWriteItemsCommand({
        TransactItems: actions.map(({ write }) => write),
        ReturnConsumedCapacity: 'INDEXES',
      });
      try {
        await client.send(command, options);
        return { kind: 'committed' };
      } catch (error) {
        const failure = storeError(error);
        const reasons = cancellationReasons(error);
        if (!reasons || (failure.name !== 'ConflictError' && failure.name !== 'RetryError')) throw failure;
        return refused(actions, reasons, failure);
      }
    },
  };
}

/** Gathers what items show. The one place that knows which item holds what. */
class Lesson {
  readonly #accounts: Map<NodeId, ReturnType<typeof accountFromItem> | 'missing'> = new Map();
  readonly #tasks: Map<TaskKey, ReturnType<typeof taskFromItem> | 'missing'> = new Map();
  readonly #windows: Map<NodeId, ReturnType<typeof windowFromItem> | 'missing'> = new Map();
  readonly #events: Map<NodeId, ReturnType<typeof eventsFromItem> | 'missing'> = new Map();
  readonly #progress: Map<PlanId, NonNullable<ReturnType<typeof progressFromItem>> | 'none'> = new Map();
  readonly #results: StoredResult[] = [];
  #pool: Pool | 'missing' | undefined;

  /** Takes in the item of `subject`; undefined: it is not there. */
  learn(subject: Subject, item: Item | undefined): void {
    switch (subject.kind) {
      case 'pool':
        this.#pool = item ? poolFromItem(item) : 'missing';
        break;
      case 'changes':
        break;
      case 'account':
        this.#accounts.set(subject.node, item ? accountFromItem(item) : 'missing');
        break;
      case 'events':
        this.#events.set(subject.node, item ? eventsFromItem(item) : 'missing');
        break;
      case 'window':
        this.#windows.set(subject.node, item ? windowFromItem(item) : 'missing');
        break;
      case 'task':
        this.#tasks.set(subject.key, item ? taskFromItem(item) : 'missing');
        break;
      case 'plan': {
        const result = item && resultFromItem(item);
        if (result) this.#results.push(result);
        else this.#progress.set(subject.plan, (item && progressFromItem(item)) ?? 'none');
        break;
      }
    }
  }

  get learned(): Learned {
    return {
      ...(this.#pool === undefined ? {} : { pool: this.#pool }),
      accounts: this.#accounts,
      tasks: this.#tasks,
      windows: this.#windows,
      events: this.#events,
      progress: this.#progress,
      results: this.#results,
    };
  }
}

function requestsOf({ pool, shards }: Pool, needs: Needs, tables: PlanTables): ReadRequest[] {
  return [
    ...[...needs.accounts].map((node) => ({
      subject: { kind: 'account', node } as const,
      table: tables.nodes,
      key: { ...accountKey(pool, shards, node) },
    })),
    ...[...needs.events].map((node) => ({
      subject: { kind: 'events', node } as const,
      table: tables.nodes,
      key: { ...profileKey(pool, shards, node) },
    })),
    ...[...needs.windows].map((node) => ({
      subject: { kind: 'window', node } as const,
      table: tables.rejections,
      key: { pool, nodeId: node },
    })),
    ...[...needs.tasks].map((key) => ({
      subject: { kind: 'task', key } as const,
      table: tables.tasks,
      key: { ...taskOfKey(key) },
    })),
    ...[...needs.progress].map((plan) => ({
      subject: { kind: 'plan', plan } as const,
      table: tables.plans,
      key: { planId: plan },
    })),
  ];
}

/** The key of an item, or a key by itself, as a text. Its names tell the tables apart. */
function keyText(item: Readonly<Record<string, unknown>>): string {
  const names = KEYS.find(([first]) => Object.hasOwn(item, first)) ?? [];
  return JSON.stringify(names.map((name) => [name, item[name]]));
}

/** Names of the keys; the first is in no item of a table further down. */
const KEYS = [['slotKey', 'taskId'], ['poolShard', 'nodeId'], ['planId'], ['pool', 'nodeId']] as const;

function keysByTable(requests: readonly ReadRequest[]) {
  const keys: Record<string, { Keys: ReturnType<typeof marshall>[]; ConsistentRead: true }> = {};
  for (const { table, key } of requests) {
    keys[table] ??= { Keys: [], ConsistentRead: true };
    keys[table]?.Keys.push(marshall(key));
  }
  return keys;
}

function countKeys(keys: ReturnType<typeof keysByTable>): number {
  return Object.values(keys).reduce((sum, { Keys }) => sum + Keys.length, 0);
}

/** The actions of a commit: the pool first, so that the fence is what fails first. */
function actionsOf(commit: Commit, tables: PlanTables): Action[] {
  const { pool, progress } = commit;
  const results = commit.results.map(
    (stored): Action => ({
      subject: { kind: 'plan', plan: stored.result.planId },
      write: resultWrite(tables.plans, stored),
    }),
  );
  if (!pool) return results;
  const key = (node: NodeId) => accountKey(pool.pool, pool.shards, node);
  return [
    { subject: { kind: 'pool' }, write: poolIndexWrite(tables.pools, pool) },
    ...(commit.nodes.size > 0
      ? [
          {
            subject: { kind: 'changes' } as const,
            write: changesWrite(tables.plans, pool, commit.nodes.keys(), commit.at),
          },
        ]
      : []),
    ...[...commit.nodes].map(
      ([node, write]): Action => ({
        subject: { kind: 'account', node },
        write: accountWrite(tables.nodes, key(node), write, pool.index),
      }),
    ),
    ...[...commit.tasks].map(
      ([key, write]): Action => ({
        subject: { kind: 'task', key },
        write: taskWrite(tables.tasks, taskOfKey(key), write),
      }),
    ),
    ...[...commit.windows].map(
      ([node, window]): Action => ({
        subject: { kind: 'window', node },
        write: windowWrite(tables.rejections, pool.pool, window),
      }),
    ),
    ...[...commit.events].map(
      ([node, write]): Action => ({
        subject: { kind: 'events', node },
        write: eventsWrite(tables.nodes, profileKey(pool.pool, pool.shards, node), write),
      }),
    ),
    ...(progress
      ? [{ subject: { kind: 'plan', plan: progress.planId } as const, write: progressWrite(tables.plans, progress) }]
      : []),
    ...results,
  ];
}

/** What the failed conditions of a cancelled transaction have shown. */
function refused(actions: readonly Action[], reasons: readonly CancellationReason[], error: Error): CommitOutcome {
  if (reasons.length !== actions.length) {
    throw new BugError(`a transaction of ${actions.length} actions was cancelled with ${reasons.length} reasons`, {
      cause: error,
    });
  }
  const lesson = new Lesson();
  let failed = 0;
  reasons.forEach(({ Code, Item: attributes }, at) => {
    const subject = actions[at]?.subject;
    if (Code !== 'ConditionalCheckFailed' || !subject) return;
    failed++;
    const there = attributes && Object.keys(attributes).length > 0;
    lesson.learn(subject, there ? unmarshall(attributes as Parameters<typeof unmarshall>[0]) : undefined);
  });
  return { kind: 'refused', learned: lesson.learned, busy: failed === 0 || error.name === 'RetryError' };
}
