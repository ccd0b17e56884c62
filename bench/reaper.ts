import type { SQSClient } from '@aws-sdk/client-sqs';
import { changedSlots } from '../functions/task-reaper/records.ts';
import { sha256 } from '../lib/hash.ts';
import type { NodeId, PlanId, PoolName, ServiceId, TaskId } from '../lib/ids.ts';
import { REAPER, SWEEPER } from '../lib/settings.ts';
import { marshall } from '../lib/store/dynamo.ts';
import { CLUSTER_KEY } from '../lib/store/keys.ts';
import { taskItem } from '../lib/store/records.ts';
import { serviceItem } from '../lib/store/services.ts';
import { slotStore } from '../lib/store/slot-store.ts';
import { sweepStore } from '../lib/store/sweep-store.ts';
import { type ReapContext, reapSlots } from '../lib/tasks/reap.ts';
import { runPage } from '../lib/tasks/run-page.ts';
import { slotKeyOf, type Task } from '../lib/tasks/task.ts';
import type { EpochMs } from '../lib/time.ts';
import { CountedDatabase } from './counted-database.ts';
import type { Figure } from './figure.ts';

/** The experiment of moby/swarmkit#2672, with every task replaced ten times over: services, replicas of each, and all of it again. */
const SERVICES = 400;
const REPLICAS = 4;
const REPLACEMENTS = 10;
const PASSES = 2;
/** Old tasks that a slot keeps: few, so that nearly every end is followed by a delete. */
const LIMIT = 1;

/** Slots in the table while the same few of them change. */
const SIZES = [100, 10_000, 100_000] as const;
const CHANGING = 100;
const CHANGES = 4;

export const REQUESTS_PER_END = 2;
/** Last quarter of the experiment by the first. */
const FLAT = 1.05;

/** One step of the experiment: a task of each slot has ended. */
export interface ReaperPoint {
  /** Tasks that there have been. */
  readonly tasks: number;
  /** Requests of the reaper per task that ended in this step. */
  readonly requestsPerEnd: number;
}

/** What reaper and sweeper ask of DynamoDB per task that ends, while tasks come and go and the table grows. */
export async function reaper(onPoints: (points: readonly ReaperPoint[]) => void): Promise<Figure[]> {
  const cluster = new Cluster();
  const points: ReaperPoint[] = [];
  let ended = 0;
  for (let pass = 0; pass < PASSES; pass++) {
    const services = Array.from({ length: SERVICES }, (_, at) => `svc-${pass}-${at}`);
    const places = services.flatMap((service) =>
      Array.from({ length: REPLICAS }, (_, at) => ({ service, slot: at + 1 })),
    );
    cluster.setServices(services);
    for (let run = 0; run < REPLACEMENTS; run++) {
      const requests = await cluster.replace(places, run);
      ended += places.length;
      points.push({ tasks: ended + places.length, requestsPerEnd: requests / places.length });
    }
    await cluster.remove(services, places, REPLACEMENTS);
    ended += places.length;
  }
  onPoints(points);
  const { requests } = cluster.database;
  const quarter = points.length / 4;
  const mean = (of: readonly ReaperPoint[]) => of.reduce((sum, point) => sum + point.requestsPerEnd, 0) / of.length;
  const [first, last] = [mean(points.slice(0, quarter)), mean(points.slice(-quarter))];
  const whole = `${(PASSES * SERVICES).toLocaleString('en')} services removed included`;
  return [
    bounded('requests per task that ends, first quarter', first, REQUESTS_PER_END),
    bounded('requests per task that ends, last quarter', last, REQUESTS_PER_END),
    bounded('last quarter by first', last / first, FLAT),
    bounded(`requests per task that ends, ${whole}`, cluster.database.total / ended, REQUESTS_PER_END),
    bounded('reads of more than a slot that changed', requests.get('Scan') ?? 0, 0),
    bounded('tasks left in the end', cluster.database.tasks, 0),
    ...(await bySize()),
  ];
}

function bounded(what: string, value: number, atMost: number): Figure {
  return { bench: 'reaper', what, value, unit: '', atMost, kind: 'count' };
}

/** The same few slots change while ever more of them are in the table. */
async function bySize(): Promise<Figure[]> {
  const cluster = new Cluster();
  cluster.setServices(['sized']);
  const figures: Figure[] = [];
  let [there, run] = [0, 1];
  for (const size of SIZES) {
    for (; there < size; there++) cluster.write({ service: 'sized', slot: there }, 0, 'running');
    // Some from everywhere in the table.
    const changing = Array.from({ length: CHANGING }, (_, at) => ({ service: 'sized', slot: at * (size / CHANGING) }));
    let requests = 0;
    for (let change = 0; change < CHANGES; change++) requests += await cluster.replace(changing, run++);
    const what = `requests per task that ends, ${size.toLocaleString('en')} slots`;
    figures.push(bounded(what, requests / (CHANGING * CHANGES), REQUESTS_PER_END));
  }
  return figures;
}

interface Place {
  readonly service: string;
  readonly slot: number;
}

const NOW = Date.parse('2027-01-01T00:00:00Z') as EpochMs;

/** Slots and their tasks, with reaper and sweeper run over them as Lambda would. */
class Cluster {
  readonly database = new CountedDatabase();
  readonly #context: ReapContext;

  constructor() {
    const { client, tables } = this.database;
    this.#context = {
      store: slotStore(client, tables, new Map()),
      clock: () => NOW,
      deadline: (NOW + 60_000) as EpochMs,
      sleep: async () => undefined,
      random: () => 0,
    };
    this.database.putService({ serviceId: CLUSTER_KEY, historyLimit: LIMIT });
  }

  setServices(services: readonly string[], removedAt?: EpochMs): void {
    for (const service of services) {
      const serviceId = service as ServiceId;
      const spec = { serviceId, mode: 'replicated', restartMaxAttempts: 0, jobIteration: 0 } as const;
      this.database.putService(serviceItem({ ...spec, ...(removedAt === undefined ? {} : { removedAt }) }));
    }
  }

  /** Has a task of each slot end, and answers how many requests the reaper sent for that. */
  async replace(places: readonly Place[], run: number): Promise<number> {
    for (const place of places) this.write(place, run, 'failed');
    return this.#reap(places, run, 'failed');
  }

  /** Removes services, with a task running in each slot whose agent reports its end when it has been marked. */
  async remove(services: readonly string[], places: readonly Place[], run: number): Promise<void> {
    for (const place of places) this.write(place, run, 'running');
    this.setServices(services, NOW);
    for (const serviceId of services) await this.#sweep(serviceId as ServiceId);
    for (const place of places) this.write(place, run, 'removed');
    await this.#reap(places, run, 'removed');
  }

  write(place: Place, run: number, how: How): void {
    this.database.putTask(taskItem(taskOf(place, run, how)) as Record<string, unknown>);
  }

  /** Hands the changes to the reaper as the event source does: by lanes, in full batches. */
  async #reap(places: readonly Place[], run: number, how: How): Promise<number> {
    const before = this.database.total;
    const lanes = new Map<number, Place[]>();
    for (const place of places) {
      const lane = sha256(`${place.service}#${place.slot}`).readUInt32BE() % REAPER.parallelizationFactor;
      lanes.set(lane, [...(lanes.get(lane) ?? []), place]);
    }
    for (const lane of lanes.values()) {
      for (let at = 0; at < lane.length; at += REAPER.batchSize) {
        const records = lane.slice(at, at + REAPER.batchSize).map((place, nth) => {
          const image = marshall(taskItem(taskOf(place, run, how)));
          const { slotKey, taskId } = image;
          return { dynamodb: { Keys: { slotKey, taskId }, NewImage: image, SequenceNumber: String(at + nth) } };
        });
        const { slots } = changedSlots(records as Parameters<typeof changedSlots>[0]);
        const outcomes = await reapSlots(slots, this.#context);
        const failed = outcomes.find(({ error }) => error !== undefined);
        if (failed) throw failed.error;
      }
    }
    return this.database.total - before;
  }

  async #sweep(serviceId: ServiceId): Promise<void> {
    const { client, tables } = this.database;
    const sqs = {} as SQSClient;
    const store = this.#context.store;
    const sweeps = {
      ...sweepStore({ dynamo: client, tables, sqs, queueUrl: '' }),
      readServices: (ids: ReadonlySet<ServiceId>) => store.readServices(ids),
      send: () => Promise.reject(new Error('a service of the experiment is one page')),
    };
    const first = { apiVersion: 'berth/v1', kind: 'SweepPage', page: 0 } as const;
    await runPage(
      { ...first, sweepId: `sweep-${serviceId}`, reason: 'service-removed', serviceId },
      { ...this.#context, slots: store, sweeps, pageTasks: SWEEPER.pageTasks, tolerant: false },
    );
  }
}

type How = 'running' | 'failed' | 'removed';
const STATES = { running: 'running', failed: 'failed', removed: 'shutdown' } as const;
const DESIRED = { running: 'running', failed: 'shutdown', removed: 'remove' } as const;

/** The `run`th task of a slot. */
function taskOf({ service, slot }: Place, run: number, how: How): Task {
  const place = { serviceId: service as ServiceId, slot, nodeId: `node-${slot % 100}` as NodeId };
  const appliedAt = (Date.parse('2026-01-01T00:00:00Z') + run * 1_000) as EpochMs;
  const [state, desiredState] = [STATES[how], DESIRED[how]];
  return {
    ...place,
    ...{ taskId: `task-${run}` as TaskId, slotKey: slotKeyOf(place), pool: 'bench' as PoolName },
    ...{ resources: { cpu: 100, memory: 128 }, ports: [], cores: [], devices: [], volumes: [], jobIteration: 0 },
    ...{ version: how === 'running' ? 1 : 3, state, desiredState, released: how !== 'running' },
    ...{ appliedAt, stateTimes: { [state]: appliedAt }, desiredAt: appliedAt, createdAt: appliedAt },
    ...{ planId: 'bench' as PlanId, lastPlanId: 'bench' as PlanId, priority: 50 },
  };
}
