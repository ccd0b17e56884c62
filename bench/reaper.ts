import { BatchWriteItemCommand, type DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { NodeId, PlanId, PoolName, ServiceId, TaskId } from '../lib/ids.ts';
import { marshall } from '../lib/store/dynamo.ts';
import { taskItem } from '../lib/store/records.ts';
import { slotKeyOf, type Task } from '../lib/tasks/task.ts';
import type { EpochMs } from '../lib/time.ts';
import { totalUsage, type Usage, usageBetween } from '../local/dynamodb/usage.ts';
import type { Bed } from './bed.ts';
import type { Figure } from './figure.ts';

const REAPER = 'TaskReaper';
const SWEEPER = 'TaskSweeper';

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

/** What the reaper asks of DynamoDB per task that ends, while tasks come and go and the table grows. */
export async function reaper(
  bed: Bed,
  onProgress: (step: string) => void,
  onPoints: (points: readonly ReaperPoint[]) => void,
): Promise<Figure[]> {
  const slots = new Slots(bed);
  await bed.berth.setHistoryLimit(LIMIT);
  await bed.engine.eventSources.idle(SWEEPER);
  const points: ReaperPoint[] = [];
  let whole = 0;
  let ended = 0;
  let queries = 0;
  for (let pass = 0; pass < PASSES; pass++) {
    const services = Array.from({ length: SERVICES }, (_, at) => `svc-${pass}-${at}`);
    const places = services.flatMap((service) =>
      Array.from({ length: REPLICAS }, (_, at) => ({ service, slot: at + 1 })),
    );
    await slots.setServices(services);
    for (let run = 0; run < REPLACEMENTS; run++) {
      // What runs meanwhile is of no concern to the reaper, and is written last: the local database takes three milliseconds a task.
      onProgress(`reaper, pass ${pass + 1} of ${PASSES}, replacement ${run + 1} of ${REPLACEMENTS}`);
      const usage = await slots.replace(places, run);
      ended += places.length;
      whole += totalUsage(usage).requests;
      queries += usage.Query?.requests ?? 0;
      points.push({ tasks: slots.tasks, requestsPerEnd: totalUsage(usage).requests / places.length });
    }
    onProgress(`reaper, pass ${pass + 1} of ${PASSES}, services removed`);
    await slots.put(places.map((place) => slots.task(place, REPLACEMENTS, 'running')));
    whole += await slots.remove(services, places, REPLACEMENTS);
    ended += places.length;
  }
  onPoints(points);
  const quarter = points.length / 4;
  const mean = (of: readonly ReaperPoint[]) => of.reduce((sum, point) => sum + point.requestsPerEnd, 0) / of.length;
  const changes = PASSES * REPLACEMENTS * SERVICES * REPLICAS;
  return [
    bounded('requests per task that ends, first quarter', mean(points.slice(0, quarter)), REQUESTS_PER_END),
    bounded('requests per task that ends, last quarter', mean(points.slice(-quarter)), REQUESTS_PER_END),
    bounded('last quarter by first', mean(points.slice(-quarter)) / mean(points.slice(0, quarter)), FLAT),
    bounded('slots read per slot that changed', queries / changes, 1),
    bounded(
      `requests per task that ends, ${PASSES * SERVICES} services removed included`,
      whole / ended,
      REQUESTS_PER_END,
    ),
    ...(await bySize(slots, onProgress)),
  ];
}

function bounded(what: string, value: number, atMost: number): Figure {
  return { bench: 'reaper', what, value, unit: '', atMost, kind: 'count' };
}

/** The same few slots change while ever more of them are in the table. */
async function bySize(slots: Slots, onProgress: (step: string) => void): Promise<Figure[]> {
  const figures: Figure[] = [];
  await slots.setServices(['sized']);
  let there = 0;
  let run = 0;
  for (const size of SIZES) {
    onProgress(`reaper, ${size.toLocaleString('en')} slots`);
    const more = Array.from({ length: size - there }, (_, at) => ({ service: 'sized', slot: there + at }));
    await slots.fill(more);
    there = size;
    // Some from everywhere in the table.
    const changing = Array.from({ length: CHANGING }, (_, at) => ({ service: 'sized', slot: at * (size / CHANGING) }));
    let requests = 0;
    for (let change = 0; change < CHANGES; change++) {
      requests += totalUsage(await slots.replace(changing, run++)).requests;
    }
    const what = `requests per task that ends, ${size.toLocaleString('en')} slots`;
    figures.push(bounded(what, requests / (CHANGING * CHANGES), REQUESTS_PER_END));
  }
  return figures;
}

interface Place {
  readonly service: string;
  readonly slot: number;
}

/** Tasks of slots, written past the applier: what is measured is the reaper. */
class Slots {
  readonly #bed: Bed;
  readonly #dynamo: DynamoDBClient;
  /** Tasks that were written so far. */
  tasks = 0;

  constructor(bed: Bed) {
    this.#bed = bed;
    this.#dynamo = bed.dynamo;
  }

  async setServices(services: readonly string[]): Promise<void> {
    for (const serviceId of services) await this.#bed.berth.setService({ serviceId, mode: 'replicated' });
    await this.#bed.engine.eventSources.idle(SWEEPER);
  }

  /** Has a task of each slot end, and answers what the reaper asked for. */
  async replace(places: readonly Place[], run: number): Promise<Usage> {
    const { eventSources, meter } = this.#bed.engine;
    // All of it is in the stream before the reaper takes the first of it, so that batches are as full however fast the machine is.
    await eventSources.pause(REAPER);
    await this.put(places.map((place) => this.task(place, run, 'failed')));
    this.tasks += places.length;
    const before = meter.read();
    eventSources.resume(REAPER);
    await eventSources.idle(REAPER);
    return usageBetween(before, meter.read())[REAPER] ?? {};
  }

  /** Removes services, has the agents report the ends of what ran, and answers the requests of reaper and sweeper. */
  async remove(services: readonly string[], places: readonly Place[], run: number): Promise<number> {
    const { eventSources, meter } = this.#bed.engine;
    await eventSources.pause(REAPER);
    await eventSources.pause(SWEEPER);
    const before = meter.read();
    for (const service of services) await this.#bed.berth.removeService(service);
    eventSources.resume(SWEEPER);
    await eventSources.idle(SWEEPER);
    await this.put(places.map((place) => this.task(place, run, 'removed')));
    eventSources.resume(REAPER);
    await eventSources.idle(REAPER);
    const usage = usageBetween(before, meter.read());
    return [REAPER, SWEEPER].reduce((sum, name) => sum + totalUsage(usage[name] ?? {}).requests, 0);
  }

  async put(tasks: readonly Task[]): Promise<void> {
    await this.#putItems(tasks.map(taskItem));
  }

  async #putItems(items: readonly object[]): Promise<void> {
    const table = this.#bed.engine.tables.tasks;
    const batches: object[][] = [];
    for (let at = 0; at < items.length; at += 25) batches.push(items.slice(at, at + 25));
    const queue = batches.values();
    const lane = async () => {
      for (const batch of queue) {
        const requests = batch.map((item) => ({ PutRequest: { Item: marshall(item) } }));
        const { UnprocessedItems } = await this.#dynamo.send(
          new BatchWriteItemCommand({ RequestItems: { [table]: requests } }),
        );
        if (Object.keys(UnprocessedItems ?? {}).length > 0) throw new Error('the database left items out');
      }
    };
    await Promise.all(Array.from({ length: 4 }, lane));
  }

  /** Puts a task into each slot that stays. It is in no index, which makes it a third of the work for the local database. */
  async fill(places: readonly Place[]): Promise<void> {
    await this.#putItems(
      places.map((place) => {
        const { poolNode: _node, serviceId: _service, ...item } = taskItem(this.task(place, 0, 'running'));
        return item;
      }),
    );
  }

  /** The `run`th task of a slot. */
  task({ service, slot }: Place, run: number, how: 'running' | 'failed' | 'removed'): Task {
    const place = { serviceId: service as ServiceId, slot, nodeId: `node-${slot % 100}` as NodeId };
    const appliedAt = (1_700_000_000_000 + run * 1_000) as EpochMs;
    const state = { running: 'running', failed: 'failed', removed: 'shutdown' } as const;
    const desired = { running: 'running', failed: 'shutdown', removed: 'remove' } as const;
    return {
      ...place,
      ...{ taskId: `task-${run}` as TaskId, slotKey: slotKeyOf(place), pool: 'bench' as PoolName },
      ...{ resources: { cpu: 100, memory: 128 }, ports: [], cores: [], devices: [], volumes: [], jobIteration: 0 },
      ...{
        version: how === 'running' ? 1 : 2,
        state: state[how],
        desiredState: desired[how],
        released: how !== 'running',
      },
      ...{ appliedAt, stateTimes: { [state[how]]: appliedAt }, desiredAt: appliedAt, createdAt: appliedAt },
      ...{ planId: 'bench' as PlanId, lastPlanId: 'bench' as PlanId, priority: 50 },
    };
  }
}
