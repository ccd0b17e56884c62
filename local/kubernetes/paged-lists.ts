import type { Clock } from '../../lib/time.ts';
import { ApiError, badRequest } from './api-error.ts';
import { placeAfter } from './collection.ts';
import type { KubeObject } from './kube-object.ts';
import type { ObjectStore } from './object-store.ts';

/** For so long a list can be gone on with: etcd is compacted every five minutes. */
export const TOKEN_LIFE_MS = 5 * 60_000;

export interface ListRequest {
  readonly resource: string;
  readonly matches: (object: KubeObject) => boolean;
  /** Undefined or 0: all of it. */
  readonly limit?: number | undefined;
  readonly continueToken?: string | undefined;
}

export interface Page {
  readonly items: readonly KubeObject[];
  readonly resourceVersion: string;
  /** Undefined: that was the last page. */
  readonly continueToken?: string;
  readonly remaining?: number;
}

interface Token {
  /** Of the state that the list is of; undefined: of whatever there is then. */
  readonly version?: string;
  /** The key of the last object that was handed out. */
  readonly after: string;
}

const EXPIRED = `The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list. This means objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.`;

/** Lists in pages, all of one state of the store. */
export class PagedLists {
  readonly #store: ObjectStore;
  readonly #clock: Clock;
  /** By resource and version; the oldest first. */
  readonly #snapshots = new Map<string, { readonly objects: readonly KubeObject[]; readonly at: number }>();

  constructor(store: ObjectStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Lists that have begun cannot be gone on with any more: 410. */
  expire(): void {
    this.#snapshots.clear();
  }

  page({ resource, matches, limit = 0, continueToken }: ListRequest): Page {
    const token = continueToken === undefined ? undefined : decode(continueToken);
    const version = token?.version ?? this.#store.resourceVersion;
    const objects = token?.version === undefined ? this.#store.list(resource) : this.#snapshot(resource, token);
    const rest = objects.slice(token ? placeAfter(objects, token.after, keyOf) : 0).filter(matches);
    if (limit <= 0 || rest.length <= limit) return { items: rest, resourceVersion: version };
    const items = rest.slice(0, limit);
    const snapshot = `${resource} ${version}`;
    if (!this.#snapshots.has(snapshot)) this.#snapshots.set(snapshot, { objects, at: this.#clock() });
    return {
      items,
      resourceVersion: version,
      continueToken: encode({ version, after: keyOf(items.at(-1) as KubeObject) }),
      remaining: rest.length - limit,
    };
  }

  #snapshot(resource: string, { version, after }: Token): readonly KubeObject[] {
    for (const [key, { at }] of this.#snapshots) {
      if (this.#clock() - at >= TOKEN_LIFE_MS) this.#snapshots.delete(key);
    }
    const snapshot = this.#snapshots.get(`${resource} ${version}`);
    if (!snapshot) throw new ApiError(410, 'Expired', EXPIRED, undefined, encode({ after }));
    return snapshot.objects;
  }
}

function keyOf({ metadata }: KubeObject): string {
  return `${metadata.namespace ?? ''}/${metadata.name}`;
}

function encode(token: Token): string {
  return Buffer.from(JSON.stringify(token)).toString('base64url');
}

function decode(text: string): Token {
  try {
    const { version, after } = JSON.parse(Buffer.from(text, 'base64url').toString()) as Token;
    if (typeof after === 'string') return version === undefined ? { after } : { version, after };
  } catch {
    // Said below.
  }
  throw badRequest('continue key is not valid');
}
