import type { ServiceId, TaskId } from '../../lib/ids.ts';
import { isLeftOnNode, orphanedTask } from '../../lib/tasks/orphan.ts';
import { phaseOf } from '../../lib/tasks/phase.ts';
import { reapSlots, type ServiceBook, type SlotRequest, type SlotStore } from '../../lib/tasks/reap.ts';
import { runPage, type SweepStore } from '../../lib/tasks/run-page.ts';
import type { SweepPage, SweepReason, SweepRecord } from '../../lib/tasks/sweep.ts';
import type { SlotKey, Task } from '../../lib/tasks/task.ts';
import type { EpochMs } from '../../lib/time.ts';
import type { ReaperCase, ReaperEvent } from './case.ts';
import { type CaseRecord, isMark, type ReaperOutcome, recordsOf, viewOf } from './state.ts';

/** The deciding and the order of its steps, over tasks in memory. */
export async function runReaperPure(reaperCase: ReaperCase, now: EpochMs): Promise<ReaperOutcome> {
  const records = recordsOf(reaperCase, now);
  const slots = new MemorySlots(reaperCase, records, now);
  await happen(reaperCase.event, slots);
  const { markedRemove, markedOrphaned } = slots;
  return {
    before: viewOf(records),
    after: viewOf([...slots.tasks.values()]),
    done: { markedRemove: [...markedRemove], markedOrphaned: [...markedOrphaned] },
    problems: [],
  };
}

async function happen(event: ReaperEvent, slots: MemorySlots): Promise<void> {
  switch (event.type) {
    case 'task-created':
    case 'task-updated':
      return slots.reap(slots.requestsOf([event]));
    case 'batch':
      return slots.reap(slots.requestsOf(event.events));
    case 'startup-sweep':
      return slots.sweep('request');
    case 'limit-changed':
      return slots.sweep('limit');
    case 'service-updated':
      return slots.sweep('limit', { serviceId: event.serviceId as ServiceId });
    case 'service-removed':
      slots.remove(event.serviceId as ServiceId);
      return slots.sweep('service-removed', { serviceId: event.serviceId as ServiceId });
    case 'service-scaled-down': {
      const ranges = event.removedSlots.map((slot): [number, number] => [slot, slot]);
      return slots.sweep('scaled-away', { serviceId: event.serviceId as ServiceId, slots: ranges });
    }
    case 'node-removed':
      return slots.reap(slots.removeNode(event.nodeId));
  }
}

/** Tasks of a page: few, so that a case takes several. */
const PAGE = 3;

class MemorySlots {
  readonly tasks: Map<TaskId, CaseRecord>;
  readonly markedRemove = new Set<string>();
  readonly markedOrphaned = new Set<string>();
  readonly #now: EpochMs;
  readonly #clusterLimit: number | undefined;
  readonly #services: Map<ServiceId, ServiceBook['services'] extends ReadonlyMap<ServiceId, infer S> ? S : never>;

  constructor({ retentionLimit, service, gone }: ReaperCase, records: readonly CaseRecord[], now: EpochMs) {
    this.tasks = new Map(records.map((record) => [record.taskId, record]));
    this.#now = now;
    this.#clusterLimit = retentionLimit ?? undefined;
    this.#services = new Map(gone.map((id) => [id, 'removed' as const]));
    if (service) this.#services.set(service.serviceId, service);
  }

  remove(service: ServiceId): void {
    this.#services.set(service, 'removed');
  }

  /** What of these events comes to the reaper, by slot. */
  requestsOf(events: readonly { readonly type: string; readonly taskId: string }[]): SlotRequest[] {
    const requests = new Map<SlotKey, SlotRequest>();
    for (const { type, taskId } of events) {
      for (const task of this.#taskIn(type, taskId as TaskId)) {
        const phase = phaseOf(task as Task);
        const removable = phase === 'removable' || requests.get(task.slotKey)?.removable === true;
        if (phase !== undefined) requests.set(task.slotKey, { slotKey: task.slotKey, removable });
      }
    }
    return [...requests.values()];
  }

  /**
   * The task whose event brings the reaper. A created task brings nobody: the end of the last old one in its slot does.
   * Of a task that is no longer there, any of its slot's stands for it.
   */
  #taskIn(type: string, taskId: TaskId): CaseRecord[] {
    const named = this.tasks.get(taskId);
    if (named === undefined) return [...this.tasks.values()];
    return type === 'task-created' ? lastOld([...this.tasks.values()], named) : [named];
  }

  /** What removing a node makes of its tasks (`lib/client/remove-node.ts`), and the slots that that brings the reaper to. */
  removeNode(nodeId: string): SlotRequest[] {
    const on = [...this.tasks.values()].filter((task) => task.nodeId === nodeId);
    for (const task of on.filter((one) => isLeftOnNode(one as Task))) {
      const image = orphanedTask(task as Task, this.#now, 'its node was removed');
      if (image.state !== task.state) this.markedOrphaned.add(task.taskId);
      this.tasks.set(task.taskId, image);
    }
    return this.requestsOf(on.map(({ taskId }) => ({ type: 'task-updated', taskId })));
  }

  async reap(requests: readonly SlotRequest[]): Promise<void> {
    const outcomes = await reapSlots(requests, { ...this.#context(), store: this.#store() });
    for (const { error } of outcomes) if (error) throw error;
  }

  async sweep(reason: SweepReason, of: Pick<SweepPage, 'serviceId' | 'slots'> = {}): Promise<void> {
    const pages: SweepPage[] = [
      { apiVersion: 'berth/v1', kind: 'SweepPage', sweepId: 'sweep', reason, page: 0, ...of },
    ];
    const slots = this.#store();
    const sweeps = this.#sweeps(pages, slots);
    for (let page = pages.shift(); page; page = pages.shift()) {
      await runPage(page, { ...this.#context(), slots, sweeps, pageTasks: PAGE, tolerant: false });
    }
  }

  #context() {
    const clock = () => this.#now;
    return { clock, deadline: this.#now, sleep: async () => undefined, random: () => 0 };
  }

  #store(): SlotStore {
    return {
      readSlot: async (slotKey) => ({
        tasks: [...this.tasks.values()].filter((task) => task.slotKey === slotKey),
        malformed: [],
      }),
      readServices: async () => ({ services: this.#services, clusterLimit: this.#clusterLimit }),
      write: async (writes) =>
        writes.map((write) => {
          const { task, what } = write;
          const stored = this.tasks.get(task.taskId);
          if (stored?.version !== task.version) return 'changed';
          if (isMark(write)) this.markedRemove.add(task.taskId);
          if (what !== 'mark') this.tasks.delete(task.taskId);
          else this.tasks.set(task.taskId, { ...stored, desiredState: 'remove', version: stored.version + 1 });
          return 'done';
        }),
    };
  }

  #sweeps(pages: SweepPage[], slots: SlotStore): SweepStore {
    let record: SweepRecord | undefined;
    const pageOf = <T>(all: readonly T[], cursor: string | undefined, limit: number) => {
      const from = Number(cursor ?? 0);
      const next = from + limit < all.length ? String(from + limit) : undefined;
      return { part: all.slice(from, from + limit), next };
    };
    // Pages are of the table as it was at first: what is deleted meanwhile must not shift them.
    const table = [...this.tasks.values()].sort((a, b) => (a.slotKey < b.slotKey ? -1 : a.slotKey > b.slotKey ? 1 : 0));
    return {
      readTable: async (cursor, limit) => {
        const { part, next } = pageOf(table, cursor, limit);
        return { tasks: part, malformed: [], next };
      },
      readServiceSlots: async (service, cursor, limit) => {
        const { part, next } = pageOf([...table.filter(({ serviceId }) => serviceId === service)], cursor, limit);
        return { slotKeys: [...new Set(part.map(({ slotKey }) => slotKey))], next };
      },
      readServices: (services) => slots.readServices(services),
      readSweep: async () => record,
      writeSweep: async (written) => {
        record = written;
        return true;
      },
      send: async (page) => {
        pages.push(page);
      },
    };
  }
}

/** The last old task of the slot that `created` is in, if there is any. */
export function lastOld(tasks: readonly CaseRecord[], created: CaseRecord): CaseRecord[] {
  const old = tasks.filter((task) => task.slotKey === created.slotKey && phaseOf(task as Task) !== undefined);
  return old.slice(-1);
}
