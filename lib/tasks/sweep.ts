import * as z from 'zod/mini';
import { serviceId } from '../ids.ts';
import { epochMs, integer, listOf, objectOf, oneOf, text } from '../schema.ts';
import { SWEEPER } from '../settings.ts';
import { type EpochMs, type EpochSeconds, expiryAfter } from '../time.ts';
import { decideSlot, type SlotService } from './history.ts';
import {
  type Malformed,
  type ServiceBook,
  type SlotOutcome,
  type SlotRequest,
  type StoredSlotTask,
  serviceIn,
  writeOfDoomed,
} from './reap.ts';
import { effectiveLimit } from './service.ts';
import { placeOfSlot, type SlotKey, slotKeyOfNumber } from './task.ts';

/**
 * Why slots are looked at without a change of theirs. `schedule`, `request`: to find what the stream has lost. `limit`:
 * less history is to be kept. `service-removed`, `scaled-away`: their tasks are to go.
 */
export const SWEEP_REASONS = ['schedule', 'request', 'limit', 'service-removed', 'scaled-away'] as const;
export type SweepReason = (typeof SWEEP_REASONS)[number];

/** Reasons for which a service must be named: without one the whole table would be swept. */
const OF_A_SERVICE: readonly SweepReason[] = ['service-removed', 'scaled-away'];

/** A sweep of a schedule is named by its time, others as `ulid` has it. */
export const sweepIdSchema = text(1, 128);

const number = integer(0, Number.MAX_SAFE_INTEGER);

/** Slots from the first number to the last, both included. */
const slotRange = z
  .tuple([number, number], { error: 'two slot numbers, the first and the last' })
  .check(z.refine(([from, to]) => from <= to, { error: 'two slot numbers, the smaller first' }));
export type SlotRange = z.output<typeof slotRange>;

/** Ranges that one sweep may name, and slots that they may hold in all. */
const RANGES = 1_000;
const SLOTS = 1_000_000;

export const slotRanges = listOf(slotRange, RANGES).check(
  z.refine((ranges) => ranges.reduce((sum, [from, to]) => sum + to - from + 1, 0) <= SLOTS, {
    error: `ranges of at most ${SLOTS} slots in all`,
  }),
);

/**
 * One page of a sweep: a message of the sweep queue. The next page is the next message, so that a sweep of any size is
 * done in bounded steps, at a bounded pace, and goes on where it was after a crash.
 */
const pageSchema = objectOf({
  apiVersion: z.literal('berth/v1', { error: '"berth/v1"' }),
  kind: z.literal('SweepPage', { error: '"SweepPage"' }),
  sweepId: sweepIdSchema,
  reason: oneOf(SWEEP_REASONS),
  /** The service whose slots are looked at. Left out: all there are. */
  serviceId: z.optional(serviceId),
  /** Of that service, the slots that are scaled away. */
  slots: z.optional(slotRanges),
  /**
   * Tasks of these slots that were placed later stay: somebody has scaled up again, while the sweep, which may take an hour,
   * had yet to come there. Left out: the moment at which the first page was sent.
   */
  placedBefore: z.optional(epochMs),
  page: z._default(number, 0),
  /**
   * Where the page begins, in the words of whoever reads it. Left out: at the beginning. A key of DynamoDB's has up to
   * 3 KiB, of an index's page twice that, and as JSON six times as much: what is malformed may have the longest of keys.
   */
  cursor: z.optional(text(1, 40_000)),
});
export const sweepPageSchema = pageSchema.check(
  z.refine(({ reason, serviceId: service }) => service !== undefined || !OF_A_SERVICE.includes(reason), {
    path: ['serviceId'],
    error: 'expected the service that is removed or scaled, it is missing',
  }),
  z.refine(({ reason, slots }) => (slots !== undefined) === (reason === 'scaled-away'), {
    path: ['slots'],
    error: 'expected with the reason scaled-away, and with no other',
  }),
);
export type SweepPage = z.output<typeof sweepPageSchema>;
export type SweepPageInput = z.input<typeof sweepPageSchema>;

/** Counts of a sweep, or of one page of it. */
export interface SweepCounts {
  /** Slots that were looked at. */
  readonly slots: number;
  readonly tasks: number;
  readonly deleted: number;
  readonly marked: number;
  readonly conflicts: number;
  readonly malformed: number;
  /** Slots that were left as they are after their page had failed again and again. */
  readonly failed: number;
}

const COUNTS: readonly (keyof SweepCounts)[] = [
  'slots',
  'tasks',
  'deleted',
  'marked',
  'conflicts',
  'malformed',
  'failed',
];

/** How a sweep goes. */
export interface SweepRecord extends SweepCounts {
  readonly sweepId: string;
  readonly reason: SweepReason;
  readonly serviceId?: string | undefined;
  readonly startedAt: EpochMs;
  /** The page that comes next. */
  readonly page: number;
  readonly finishedAt?: EpochMs | undefined;
  /** Services that tasks belong to and that were never set, some of them. */
  readonly unknownServices: readonly string[];
  readonly expiresAt: EpochSeconds;
}

/** Services that a record names. */
const UNKNOWN_NAMED = 20;

export function newSweep({ sweepId, reason, serviceId: service }: SweepPage, now: EpochMs): SweepRecord {
  return {
    ...{ sweepId, reason, startedAt: now, page: 0, unknownServices: [] },
    ...(service === undefined ? {} : { serviceId: service }),
    ...{ slots: 0, tasks: 0, deleted: 0, marked: 0, conflicts: 0, malformed: 0, failed: 0 },
    expiresAt: expiryAfter(now, SWEEPER.recordSeconds),
  };
}

/** `record` after one more page. */
export function afterPage(
  record: SweepRecord,
  page: SweepCounts & { readonly unknownServices: readonly string[] },
  finishedAt: EpochMs | undefined,
): SweepRecord {
  const counts = Object.fromEntries(COUNTS.map((name) => [name, record[name] + page[name]])) as unknown as SweepCounts;
  const unknown = new Set([...record.unknownServices, ...page.unknownServices]);
  return {
    ...record,
    ...counts,
    page: record.page + 1,
    unknownServices: [...unknown].slice(0, UNKNOWN_NAMED),
    ...(finishedAt === undefined ? {} : { finishedAt }),
  };
}

/** What the slots of a page came to, and what the page itself has shown. A malformed task may be seen by both. */
export function countsOf(
  outcomes: readonly SlotOutcome[],
  seen: { readonly slots: number; readonly tasks: number; readonly malformed: readonly Malformed[] },
): SweepCounts {
  const sum = (of: (outcome: SlotOutcome) => number) => outcomes.reduce((total, outcome) => total + of(outcome), 0);
  const malformed = [...seen.malformed, ...outcomes.flatMap((outcome) => outcome.malformed)];
  return {
    slots: seen.slots,
    tasks: seen.tasks,
    deleted: sum(({ deleted }) => deleted.length),
    marked: sum(({ marked }) => marked.length),
    conflicts: sum(({ conflicts }) => conflicts),
    malformed: new Set(malformed.map(({ key }) => key)).size,
    failed: sum(({ error }) => (error === undefined ? 0 : 1)),
  };
}

/** Seconds before the next page may begin, so that no more slots a second are looked at than are allowed. */
export function delayAfter(slots: number): number {
  return Math.ceil(slots / SWEEPER.slotsPerSecond);
}

/** The slots of a page of a service that is scaled down, in order, and where the next page begins. */
export function scaledAway({ serviceId: service, slots = [], cursor }: SweepPage): {
  readonly slotKeys: readonly SlotKey[];
  readonly next: string | undefined;
} {
  const slotKeys: SlotKey[] = [];
  if (service === undefined) return { slotKeys, next: undefined };
  let next = cursor === undefined ? 0 : Number(cursor);
  for (const [from, to] of slots.toSorted(([a], [b]) => a - b)) {
    for (next = Math.max(from, next); next <= to; next++) {
      if (slotKeys.length === SWEEPER.pageSlots) return { slotKeys, next: String(next) };
      slotKeys.push(slotKeyOfNumber(service, next));
    }
  }
  return { slotKeys, next: undefined };
}

/** What of a page of the table is to be done, seen from the page alone. */
export interface PageView {
  /** Slots that need a look of their own. */
  readonly requests: readonly SlotRequest[];
  /** Slots that the page shows. */
  readonly slots: number;
  readonly unknownServices: readonly string[];
}

/**
 * Which slots of a page of the table need a look: those of which the page shows that something is to be done, and those
 * that it shows a part of. The tasks of a slot stand together, in the order of the table. `from`, `to`: whether there
 * are pages before and after. Of a sweep by schedule those are left out in which something changed just now: the stream comes to them.
 */
export function viewOfPage(
  tasks: readonly StoredSlotTask[],
  book: ServiceBook,
  { reason, from, to, now }: { reason: SweepReason; from: boolean; to: boolean; now: EpochMs },
): PageView {
  const bySlot = new Map<SlotKey, StoredSlotTask[]>();
  for (const task of tasks) bySlot.set(task.slotKey, [...(bySlot.get(task.slotKey) ?? []), task]);
  const slots = [...bySlot];
  const unknown = new Set<string>();
  const requests = slots.flatMap(([slotKey, found], at): SlotRequest[] => {
    const place = placeOfSlot(slotKey);
    if (!place) return [];
    const service = serviceIn(book, place.serviceId);
    if (service === 'unknown') unknown.add(place.serviceId);
    // Where tasks are not counted, each shows by itself what becomes of it. A slot of many pages is then not read for each of them.
    const partly = isCounted(service, book) && ((from && at === 0) || (to && at === slots.length - 1));
    const young = reason === 'schedule' && found.some((task) => hasJustChanged(task, now));
    const idle = !partly && !isDue(found, service, book);
    return young || idle ? [] : [{ slotKey, removable: true, cascade: 'removed' }];
  });
  return { requests, slots: slots.length, unknownServices: [...unknown] };
}

/** Whether what becomes of a task may depend on the others of its slot. */
function isCounted(service: SlotService, { clusterLimit }: ServiceBook): boolean {
  return typeof service !== 'string' && effectiveLimit(service, clusterLimit) !== Number.POSITIVE_INFINITY;
}

/** Whether there is something to be done about a slot with these tasks and no others. */
function isDue(tasks: readonly StoredSlotTask[], service: SlotService, book: ServiceBook): boolean {
  if (service === 'removed') return tasks.some((task) => writeOfDoomed(task).length > 0);
  return decideSlot(tasks, service, book.clusterLimit).verdicts.some((verdict) => 'reap' in verdict);
}

/** By the times that it has. One far in the future is that of an agent whose clock is wrong, and says nothing. */
function hasJustChanged({ appliedAt, desiredAt }: StoredSlotTask, now: EpochMs): boolean {
  return [appliedAt, desiredAt].some((at) => at !== undefined && Math.abs(now - at) < SWEEPER.graceSeconds * 1000);
}
