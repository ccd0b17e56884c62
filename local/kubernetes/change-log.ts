import { ApiError } from './api-error.ts';
import type { KubeObject } from './kube-object.ts';
import type { Change, ObjectStore } from './object-store.ts';

/** Changes that are kept for watches that begin at an earlier version. */
const MOST_CHANGES = 10_000;

export interface WatchEvent {
  readonly type: Change['type'];
  readonly object: KubeObject;
}

export interface WatchRequest {
  readonly resource: string;
  /** The last version that the watcher knows; undefined: it is shown first what is there. */
  readonly since: string | undefined;
  readonly matches: (object: KubeObject) => boolean;
}

/** What has lately changed in a store, and what changes. */
export class ChangeLog {
  readonly #store: ObjectStore;
  readonly #end: () => void;
  readonly #watchers = new Set<(change: Change) => void>();
  #changes: Change[] = [];
  /** Whoever knows this version or a later one has missed nothing. */
  #complete: number;

  constructor(store: ObjectStore) {
    this.#store = store;
    this.#complete = Number(store.resourceVersion);
    this.#end = store.onChange((change) => {
      this.#changes.push(change);
      if (this.#changes.length > 2 * MOST_CHANGES) this.#forget(MOST_CHANGES);
      for (const watcher of this.#watchers) watcher(change);
    });
  }

  close(): void {
    this.#end();
  }

  /** Watches can begin at no version before this one any more: 410. */
  expire(): void {
    this.#forget(0);
  }

  /** Calls `send` with what was missed, then with what changes. The answer ends it. */
  watch({ resource, since, matches }: WatchRequest, send: (event: WatchEvent) => void): () => void {
    const show = (change: Change): void => {
      const event = change.resource === resource ? eventOf(change, matches) : undefined;
      if (event) send(event);
    };
    if (since === undefined || since === '0') {
      for (const object of this.#store.list(resource)) if (matches(object)) send({ type: 'ADDED', object });
    } else {
      const version = Number(since);
      if (version < this.#complete) throw tooOld(since, this.#complete);
      for (const change of this.#changes) if (Number(change.object.metadata.resourceVersion) > version) show(change);
    }
    this.#watchers.add(show);
    return () => this.#watchers.delete(show);
  }

  #forget(keep: number): void {
    const gone = this.#changes.splice(0, this.#changes.length - keep);
    this.#complete = Math.max(this.#complete, Number(gone.at(-1)?.object.metadata.resourceVersion ?? 0));
  }
}

function tooOld(since: string, oldest: number): ApiError {
  return new ApiError(410, 'Expired', `too old resource version: ${since} (${oldest})`);
}

/** An object that begins to match is new to the watcher, one that ends to is gone. */
function eventOf({ type, object, previous }: Change, matches: WatchRequest['matches']): WatchEvent | undefined {
  const before = type !== 'ADDED' && previous !== undefined && matches(previous);
  const after = type !== 'DELETED' && matches(object);
  if (before && after) return { type: 'MODIFIED', object };
  if (after) return { type: 'ADDED', object };
  return before ? { type: 'DELETED', object } : undefined;
}
