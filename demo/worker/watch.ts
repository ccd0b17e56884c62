import type { PoolSnapshot } from '../../lib/client/index.ts';
import type { Cluster } from '../run/cluster.ts';
import { type View, viewOf } from './view.ts';

/** A pool as it was at one index. */
export interface Sight {
  /** Every commit up to it is in the view. */
  readonly index: number;
  /** Ends of tasks that were known before the pool was read: the room that they gave back is in the view. */
  readonly releases: number;
  readonly view: View;
  readonly snapshot: PoolSnapshot;
}

/** What the workers of one process know of their pool together: one read serves all that need it. */
export class PoolWatch {
  readonly #cluster: Pick<Cluster, 'snapshot'>;
  readonly #pool: string;
  #latest: Sight | undefined;
  #reading: Promise<Sight> | undefined;
  #releases = 0;

  constructor(cluster: Pick<Cluster, 'snapshot'>, pool: string) {
    this.#cluster = cluster;
    this.#pool = pool;
  }

  /** How often room was given back so far. */
  get releases(): number {
    return this.#releases;
  }

  /** Notes that a task has ended and gave its room back. */
  released(): void {
    this.#releases += 1;
  }

  /**
   * The pool with every commit up to `index` and the room of so many ends: what is known already, or else a new read. Where
   * no further ends are asked for it is a read of what commits have changed; of ends they tell nothing.
   */
  async sight(index: number, releases = 0): Promise<Sight> {
    const suffices = (sight: Sight) => sight.index >= index && sight.releases >= releases;
    if (this.#latest !== undefined && suffices(this.#latest)) return this.#latest;
    // A read that is under way may have begun too early for this caller, or may tell nothing of ends; the next one will do.
    while (this.#reading !== undefined) {
      const underWay = await this.#reading;
      if (suffices(underWay)) return underWay;
    }
    const read = await this.#read(releases);
    if (suffices(read)) return read;
    throw new Error(
      `the snapshot of pool ${this.#pool} is of index ${read.index}, every commit up to ${index} was asked for`,
    );
  }

  #read(releases: number): Promise<Sight> {
    const since = this.#latest !== undefined && this.#latest.releases >= releases ? this.#latest : undefined;
    this.#reading = this.#readSince(since).finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #readSince(since: Sight | undefined): Promise<Sight> {
    const releases = since?.releases ?? this.#releases;
    const snapshot = await this.#cluster.snapshot(this.#pool, since === undefined ? {} : { since: since.snapshot });
    this.#latest = { index: snapshot.index, releases, snapshot, view: viewOf(snapshot.nodes) };
    return this.#latest;
  }
}
