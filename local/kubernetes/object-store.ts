import { createHash, randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../../lib/time.ts';
import { alreadyExists, notFound } from './api-error.ts';
import { Collection } from './collection.ts';
import { frozenCopy } from './frozen-copy.ts';
import type { KubeObject, ObjectInput } from './kube-object.ts';
import {
  checkPreconditions,
  checkVersion,
  finalizersAfterDeletion,
  isFree,
  named,
  nameless,
  sameSpec,
} from './preconditions.ts';

export interface Change {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly resource: string;
  readonly object: KubeObject;
  /** As it was before; undefined: it was not there. */
  readonly previous: KubeObject | undefined;
}

export interface WriteOptions {
  /** The answer of a write that is not made. */
  readonly dryRun?: boolean;
}

export interface DeleteOptions extends WriteOptions {
  readonly namespace?: string | undefined;
  /** Preconditions: a conflict if the object is of another. */
  readonly uid?: string | undefined;
  readonly resourceVersion?: string | undefined;
  /** Orphan: what the object owns stays. Anything else: it is deleted once the object has gone. */
  readonly propagationPolicy?: string | undefined;
  /**
   * Above 0: the object is only marked, and goes when it is deleted again with 0, as a kubelet does with a pod that has
   * ended. Default 0.
   */
  readonly gracePeriodSeconds?: number | undefined;
}

/**
 * What a Kubernetes API server keeps, in memory, by plural (`nodes`, `pods`, `gameservers`). What is handed out is
 * frozen and stays as it was: to change an object, hand in a changed copy (`{ ...pod, spec: ... }`). Errors are ApiError.
 */
export class ObjectStore {
  readonly #clock: Clock;
  readonly #seed: string | undefined;
  readonly #collections = new Map<string, Collection>();
  /** By the owner's uid: what is deleted after it. */
  readonly #dependents = new Map<string, Map<string, { resource: string; key: string }>>();
  readonly #listeners = new Set<(change: Change) => void>();
  readonly #pending: Change[] = [];
  #telling = false;
  #version = 0;
  #ids = 0;

  /** `seed`: uids and generated names are the same in every run. */
  constructor({ clock, seed }: { readonly clock: Clock; readonly seed?: string }) {
    this.#clock = clock;
    this.#seed = seed;
  }

  /** That of the last write. */
  get resourceVersion(): string {
    return String(this.#version);
  }

  get(resource: string, name: string, namespace?: string): KubeObject | undefined {
    return this.#collections.get(resource)?.objects.get(keyOf(name, namespace));
  }

  /** Those of all namespaces, or of one, ordered by namespace and name. */
  list(resource: string, namespace?: string): readonly KubeObject[] {
    const all = this.#collections.get(resource)?.list() ?? [];
    return namespace === undefined ? all : all.filter(({ metadata }) => metadata.namespace === namespace);
  }

  /** `metadata.generateName` makes a name where there is none. */
  create(resource: string, input: ObjectInput, { dryRun = false }: WriteOptions = {}): KubeObject {
    const { name: given, namespace, generateName } = input.metadata;
    const name = given ?? (generateName === undefined ? undefined : generateName + this.#id().slice(-5));
    if (name === undefined || name === '') throw nameless(input);
    const key = keyOf(name, namespace);
    if (this.get(resource, name, namespace)) throw alreadyExists(named(resource, input, name));
    const metadata = {
      ...input.metadata,
      name,
      uid: this.#id(),
      generation: 1,
      creationTimestamp: this.#now(),
      deletionTimestamp: undefined,
      deletionGracePeriodSeconds: undefined,
    };
    return this.#put('ADDED', resource, key, { ...input, metadata } as unknown as KubeObject, undefined, dryRun);
  }

  /**
   * Writes the whole object, status and all. `metadata.resourceVersion` and `uid` are compared where they are given.
   * Nothing is written where nothing changes. An object that is being deleted goes with its last finalizer.
   */
  update(resource: string, input: ObjectInput, { dryRun = false }: WriteOptions = {}): KubeObject {
    const what = named(resource, input, input.metadata.name ?? '');
    const stored = this.get(resource, what.name, input.metadata.namespace);
    if (!stored) throw notFound(what);
    checkVersion(what, stored, input.metadata);
    const before = stored.metadata;
    const added = (input.metadata.finalizers ?? []).filter((finalizer) => !before.finalizers?.includes(finalizer));
    if (before.deletionTimestamp !== undefined && added.length > 0) throw finalizersAfterDeletion(stored, added);
    const kept = {
      name: before.name,
      namespace: before.namespace,
      uid: before.uid,
      resourceVersion: before.resourceVersion,
      generation: before.generation,
      creationTimestamp: before.creationTimestamp,
      deletionTimestamp: before.deletionTimestamp,
      deletionGracePeriodSeconds: before.deletionGracePeriodSeconds,
    };
    const next = frozenCopy({ ...input, metadata: { ...input.metadata, ...kept } }) as KubeObject;
    if (isDeepStrictEqual(next, stored)) return stored;
    const generation = before.generation + (sameSpec(next, stored) ? 0 : 1);
    const object = { ...next, metadata: { ...next.metadata, generation } };
    const ends = before.deletionTimestamp !== undefined && isFree(object) && !before.deletionGracePeriodSeconds;
    return this.#put(
      ends ? 'DELETED' : 'MODIFIED',
      resource,
      keyOf(what.name, before.namespace),
      object,
      stored,
      dryRun,
    );
  }

  /** Writes the status and nothing else. */
  updateStatus(resource: string, input: ObjectInput, options: WriteOptions = {}): KubeObject {
    const { name = '', namespace, resourceVersion, uid } = input.metadata;
    const stored = this.get(resource, name, namespace);
    if (!stored) throw notFound(named(resource, input, name));
    const metadata = {
      ...stored.metadata,
      resourceVersion: resourceVersion ?? stored.metadata.resourceVersion,
      uid: uid ?? stored.metadata.uid,
    };
    return this.update(resource, { ...stored, metadata, status: input.status }, options);
  }

  /**
   * The object as it was last. With finalizers it only gets a deletionTimestamp, and stays until the last one is taken
   * off. What it owns goes with it.
   */
  delete(resource: string, name: string, options: DeleteOptions = {}): KubeObject {
    const { namespace, uid, resourceVersion, propagationPolicy, gracePeriodSeconds = 0, dryRun = false } = options;
    const stored = this.get(resource, name, namespace);
    if (!stored) throw notFound({ group: '', resource, name });
    checkPreconditions(named(resource, stored, name), stored, { uid, resourceVersion });
    const { metadata } = stored;
    const key = keyOf(name, namespace);
    if (propagationPolicy === 'Orphan' && !dryRun) this.#orphan(metadata.uid);
    const marked = metadata.deletionTimestamp !== undefined;
    if (isFree(stored) && gracePeriodSeconds === 0) return this.#put('DELETED', resource, key, stored, stored, dryRun);
    // A shorter grace shortens; anything else that comes again changes nothing.
    if (marked && gracePeriodSeconds >= (metadata.deletionGracePeriodSeconds ?? 0)) return stored;
    const deletion = {
      deletionTimestamp: this.#now(gracePeriodSeconds),
      deletionGracePeriodSeconds: gracePeriodSeconds,
      generation: metadata.generation + (marked ? 0 : 1),
    };
    const object = { ...stored, metadata: { ...metadata, ...deletion } };
    return this.#put('MODIFIED', resource, key, object, stored, dryRun);
  }

  /**
   * Called after each write, in the order of the writes, before the call that wrote comes back. Writes of a listener
   * are told when all have heard of the one before. The answer ends it.
   */
  onChange(listener: (change: Change) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #put(
    type: Change['type'],
    resource: string,
    key: string,
    object: KubeObject,
    previous: KubeObject | undefined,
    dryRun: boolean,
  ): KubeObject {
    const resourceVersion = String(dryRun ? this.#version : ++this.#version);
    const stored = frozenCopy({ ...object, metadata: { ...object.metadata, resourceVersion } });
    if (dryRun) return stored;
    const collection = this.#collections.get(resource) ?? new Collection();
    this.#collections.set(resource, collection);
    if (type === 'DELETED') collection.remove(key);
    else collection.put(key, stored);
    this.#noteOwners(resource, key, previous, type === 'DELETED' ? undefined : stored);
    this.#pending.push({ type, resource, object: stored, previous });
    if (type === 'DELETED') this.#deleteDependents(stored.metadata.uid);
    this.#tell();
    return stored;
  }

  #tell(): void {
    if (this.#telling) return;
    this.#telling = true;
    try {
      for (let change = this.#pending.shift(); change; change = this.#pending.shift()) {
        for (const listener of this.#listeners) listener(change);
      }
    } finally {
      this.#telling = false;
    }
  }

  #noteOwners(resource: string, key: string, before: KubeObject | undefined, after: KubeObject | undefined): void {
    if (before?.metadata.ownerReferences === after?.metadata.ownerReferences) return;
    for (const { uid } of before?.metadata.ownerReferences ?? [])
      this.#dependents.get(uid)?.delete(`${resource}/${key}`);
    for (const { uid } of after?.metadata.ownerReferences ?? []) {
      const dependents = this.#dependents.get(uid) ?? new Map();
      this.#dependents.set(uid, dependents.set(`${resource}/${key}`, { resource, key }));
    }
  }

  #dependentsOf(uid: string): { resource: string; object: KubeObject }[] {
    return [...(this.#dependents.get(uid)?.values() ?? [])].flatMap(({ resource, key }) => {
      const object = this.#collections.get(resource)?.objects.get(key);
      return object ? [{ resource, object }] : [];
    });
  }

  /** As the garbage collector does: what has another owner that is still there stays. */
  #deleteDependents(uid: string): void {
    for (const { resource, object } of this.#dependentsOf(uid)) {
      const others = object.metadata.ownerReferences?.filter((owner) => owner.uid !== uid) ?? [];
      if (others.length > 0) this.#disown(resource, object, uid);
      else this.delete(resource, object.metadata.name, { namespace: object.metadata.namespace });
    }
    this.#dependents.delete(uid);
  }

  #orphan(uid: string): void {
    for (const { resource, object } of this.#dependentsOf(uid)) this.#disown(resource, object, uid);
  }

  #disown(resource: string, object: KubeObject, uid: string): void {
    const ownerReferences = object.metadata.ownerReferences?.filter((owner) => owner.uid !== uid) ?? [];
    this.update(resource, { ...object, metadata: { ...object.metadata, ownerReferences } });
  }

  #id(): string {
    if (this.#seed === undefined) return randomUUID();
    const hash = createHash('sha256')
      .update(`${this.#seed} ${++this.#ids}`)
      .digest('hex');
    return `${hash.slice(0, 8)}-${hash.slice(8, 12)}-4${hash.slice(13, 16)}-8${hash.slice(17, 20)}-${hash.slice(20, 32)}`;
  }

  #now(seconds = 0): string {
    return kubeTime(this.#clock() + seconds * 1000);
  }
}

/** RFC 3339 in whole seconds, as Kubernetes writes times. `at` is in milliseconds since 1970. */
export function kubeTime(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19)}Z`;
}

function keyOf(name: string, namespace = ''): string {
  return `${namespace}/${name}`;
}
