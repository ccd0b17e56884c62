import type { EpochMs } from '../../lib/time.ts';
import type { KubeObject, ObjectInput } from '../kubernetes/kube-object.ts';
import type { ObjectStore } from '../kubernetes/object-store.ts';
import {
  type GameServerSettings,
  gamePodOf,
  gameServerInput,
  instanceOf,
  type NodeSettings,
  nodeInput,
  type PodSettings,
  podInput,
} from './cluster-objects.ts';
import type { Machines } from './machines.ts';
import type { Referee } from './referee.ts';

/** The default of terminationGracePeriodSeconds. */
const POD_GRACE_SECONDS = 30;

export interface SceneSettings {
  readonly store: ObjectStore;
  readonly machines: Machines;
  readonly referee: Referee;
  /** Makes the store's clock stand at that time while `act` runs. */
  atTime<T>(at: EpochMs | undefined, act: () => T): T;
}

/**
 * Sets up the objects of a cluster one by one, and changes them from outside: what a test or the demo does to a world is
 * nobody's fault. Uids and resource versions are the store's own; what is made is handed back with them.
 */
export class Scene {
  readonly #settings: SceneSettings;

  constructor(settings: SceneSettings) {
    this.#settings = settings;
  }

  /** With the machine under it, as far as its providerID names one. */
  addNode(node: NodeSettings): KubeObject {
    const object = this.#add('nodes', nodeInput(node), node);
    if (instanceOf(object) !== undefined) this.#settings.machines.adopt(object);
    return object;
  }

  /** With its pod, unless `pod` is false; one that is on no node yet, and a development server, has none. */
  addGameServer(server: GameServerSettings & { readonly pod?: boolean }): KubeObject {
    const object = this.#add('gameservers', gameServerInput(server), server);
    const runs = server.node !== undefined && server.devAddress === undefined;
    if (runs && server.pod !== false) this.addPod(gamePodOf(object));
    return object;
  }

  addPod(pod: PodSettings): KubeObject {
    return this.#add('pods', podInput(pod), pod);
  }

  /** A GameServerNode, or anything else of which nothing is known here. */
  add(resource: string, object: ObjectInput, times: { readonly createdAt?: EpochMs } = {}): KubeObject {
    return this.#add(resource, object, times);
  }

  /** Writes what `edit` makes of an object. Throws where there is none. */
  change(resource: string, name: string, edit: (object: KubeObject) => ObjectInput, namespace?: string): KubeObject {
    const { store, referee } = this.#settings;
    return referee.excuse(() => store.update(resource, edit(this.#known(resource, name, namespace))));
  }

  /** Marks an object as being deleted since `at`. A pod is terminating; anything else without a finalizer is gone. */
  markDeleted(resource: string, name: string, at?: EpochMs, namespace?: string): void {
    this.#settings.referee.excuse(() => this.#delete(resource, name, at, namespace));
  }

  /** Takes an object away, whatever finalizers it has. */
  remove(resource: string, name: string, namespace?: string): void {
    const { store, referee } = this.#settings;
    referee.excuse(() => {
      const object = this.#known(resource, name, namespace);
      store.update(resource, { ...object, metadata: { ...object.metadata, finalizers: [] } });
      if (store.get(resource, name, namespace) !== undefined) store.delete(resource, name, { namespace });
    });
  }

  #add(
    resource: string,
    input: ObjectInput,
    { createdAt, deletedAt }: { readonly createdAt?: EpochMs; readonly deletedAt?: EpochMs },
  ): KubeObject {
    const { store, referee, atTime } = this.#settings;
    return referee.excuse(() => {
      const object = atTime(createdAt, () => store.create(resource, input));
      const { name, namespace } = object.metadata;
      if (deletedAt === undefined) return object;
      return this.#delete(resource, name, deletedAt, namespace);
    });
  }

  #delete(resource: string, name: string, at: EpochMs | undefined, namespace: string | undefined): KubeObject {
    const { store, atTime } = this.#settings;
    const gracePeriodSeconds = resource === 'pods' ? POD_GRACE_SECONDS : 0;
    return atTime(at, () => store.delete(resource, name, { namespace, gracePeriodSeconds }));
  }

  #known(resource: string, name: string, namespace: string | undefined): KubeObject {
    const object = this.#settings.store.get(resource, name, namespace);
    if (object === undefined) throw new Error(`there is no ${name} among ${resource}`);
    return object;
  }
}
