import { setTimeout as sleep } from 'node:timers/promises';
import { BatchGetItemCommand } from '@aws-sdk/client-dynamodb';
import type { PlanId } from '../ids.ts';
import type { PlanResult } from '../plans/result.ts';
import { PLATFORM } from '../settings.ts';
import { marshall, unmarshall } from '../store/dynamo.ts';
import { resultFromItem } from '../store/records.ts';
import { batchGet } from './batch-get.ts';
import type { Connection } from './connection.ts';
import { retrying } from './retrying.ts';

/** Thrown when a result did not come in time. The plan may take effect yet: submit it again, unchanged, to go on waiting. */
export class PlanTimeoutError extends Error {
  override readonly name = 'PlanTimeoutError';
  readonly planId: PlanId;

  constructor(planId: PlanId, timeoutMs: number) {
    super(
      `plan ${planId} has no result after ${timeoutMs} ms; it may take effect yet: submit it again unchanged to go on waiting`,
    );
    this.planId = planId;
  }
}

interface Waiter {
  readonly since: number;
  readonly resolve: (result: PlanResult) => void;
  readonly reject: (error: unknown) => void;
}

/** Pauses between two looks for results, milliseconds: short while somebody has just begun to wait, longer later. */
const SHORTEST_MS = 15;
const LONGEST_MS = 500;

/** Waits for results: one consistent batch read serves all who wait, however many they are. */
export class ResultWaiters {
  readonly #connection: Connection;
  readonly #waiters = new Map<PlanId, Set<Waiter>>();
  #polling = false;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** The result of a plan. Rejects with PlanTimeoutError after `timeoutMs`, or with the signal's reason. */
  async wait(planId: PlanId, timeoutMs: number, signal?: AbortSignal): Promise<PlanResult> {
    signal?.throwIfAborted();
    const { promise, resolve, reject } = withResolvers<PlanResult>();
    const waiter: Waiter = { since: Date.now(), resolve, reject };
    const waiters = this.#waiters.get(planId) ?? new Set();
    this.#waiters.set(planId, waiters.add(waiter));
    const timer = setTimeout(() => reject(new PlanTimeoutError(planId, timeoutMs)), timeoutMs);
    const abort = () => reject(signal?.reason);
    signal?.addEventListener('abort', abort, { once: true });
    if (!this.#polling) void this.#poll();
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
      waiters.delete(waiter);
      if (waiters.size === 0 && this.#waiters.get(planId) === waiters) this.#waiters.delete(planId);
    }
  }

  async #poll(): Promise<void> {
    this.#polling = true;
    try {
      while (this.#waiters.size > 0) {
        const wanted = [...this.#waiters.keys()];
        for (let at = 0; at < wanted.length; at += PLATFORM.batchGetKeys) {
          const found = await readResults(this.#connection, wanted.slice(at, at + PLATFORM.batchGetKeys));
          for (const result of found)
            for (const waiter of this.#waiters.get(result.planId) ?? []) waiter.resolve(result);
        }
        const youngest = Math.max(
          0,
          ...[...this.#waiters.values()].flatMap((set) => [...set].map(({ since }) => since)),
        );
        await sleep(Math.min(LONGEST_MS, Math.max(SHORTEST_MS, (Date.now() - youngest) / 4)));
      }
    } catch (error) {
      for (const waiters of this.#waiters.values()) for (const waiter of waiters) waiter.reject(error);
    } finally {
      this.#polling = false;
    }
  }
}

/** The result of a plan, or undefined if it has none. */
export async function readResult(connection: Connection, planId: PlanId): Promise<PlanResult | undefined> {
  const [item] = await batchGet(connection, connection.tables.plans, [{ planId }]);
  return item && resultFromItem(item)?.result;
}

/**
 * Those of `planIds` that have a result, by a consistent read of at most 100 keys. One that DynamoDB left out for being
 * throttled is as one that has none yet: whoever waits looks again.
 */
export async function readResults({ dynamo, tables }: Connection, planIds: readonly PlanId[]): Promise<PlanResult[]> {
  if (planIds.length === 0) return [];
  const { Responses } = await retrying(() =>
    dynamo.send(
      new BatchGetItemCommand({
        RequestItems: { [tables.plans]: { Keys: planIds.map((planId) => marshall({ planId })), ConsistentRead: true } },
      }),
    ),
  );
  // A plan of several transactions stands there with its progress until it has a result.
  return (Responses?.[tables.plans] ?? []).flatMap((item) => resultFromItem(unmarshall(item))?.result ?? []);
}

function withResolvers<T>() {
  let resolve!: (value: T) => void;
  let reject!: (error: unknown) => void;
  const promise = new Promise<T>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
}
