import type { Berth } from '../../lib/client/index.ts';

/** What the demo asks of Berth. */
export type Cluster = Pick<
  Berth,
  'registerPool' | 'registerNodes' | 'node' | 'snapshot' | 'push' | 'submit' | 'result' | 'reportTask' | 'tasks'
>;

/** Does `work` for each of `items`, in their order, at most `lanes` of them at once. Ends with the first error. */
export async function inLanes<T>(items: Iterable<T>, lanes: number, work: (item: T) => Promise<void>): Promise<void> {
  const queue = items[Symbol.iterator]();
  const lane = async () => {
    for (let next = queue.next(); !next.done; next = queue.next()) await work(next.value);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}
