import { batchGet } from '../lib/client/batch-get.ts';
import { berthOver } from '../lib/client/berth.ts';
import { type Connection, openConnection } from '../lib/client/connection.ts';
import type { Berth, PlanInput, PlanResult } from '../lib/client/index.ts';
import { windowFromItem } from '../lib/store/records.ts';
import { totalUsage, type Usage, usageBetween } from '../local/dynamodb/usage.ts';
import { type Engine, startEngine } from '../local/engine.ts';

/** The applier, as the engine and its meter name it. */
export const APPLIER = 'PlanApplier';
/** Results read at once. */
const LANES = 16;

/** What applying some plans came to. */
export interface Run {
  /** What the applier asked of DynamoDB. */
  readonly usage: Usage;
  readonly invocations: number;
  /** From the first plan that could be taken off the queue until the last was dealt with. */
  readonly seconds: number;
  readonly results: readonly PlanResult[];
}

/** A local engine whose applier rests until it is told to work: what it asks for then is measured. */
export class Bed {
  readonly engine: Engine;
  readonly berth: Berth;
  readonly #connection: Connection;

  private constructor(engine: Engine) {
    this.engine = engine;
    this.#connection = openConnection({ env: engine.env });
    this.berth = berthOver(this.#connection);
  }

  static async start(onProgress: (step: string) => void): Promise<Bed> {
    return new Bed(await startEngine({ paused: [APPLIER], onProgress }));
  }

  async stop(): Promise<void> {
    this.berth.close();
    await this.engine.stop();
  }

  /** Has `plans` applied, all of them on the queue before the first is taken. */
  async apply(plans: readonly PlanInput[]): Promise<Run> {
    const { eventSources, meter } = this.engine;
    await eventSources.pause(APPLIER);
    for (const plan of plans) await this.berth.push(plan);
    const [before, invoked] = [meter.read(), this.#invocations];
    const begin = performance.now();
    eventSources.resume(APPLIER);
    await eventSources.idle(APPLIER);
    const seconds = (performance.now() - begin) / 1000;
    const usage = usageBetween(before, meter.read())[APPLIER] ?? {};
    return { usage, invocations: this.#invocations - invoked, seconds, results: await this.#results(plans) };
  }

  /** How often the windows of refusals of these nodes were written, all together. Every write counts a window's version up. */
  async windowWrites(pool: string, nodes: readonly string[]): Promise<number> {
    const keys = nodes.map((nodeId) => ({ pool, nodeId }));
    const items = await batchGet(this.#connection, this.#connection.rejectionsTable(), keys);
    if (items.length < nodes.length)
      throw new Error(`${nodes.length - items.length} nodes of ${pool} were never refused`);
    return items.reduce((sum, item) => sum + windowFromItem(item).version, 0);
  }

  get #invocations(): number {
    return this.engine.functions.get(APPLIER)?.statistics.invocations ?? 0;
  }

  /** Their results. Throws if one has none: then nothing that was measured means anything. */
  async #results(plans: readonly PlanInput[]): Promise<PlanResult[]> {
    const results: PlanResult[] = [];
    const queue = plans.entries();
    const lane = async () => {
      for (const [at, { planId }] of queue) {
        const result = await this.berth.result(planId);
        if (!result) throw new Error(`plan ${planId} has no result`);
        results[at] = result;
      }
    };
    await Promise.all(Array.from({ length: LANES }, lane));
    return results;
  }
}

export function requestsOf(usage: Usage): number {
  return totalUsage(usage).requests;
}

/** Throws unless the results are of the statuses that the bench means to measure. */
export function expectStatuses(results: readonly PlanResult[], expected: Readonly<Record<string, number>>): void {
  const counts: Record<string, number> = {};
  for (const { status } of results) counts[status] = (counts[status] ?? 0) + 1;
  const text = (record: Readonly<Record<string, number>>) => JSON.stringify(Object.entries(record).sort());
  if (text(counts) !== text(expected)) {
    throw new Error(
      `the plans came to ${text(counts)}, the bench is about ${text(expected)}: it measured something else`,
    );
  }
}
