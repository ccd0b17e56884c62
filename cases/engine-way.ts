import { setTimeout as delay } from 'node:timers/promises';
import { BatchWriteItemCommand, type WriteRequest } from '@aws-sdk/client-dynamodb';
import {
  DeleteMessageBatchCommand,
  type Message,
  PurgeQueueCommand,
  ReceiveMessageCommand,
  SendMessageCommand,
} from '@aws-sdk/client-sqs';
import { type Connection, openConnection } from '../lib/client/connection.ts';
import { type Berth, connect } from '../lib/client/index.ts';
import { readResults } from '../lib/client/results.ts';
import type { NodeId, PlanId, PoolName } from '../lib/ids.ts';
import type { Account } from '../lib/nodes/account.ts';
import type { Pool, TrackerSettings } from '../lib/nodes/pool.ts';
import type { Profile } from '../lib/nodes/profile.ts';
import { type TaskKey, taskKey } from '../lib/plans/decide-part.ts';
import { noNeeds } from '../lib/plans/facts.ts';
import { type RejectionWindow, scoreOf } from '../lib/plans/rejections.ts';
import type { PlanResult } from '../lib/plans/result.ts';
import { PLATFORM } from '../lib/settings.ts';
import { accountItem, accountKey, profileKey } from '../lib/store/account-item.ts';
import { marshall } from '../lib/store/dynamo.ts';
import { planStore } from '../lib/store/plan-store.ts';
import { poolItem, taskItem } from '../lib/store/records.ts';
import { QUEUE_ENV, requiredEnv } from '../lib/store/tables.ts';
import type { Task } from '../lib/tasks/task.ts';
import { type EpochMs, systemClock } from '../lib/time.ts';
import { type Engine, startEngine } from '../local/engine.ts';
import { MovableClock } from '../local/functions/movable-clock.ts';
import { type ClusterState, initialState } from './cluster-state.ts';
import type { Delivered, Outcome, Way } from './outcome.ts';
import { groupOf, type PlanCase, planIdOf } from './plan-case.ts';
import type { ReaperCase } from './reaper/case.ts';
import { runReaperInEngine } from './reaper/engine.ts';
import type { ReaperOutcome } from './reaper/state.ts';
import type { ScalerCase } from './scaler/case.ts';
import { ChangingOutside } from './scaler/engine.ts';
import { type RefusalCounter, windowDifferences } from './window-case.ts';

const APPLIER = 'PlanApplier';
/** Items of one BatchWriteItem. */
const WRITES = 25;
/** How long the plans of a case may take, milliseconds. They take some tens; a retry takes a few seconds. */
const CASE_MS = 60_000;

/** The stack as it is deployed: bundles, queues, tables, on one local engine for all cases. */
export class EngineWay implements Way {
  readonly name = 'engine';
  readonly #engine: Engine;
  readonly #connection: Connection;
  readonly #berth: Berth;
  readonly #quarantineUrl: string;
  readonly #clock: MovableClock;
  readonly #outside: ChangingOutside;
  #messages = 0;
  #windows = 0;

  private constructor(engine: Engine, clock: MovableClock, outside: ChangingOutside) {
    this.#engine = engine;
    this.#clock = clock;
    this.#outside = outside;
    this.#connection = openConnection({ env: engine.env });
    this.#berth = connect({ env: engine.env });
    this.#quarantineUrl = requiredEnv(engine.env, QUEUE_ENV.quarantine);
  }

  /** Starts the engine; `onProgress` is told what it is about to do. */
  static async start(onProgress: (step: string) => void = () => undefined): Promise<EngineWay> {
    const clock = new MovableClock();
    const outside = await ChangingOutside.start();
    try {
      const world = { outside: outside.endpoints, onLog: outside.onLog, functionClock: clock };
      return new EngineWay(await startEngine({ paused: [APPLIER], onProgress, ...world }), clock, outside);
    } catch (error) {
      await outside.stop();
      throw error;
    }
  }

  async stop(): Promise<void> {
    this.#berth.close();
    this.#connection.dynamo.destroy();
    this.#connection.sqs.destroy();
    await this.#engine.stop();
    await this.#outside.stop();
  }

  async run(planCase: PlanCase, now: EpochMs): Promise<Outcome> {
    const before = initialState(planCase, now);
    await this.#seed(planCase, before, now);
    const bodies = planCase.plans.map((plan) => JSON.stringify(plan));
    const { eventSources } = this.#engine;
    await eventSources.pause(APPLIER);
    for (const [at, body] of bodies.entries()) await this.#send(body, groupOf(planCase.plans[at], planCase));
    eventSources.resume(APPLIER);
    const late = await this.#isLate();
    const quarantined = await this.#emptyQuarantine();
    const results = await this.#results(planCase);
    const delivered = planCase.plans.map((plan, at): Delivered => {
      const result = results.get(planIdOf(plan) ?? ('' as PlanId));
      if (quarantined.has(bodies[at] ?? '')) return { kind: 'quarantined' };
      if (result) return { kind: 'result', result };
      return { kind: 'nothing', reason: late ?? 'it left the queue without a result, and is not in quarantine' };
    });
    return { delivered, before, after: await this.#state(planCase, before), endedAt: systemClock() };
  }

  reaper(reaperCase: ReaperCase, now: EpochMs): Promise<ReaperOutcome> {
    const [engine, connection, berth] = [this.#engine, this.#connection, this.#berth];
    return runReaperInEngine(reaperCase, now, { engine, connection, berth });
  }

  scaler(scalerCase: ScalerCase): Promise<string[]> {
    const [engine, connection, clock] = [this.#engine, this.#connection, this.#clock];
    return this.#outside.differences(scalerCase, { engine, connection, clock });
  }

  async window(content: unknown): Promise<string[]> {
    try {
      return await windowDifferences(content, (tracker, nodes) => this.#counter(tracker, nodes));
    } finally {
      this.#clock.set(undefined);
    }
  }

  /** Counts by plans that every node of a pool of its own refuses, at the time that the clock of the functions is set to. */
  async #counter(tracker: TrackerSettings, nodes: readonly NodeId[]): Promise<RefusalCounter> {
    const berth = this.#berth;
    const name = `windows-${++this.#windows}`;
    const pool = await berth.registerPool({ pool: name, settings: { tracker } });
    await berth.registerNodes(nodes.map((node) => ({ nodeId: node, pool: name, capacity: {} })));
    this.#engine.eventSources.resume(APPLIER);
    let plans = 0;
    return {
      reject: async (node, now) => {
        this.#clock.set(now);
        const planId = `${name}.${++plans}`;
        const task = { taskId: planId, serviceId: name, slot: plans, nodeId: node, resources: { cpu: 1 } };
        const { ineligibleNodes } = await berth.submit({ planId, pool: name, placements: [task] });
        return ineligibleNodes.includes(node);
      },
      score: async (node, now) => {
        const store = planStore(this.#connection.dynamo, this.#engine.tables);
        const { windows } = await store.read(pool, { ...noNeeds(), windows: new Set([node]) });
        return scoreOf(there(windows).get(node), now, pool.settings.tracker);
      },
      enable: async (node) => {
        await berth.setEligibility(name, node, 'eligible');
      },
    };
  }

  /** Writes the state that a case begins with: what no call of the client would make, among others. */
  async #seed({ nodes }: PlanCase, { pools, accounts, tasks }: ClusterState, now: EpochMs): Promise<void> {
    const { tables } = this.#engine;
    const shardsOf = (pool: PoolName) => pools.get(pool)?.shards ?? 1;
    await this.#put(tables.pools, [...pools.values()].map(poolItem));
    for (const [pool, ofPool] of accounts) {
      const items = [...ofPool.values()].map((account) =>
        accountItem(accountKey(pool, shardsOf(pool), account.nodeId), account),
      );
      await this.#put(tables.nodes, items);
    }
    const profiles = nodes.map((node) => {
      const { nodeId, addresses, devices, labels, cores, reservedPorts, maxTasks = null, pool } = node;
      const revision = accounts.get(pool)?.get(nodeId)?.profile ?? 1;
      const plain = { nodeId, addresses, devices, labels, cores, reservedPorts, maxTasks, revision };
      const profile: Profile = { ...plain, registeredAt: now, events: [] };
      return { ...profile, ...profileKey(pool, shardsOf(pool), nodeId) };
    });
    await this.#put(tables.nodes, profiles);
    await this.#put(tables.tasks, [...tasks.values()].map(taskItem));
  }

  async #put(table: string, items: readonly object[]): Promise<void> {
    const requests = items.map((item): WriteRequest => ({ PutRequest: { Item: marshall(item) } }));
    while (requests.length > 0) {
      const RequestItems = { [table]: requests.splice(0, WRITES) };
      const { UnprocessedItems } = await this.#connection.dynamo.send(new BatchWriteItemCommand({ RequestItems }));
      requests.push(...(UnprocessedItems?.[table] ?? []));
    }
  }

  /** A deduplication id for each delivery: a case may deliver one plan twice, which the queue would swallow. */
  async #send(body: string, group: PoolName): Promise<void> {
    const { sqs, planQueueUrl } = this.#connection;
    this.#messages++;
    await sqs.send(
      new SendMessageCommand({
        QueueUrl: planQueueUrl,
        MessageBody: body,
        MessageGroupId: group,
        MessageDeduplicationId: `delivery-${this.#messages}`,
      }),
    );
  }

  /** Waits until everything was dealt with. Why it was not, if it was not; the queue is emptied then for the next case. */
  async #isLate(): Promise<string | undefined> {
    const over = new AbortController();
    const late = delay(CASE_MS, true, { signal: over.signal }).catch(() => false);
    const done = this.#engine.eventSources.idle(APPLIER).then(() => false);
    const failed = this.#engine.failed.then((error) => Promise.reject(error));
    const isLate = await Promise.race([late, done, failed]);
    over.abort();
    if (!isLate) return undefined;
    await this.#engine.eventSources.pause(APPLIER);
    const { sqs, planQueueUrl } = this.#connection;
    await sqs.send(new PurgeQueueCommand({ QueueUrl: planQueueUrl }));
    return `it was still on the queue after ${CASE_MS / 1000} s`;
  }

  /** Takes all messages out of the quarantine queue; their bodies. */
  async #emptyQuarantine(): Promise<Set<string>> {
    const { sqs } = this.#connection;
    const bodies = new Set<string>();
    for (;;) {
      const { Messages = [] } = await sqs.send(
        new ReceiveMessageCommand({ QueueUrl: this.#quarantineUrl, MaxNumberOfMessages: PLATFORM.fifoBatch }),
      );
      if (Messages.length === 0) return bodies;
      for (const { Body = '' } of Messages) bodies.add(Body);
      const Entries = Messages.map(({ ReceiptHandle }: Message, at) => ({ Id: `${at}`, ReceiptHandle }));
      await sqs.send(new DeleteMessageBatchCommand({ QueueUrl: this.#quarantineUrl, Entries }));
    }
  }

  async #results({ plans }: PlanCase): Promise<ReadonlyMap<PlanId, PlanResult>> {
    const ids = new Set(plans.flatMap((plan) => planIdOf(plan) ?? []));
    const results = new Map<PlanId, PlanResult>();
    for (let rest = [...ids]; rest.length > 0; rest = rest.slice(PLATFORM.batchGetKeys)) {
      const found = await readResults(this.#connection, rest.slice(0, PLATFORM.batchGetKeys));
      for (const result of found) results.set(result.planId, result);
    }
    return results;
  }

  /** What is stored of the pools of the case: nodes that it or its plans name, and every task. */
  async #state({ plans, mainPool }: PlanCase, before: ClusterState): Promise<ClusterState> {
    const store = planStore(this.#connection.dynamo, this.#engine.tables);
    const pools = new Map<PoolName, Pool>();
    const accounts = new Map<PoolName, Map<NodeId, Account>>();
    const tasks = new Map<TaskKey, Task>();
    const windows = new Map<NodeId, RejectionWindow>();
    for (const name of before.pools.keys()) {
      const pool = await store.readPool(name);
      if (pool === 'missing') throw new Error(`pool ${name} is gone`);
      pools.set(name, pool);
      const nodes = new Set([...(before.accounts.get(name)?.keys() ?? []), ...plans.flatMap(nodesIn)]);
      const read = await store.read(pool, { ...noNeeds(), accounts: nodes, windows: nodes });
      accounts.set(name, there(read.accounts));
      if (name === mainPool) for (const [node, window] of there(read.windows)) windows.set(node, window);
      for await (const task of this.#berth.tasks(name)) tasks.set(taskKey(task.slotKey, task.taskId), task);
    }
    return { pools, accounts, tasks, windows };
  }
}

function there<K, V>(map: ReadonlyMap<K, V | 'missing'>): Map<K, V> {
  return new Map([...map].filter((entry): entry is [K, V] => entry[1] !== 'missing'));
}

/** The nodes that a plan names, whatever else is wrong with it. */
function nodesIn(plan: unknown): NodeId[] {
  if (typeof plan !== 'object' || plan === null) return [];
  return Object.values(plan).flatMap((list: unknown) =>
    Array.isArray(list)
      ? list.flatMap((entry: unknown) => {
          const node = typeof entry === 'object' && entry !== null && 'nodeId' in entry ? entry.nodeId : undefined;
          return typeof node === 'string' && node !== '' ? [node as NodeId] : [];
        })
      : [],
  );
}
