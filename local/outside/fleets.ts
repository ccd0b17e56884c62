import { isoTime } from '../../lib/time.ts';
import { ApiError } from '../kubernetes/api-error.ts';
import type { KubeObject } from '../kubernetes/kube-object.ts';
import type { ObjectStore } from '../kubernetes/object-store.ts';
import type { Agenda } from './agenda.ts';
import { FLEET_LABEL, gameServerInput, isBeingDeleted, isInUse, stateOf } from './cluster-objects.ts';
import { writeState } from './game-servers.ts';
import { allocationOrder, gamesByNode, type PlacementRules } from './placement.ts';

export interface FleetSettings extends Partial<PlacementRules> {
  readonly name: string;
  /** Default `default`. */
  readonly namespace?: string;
  readonly replicas: number;
}

interface Fleet extends PlacementRules {
  readonly name: string;
  readonly namespace: string;
  replicas: number;
}

const ANY_NODE: PlacementRules = { nodeSelector: {}, toleratesAll: false, scheduling: 'Packed' };

/** States of servers that a fleet no longer counts. */
const SPENT = new Set(['Shutdown', 'Error', 'Unhealthy']);

/** The fleets of one cluster: how many game servers there are to be, and who plays on which. */
export class Fleets {
  readonly #store: ObjectStore;
  readonly #agenda: Agenda;
  readonly #fleets = new Map<string, Fleet>();
  /** Fleets that are to be looked at. */
  readonly #due = new Set<string>();
  #names = 0;

  constructor({ store, agenda }: { readonly store: ObjectStore; readonly agenda: Agenda }) {
    this.#store = store;
    this.#agenda = agenda;
    store.onChange(({ resource, object }) => {
      if (resource === 'gameservers') this.#lookSoon(object.metadata.labels?.[FLEET_LABEL] ?? '');
    });
  }

  add({ name, namespace = 'default', replicas, ...rules }: FleetSettings): void {
    this.#fleets.set(name, { ...ANY_NODE, ...rules, name, namespace, replicas });
    this.#lookSoon(name);
  }

  /** Servers that are too many are shut down, of the emptiest nodes first, and never one that is in use. */
  scale(name: string, replicas: number): void {
    this.#fleet(name).replicas = replicas;
    this.#lookSoon(name);
  }

  /** What the fleet of a server asks of nodes. */
  rulesOf({ metadata }: KubeObject): PlacementRules {
    return this.#fleets.get(metadata.labels?.[FLEET_LABEL] ?? '') ?? ANY_NODE;
  }

  servers(name: string): KubeObject[] {
    const { namespace } = this.#fleet(name);
    return this.#store.list('gameservers', namespace).filter(({ metadata }) => metadata.labels?.[FLEET_LABEL] === name);
  }

  /**
   * Gives a Ready server of the fleet to players; its name, undefined: there is none. `from`: the servers as the
   * allocator's cache has them, which may be old: where one has changed since, another is taken, as in Agones.
   */
  allocate(
    name: string,
    { from = this.servers(name) }: { readonly from?: readonly KubeObject[] } = {},
  ): string | undefined {
    return allocationOrder(from).find((server) => this.#allocate(server))?.metadata.name;
  }

  /** Gives that very server to players, if it is Ready; whether it was. */
  allocateServer(server: string, namespace = 'default'): boolean {
    const found = this.#store.get('gameservers', server, namespace);
    return found !== undefined && stateOf(found) === 'Ready' && !isBeingDeleted(found) && this.#allocate(found);
  }

  /** Keeps a Ready server from being allocated or deleted, until `seconds` have passed. */
  reserve(server: string, seconds: number, namespace = 'default'): void {
    const reserved = writeState(this.#store, this.#known(server, namespace), 'Reserved');
    this.#agenda.after(seconds, () => {
      const found = this.#store.get('gameservers', server, namespace);
      const same = found?.metadata.uid === reserved.metadata.uid && stateOf(found) === 'Reserved';
      if (same && !isBeingDeleted(found)) writeState(this.#store, found, 'Ready');
    });
  }

  /** The session on a server is over: it shuts down. */
  endGame(server: string, namespace = 'default'): void {
    writeState(this.#store, this.#known(server, namespace), 'Shutdown');
  }

  #fleet(name: string): Fleet {
    const fleet = this.#fleets.get(name);
    if (fleet === undefined)
      throw new Error(`there is no fleet ${name}; there is: ${[...this.#fleets.keys()].join(', ')}`);
    return fleet;
  }

  #known(server: string, namespace: string): KubeObject {
    const found = this.#store.get('gameservers', server, namespace);
    if (found === undefined) throw new Error(`there is no game server ${namespace}/${server}`);
    return found;
  }

  #allocate(server: KubeObject): boolean {
    const annotations = { ...server.metadata.annotations, 'agones.dev/last-allocated': isoTime(this.#agenda.now()) };
    try {
      writeState(this.#store, { ...server, metadata: { ...server.metadata, annotations } }, 'Allocated');
      return true;
    } catch (error) {
      if (error instanceof ApiError && (error.status === 409 || error.status === 404)) return false;
      throw error;
    }
  }

  #lookSoon(name: string): void {
    if (!this.#fleets.has(name) || this.#due.has(name) || !this.#agenda.dynamics) return;
    this.#due.add(name);
    this.#agenda.after(0, () => {
      this.#due.delete(name);
      this.#bringToReplicas(this.#fleet(name));
    });
  }

  #bringToReplicas({ name, namespace, replicas }: Fleet): void {
    const counted = this.servers(name).filter((one) => !isBeingDeleted(one) && !SPENT.has(stateOf(one)));
    for (let missing = replicas - counted.length; missing > 0; missing -= 1) {
      this.#names += 1;
      const server = { name: `${name}-${this.#names}`, namespace, fleet: name, state: 'Creating' };
      this.#store.create('gameservers', gameServerInput(server));
    }
    const games = gamesByNode(this.#store.list('pods'));
    const onNode = ({ status }: KubeObject) => games.get(status?.nodeName ?? '') ?? 0;
    const spare = counted.filter((one) => !isInUse(one)).sort((a, b) => onNode(a) - onNode(b));
    for (const one of spare.slice(0, Math.max(0, counted.length - replicas))) writeState(this.#store, one, 'Shutdown');
  }
}
