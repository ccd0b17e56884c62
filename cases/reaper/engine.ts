import { setTimeout as delay } from 'node:timers/promises';
import { BatchWriteItemCommand, DeleteItemCommand, PutItemCommand, type WriteRequest } from '@aws-sdk/client-dynamodb';
import { batchGet } from '../../lib/client/batch-get.ts';
import type { Connection } from '../../lib/client/connection.ts';
import type { Berth } from '../../lib/client/index.ts';
import type { NodeId, ServiceId, TaskId } from '../../lib/ids.ts';
import type { Account } from '../../lib/nodes/account.ts';
import { accountFromItem, accountItem, accountKey, profileKey } from '../../lib/store/account-item.ts';
import { type Item, marshall } from '../../lib/store/dynamo.ts';
import { CLUSTER_KEY } from '../../lib/store/keys.ts';
import { poolItem, taskItem } from '../../lib/store/records.ts';
import { serviceItem } from '../../lib/store/services.ts';
import { phaseOf } from '../../lib/tasks/phase.ts';
import type { Service } from '../../lib/tasks/service.ts';
import type { Task } from '../../lib/tasks/task.ts';
import { type EpochMs, expiryAfter } from '../../lib/time.ts';
import type { Engine } from '../../local/engine.ts';
import { imbalances } from '../balance.ts';
import type { ReaperCase, ReaperEvent } from './case.ts';
import { lastOld } from './pure.ts';
import { accountsOf, type CaseRecord, clusterStateOf, poolOf, type ReaperOutcome, recordsOf, viewOf } from './state.ts';

const REAPER = 'TaskReaper';
const SWEEPER = 'TaskSweeper';
/** Items of one BatchWriteItem. */
const WRITES = 25;
/** How long the event of a case may take, milliseconds. It takes some tens, a sweep a second. */
const CASE_MS = 60_000;

/** Runs a case of the reaper on the deployed stack: what happens, happens in the tables, and the stream brings the reaper. */
export async function runReaperInEngine(
  reaperCase: ReaperCase,
  now: EpochMs,
  on: { readonly engine: Engine; readonly connection: Connection; readonly berth: Berth },
): Promise<ReaperOutcome> {
  return new ReaperRun(reaperCase, now, on).run();
}

class ReaperRun {
  readonly #case: ReaperCase;
  readonly #now: EpochMs;
  readonly #engine: Engine;
  readonly #connection: Connection;
  readonly #berth: Berth;
  /** What is stored, as far as the case has written it. */
  readonly #records = new Map<TaskId, CaseRecord>();
  readonly #problems: string[] = [];

  constructor(
    reaperCase: ReaperCase,
    now: EpochMs,
    { engine, connection, berth }: { readonly engine: Engine; readonly connection: Connection; readonly berth: Berth },
  ) {
    this.#case = reaperCase;
    this.#now = now;
    this.#engine = engine;
    this.#connection = connection;
    this.#berth = berth;
    for (const record of recordsOf(reaperCase, now)) this.#records.set(record.taskId, record);
  }

  async run(): Promise<ReaperOutcome> {
    const records = [...this.#records.values()];
    const pool = poolOf(this.#case);
    const accounts = accountsOf(this.#case, records);
    await this.#seed(records, accounts);
    await this.#settled();
    const before = this.#engine.eventSources.counts(REAPER);
    await this.#happen(this.#case.event);
    await this.#settled();
    const { DroppedEventCount: dropped } = this.#engine.eventSources.counts(REAPER);
    if (dropped > before.DroppedEventCount) this.#problems.push('the reaper has given up on a change');

    const after = await this.#stored();
    const left = await this.#accounts([...accounts.keys()]);
    this.#problems.push(...imbalances(clusterStateOf(pool, left, after), clusterStateOf(pool, accounts, records)));
    await this.#delete(after);
    return { before: viewOf(records), after: viewOf(after), problems: this.#problems };
  }

  /**
   * Writes what the case begins with. Tasks stand there without their phase: it is what the reaper is called by, and its
   * time has not come.
   */
  async #seed(records: readonly CaseRecord[], accounts: ReadonlyMap<NodeId, Account>): Promise<void> {
    const { tables } = this.#engine;
    const { retentionLimit, service, gone, event, pool } = this.#case;
    const removed = gone.map((serviceId): Service => {
      const unknown = { mode: 'replicated', restartMaxAttempts: 0, jobIteration: 0 } as const;
      return { serviceId, ...unknown, removedAt: this.#now, expiresAt: expiryAfter(this.#now, 3600) };
    });
    const limit = event.type === 'limit-changed' ? event.from : retentionLimit;
    const cluster = { serviceId: CLUSTER_KEY, ...(limit === null ? {} : { historyLimit: limit }) };
    const services = [...(service ? [service] : []), ...removed].map(serviceItem);
    await this.#put(tables.services, [cluster, ...services]);
    await this.#put(tables.pools, [poolItem(poolOf(this.#case))]);
    const nodes = [...accounts].flatMap(([nodeId, account]) => [
      accountItem(accountKey(pool, 1, nodeId), account),
      { ...profileOf(account, this.#now), ...profileKey(pool, 1, nodeId) },
    ]);
    await this.#put(tables.nodes, nodes);
    await this.#put(tables.tasks, records.map(withoutPhase));
  }

  async #happen(event: ReaperEvent): Promise<void> {
    switch (event.type) {
      case 'task-created':
      case 'task-updated':
        return this.#changes([event]);
      case 'batch':
        return this.#changes(event.events);
      case 'startup-sweep':
        return this.#sweep(await this.#berth.sweep());
      case 'limit-changed':
        return this.#sweep((await this.#berth.setHistoryLimit(event.to)).sweepId);
      case 'service-updated': {
        const { service } = this.#case;
        if (!service) throw new Error('the service that is updated is not there');
        return this.#sweep((await this.#berth.setService(service)).sweepId);
      }
      case 'service-removed':
        return this.#sweep(await this.#berth.removeService(event.serviceId));
      case 'service-scaled-down': {
        const ranges = event.removedSlots.map((slot) => [slot, slot] as const);
        return this.#sweep(await this.#berth.scaleService(event.serviceId as ServiceId, ranges));
      }
      case 'node-removed':
        await this.#berth.removeNode(this.#case.pool, event.nodeId, { force: true });
    }
  }

  /**
   * Has tasks change so that the stream tells of it, all before the reaper comes to look. What changes nothing that the
   * filters ask for must not bring it.
   */
  async #changes(events: readonly { readonly type: string; readonly taskId: string }[]): Promise<void> {
    const { eventSources } = this.#engine;
    const before = eventSources.counts(REAPER).InvokedEventCount;
    await eventSources.pause(REAPER);
    let expected = 0;
    for (const { type, taskId } of events) {
      const named = this.#records.get(taskId as TaskId);
      const all = [...this.#records.values()];
      // A created task triggers nothing. That the rule holds with it there is seen when the last old one beside it ends.
      const changed = named === undefined || type === 'task-updated' ? named : lastOld(all, named)[0];
      if (changed) expected += await this.#change(changed);
      else if (named === undefined) expected += await this.#comeAndGo(taskId as TaskId, all[0]);
    }
    eventSources.resume(REAPER);
    await this.#settled();
    const came = eventSources.counts(REAPER).InvokedEventCount - before;
    if (came !== expected) this.#problems.push(`expected ${expected} changes to come to the reaper, ${came} came`);
  }

  /** Writes a task again, with its phase; answers how many changes should come to the reaper. */
  async #change(record: CaseRecord): Promise<number> {
    const phase = phaseOf(record as Task);
    // Had it its phase already, writing it again would change nothing: it is as if the record came once more.
    for (const withPhase of [false, true]) {
      const written = { ...record, version: (this.#records.get(record.taskId)?.version ?? 0) + 1 };
      this.#records.set(record.taskId, written);
      await this.#put(this.#engine.tables.tasks, [withPhase ? taskItem(written as Task) : withoutPhase(written)]);
    }
    return phase === undefined ? 0 : 1;
  }

  /** A task of the slot of `beside` ends and is deleted before the reaper hears of its end. */
  async #comeAndGo(taskId: TaskId, beside: CaseRecord | undefined): Promise<number> {
    if (!beside) return 0;
    const ended = { ...beside, taskId, state: 'failed', desiredState: 'shutdown', released: true } as const;
    const { dynamo } = this.#connection;
    const TableName = this.#engine.tables.tasks;
    await dynamo.send(new PutItemCommand({ TableName, Item: marshall(withoutPhase(ended)) }));
    await dynamo.send(new PutItemCommand({ TableName, Item: marshall(taskItem(ended as Task)) }));
    await dynamo.send(new DeleteItemCommand({ TableName, Key: marshall({ slotKey: ended.slotKey, taskId }) }));
    return 1;
  }

  /** Waits for a sweep, if the change has led to one. */
  async #sweep(sweepId: string | undefined): Promise<void> {
    if (sweepId !== undefined) await this.#berth.waitForSweep(sweepId, { timeoutMs: CASE_MS });
  }

  /** Waits until everything that has happened is dealt with. */
  async #settled(): Promise<void> {
    const { eventSources, failed } = this.#engine;
    const over = new AbortController();
    const late = delay(CASE_MS, undefined, { signal: over.signal }).then(
      () => Promise.reject(new Error(`the reaper was still at work after ${CASE_MS / 1000} s`)),
      () => undefined,
    );
    const idle = Promise.all([eventSources.idle(REAPER), eventSources.idle(SWEEPER)]);
    try {
      await Promise.race([idle, late, failed.then((error) => Promise.reject(error))]);
    } finally {
      over.abort();
    }
  }

  async #stored(): Promise<CaseRecord[]> {
    const keys = [...this.#records.values()].map(({ slotKey, taskId }) => ({ slotKey, taskId }));
    const items = await batchGet(this.#connection, this.#engine.tables.tasks, keys);
    return items.map((item) => ({ ...this.#records.get(item.taskId as TaskId), ...item }) as unknown as CaseRecord);
  }

  async #accounts(nodes: readonly NodeId[]): Promise<Map<NodeId, Account>> {
    const keys = nodes.map((nodeId) => accountKey(this.#case.pool, 1, nodeId));
    const items = await batchGet(this.#connection, this.#engine.tables.nodes, keys);
    const accounts = items.map(accountFromItem);
    return new Map(accounts.map((account) => [account.nodeId, account]));
  }

  /** Takes the tasks out again: a sweep goes through all there are. */
  async #delete(records: readonly CaseRecord[]): Promise<void> {
    const requests = records.map(({ slotKey, taskId }) => ({ DeleteRequest: { Key: marshall({ slotKey, taskId }) } }));
    await this.#write(this.#engine.tables.tasks, requests);
  }

  async #put(table: string, items: readonly object[]): Promise<void> {
    await this.#write(
      table,
      items.map((item) => ({ PutRequest: { Item: marshall(item) } })),
    );
  }

  async #write(table: string, requests: readonly WriteRequest[]): Promise<void> {
    for (let at = 0; at < requests.length; at += WRITES) {
      const RequestItems = { [table]: requests.slice(at, at + WRITES) };
      await this.#connection.dynamo.send(new BatchWriteItemCommand({ RequestItems }));
    }
  }
}

function withoutPhase(record: CaseRecord): Item {
  const { phase: _withheld, ...item } = taskItem(record as Task) as Item;
  return item;
}

/** A profile for removing a node to find: what is said there of the node does not matter here. */
function profileOf({ nodeId, profile }: Account, now: EpochMs): object {
  const none = { addresses: [], devices: [], labels: {}, cores: [], reservedPorts: '' };
  return { nodeId, ...none, maxTasks: null, revision: profile, registeredAt: now, events: [] };
}
