import type { ServiceId } from '../ids.ts';
import {
  type ReapContext,
  reapSlots,
  type ServiceBook,
  type SlotOutcome,
  type SlotRequest,
  type StoredSlotTask,
} from './reap.ts';
import {
  afterPage,
  countsOf,
  delayAfter,
  newSweep,
  type SweepPage,
  type SweepRecord,
  scaledAway,
  viewOfPage,
} from './sweep.ts';
import { NO_SERVICE, placeOfSlot, type SlotKey } from './task.ts';

/** A page of the table, in its order. */
export interface TablePage {
  readonly tasks: readonly StoredSlotTask[];
  readonly malformed: readonly { readonly key: string; readonly problem: string }[];
  readonly next: string | undefined;
}

/** What a sweep reads and writes besides the slots. */
export interface SweepStore {
  readTable(cursor: string | undefined, limit: number): Promise<TablePage>;
  /** Slots of a service, as the index shows them, which lags. A slot may be named again by a later page. */
  readServiceSlots(
    service: ServiceId,
    cursor: string | undefined,
    limit: number,
  ): Promise<{ readonly slotKeys: readonly SlotKey[]; readonly next: string | undefined }>;
  readServices(services: ReadonlySet<ServiceId>): Promise<ServiceBook>;
  readSweep(sweepId: string): Promise<SweepRecord | undefined>;
  /** Stores `record` in place of the one before; answers whether that was still there. */
  writeSweep(record: SweepRecord): Promise<boolean>;
  /** Sends a page, to be received after so many seconds. */
  send(page: SweepPage, delaySeconds: number): Promise<void>;
}

export interface PageContext extends Omit<ReapContext, 'store'> {
  readonly slots: ReapContext['store'];
  readonly sweeps: SweepStore;
  /** Tasks of a page. */
  readonly pageTasks: number;
  /** Whether slots that fail are left as they are, having failed again and again, so that the sweep goes on. */
  readonly tolerant: boolean;
}

/** What a page came to. `repeated`: it was done before, and nothing was done now. */
export type PageOutcome =
  | { readonly kind: 'repeated'; readonly record: SweepRecord }
  | {
      readonly kind: 'done';
      readonly record: SweepRecord;
      readonly outcomes: readonly SlotOutcome[];
      readonly malformed: TablePage['malformed'];
    };

/** Thrown when slots of a page could not be done: the page is to be delivered again. */
export class PageError extends Error {
  override readonly name = 'PageError';
  readonly outcomes: readonly SlotOutcome[];

  constructor(page: SweepPage, outcomes: readonly SlotOutcome[]) {
    const failed = outcomes.filter(({ error }) => error !== undefined);
    super(`${failed.length} slots of page ${page.page} of sweep ${page.sweepId} failed: ${failed[0]?.error?.message}`, {
      cause: failed[0]?.error,
    });
    this.outcomes = outcomes;
  }
}

/**
 * Does one page of a sweep and sends the next. In this order: slots, next page, record. Whatever breaks in between is made
 * good by the message, which is delivered again: slots that are done find nothing to do, and of two messages with the
 * next page the later finds the record past it.
 */
export async function runPage(page: SweepPage, context: PageContext): Promise<PageOutcome> {
  const { sweeps, clock } = context;
  const record = (await sweeps.readSweep(page.sweepId)) ?? newSweep(page, clock());
  if (record.page > page.page || record.finishedAt !== undefined) return { kind: 'repeated', record };

  const part = await partOf(page, context);
  const outcomes = await reapSlots(part.requests, { ...context, store: context.slots });
  if (!context.tolerant && outcomes.some(({ error }) => error !== undefined)) throw new PageError(page, outcomes);

  // A page that was delivered twice at once, as a schedule's first may be, would go on as two sweeps, each at the whole pace.
  const meanwhile = await sweeps.readSweep(page.sweepId);
  if (meanwhile && meanwhile.page > page.page) {
    return { kind: 'done', record: meanwhile, outcomes, malformed: part.malformed };
  }
  const { slots } = part;
  const counts = countsOf(outcomes, part);
  const unknown = outcomes.filter((outcome) => outcome.unknown).map(({ slotKey }) => serviceOf(slotKey));
  const unknownServices = [...new Set([...part.unknownServices, ...unknown])];
  if (part.next !== undefined) {
    await sweeps.send({ ...page, page: page.page + 1, cursor: part.next }, delayAfter(slots));
  }
  const after = afterPage(record, { ...counts, unknownServices }, part.next === undefined ? clock() : undefined);
  await sweeps.writeSweep(after);
  return { kind: 'done', record: after, outcomes, malformed: part.malformed };
}

/** What a page is about. */
interface Part {
  readonly requests: readonly SlotRequest[];
  readonly slots: number;
  readonly tasks: number;
  readonly unknownServices: readonly string[];
  readonly malformed: TablePage['malformed'];
  readonly next: string | undefined;
}

async function partOf(page: SweepPage, { sweeps, clock, pageTasks }: PageContext): Promise<Part> {
  const { reason, serviceId: service, cursor } = page;
  if (service === undefined) {
    const { tasks, malformed, next } = await sweeps.readTable(cursor, pageTasks);
    const services = new Set(tasks.map(({ slotKey }) => serviceOf(slotKey)).filter((id) => id !== NO_SERVICE));
    const book = await sweeps.readServices(services);
    const edges = { from: cursor !== undefined, to: next !== undefined };
    const view = viewOfPage(tasks, book, { reason, ...edges, now: clock() });
    return { ...view, tasks: tasks.length, malformed: [...malformed, ...(book.malformed ?? [])], next };
  }
  const named = reason === 'scaled-away' ? scaledAway(page) : await sweeps.readServiceSlots(service, cursor, pageTasks);
  const [cascade, placedBefore] =
    reason === 'scaled-away' ? (['all', page.placedBefore] as const) : (['removed'] as const);
  return {
    requests: named.slotKeys.map((slotKey) => ({ slotKey, removable: true, cascade, placedBefore })),
    ...{ slots: named.slotKeys.length, tasks: 0, unknownServices: [], malformed: [] },
    next: named.next,
  };
}

function serviceOf(slotKey: SlotKey): ServiceId {
  return placeOfSlot(slotKey)?.serviceId ?? NO_SERVICE;
}
