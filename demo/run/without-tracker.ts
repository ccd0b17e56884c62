import type { Eligibility } from '../../lib/client/index.ts';
import { PendingQueue, type PendingTask, Slots } from '../worker/pending.ts';
import { PoolWatch } from '../worker/watch.ts';
import { Worker } from '../worker/worker.ts';
import { type BadNode, nodeSpecsOf, renamed } from '../workload/bad-nodes.ts';
import { seededRandom } from '../workload/random.ts';
import type { Cluster } from './cluster.ts';

/** What became of the evaluations of one bad node where no refusals are counted. */
export interface WithoutTracker {
  readonly evaluations: number;
  /** Plans that were pushed for them. */
  readonly plans: number;
  /** Of these plans, those that the bad node refused. */
  readonly refusals: number;
  /** Evaluations that got through. */
  readonly placed: number;
  /** Of the bad node, as the tables have it at the end. */
  readonly eligibility: Eligibility;
}

export interface WithoutTrackerOptions {
  readonly cluster: Cluster;
  /** A pool of its own. */
  readonly pool: string;
  readonly badNode: BadNode;
  /** Plans after which it is given up. */
  readonly tries: number;
  readonly seed: number;
  readonly signal: AbortSignal;
}

/**
 * The same loop in a pool whose tracker is off: the same worker, a bad node and the good one beside it, and the same
 * evaluations, until they are placed or it was tried often enough.
 */
export async function withoutTracker(options: WithoutTrackerOptions): Promise<WithoutTracker> {
  const { cluster, pool, tries, seed, signal } = options;
  const badNode = renamed(options.badNode, `${pool}-`);
  const { node, good, tasks } = badNode;
  await cluster.registerPool({ pool, settings: { tracker: { enabled: false } } });
  await cluster.registerNodes(nodeSpecsOf([node, good], [badNode], pool));
  const queue = new QueueOfSomeTries(tries);
  let [plans, refusals, placed] = [0, 0, 0];
  const worker = new Worker({
    name: `${pool}-worker`,
    pool,
    cluster,
    queue,
    signal,
    random: seededRandom(seed),
    watch: new PoolWatch(cluster, pool),
    onResult: ({ rejectedNodes }, decisions) => {
      plans += 1;
      if (rejectedNodes.some(({ nodeId }) => nodeId === node.name)) refusals += 1;
      placed += decisions.length;
    },
  });
  const slots = new Slots();
  queue.add(tasks.map((task) => slots.offer(task, 0)));
  await worker.drain();
  const { account } = await cluster.node(pool, node.name);
  return { evaluations: tasks.length, plans, refusals, placed, eligibility: account.eligibility };
}

/** A queue that has nothing more to give once it was taken from so often: what would go on for ever ends. */
class QueueOfSomeTries extends PendingQueue {
  #left: number;

  constructor(tries: number) {
    super(1);
    this.#left = tries;
  }

  override take(most: number): PendingTask[] {
    if (this.#left === 0) return [];
    this.#left -= 1;
    return super.take(most);
  }
}
