import { nodeId, type PoolName, planId, poolName, serviceId } from '../ids.ts';
import type { Eligibility, NodeSpecInput, NodeStatus } from '../nodes/node.ts';
import { ELIGIBILITIES, NODE_STATUSES } from '../nodes/node.ts';
import type { Pool, PoolSpecInput } from '../nodes/pool.ts';
import type { PlanInput } from '../plans/plan.ts';
import type { PlanResult } from '../plans/result.ts';
import { flag, oneOf, parsed } from '../schema.ts';
import type { TaskReportInput } from '../tasks/report.ts';
import type { Service, ServiceSpec, ServiceSpecInput } from '../tasks/service.ts';
import type { SweepRecord } from '../tasks/sweep.ts';
import type { Task } from '../tasks/task.ts';
import { type AuditOptions, type AuditReport, audit } from './audit.ts';
import { changeNode } from './change-node.ts';
import { checkAgainstState, type PlanCheck } from './check.ts';
import { type Connection, type ConnectOptions, openConnection } from './connection.ts';
import { type DeadLetters, deadLetters } from './dead-letters.ts';
import { inspectNode, type NodeDetails, type PlanRecord, readPlanRecord } from './inspect.ts';
import { scanTasks } from './node-tasks.ts';
import { changePool, type PoolChange, readPool, readPools, registerPool } from './pools.ts';
import { registerNodes } from './register-nodes.ts';
import { type RemoveNodeOptions, removeNode } from './remove-node.ts';
import { type ReportOutcome, reportTask, type TaskRefInput } from './report-task.ts';
import { ResultWaiters, readResult } from './results.ts';
import {
  type LimitChange,
  readHistoryLimit,
  readServices,
  removeService,
  type ServicesOptions,
  scaleService,
  setHistoryLimit,
  setService,
  startSweep,
} from './services.ts';
import { type SetAside, setAside } from './set-aside.ts';
import { type PoolSnapshot, type ProfileCache, type SnapshotOptions, takeSnapshot } from './snapshot.ts';
import { pushPlan, SUBMIT_TIMEOUT_MS, type SubmitOptions, submitPlan } from './submit.ts';
import { readSweep, type SweepWaitOptions, waitForSweep } from './sweeps.ts';
import { type SlotHistory, taskHistory } from './task-history.ts';

/** What a scheduler worker needs. */
export interface WorkerCalls {
  /** The pool's index, shards and settings. Throws PoolNotFoundError. */
  pool(pool: string): Promise<Pool>;
  /**
   * A consistent read of a pool. Every commit of plans up to its `index` is in it, and node by node later ones may be.
   *
   * With `since`, an earlier snapshot, only the nodes that commits have changed in between are read again: all that plans
   * have taken, given back or made ineligible up to `index` is in it as well. What is no commit of a plan moves no
   * index and leaves no trace there (the pool's item is the one that every plan writes): the end of a task, a
   * registration, a status, eligibility or drain that somebody set, a removal. Those are in it as of its `readAt`, which is at
   * most `maxAgeMs` ago. A worker that was refused names the nodes of `rejectedNodes` in `nodes`, so as to see why.
   *
   * Throws PoolNotFoundError, PoolIndexTimeoutError.
   */
  snapshot(pool: string, options?: SnapshotOptions): Promise<PoolSnapshot>;
  /** Puts a plan onto the queue; returns when the queue has it. */
  push(plan: PlanInput): Promise<void>;
  /**
   * Puts a plan onto the queue and waits for its result. It goes on while SQS or DynamoDB throttle or are away. Submitted
   * again unchanged, after a time-out or a restart of the worker, it goes on waiting: the plan takes effect once.
   * Throws PlanTimeoutError.
   */
  submit(plan: PlanInput, options?: SubmitOptions): Promise<PlanResult>;
  /** Waits for the result of a plan that was sent before. Throws PlanTimeoutError. */
  waitForResult(planId: string, options?: SubmitOptions): Promise<PlanResult>;
  /** The result of a plan, or undefined if it has none (yet). Results are kept for 16 days. */
  result(planId: string): Promise<PlanResult | undefined>;
}

/** What the agent of a node needs. */
export interface AgentCalls {
  /** Registers a node, or registers it again with other values: what is free moves by the difference. Throws PoolNotFoundError. */
  registerNode(spec: NodeSpecInput): Promise<void>;
  /** Registers many nodes, side by side; `onProgress` is told how many are done. */
  registerNodes(specs: readonly NodeSpecInput[], onProgress?: (done: number, of: number) => void): Promise<void>;
  /** Says how a node is; whether that is new. Throws PoolNotFoundError, NodeNotFoundError. */
  setNodeStatus(pool: string, node: string, status: NodeStatus): Promise<boolean>;
  /** Writes what an agent says of a task. A late or repeated report changes nothing; the first that ends it gives its resources back. */
  reportTask(task: TaskRefInput, report: TaskReportInput): Promise<ReportOutcome>;
}

/** What an operator needs. */
export interface OperatorCalls {
  /** Makes a pool, or changes the settings of one that exists. Throws PoolShardsError if `shards` differs from what it has. */
  registerPool(spec: PoolSpecInput): Promise<Pool>;
  /** Changes some settings of a pool and leaves the others. Throws PoolNotFoundError. */
  changePool(pool: string, change: PoolChange): Promise<Pool>;
  /** Every pool, by name. */
  pools(): Promise<Pool[]>;
  /** Everything about a node: its account, events, the refusals that count now, its tasks. Throws NodeNotFoundError. */
  node(pool: string, node: string): Promise<NodeDetails>;
  /**
   * Lets new tasks be placed on a node, or not; what runs there stays. For good: a time at which it would be eligible again by
   * itself is dropped. Whether that is new. Throws NodeNotFoundError, and NodeChangeError for 'eligible' while it drains.
   */
  setEligibility(pool: string, node: string, eligibility: Eligibility): Promise<boolean>;
  /** Begins or ends the drain of a node: nothing is placed on it, workers move its tasks away. Whether that is new. Throws NodeNotFoundError. */
  setDrain(pool: string, node: string, drain: boolean): Promise<boolean>;
  /**
   * Removes a node; answers how many tasks were orphaned. Refused while tasks hold something of it, unless `force`d, which
   * takes it out of service and orphans them; run again after a failure, it goes on. Throws NodeHoldsTasksError,
   * NodeNotFoundError.
   */
  removeNode(pool: string, node: string, options?: RemoveNodeOptions): Promise<number>;
  /** What the applier would decide about a plan now. Nothing is written. Throws PlanUnusableError. */
  check(plan: PlanInput): Promise<PlanCheck>;
  /** What is stored of a plan: its result, or how far it has come. */
  planRecord(planId: string): Promise<PlanRecord | undefined>;
  /** Compares the account of each node with its tasks, and mends it if asked to. Safe beside a running applier. Throws PoolNotFoundError. */
  audit(pool: string, options?: AuditOptions): Promise<AuditReport>;
  /** Messages that were no plans, or could never be decided. */
  readonly quarantine: SetAside;
  /** Plans that were received too often without a result: to be redriven, or given up. */
  readonly deadLetters: DeadLetters;
  /** Every task of a pool, in no order, by reading the whole table: for audits and tests. */
  tasks(pool: string): AsyncIterable<Task>;
}

/** What whoever runs services tells the reaper, and asks of it. */
export interface HistoryCalls {
  /**
   * Sets a service, in place of what it was: its mode, restart attempts, how much history its slots keep. Until a service is set
   * its slots keep all they have. A lower limit, and setting it again unchanged, begin a sweep of its slots.
   */
  setService(spec: ServiceSpecInput): Promise<LimitChange<ServiceSpec>>;
  /**
   * Every service that is set, by name; one that was removed lately has `removedAt`. Records that are not of their shape are
   * left out, and told to `onMalformed`.
   */
  services(options?: ServicesOptions): Promise<Service[]>;
  /** Removes a service: all its tasks go, those that an agent may have as soon as it reports their end. Answers the sweep's id. */
  removeService(service: string): Promise<string>;
  /** Has all tasks of these slots go, as ranges of numbers, both included. Answers the sweep's id. */
  scaleService(service: string, away: readonly (readonly [number, number])[]): Promise<string>;
  /** Old tasks that a slot keeps whose service says nothing of it: undefined is 5, below 0 all. */
  historyLimit(): Promise<number | undefined>;
  /** Sets that; null: the default. A lower limit, and the same again, begin a sweep of all slots. */
  setHistoryLimit(limit: number | null): Promise<LimitChange<number | undefined>>;
  /** Begins a sweep: every slot is brought to its limit that the stream was lost of. Answers its id. */
  sweep(): Promise<string>;
  /** How a sweep goes; undefined: none of its pages is done yet, or its record, kept for 30 days, is gone. */
  sweepRecord(sweepId: string): Promise<SweepRecord | undefined>;
  /**
   * Waits until a sweep is done. Throws SweepFailedError with the page that was given up, as soon as that lies in the failure
   * queue; SweepStalledError when no page was done for a long time; SweepTimeoutError.
   */
  waitForSweep(sweepId: string, options?: SweepWaitOptions): Promise<SweepRecord>;
  /** What the reaper would do about a slot now (`service#number`, `service@node`), task by task, and why. Nothing is written. */
  taskHistory(slot: string): Promise<SlotHistory>;
}

/**
 * Berth as a worker, an agent or an operator's script sees it. Every call is safe beside a running applier and may be
 * repeated. Input that is not of its shape throws InvalidInputError with the path of each problem, before anything is sent.
 */
export interface Berth extends WorkerCalls, AgentCalls, OperatorCalls, HistoryCalls {
  /** Ends the connections. */
  close(): void;
}

/** Opens Berth. Nothing is sent before the first call. Throws with the variable's name if the environment lacks one. */
export function connect(options: ConnectOptions = {}): Berth {
  return berthOver(openConnection(options));
}

/** Berth over connections that are open. */
export function berthOver(connection: Connection): Berth {
  const pooled = (pool: string) => parsed(poolName, pool, 'the name of the pool');
  const noded = (node: string) => parsed(nodeId, node, 'the id of the node');
  return {
    ...workerCalls(connection, pooled),
    registerNode: (spec) => registerNodes(connection, [spec]),
    registerNodes: (specs, onProgress) => registerNodes(connection, specs, onProgress),
    async setNodeStatus(pool, node, input) {
      const status = parsed(oneOf(NODE_STATUSES), input, 'the status');
      return changeNode(connection, pooled(pool), noded(node), { kind: 'status', status });
    },
    reportTask: (task, report) => reportTask(connection, task, report),

    registerPool: (spec) => registerPool(connection, spec),
    async changePool(pool, change) {
      return changePool(connection, pooled(pool), change);
    },
    pools: () => readPools(connection),
    async node(pool, node) {
      return inspectNode(connection, pooled(pool), noded(node));
    },
    async setEligibility(pool, node, input) {
      const eligibility = parsed(oneOf(ELIGIBILITIES), input, 'the eligibility');
      return changeNode(connection, pooled(pool), noded(node), { kind: 'eligibility', eligibility });
    },
    async setDrain(pool, node, input) {
      const drain = parsed(flag, input, 'the drain');
      return changeNode(connection, pooled(pool), noded(node), { kind: 'drain', drain });
    },
    async removeNode(pool, node, options) {
      return removeNode(connection, pooled(pool), noded(node), options);
    },
    check: (plan) => checkAgainstState(connection, plan),
    async planRecord(id) {
      return readPlanRecord(connection, parsed(planId, id, 'the plan id'));
    },
    async audit(pool, options) {
      return audit(connection, pooled(pool), options);
    },
    quarantine: setAside(connection, 'quarantine'),
    deadLetters: deadLetters(connection),
    tasks: (pool) => scanTasks(connection, pooled(pool)),

    ...historyCalls(connection),

    close() {
      connection.dynamo.destroy();
      connection.sqs.destroy();
    },
  };
}

function historyCalls(connection: Connection): HistoryCalls {
  const named = (service: string) => parsed(serviceId, service, 'the id of the service');
  return {
    setService: (spec) => setService(connection, spec),
    services: (options) => readServices(connection, options),
    async removeService(service) {
      return removeService(connection, named(service));
    },
    async scaleService(service, away) {
      return scaleService(connection, named(service), away);
    },
    historyLimit: () => readHistoryLimit(connection),
    setHistoryLimit: (limit) => setHistoryLimit(connection, limit),
    sweep: () => startSweep(connection, { reason: 'request' }),
    sweepRecord: (sweepId) => readSweep(connection, sweepId),
    waitForSweep: (sweepId, options) => waitForSweep(connection, sweepId, options),
    taskHistory: (slot) => taskHistory(connection, slot),
  };
}

function workerCalls(connection: Connection, pooled: (pool: string) => PoolName): WorkerCalls {
  const waiters = new ResultWaiters(connection);
  const profiles = new Map<PoolName, ProfileCache>();
  return {
    async pool(pool) {
      return readPool(connection, pooled(pool));
    },
    async snapshot(pool, options) {
      const name = pooled(pool);
      const known: ProfileCache = profiles.get(name) ?? new Map();
      profiles.set(name, known);
      return takeSnapshot(connection, name, known, options);
    },
    async push(plan) {
      await pushPlan(connection, plan);
    },
    async submit(plan, options = {}) {
      return submitPlan(connection, waiters, plan, options);
    },
    async waitForResult(id, { timeoutMs = SUBMIT_TIMEOUT_MS, signal } = {}) {
      return waiters.wait(parsed(planId, id, 'the plan id'), timeoutMs, signal);
    },
    async result(id) {
      return readResult(connection, parsed(planId, id, 'the plan id'));
    },
  };
}
