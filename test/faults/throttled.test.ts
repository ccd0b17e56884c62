import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { applyRecords, type Edges } from '../../functions/plan-applier/apply-records.ts';
import { batchResponse, byGroup, type PlanRecord } from '../../functions/plan-applier/records.ts';
import type { ApplyContext } from '../../lib/plans/apply.ts';
import type { PlanResult } from '../../lib/plans/result.ts';
import { WindowCache } from '../../lib/plans/window-cache.ts';
import { APPLIER, PLATFORM } from '../../lib/settings.ts';
import { planStore } from '../../lib/store/plan-store.ts';
import type { EpochMs } from '../../lib/time.ts';
import { type Database, startDatabase } from '../support/database.ts';
import { type DynamoBed, dynamoBed } from '../support/dynamo-bed.ts';
import type { Fault } from '../support/faults.ts';
import { faultyClient } from '../support/faulty-client.ts';
import type { History } from '../support/histories.ts';
import { SENT_AT } from '../support/plans.ts';
import { expectedOf } from '../support/run-history.ts';
import { scene } from '../support/scene.ts';
import { summaryOf } from '../support/summary.ts';

/** A queue of plans of several pools, handled as the function does, while the database turns requests away. */

let database: Database;
beforeAll(async () => {
  database = await startDatabase();
});
afterAll(() => database.stop());

const THROTTLED_MS = 30_000;
const KINDS: readonly Fault[] = ['throttled', 'partly-throttled', 'nothing-processed'];

/** A pool of which plans wait. */
interface Line {
  readonly history: History;
  readonly bed: DynamoBed;
}

let pools = 0;
async function newLine(): Promise<Line> {
  const history = scene(`throttled${pools++}`);
  return { history, bed: await dynamoBed(database, history) };
}

const plansOf = ({ history }: Line) => history.batches.flatMap(({ plans }) => plans);

/** The plans of all pools in one queue: the first of each pool, then the second of each, and so on. */
function queueOf(lines: readonly Line[]): PlanRecord[] {
  const lists = lines.map(plansOf);
  const most = Math.max(...lists.map(({ length }) => length));
  const mixed = Array.from({ length: most }, (_, at) => lists.flatMap((list) => list[at] ?? [])).flat();
  return mixed.map((plan) => ({
    ...{ messageId: plan.planId, receiptHandle: plan.planId, group: plan.pool, source: 'queue' },
    ...{ body: JSON.stringify(plan), sentAt: SENT_AT },
  }));
}

/** What became of a queue for which the function was invoked until it was empty. */
interface Played {
  /** Results in the order in which they came to be, without those that were found stored. */
  readonly decided: readonly PlanResult[];
  readonly quarantined: readonly string[];
  readonly invocations: readonly Invocation[];
}

interface Invocation {
  /** Messages that came back, by their pools. */
  readonly failed: readonly string[];
  /** Requests that were sent after the time at which nothing is begun any more. */
  readonly late: number;
  /** Milliseconds by which it ended after that time. */
  readonly over: number;
}

/**
 * Plays a queue over clocks that only pauses move, each pool's its own, since pools pause beside one another. From request `from` of a pool on, all that the pool asks for in the
 * next 30 seconds is turned away, if it is one that `isThrottled`. What comes back is delivered again at once.
 */
async function play(lines: readonly Line[], from: number, isThrottled = (_pool: string) => true): Promise<Played> {
  const decided: PlanResult[] = [];
  const quarantined: string[] = [];
  const invocations: Invocation[] = [];
  const requests = new Map<string, number>();
  const throttledUntil = new Map<string, number>();
  let now: number = SENT_AT;

  const faultOf = (pool: string, time: number): Fault | undefined => {
    const number = (requests.get(pool) ?? 0) + 1;
    requests.set(pool, number);
    if (number < from || !isThrottled(pool)) return undefined;
    const until = throttledUntil.get(pool) ?? time + THROTTLED_MS;
    throttledUntil.set(pool, until);
    return time < until ? KINDS[number % KINDS.length] : undefined;
  };

  const invoke = async (batch: readonly PlanRecord[]): Promise<ReadonlySet<string>> => {
    const deadline = now + APPLIER.timeoutSeconds * 1000 - APPLIER.reserveMs;
    let late = 0;
    let end = now;
    const handle = async (records: readonly PlanRecord[]) => {
      const pool = records[0]?.group ?? '';
      let time = now;
      const { client } = faultyClient(database.client, () => {
        if (time > deadline) late++;
        return faultOf(pool, time);
      });
      const context: ApplyContext = {
        ...{ store: planStore(client, database.tables), clock: () => time as EpochMs, deadline: deadline as EpochMs },
        sleep: async (ms) => {
          // A clock tells whole milliseconds.
          time += Math.ceil(ms);
        },
        ...{ random: () => 0.999, pools: new Map(), windows: new WindowCache(), allowance: 14 },
      };
      const edges: Edges = {
        quarantine: async ({ messageId }) => void quarantined.push(messageId),
        decided: async (outcomes) => {
          for (const { result, stored } of outcomes) if (!stored) decided.push(result);
        },
        again: async () => undefined,
        failed: () => undefined,
      };
      const left = await applyRecords(records, context, edges);
      end = Math.max(end, time);
      return left;
    };
    const left = (await Promise.all(byGroup(batch).map(handle))).flat();
    now = end;
    invocations.push({ failed: left.map(({ group }) => group), late, over: Math.max(0, now - deadline) });
    return new Set(batchResponse(left).batchItemFailures.map(({ itemIdentifier }) => itemIdentifier));
  };

  for (let queue = queueOf(lines); queue.length > 0; ) {
    if (invocations.length === 100) throw new Error('the queue never empties');
    const batch = queue.slice(0, PLATFORM.fifoBatch);
    const failed = await invoke(batch);
    queue = queue.filter((each) => failed.has(each.messageId) || !batch.includes(each));
  }
  return { decided, quarantined, invocations };
}

/** Holds that each plan of a pool took effect once, in its turn, and that the state is what comes of them in that order. */
async function expectWhole(line: Line, { decided }: Played): Promise<void> {
  const own = decided.filter(({ pool }) => pool === line.history.pool);
  expect(own.map(({ planId }) => planId)).toEqual(plansOf(line).map(({ planId }) => planId));
  expect(own.map(({ index }) => index)).toEqual(own.map(({ index }) => index).toSorted((a, b) => a - b));
  const world = await line.bed.world();
  expect(own.map(({ planId }) => world.results.get(planId))).toEqual(own);
  expect(summaryOf(world)).toEqual(expectedOf(line.history));
}

describe('throttled for 30 seconds', () => {
  it.each([1, 3, 9])(
    'from request %i of each pool on, plans of three pools are applied once each, in order, and no invocation runs past its time',
    async (from) => {
      const lines = [await newLine(), await newLine(), await newLine()];
      const played = await play(lines, from);
      for (const line of lines) await expectWhole(line, played);
      expect(played.quarantined).toEqual([]);
      // Longer than one invocation has: plans did come back.
      expect(played.invocations.filter(({ failed }) => failed.length > 0)).not.toEqual([]);
      expect(played.invocations.map(({ late, over }) => [late, over])).toEqual(played.invocations.map(() => [0, 0]));
    },
  );

  it('one pool holds up no other', async () => {
    const lines = [await newLine(), await newLine(), await newLine()];
    const [, throttled] = lines.map(({ history }) => history.pool);
    const played = await play(lines, 1, (pool) => pool === throttled);
    for (const line of lines) await expectWhole(line, played);
    expect(new Set(played.invocations.flatMap(({ failed }) => failed))).toEqual(new Set([throttled]));
  });
});
