import type { NodeStatus } from '../nodes/node.ts';
import type { Resources } from '../nodes/resources.ts';
import type { EpochMs } from '../time.ts';

/** What a tick has seen: plain data, read completely or not at all. */

export interface ObservedNode {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** `spec.providerID`; empty where the provider sets none. */
  readonly providerId: string;
  /** What tells its machine from others where the provider does not: of hardware and system. Left out: nobody says. */
  readonly machineId?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** Keys of `spec.taints`. */
  readonly taints: readonly string[];
  readonly unschedulable: boolean;
  /** Whether the condition Ready is True. */
  readonly ready: boolean;
  readonly createdAt: EpochMs;
  /** Whether it has a deletionTimestamp. */
  readonly deleting: boolean;
  /** Whether Berth's plan applier has made it ineligible, of a pool that is registered there. */
  readonly ineligible: boolean;
  /** `status.allocatable`: quantities of Kubernetes (`3920m`, `15Gi`) by resource. */
  readonly allocatable: Readonly<Record<string, string>>;
}

export interface ObservedPod {
  readonly namespace: string;
  readonly name: string;
  /** `spec.nodeName`; undefined: not bound yet. */
  readonly nodeName?: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Kind of the controlling owner; undefined: there is none. */
  readonly ownerKind?: string;
  readonly phase: string;
}

export interface ObservedGameServer {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** `status.nodeName`; undefined before it is scheduled. */
  readonly nodeName?: string;
  readonly state: string;
  /** Whether it has a deletionTimestamp. */
  readonly deleting: boolean;
  /** Whether it is a development server, which runs on no node, whatever its nodeName says. */
  readonly development: boolean;
  /** Left out: nobody says. */
  readonly createdAt?: EpochMs;
}

export interface ClusterSnapshot {
  readonly nodes: readonly ObservedNode[];
  /** Those of the whole cluster with the label of Agones's role at least. */
  readonly pods: readonly ObservedPod[];
  readonly gameServers: readonly ObservedGameServer[];
}

/** What a provider that can be read says of a pool's group. */
export interface Group {
  /** False while the provider itself changes the group: then nothing is touched. */
  readonly steady: boolean;
  readonly desired: number;
  readonly min: number;
  readonly max: number;
  /** State by instance id, in the words of EC2 Auto Scaling. */
  readonly instances: ReadonlyMap<string, string>;
  readonly terminateSuspended: boolean;
  /** Why machines could not be launched lately; undefined: nothing of the kind. */
  readonly shortage?: string;
}

/** A machine that is being removed: written before anything is deleted, cleared when all of it is gone. */
export interface PendingDeletion {
  readonly node: string;
  readonly uid: string;
  /** Undefined where the provider knows nodes by name alone. */
  readonly instance?: string;
  readonly since: EpochMs;
}

/** Nodes ordered from a provider that cannot be asked how many it is to have. */
export interface PendingIncrease {
  readonly count: number;
  readonly since: EpochMs;
  /** Uids of the nodes that were there: whoever else is there now has joined since. */
  readonly baseline: readonly string[];
}

/** A machine that lives in its group and has no node, since it was first seen so. */
export interface UnjoinedMachine {
  readonly instance: string;
  readonly since: EpochMs;
}

/** What the scaler remembers of an object: only what cluster and provider cannot tell. */
export interface Ledger {
  /** Counts writes: a write is of the version that was read, or it is refused. */
  readonly version: number;
  readonly pendingDeletions: readonly PendingDeletion[];
  readonly pendingIncrease?: PendingIncrease;
  /** Left out where there is none. Only told of: what is decided comes of the group alone. */
  readonly unjoined?: readonly UnjoinedMachine[];
  /** What `auto` has come to, for when the pool has no node. */
  readonly detectedProvider?: DetectedProvider;
  /** Where nodes of the object may be registered with Berth. */
  readonly registration?: Registration;
}

/** A pool of Berth that nodes are registered in. */
export interface Registration {
  readonly pool: string;
  /** Of all nodes that are registered there; left out while that changes: then the whole pool has to be read. */
  readonly digest?: string;
  /**
   * There if its nodes were of a group: a machine that is in no group any more has ended then. Of others, which never were
   * in one, that says nothing.
   */
  readonly grouped?: boolean;
  /**
   * Uids of nodes whose machines were ended, for certain, and that may be registered still. Of providers that cannot be
   * asked for a machine: of the others its absence says the same.
   */
  readonly ended?: readonly string[];
}

/** A node as a pool of Berth has it. */
export interface RegisteredNode {
  readonly nodeId: string;
  /** What tasks may use; without the number of tasks. */
  readonly capacity: Resources;
  readonly labels: Readonly<Record<string, string>>;
  readonly status: NodeStatus;
  readonly drain: boolean;
  readonly ineligible: boolean;
  /** Another one after each registration. */
  readonly revision: number;
}

/** A provider that nodes can be seen to be of. */
export type DetectedProvider = 'eks' | 'asg' | 'minikube';

/** Where an instance is that is not among those of the group: elsewhere, or nowhere. */
export type Whereabouts = 'here' | 'elsewhere' | 'gone';

/** A GameServerNode as the cluster has it. */
export interface GameServerNodeObject {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** Counts changes of the spec. */
  readonly generation: number;
  readonly createdAt: EpochMs;
  /** As it came: nobody has looked at it yet. */
  readonly spec: unknown;
  /** The status that was written last, as it came; undefined: none. */
  readonly status: unknown;
}
