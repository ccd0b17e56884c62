import type { ServiceId, TaskId } from '../ids.ts';
import { clip } from '../schema.ts';
import { REAPER } from '../settings.ts';
import type { Clock, EpochMs } from '../time.ts';
import { decideSlot, isRemovable, type ReapRule, type SlotService, type SlotTask } from './history.ts';
import { effectiveLimit } from './service.ts';
import { NO_SERVICE, placeOfSlot, type SlotKey, type SlotPlace } from './task.ts';

/** A task of a slot as the reaper sees it: what the rule looks at, and what a write of it is conditional on. */
export interface StoredSlotTask extends SlotTask {
  readonly slotKey: SlotKey;
  readonly version: number;
  /** Whether its resources were given back. If not, what deletes it gives them back. */
  readonly released: boolean;
  /** When what is wanted of it was last moved. */
  readonly desiredAt?: EpochMs | undefined;
  /** When it was placed. */
  readonly createdAt?: EpochMs | undefined;
}

/** Something stored that is not of its shape: it is told of and left alone. */
export interface Malformed {
  readonly key: string;
  readonly problem: string;
}

export interface SlotContent {
  readonly tasks: readonly StoredSlotTask[];
  readonly malformed: readonly Malformed[];
}

export interface ServiceBook {
  /** Those of the services that were asked for which were ever set. */
  readonly services: ReadonlyMap<ServiceId, Exclude<SlotService, 'none' | 'unknown'>>;
  readonly clusterLimit: number | undefined;
  /** Records that cannot be read: of services, which count as never set, and of the cluster's limit, which then is none. */
  readonly malformed?: readonly Malformed[];
}

/** One write, carried out only if the task is still as it was seen. */
export interface SlotWrite {
  readonly task: StoredSlotTask;
  /** Why it is deleted; `mark`: it is to be removed from now on, and goes when its agent has reported its end. */
  readonly what: ReapRule | 'mark';
}

/**
 * `changed`: the task is no longer as it was seen, and was left alone. An error: it may have been carried out, or not; a
 * PermanentError: it never can be, the task being malformed in what only this write has to know.
 */
export type WriteOutcome = 'done' | 'changed' | Error;

/** The state, as the reaper needs it. */
export interface SlotStore {
  /** Every task of the slot, as it is now. */
  readSlot(slotKey: SlotKey): Promise<SlotContent>;
  readServices(services: ReadonlySet<ServiceId>): Promise<ServiceBook>;
  /** Carries out each write on its own, in as few requests as it can; answers in their order. */
  write(writes: readonly SlotWrite[], now: EpochMs): Promise<readonly WriteOutcome[]>;
}

/** A slot that is to be looked at. */
export interface SlotRequest {
  readonly slotKey: SlotKey;
  /** Whether a task of it may be one that goes whatever the limit is. */
  readonly removable: boolean;
  /**
   * What is to go besides what the rule says. `all`: everything, the slot being scaled away. `removed`: everything, if
   * its service is removed. Left out: nothing.
   */
  readonly cascade?: 'all' | 'removed' | undefined;
  /** Of a slot that is scaled away, what was placed later stays. Left out: nothing does. */
  readonly placedBefore?: EpochMs | undefined;
}

/** What became of a slot. */
export interface SlotOutcome {
  readonly slotKey: SlotKey;
  readonly deleted: readonly { readonly taskId: TaskId; readonly rule: ReapRule }[];
  /** Tasks that are to be removed from now on, and were not before. */
  readonly marked: readonly TaskId[];
  /** Tasks that are still there, the malformed left out; undefined where the slot need not be read. */
  readonly remaining: number | undefined;
  /** Writes that met a task which had changed meanwhile. */
  readonly conflicts: number;
  readonly malformed: readonly Malformed[];
  /** Whether the slot is one of a service that nobody has told Berth of. */
  readonly unknown: boolean;
  /** Why the slot is to be looked at again, having been left half done. */
  readonly error: Error | undefined;
}

export interface ReapContext {
  readonly store: SlotStore;
  readonly clock: Clock;
  /** No slot is read after this. */
  readonly deadline: EpochMs;
  readonly sleep: (ms: number) => Promise<void>;
  readonly random: () => number;
}

/** Longest pause before slots in which something changed meanwhile are looked at again, milliseconds. */
const PAUSE_MS = 200;

/**
 * Brings each slot to what the rule says, looking at those slots and at nothing else: a query a slot, and as many requests
 * as the deletes of all of them take. Safe to repeat, and beside anybody else: a task that changes meanwhile is left
 * alone, and its slot decided anew. A slot that fails does not keep the others from being done.
 */
export async function reapSlots(
  requests: readonly SlotRequest[],
  context: ReapContext,
): Promise<readonly SlotOutcome[]> {
  const works = requests.map((request) => new SlotWork(request));
  for (let round = 0; ; round++) {
    const open = works.filter((work) => work.open);
    if (open.length === 0) return works.map((work) => work.outcome);
    if (round === REAPER.tries) {
      for (const work of open) work.fail(new Error(`its tasks changed each of ${round} times that it was decided`));
      continue;
    }
    if (round > 0) await context.sleep(context.random() * PAUSE_MS);
    await onceOver(open, context);
  }
}

/** Reads, decides and writes the slots once. */
async function onceOver(works: readonly SlotWork[], { store, clock, deadline }: ReapContext): Promise<void> {
  let book: ServiceBook;
  try {
    const services = works.map(({ place }) => place?.serviceId ?? NO_SERVICE);
    book = await store.readServices(new Set(services.filter((service) => service !== NO_SERVICE)));
  } catch (error) {
    for (const work of works) work.fail(error);
    return;
  }
  // They are told of once, and not for each slot that goes by them.
  if (works[0]) works[0].misread = book.malformed ?? [];
  const writes: { readonly work: SlotWork; readonly write: SlotWrite }[] = [];
  await inParallel(works, REAPER.slotsAtOnce, async (work) => {
    try {
      for (const write of await writesOf(work, book, { store, clock, deadline })) writes.push({ work, write });
      work.open = false;
    } catch (error) {
      work.fail(error);
    }
  });
  if (writes.length === 0) return;
  const outcomes = await store.write(
    writes.map(({ write }) => write),
    clock(),
  );
  writes.forEach(({ work, write }, at) => {
    work.settle(write, outcomes[at] ?? new Error('nothing is known of a write'));
  });
}

/** What is to be written in a slot. */
async function writesOf(
  work: SlotWork,
  book: ServiceBook,
  { store, clock, deadline }: Pick<ReapContext, 'store' | 'clock' | 'deadline'>,
): Promise<readonly SlotWrite[]> {
  const { slotKey, removable, cascade, placedBefore = Number.POSITIVE_INFINITY } = work.request;
  if (!work.place) {
    work.malformed = [{ key: slotKey, problem: 'not the key of a slot: service#number or service@node is expected' }];
    return [];
  }
  const service = serviceIn(book, work.place.serviceId);
  work.unknown = service === 'unknown';
  const all = cascade === 'all' || (cascade === 'removed' && service === 'removed');
  if (!all && !removable && keepsAll(service, book)) return [];
  if (clock() > deadline) throw new OutOfTimeError(`no time was left for slot ${slotKey}`);
  const { tasks, malformed } = await store.readSlot(slotKey);
  work.malformed = malformed;
  work.remaining = tasks.length;
  if (all) {
    const doomed = tasks.filter(({ createdAt = 0 }) => createdAt <= placedBefore);
    work.waits = doomed.some(({ undo }) => undo !== undefined);
    return doomed.flatMap(writeOfDoomed);
  }
  return decideSlot(tasks, service, book.clusterLimit).verdicts.flatMap((verdict) =>
    'reap' in verdict ? [{ task: verdict.task, what: verdict.reap }] : [],
  );
}

/** What happens to a task of a slot that is to go: it goes at once, or is marked so until its agent has reported its end. */
export function writeOfDoomed(task: StoredSlotTask): SlotWrite[] {
  if (isRemovable({ ...task, desiredState: 'remove' })) return [{ task, what: 'removable' }];
  return task.desiredState === 'remove' || task.undo !== undefined ? [] : [{ task, what: 'mark' }];
}

/** Whether slots of the service lose nothing but what is to be removed: they keep all they have, or nothing is known of them. */
function keepsAll(service: SlotService, { clusterLimit }: ServiceBook): boolean {
  if (typeof service === 'string') return service !== 'none';
  return effectiveLimit(service, clusterLimit) === Number.POSITIVE_INFINITY;
}

export function serviceIn({ services }: ServiceBook, service: ServiceId): SlotService {
  return service === NO_SERVICE ? 'none' : (services.get(service) ?? 'unknown');
}

/** What is being done about one slot. */
class SlotWork {
  readonly request: SlotRequest;
  readonly place: SlotPlace | undefined;
  /** Whether there is something left to do about it. */
  open = true;
  malformed: readonly Malformed[] = [];
  /** What is malformed of the services that this slot and others go by. */
  misread: readonly Malformed[] = [];
  remaining: number | undefined;
  unknown = false;
  /** Whether a task of a slot that is to go waits for the plan that changes it. Nothing would come to the slot for that later. */
  waits = false;
  readonly #deleted: { taskId: TaskId; rule: ReapRule }[] = [];
  readonly #marked: TaskId[] = [];
  #conflicts = 0;
  #error: Error | undefined;

  constructor(request: SlotRequest) {
    this.request = request;
    this.place = placeOfSlot(request.slotKey);
  }

  fail(error: unknown): void {
    this.#error = error instanceof Error ? error : new Error(String(error));
    this.open = false;
  }

  settle({ task: { taskId }, what }: SlotWrite, outcome: WriteOutcome): void {
    if (outcome instanceof Error && outcome.name === 'PermanentError') {
      // Tried again and again it would hold up a shard of the stream, and what a sweep has yet to come to.
      const key = `${this.request.slotKey} ${taskId}`;
      this.malformed = [...this.malformed, { key, problem: clip(outcome.message, 400) }];
    } else if (outcome instanceof Error) {
      this.fail(outcome);
    } else if (outcome === 'changed') {
      this.#conflicts++;
      this.open = this.#error === undefined;
    } else if (what === 'mark') {
      this.#marked.push(taskId);
    } else {
      this.#deleted.push({ taskId, rule: what });
      this.remaining = Math.max(0, (this.remaining ?? 1) - 1);
    }
  }

  get outcome(): SlotOutcome {
    return {
      slotKey: this.request.slotKey,
      deleted: this.#deleted,
      marked: this.#marked,
      remaining: this.remaining,
      conflicts: this.#conflicts,
      malformed: [...this.misread, ...this.malformed],
      unknown: this.unknown,
      error: this.#error ?? (this.waits ? new PlanUnderWayError(this.request.slotKey) : undefined),
    };
  }
}

/** Thrown for a slot that was not begun since the time was up. */
class OutOfTimeError extends Error {
  override readonly name = 'OutOfTimeError';
}

/** Thrown for a slot that is to go, and of which a task cannot yet: it is to be looked at again. */
class PlanUnderWayError extends Error {
  override readonly name = 'PlanUnderWayError';

  constructor(slotKey: SlotKey) {
    super(
      `a plan is under way that changes a task of slot ${slotKey}, which is to go; the task goes when that is through`,
    );
  }
}

/** Runs `run` over `items`, so many at the same time. */
async function inParallel<T>(items: readonly T[], atOnce: number, run: (item: T) => Promise<void>): Promise<void> {
  const queue = items.values();
  const lane = async () => {
    for (const item of queue) await run(item);
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, lane));
}
