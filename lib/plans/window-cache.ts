import type { NodeId, PoolName } from '../ids.ts';
import type { RejectionWindow } from './rejections.ts';

/** Nodes whose windows a warm function remembers: as many as Nomad tracks (`plan_apply_node_tracker.go`), which is to bound memory. */
const MOST = 50;

/** Windows as they were last written, the latest used first to stay. Spares a read; never an answer by itself. */
export class WindowCache {
  readonly #windows = new Map<string, { pool: PoolName; window: RejectionWindow }>();

  set(pool: PoolName, window: RejectionWindow): void {
    const key = `${pool} ${window.nodeId}`;
    this.#windows.delete(key);
    this.#windows.set(key, { pool, window });
    for (const oldest of this.#windows.keys()) {
      if (this.#windows.size <= MOST) break;
      this.#windows.delete(oldest);
    }
  }

  of(pool: PoolName): (readonly [NodeId, RejectionWindow])[] {
    return [...this.#windows.values()]
      .filter((entry) => entry.pool === pool)
      .map(({ window }) => [window.nodeId, window]);
  }
}
