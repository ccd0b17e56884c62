import type { KubeObject } from '../kubernetes/kube-object.ts';
import type { Change, ObjectStore } from '../kubernetes/object-store.ts';
import type { Agenda } from './agenda.ts';
import { AGONES_FINALIZER, gamePodOf, isBeingDeleted, isGamePod, podInput, stateOf } from './cluster-objects.ts';
import { gamesByNode, nodeFor, type PlacementRules } from './placement.ts';
import type { Timings } from './timings.ts';

export interface GameServersSettings {
  readonly store: ObjectStore;
  readonly agenda: Agenda;
  readonly timings: Timings;
  /** Game pods that a node has room for. */
  readonly perNode: number;
  /** What a server's fleet asks of nodes. */
  rulesOf(server: KubeObject): PlacementRules;
  /** Whether containers run on a node; where they do not, nobody can say of a pod that it has ended. */
  isRunning(node: string): boolean;
}

/** Seconds that Agones leaves a server in state Error, for somebody to look at. */
const ERROR_SECONDS = 30;

/** Writes a server's state, and what else of its status changes with it. A conflict if it has changed meanwhile. */
export function writeState(store: ObjectStore, server: KubeObject, state: string, status: object = {}): KubeObject {
  return store.update('gameservers', { ...server, status: { ...server.status, ...status, state } });
}

/** Begins to lead the life of each GameServer, as Agones's controller, the scheduler and kubelets do. */
export function runGameServers(settings: GameServersSettings): void {
  const life = new GameServerLife(settings);
  settings.store.onChange((change) => life.follow(change));
}

class GameServerLife {
  readonly #settings: GameServersSettings;
  #scheduling = false;

  constructor(settings: GameServersSettings) {
    this.#settings = settings;
  }

  follow({ type, resource, object, previous }: Change): void {
    const soon = (act: () => void) => this.#settings.agenda.after(0, act);
    if (resource === 'gameservers' && type !== 'DELETED') {
      const state = stateOf(object);
      if (isBeingDeleted(object)) {
        if (previous === undefined || !isBeingDeleted(previous)) soon(() => this.#endPod(object));
      } else if (type === 'ADDED' && state === 'Creating') {
        soon(() => this.#createPod(object));
      } else if (state === 'Shutdown' || state === 'Unhealthy') {
        soon(() => this.#delete(object));
      } else if (state === 'Error') {
        this.#settings.agenda.after(ERROR_SECONDS, () => this.#delete(object));
      }
    }
    if (resource === 'pods' && type === 'DELETED' && isGamePod(object)) soon(() => this.#podGone(object));
    // Whatever frees room, brings some, or asks for it.
    if (resource === 'nodes' || (resource === 'pods' && type !== 'MODIFIED')) this.#scheduleSoon();
  }

  #scheduleSoon(): void {
    if (this.#scheduling) return;
    // Set only by what will take it off again: without dynamics nothing is ever entered.
    this.#settings.agenda.after(0, () => {
      this.#scheduling = false;
      this.#schedule();
    });
    this.#scheduling = this.#settings.agenda.dynamics;
  }

  /** As it is now; undefined: it is gone, or another has its name. */
  #current({ metadata }: KubeObject): KubeObject | undefined {
    const found = this.#settings.store.get('gameservers', metadata.name, metadata.namespace);
    return found?.metadata.uid === metadata.uid ? found : undefined;
  }

  #createPod(server: KubeObject): void {
    const current = this.#current(server);
    if (current === undefined || isBeingDeleted(current) || this.#podOf(current) !== undefined) return;
    this.#settings.store.create('pods', podInput({ ...gamePodOf(current), phase: 'Pending' }));
    writeState(this.#settings.store, current, 'Starting');
  }

  #schedule(): void {
    const { store, agenda, timings, perNode, rulesOf } = this.#settings;
    const games = gamesByNode(store.list('pods'));
    const waiting = store.list('pods').filter((pod) => isGamePod(pod) && pod.spec?.nodeName === undefined);
    for (const pod of waiting) {
      const server = store.get('gameservers', pod.metadata.name, pod.metadata.namespace);
      if (server === undefined || isBeingDeleted(server) || isBeingDeleted(pod)) continue;
      const node = nodeFor(rulesOf(server), store.list('nodes'), games, perNode);
      if (node === undefined) continue;
      games.set(node, (games.get(node) ?? 0) + 1);
      store.update('pods', { ...pod, spec: { ...pod.spec, nodeName: node } });
      writeState(store, server, 'Scheduled', { nodeName: node });
      agenda.after(timings.serverReadySeconds, () => this.#becomeReady(server));
    }
  }

  #becomeReady(server: KubeObject): void {
    const { store, isRunning } = this.#settings;
    const current = this.#current(server);
    const pod = current && this.#podOf(current);
    if (current === undefined || pod === undefined) return;
    if (isBeingDeleted(current) || stateOf(current) !== 'Scheduled' || !isRunning(current.status.nodeName)) return;
    store.updateStatus('pods', { ...pod, status: { ...pod.status, phase: 'Running' } });
    writeState(this.#settings.store, current, 'Ready');
  }

  /** A server that is being deleted: its pod ends in its own time, and then the finalizer goes. */
  #endPod(server: KubeObject): void {
    const { store, agenda, timings, isRunning } = this.#settings;
    const pod = this.#podOf(server);
    if (pod === undefined) {
      this.#release(server);
      return;
    }
    const { name, namespace, uid } = pod.metadata;
    const node: string | undefined = pod.spec?.nodeName;
    const grace = node === undefined ? 0 : timings.graceSeconds;
    store.delete('pods', name, { namespace, gracePeriodSeconds: grace });
    agenda.after(grace, () => {
      const left = this.#podOf(server);
      if (left?.metadata.uid !== uid || (node !== undefined && !isRunning(node))) return;
      store.delete('pods', name, { namespace });
    });
  }

  #podGone(pod: KubeObject): void {
    const server = this.#settings.store.get('gameservers', pod.metadata.name, pod.metadata.namespace);
    if (server === undefined || !pod.metadata.ownerReferences?.some(({ uid }) => uid === server.metadata.uid)) return;
    if (isBeingDeleted(server)) this.#release(server);
    else writeState(this.#settings.store, server, 'Unhealthy');
  }

  #release(server: KubeObject): void {
    const current = this.#current(server);
    if (current === undefined) return;
    const finalizers = current.metadata.finalizers?.filter((one) => one !== AGONES_FINALIZER) ?? [];
    this.#settings.store.update('gameservers', { ...current, metadata: { ...current.metadata, finalizers } });
  }

  #delete(server: KubeObject): void {
    const current = this.#current(server);
    if (current === undefined || isBeingDeleted(current) || stateOf(current) !== stateOf(server)) return;
    const { name, namespace, uid } = current.metadata;
    this.#settings.store.delete('gameservers', name, { namespace, uid });
  }

  #podOf({ metadata }: KubeObject): KubeObject | undefined {
    const pod = this.#settings.store.get('pods', metadata.name, metadata.namespace);
    return pod?.metadata.ownerReferences?.some(({ uid }) => uid === metadata.uid) ? pod : undefined;
  }
}
