import type { NodeSpecInput } from '../nodes/node.ts';
import type { Problem } from '../schema.ts';
import type { EpochMs } from '../time.ts';
import type {
  ClusterSnapshot,
  GameServerNodeObject,
  Group,
  Ledger,
  ObservedGameServer,
  ObservedNode,
  ObservedPod,
  RegisteredNode,
  Whereabouts,
} from './observation.ts';
import type { Annotations } from './pool/marks.ts';
import type { Capabilities } from './pool/scene.ts';
import type { GameServerNodeSpec } from './spec/spec.ts';

/** What the scaler asks of the outside. Every call throws CallError where it is not answered with success. */

export interface Cluster {
  /** Nodes, game pods and game servers, each list whole and of one state; otherwise it throws. */
  snapshot(): Promise<ClusterSnapshot>;
  /** Undefined: there is none of that name. */
  readNode(name: string): Promise<ObservedNode | undefined>;
  /** The pods that are bound to a node, in all namespaces. */
  podsOn(node: string): Promise<readonly ObservedPod[]>;
  /** The game servers of all namespaces. */
  listGameServers(): Promise<readonly ObservedGameServer[]>;
  readGameServer(server: Pick<ObservedGameServer, 'namespace' | 'name'>): Promise<ObservedGameServer | undefined>;
  /** Changes a node that is still of the version that is handed in; a conflict otherwise. The node as it is then. */
  patchNode(node: ObservedNode, patch: NodePatch): Promise<ObservedNode>;
  /** Deletes a server that is still of the uid and version that are handed in; a conflict otherwise. */
  deleteGameServer(server: ObservedGameServer): Promise<void>;
  /** Deletes the node of that name if it is of that uid; a conflict otherwise. */
  deleteNode(node: { readonly name: string; readonly uid: string }): Promise<void>;
}

export interface NodePatch {
  readonly unschedulable?: boolean;
  readonly annotations: Annotations;
}

export interface Validation {
  /** Why nothing may be done; empty: none. Paths as in `spec.config.nodegroup`. */
  readonly problems: readonly Problem[];
  /** What games may suffer from, and what to do about it, each a sentence; the pool is acted on all the same. */
  readonly warnings: readonly string[];
}

/** A provider, bound to the group that one object names. */
export interface Provider {
  readonly capabilities: Capabilities;
  /** What the provider says of the object's config. Asks no more than `describe` does, where that can tell. */
  validate(): Promise<Validation>;
  /**
   * The group as one look at all groups of the cluster has it, so that a tick with nothing to do costs the same whatever
   * the number of pools. Undefined where the provider cannot be asked for its size.
   */
  describe(): Promise<Group | undefined>;
  /** The group asked for anew and alone, with all that must hold before something of it is changed. */
  inspect(): Promise<Group | undefined>;
  locate(instances: readonly string[]): Promise<ReadonlyMap<string, Whereabouts>>;
  /**
   * Orders `by` more machines. `from` is the desired capacity that was seen: a provider that can be asked looks again,
   * and answers with a conflict where it is another.
   */
  increase(order: { readonly by: number; readonly from?: number }): Promise<void>;
  /** Ends one machine and lowers the size by one. Done as well if it is gone or going already. */
  endMachine(machine: { readonly node: string; readonly instance?: string }): Promise<void>;
}

/** What is remembered of one object. */
export interface LedgerStore {
  read(): Promise<Ledger>;
  /** Writes `next`, which is of the version that was read; a conflict if somebody wrote meanwhile. What is stored then. */
  write(next: Ledger): Promise<Ledger>;
}

export interface ObjectPorts {
  readonly ledger: LedgerStore;
  /** The provider of `spec`, whose provider is not `auto`. */
  provider(spec: GameServerNodeSpec): Provider;
}

/** The nodes that Berth places tasks on. Of one that was registered anew since it was seen, nothing is changed. */
export interface NodeRegistry {
  /** Name of the cluster, for the mark on what is registered. */
  readonly cluster: string;
  /** Those of `nodes` that are there, by pool and by id; in one look at all pools. A pool that is not in the answer does not exist. */
  read(
    nodes: ReadonlyMap<string, readonly string[]>,
  ): Promise<ReadonlyMap<string, ReadonlyMap<string, RegisteredNode>>>;
  /** Every node of a pool; of one that does not exist, none. */
  list(pool: string): Promise<readonly RegisteredNode[]>;
  /**
   * Registers nodes, or registers those anew that were `seen`. Each is written whole or not at all. The ids of those that
   * somebody else registered meanwhile, which are left alone.
   */
  register(nodes: readonly RegistryEntry[]): Promise<readonly string[]>;
  /**
   * Removes a node, with `force` though tasks hold something of it, which are orphaned. How many were; held: it stays. A
   * conflict where somebody else registered it meanwhile.
   */
  remove(pool: string, seen: RegisteredNode, options: { readonly force: boolean }): Promise<number | 'held'>;
}

export interface RegistryEntry {
  readonly spec: NodeSpecInput;
  /** Undefined: it was not there. */
  readonly seen?: RegisteredNode;
}

/** The GameServerNodes of a cluster, and what is told there. */
export interface Objects {
  /** All of them, of one state; undefined: the cluster does not know the kind. */
  list(): Promise<readonly GameServerNodeObject[] | undefined>;
  /** Writes `status` as the object's, whole, at the status subresource; `status` is plain JSON. Done as well if the object is gone. */
  writeStatus(object: Pick<GameServerNodeObject, 'name' | 'uid'>, status: object): Promise<void>;
  /** Creates an Event about a GameServerNode. One that is lost does no harm. */
  tell(event: ClusterEvent): Promise<void>;
}

/** What `kubectl describe` shows of what has happened. */
export interface ClusterEvent {
  readonly object: Pick<GameServerNodeObject, 'name' | 'uid'>;
  readonly type: 'Normal' | 'Warning';
  /** One word in CamelCase: `NodeCordoned`. */
  readonly reason: string;
  readonly message: string;
  readonly at: EpochMs;
}
