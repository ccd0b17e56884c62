import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { PlanInput } from '../lib/client/index.ts';
import type { Delivery } from '../lib/plans/delivery.ts';
import type { Facts } from '../lib/plans/facts.ts';
import { foldPlans } from '../lib/plans/fold.ts';
import type { Commit } from '../lib/plans/ledger.ts';
import { readMessage } from '../lib/plans/read-message.ts';
import { type Figure, median } from './figure.ts';
import { knownFacts, knownTask, NOW, nodeName, POOL } from './known-facts.ts';
import { BATCH, PLACEMENTS, planOn } from './load.ts';

const NODES = [1_000, 10_000, 100_000];
const TASKS = 100_000;
/** Batches of each measurement; the first are to warm the code up. */
const BATCHES = 60;
const WARM_UP = 20;
const BATCH_MS = 5;
const MIB = 1024 * 1024;

/** What deciding about a batch takes where all of a pool is known, and how it grows with the pool. */
export async function deciding(onProgress: (step: string) => void): Promise<Figure[]> {
  const gc = collector();
  const measured = NODES.map((nodes) => {
    onProgress(`deciding with ${nodes} nodes known`);
    return measure(nodes, gc);
  });
  const figures = measured.flatMap((one, at) => {
    const title = `${NODES[at]?.toLocaleString('en')} nodes, ${TASKS.toLocaleString('en')} tasks`;
    const figure = (what: string, value: number, unit: string, rest: Partial<Figure> = {}): Figure => {
      return { bench: 'deciding', what: `${title}: ${what}`, value, unit, kind: 'clock', ...rest };
    };
    return [
      figure('a batch of 10 plans, median', median(one.milliseconds), 'ms', { atMost: BATCH_MS }),
      figure('a batch of 10 plans, fastest', Math.min(...one.milliseconds), 'ms'),
      figure('facts looked up in a batch', one.looks, '', { kind: 'count' }),
      figure('memory that a batch leaves', one.bytes / 1024, 'KiB'),
      figure('memory of what is known', one.known / MIB, 'MiB'),
    ];
  });
  // A count, so that it says the same on a busy machine: who looks up no more in a larger pool takes no longer.
  const looks = measured.map((one) => one.looks);
  const value = Math.max(...looks) / Math.min(...looks);
  const what = 'facts looked up in the largest pool, by those in the smallest';
  return [...figures, { bench: 'deciding', what, value, unit: '', atMost: 1, kind: 'count' }];
}

interface Measured {
  readonly milliseconds: readonly number[];
  readonly looks: number;
  /** Left by a batch on the heap, and taken by what was known before. */
  readonly bytes: number;
  readonly known: number;
}

function measure(nodes: number, gc: () => void): Measured {
  const empty = used(gc);
  const known = knownFacts(nodes, TASKS);
  const full = used(gc);
  const times: number[] = [];
  const looks: number[] = [];
  let bytes = 0;
  const looked = () => known.accounts.looks + known.tasks.looks;
  for (let batch = 0; batch < BATCHES; batch++) {
    const deliveries = batchOf(batch, nodes);
    // A collection takes as long as the pool is large: one before all that is measured, one after it.
    if (batch === WARM_UP) bytes = -used(gc);
    const [before, begin] = [looked(), performance.now()];
    decide(deliveries, known.facts);
    const took = performance.now() - begin;
    if (batch < WARM_UP) continue;
    times.push(took);
    looks.push(looked() - before);
  }
  bytes += used(gc);
  return { milliseconds: times, looks: median(looks), bytes: bytes / times.length, known: full - empty };
}

/** Ten plans of five placements and a stop each, over nodes from all of the pool. */
function batchOf(batch: number, nodes: number): Delivery[] {
  return Array.from({ length: BATCH }, (_, at) => {
    const nth = batch * BATCH + at;
    const stride = Math.floor(nodes / (BATCH * PLACEMENTS));
    const names = Array.from({ length: PLACEMENTS }, (_unused, place) =>
      nodeName(((at * PLACEMENTS + place) * stride + batch) % nodes),
    );
    const { taskId, serviceId, slot, nodeId } = knownTask(nth, nodes);
    const plan: PlanInput = { ...planOn(POOL, nth, names), stops: [{ taskId, serviceId, slot, nodeId }] };
    const message = readMessage({ body: JSON.stringify(plan), group: POOL, sentAt: NOW });
    if ('reason' in message) throw new Error(message.reason);
    return message;
  });
}

/** Decides about all of `deliveries`, in as many commits as it takes, each of which the facts take in. */
export function decide(deliveries: readonly Delivery[], facts: Facts): void {
  for (let pending = deliveries; pending.length > 0; ) {
    const fold = foldPlans(pending, facts, NOW);
    if (fold.kind !== 'group' || fold.decided.length === 0) throw new Error(`the batch was not decided: ${fold.kind}`);
    const refused = fold.decided.find(({ result }) => result.status !== 'applied');
    if (refused) throw new Error(`plan ${refused.result.planId} came to ${refused.result.status}, not applied`);
    takeIn(facts, fold.commit);
    pending = pending.slice(fold.decided.length);
  }
}

function takeIn(facts: Facts, { nodes, tasks, pool }: Commit): void {
  for (const [node, write] of nodes) {
    if (write.kind === 'blind') throw new Error(`node ${node} is not known: nothing was decided about it`);
    facts.accounts.set(node, write.image);
  }
  for (const [key, { image }] of tasks) facts.tasks.set(key, image ?? 'missing');
  if (pool && facts.pool !== 'missing') facts.pool = { ...facts.pool, index: pool.index };
}

/** The garbage collector, without an option on the command line. */
function collector(): () => void {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as () => void;
}

/** Bytes of the heap that are in use. */
function used(gc: () => void): number {
  gc();
  return process.memoryUsage().heapUsed;
}
