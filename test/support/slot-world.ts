import type { DynamoDBRecord } from 'aws-lambda';
import type { ServiceId, TaskId } from '../../lib/ids.ts';
import { phaseOf } from '../../lib/tasks/phase.ts';
import type { SlotStore, SlotWrite, StoredSlotTask, WriteOutcome } from '../../lib/tasks/reap.ts';
import type { SweepStore } from '../../lib/tasks/run-page.ts';
import type { Service } from '../../lib/tasks/service.ts';
import type { TaskState } from '../../lib/tasks/states.ts';
import type { SweepPage, SweepRecord } from '../../lib/tasks/sweep.ts';
import { placeOfSlot, type SlotKey, type Task } from '../../lib/tasks/task.ts';
import type { EpochMs } from '../../lib/time.ts';

export type WorldService = Service;
export type WorldTask = StoredSlotTask & { readonly state: TaskState };

/** What a slot's limit depends on. */
export interface Setting {
  readonly service: WorldService | 'none' | 'unknown' | 'removed';
  readonly clusterLimit: number | undefined;
  /** Whether the slot is scaled away. */
  readonly away: boolean;
}

/** What was so from some step on. */
interface Since<T> {
  readonly step: number;
  readonly value: T;
}

/** A change as the stream tells of it. */
export interface WorldRecord {
  readonly record: DynamoDBRecord;
  readonly slotKey: SlotKey;
}

/** The tables and the stream of them, in memory, with everything that ever was so: for telling later what was allowed when. */
export class SlotWorld {
  now = 1_000 as EpochMs;
  step = 0;
  clusterLimit: number | undefined;
  readonly services = new Map<ServiceId, WorldService | 'removed'>();
  readonly away = new Set<SlotKey>();
  readonly stream: WorldRecord[] = [];
  /** Pages of sweeps that wait. */
  readonly pages: SweepPage[] = [];
  readonly sweeps = new Map<string, SweepRecord>();
  readonly #slots = new Map<SlotKey, Map<TaskId, WorldTask>>();
  readonly #past = new Map<SlotKey, Since<readonly WorldTask[]>[]>();
  readonly #settings: Since<ReadonlyMap<SlotKey, Setting>>[] = [];

  slot(slotKey: SlotKey): readonly WorldTask[] {
    return [...(this.#slots.get(slotKey)?.values() ?? [])];
  }

  get slotKeys(): SlotKey[] {
    return [...this.#slots.keys()];
  }

  find({ slotKey, taskId }: Pick<WorldTask, 'slotKey' | 'taskId'>): WorldTask | undefined {
    return this.#slots.get(slotKey)?.get(taskId);
  }

  /** Puts a task in place of the one before, which the stream tells of. */
  put(task: WorldTask): void {
    const before = this.find(task);
    const slot = this.#slots.get(task.slotKey) ?? new Map<TaskId, WorldTask>();
    this.#slots.set(task.slotKey, slot.set(task.taskId, task));
    this.#changed(task.slotKey, before ? 'MODIFY' : 'INSERT', before, task);
  }

  delete(task: WorldTask): void {
    const before = this.find(task);
    if (!before) return;
    this.#slots.get(task.slotKey)?.delete(task.taskId);
    this.#changed(task.slotKey, 'REMOVE', before, undefined);
  }

  setting(slotKey: SlotKey): Setting {
    const serviceId = placeOfSlot(slotKey)?.serviceId ?? ('' as ServiceId);
    const service = serviceId === '' ? 'none' : (this.services.get(serviceId) ?? 'unknown');
    return { service, clusterLimit: this.clusterLimit, away: this.away.has(slotKey) };
  }

  /** To be called when services, the limit or what is scaled away have changed. */
  settingsChanged(slotKeys: readonly SlotKey[]): void {
    const all = new Map(slotKeys.map((slotKey) => [slotKey, this.setting(slotKey)]));
    this.#settings.push({ step: ++this.step, value: all });
  }

  /** What the tasks of a slot were at any moment from `step` on. */
  tasksSince(slotKey: SlotKey, step: number): (readonly WorldTask[])[] {
    return since(this.#past.get(slotKey) ?? [], step);
  }

  settingsSince(slotKey: SlotKey, step: number): Setting[] {
    return since(this.#settings, step).flatMap((all) => all.get(slotKey) ?? []);
  }

  #changed(slotKey: SlotKey, eventName: 'INSERT' | 'MODIFY' | 'REMOVE', before?: WorldTask, after?: WorldTask): void {
    const past = this.#past.get(slotKey) ?? [];
    this.#past.set(slotKey, past);
    past.push({ step: ++this.step, value: this.slot(slotKey) });
    const { taskId } = (after ?? before) as WorldTask;
    const record: DynamoDBRecord = {
      eventName,
      dynamodb: {
        Keys: { slotKey: { S: slotKey }, taskId: { S: taskId } },
        SequenceNumber: String(this.step),
        ...(before ? { OldImage: imageOf(before) } : {}),
        ...(after ? { NewImage: imageOf(after) } : {}),
      },
    };
    this.stream.push({ record, slotKey });
  }
}

function since<T>(past: readonly Since<T>[], step: number): T[] {
  const last = past.findLastIndex((one) => one.step <= step);
  return past.slice(Math.max(0, last)).map(({ value }) => value);
}

/** Of an item, what filters can ask for. */
export function imageOf(task: WorldTask) {
  const { slotKey, taskId, state, desiredState, version } = task;
  const phase = phaseOf(task as unknown as Task);
  return {
    slotKey: { S: slotKey },
    taskId: { S: taskId },
    state: { S: state },
    desiredState: { S: desiredState },
    version: { N: String(version) },
    ...(phase === undefined ? {} : { phase: { S: phase } }),
  };
}

/** What `onWrite` is told: of a write that takes effect, before it does. */
export interface Effect {
  readonly write: SlotWrite;
  /** The step at which the writer has read the slot, and the services. */
  readonly slotReadAt: number;
  readonly servicesReadAt: number;
}

/** What one reaper sees of the world, and what is noted of what it does. */
export interface WorldStore {
  readonly store: SlotStore;
  readonly reads: SlotKey[];
}

/** The contract of a store of slots over `world`: a write is carried out if the task is of the version that was seen. */
export function worldStore(world: SlotWorld, onWrite: (effect: Effect) => void): WorldStore {
  const reads: SlotKey[] = [];
  const readAt = new Map<SlotKey, number>();
  let servicesReadAt = 0;
  const perform = (write: SlotWrite): WriteOutcome => {
    const { task, what } = write;
    const stored = world.find(task as WorldTask);
    // As PartiQL's DELETE: of what is not there, nothing is deleted, and that is no failure.
    if (!stored) return what !== 'mark' && task.released ? 'done' : 'changed';
    if (stored.version !== task.version) return 'changed';
    onWrite({ write, slotReadAt: readAt.get(task.slotKey) ?? 0, servicesReadAt });
    if (what === 'mark') world.put({ ...stored, desiredState: 'remove', version: stored.version + 1 });
    else world.delete(stored);
    return 'done';
  };
  return {
    reads,
    store: {
      async readSlot(slotKey) {
        reads.push(slotKey);
        readAt.set(slotKey, world.step);
        return { tasks: world.slot(slotKey), malformed: [] };
      },
      async readServices(services) {
        servicesReadAt = world.step;
        const found = [...world.services].filter(([id]) => services.has(id));
        return { services: new Map(found), clusterLimit: world.clusterLimit };
      },
      write: async (writes) => writes.map(perform),
    },
  };
}

/** Sweeps of `world`: pages in the order of the table, records, and the queue of pages. */
export function worldSweeps(world: SlotWorld, slots: SlotStore): SweepStore {
  const table = () =>
    world.slotKeys
      .flatMap((slotKey) => world.slot(slotKey))
      .map((task) => ({ task, at: `${task.slotKey} ${task.taskId}` }))
      .sort((a, b) => (a.at < b.at ? -1 : 1));
  const page = (cursor: string | undefined, limit: number, service?: string) => {
    const all = table().filter(
      ({ task, at }) =>
        at > (cursor ?? '') && (service === undefined || placeOfSlot(task.slotKey)?.serviceId === service),
    );
    const part = all.slice(0, limit);
    return { tasks: part.map(({ task }) => task), next: all.length > limit ? part.at(-1)?.at : undefined };
  };
  return {
    async readTable(cursor, limit) {
      return { ...page(cursor, limit), malformed: [] };
    },
    async readServiceSlots(service, cursor, limit) {
      const { tasks, next } = page(cursor, limit, service);
      return { slotKeys: [...new Set(tasks.map(({ slotKey }) => slotKey))], next };
    },
    readServices: (services) => slots.readServices(services),
    readSweep: async (sweepId) => world.sweeps.get(sweepId),
    async writeSweep(record) {
      const before = world.sweeps.get(record.sweepId);
      if (before ? before.page !== record.page - 1 : record.page !== 1) return false;
      world.sweeps.set(record.sweepId, record);
      return true;
    },
    async send(next) {
      world.pages.push(next);
    },
  };
}
