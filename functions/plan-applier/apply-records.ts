import { type ApplyContext, applyPlans, OutOfTimeError } from '../../lib/plans/apply.ts';
import type { Delivery } from '../../lib/plans/delivery.ts';
import type { Decided } from '../../lib/plans/fold.ts';
import { readMessage } from '../../lib/plans/read-message.ts';
import type { PlanRecord } from './records.ts';

/** What the handler does with records besides applying plans. */
export interface Edges {
  /** Puts a message into the quarantine queue. Throws if it did not get there. */
  quarantine(record: PlanRecord, reason: string): Promise<void>;
  /** Tells of plans that have a result. Throws if it did not get there: they are delivered again, and told of then. */
  decided(outcomes: readonly Decided[]): Promise<void>;
  /** Has records that were given back delivered again after so many seconds, and not when their visibility ends. */
  again(records: readonly PlanRecord[], seconds: number): Promise<void>;
  failed(error: Error, records: readonly PlanRecord[]): void;
}

/**
 * Pause before what happened is told again, seconds. With the receives that the queue allows, a pool waits half a minute for
 * an event bus that is away; then the message, whose plan has its result, goes to the dead-letter queue.
 */
const TELL_AGAIN_SECONDS = 2;

/**
 * Handles the records of one pool, in order; answers which are to be delivered again: the first that failed and every one
 * after it. Whatever happens in here stays in this pool.
 */
export async function applyRecords(
  records: readonly PlanRecord[],
  context: ApplyContext,
  edges: Edges,
): Promise<readonly PlanRecord[]> {
  let at = 0;
  const giveBack = (error: unknown, from: number): readonly PlanRecord[] => {
    const failed = records.slice(from);
    edges.failed(error instanceof Error ? error : new Error(String(error)), failed);
    return failed;
  };
  try {
    while (at < records.length) {
      const run = usableRun(records, at);
      if (run.deliveries.length > 0) {
        const applied = await applyPlans(run.deliveries, context);
        try {
          await edges.decided(applied.decided);
        } catch (error) {
          // They have their results; only the telling is to be done again, soon, since their pool waits for it.
          const left = giveBack(error, at);
          await edges.again(left, TELL_AGAIN_SECONDS);
          return left;
        }
        for (const { delivery, reason } of applied.parked) {
          await edges.quarantine(recordOf(records, run, delivery, at), reason);
        }
        if (applied.error) {
          const left = giveBack(applied.error, at + run.deliveries.length - applied.left.length);
          // A large plan goes on where it was; whoever waits for it need not wait for the visibility to end.
          if (applied.error instanceof OutOfTimeError && applied.error.progressed) await edges.again(left, 0);
          return left;
        }
        at += run.deliveries.length;
      }
      const record = records[at];
      if (run.unusable !== undefined && record !== undefined) {
        await edges.quarantine(record, run.unusable);
        at++;
      }
    }
    return [];
  } catch (error) {
    // What was decided before stays decided: its redelivery finds the stored result.
    return giveBack(error, at);
  }
}

interface Run {
  readonly deliveries: readonly Delivery[];
  /** Why the record after them is unusable, if it is. */
  readonly unusable?: string;
}

/** The records from `at` on that are plans, up to the first that is none. */
function usableRun(records: readonly PlanRecord[], at: number): Run {
  const deliveries: Delivery[] = [];
  for (const record of records.slice(at)) {
    const message = readMessage(record);
    if ('reason' in message) return { deliveries, unusable: message.reason };
    deliveries.push(message);
  }
  return { deliveries };
}

function recordOf(records: readonly PlanRecord[], run: Run, delivery: Delivery, at: number): PlanRecord {
  const record = records[at + run.deliveries.indexOf(delivery)];
  if (!record) throw new Error(`plan ${delivery.planId} is not of this run`);
  return record;
}
