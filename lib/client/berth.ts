import { ScanCommand, type ScanCommandOutput } from '@aws-sdk/client-dynamodb';
import { SendMessageCommand } from '@aws-sdk/client-sqs';
import { type PoolName, planId, poolName } from '../ids.ts';
import type { NodeSpecInput } from '../nodes/node.ts';
import type { Pool, PoolSpecInput } from '../nodes/pool.ts';
import { checkPlan } from '../plans/check-plan.ts';
import type { Plan, PlanInput } from '../plans/plan.ts';
import type { PlanResult } from '../plans/result.ts';
import { InvalidInputError, parsed } from '../schema.ts';
import { PLATFORM } from '../settings.ts';
import { marshall, unmarshall } from '../store/dynamo.ts';
import { taskFromItem } from '../store/records.ts';
import type { TaskReportInput } from '../tasks/report.ts';
import type { Task } from '../tasks/task.ts';
import { type Connection, type ConnectOptions, openConnection } from './connection.ts';
import { readPool, registerPool } from './pools.ts';
import { registerNodes } from './register-nodes.ts';
import { type ReportOutcome, reportTask, type TaskRefInput } from './report-task.ts';
import { ResultWaiters, readResults } from './results.ts';
import { retrying } from './retrying.ts';
import { type PoolSnapshot, type ProfileCache, readSnapshot } from './snapshot.ts';

export interface SubmitOptions {
  /** How long to wait for the result, milliseconds. Default 60,000. */
  readonly timeoutMs?: number;
  /** Ends the waiting; the plan stays on the queue. */
  readonly signal?: AbortSignal;
}

/**
 * Berth as a worker, an agent or an operator's script sees it. Every call is safe beside a running applier and may be
 * repeated. Input that is not of its shape throws InvalidInputError with the path of each problem, before anything is sent.
 */
export interface Berth {
  /** Makes a pool, or changes the settings of one that exists. Throws PoolShardsError if `shards` differs from what it has. */
  registerPool(spec: PoolSpecInput): Promise<Pool>;
  /** Registers a node, or registers it again with other values: what is free moves by the difference. Throws PoolNotFoundError. */
  registerNode(spec: NodeSpecInput): Promise<void>;
  /** Registers many nodes, side by side; `onProgress` is told how many are done. */
  registerNodes(specs: readonly NodeSpecInput[], onProgress?: (done: number, of: number) => void): Promise<void>;
  /** The pool's index, shards and settings. Throws PoolNotFoundError. */
  pool(pool: string): Promise<Pool>;
  /** A consistent read of a pool: every commit up to its `index` is in it. Throws PoolNotFoundError. */
  snapshot(pool: string): Promise<PoolSnapshot>;
  /** Puts a plan onto the queue; returns when the queue has it. */
  push(plan: PlanInput): Promise<void>;
  /**
   * Puts a plan onto the queue and waits for its result. Submitted again unchanged, after a time-out or a restart, it goes
   * on waiting: the plan takes effect once. Throws PlanTimeoutError.
   */
  submit(plan: PlanInput, options?: SubmitOptions): Promise<PlanResult>;
  /** The result of a plan, or undefined if it has none (yet). Results are kept for 16 days. */
  result(planId: string): Promise<PlanResult | undefined>;
  /** Writes what an agent says of a task. A late or repeated report changes nothing; the first that ends it gives its resources back. */
  reportTask(task: TaskRefInput, report: TaskReportInput): Promise<ReportOutcome>;
  /** Every task of a pool, in no order, by reading the whole table: for audits and tests. */
  tasks(pool: string): AsyncIterable<Task>;
  /** Ends the connections. */
  close(): void;
}

/** Opens Berth. Nothing is sent before the first call. Throws with the variable's name if the environment lacks one. */
export function connect(options: ConnectOptions = {}): Berth {
  const connection = openConnection(options);
  const waiters = new ResultWaiters(connection);
  const profiles = new Map<PoolName, ProfileCache>();
  const named = (pool: string) => parsed(poolName, pool, 'the name of the pool');
  const push = async (input: PlanInput) => {
    const checked = checkPlan(input);
    if ('problems' in checked) throw new InvalidInputError('the plan', checked.problems);
    await send(connection, checked.plan);
    return checked.plan.planId;
  };
  return {
    registerPool: (spec) => registerPool(connection, spec),
    registerNode: (spec) => registerNodes(connection, [spec]),
    registerNodes: (specs, onProgress) => registerNodes(connection, specs, onProgress),
    pool: (pool) => readPool(connection, named(pool)),
    async snapshot(pool) {
      const name = named(pool);
      const known: ProfileCache = profiles.get(name) ?? new Map();
      profiles.set(name, known);
      return readSnapshot(connection, name, known);
    },
    async push(plan) {
      await push(plan);
    },
    async submit(plan, { timeoutMs = 60_000, signal } = {}) {
      return waiters.wait(await push(plan), timeoutMs, signal);
    },
    async result(id) {
      return (await readResults(connection, [parsed(planId, id, 'the plan id')]))[0];
    },
    reportTask: (task, report) => reportTask(connection, task, report),
    tasks: (pool) => scanTasks(connection, named(pool)),
    close() {
      connection.dynamo.destroy();
      connection.sqs.destroy();
    },
  };
}

async function send({ sqs, planQueueUrl }: Connection, plan: Plan): Promise<void> {
  const body = JSON.stringify(plan);
  const bytes = Buffer.byteLength(body);
  if (bytes > PLATFORM.messageBytes) {
    const message = `the plan is ${bytes} bytes as JSON, a message holds ${PLATFORM.messageBytes}: split it by node`;
    throw new InvalidInputError('the plan', [{ path: '', message }]);
  }
  await retrying(() =>
    sqs.send(
      new SendMessageCommand({
        QueueUrl: planQueueUrl,
        MessageBody: body,
        MessageGroupId: plan.pool,
        MessageDeduplicationId: plan.planId,
      }),
    ),
  );
}

async function* scanTasks({ dynamo, tables }: Connection, pool: PoolName): AsyncIterable<Task> {
  let start: ScanCommandOutput['LastEvaluatedKey'];
  do {
    const page: ScanCommandOutput = await retrying(() =>
      dynamo.send(
        new ScanCommand({
          TableName: tables.tasks,
          FilterExpression: '#pool = :pool',
          ExpressionAttributeNames: { '#pool': 'pool' },
          ExpressionAttributeValues: marshall({ ':pool': pool }),
          ConsistentRead: true,
          ...(start ? { ExclusiveStartKey: start } : {}),
        }),
      ),
    );
    for (const item of page.Items ?? []) yield taskFromItem(unmarshall(item));
    start = page.LastEvaluatedKey;
  } while (start);
}
