import { SCALER } from '../../settings.ts';
import type { EpochMs } from '../../time.ts';
import type {
  ClusterSnapshot,
  Group,
  Ledger,
  ObservedGameServer,
  ObservedNode,
  PendingDeletion,
} from '../observation.ts';
import { isProtected, isRunningGamePod, nodeOf } from './agones.ts';
import { cordonedAtOf, isMarkedBy, isPendingDelete } from './marks.ts';
import { instanceOf, membershipOf, type Selection } from './membership.ts';
import { twinsOf } from './twins.ts';

/**
 * active: takes games. draining: cordoned by the scaler, its machine lives, and it may come back. held: not to be
 * touched, cordoned by somebody else or held by another tool. leaving: on its way out, and not brought back.
 */
export type NodeClass = 'active' | 'draining' | 'held' | 'leaving';

/** A node of the pool with what is on it. */
export interface PoolNode {
  readonly node: ObservedNode;
  readonly class: NodeClass;
  readonly instance?: string;
  /** Whether its machine counts in the desired capacity of the group, and as this node; true where nobody can say. */
  readonly live: boolean;
  /** Whether it is cordoned, and marked by this object. */
  readonly ours: boolean;
  /** When the scaler cordoned it, of one that is ours. */
  readonly cordonedAt?: EpochMs;
  /** Pods of game servers that have not finished. */
  readonly gamePods: number;
  readonly servers: readonly ObservedGameServer[];
  /** Servers that are Allocated or Reserved. */
  readonly protectedServers: number;
  /** Names of other Nodes of the same machine: while there are any, it is not ended. Left out: none. */
  readonly twins?: readonly string[];
}

/** A pool as one tick sees it. */
export interface Pool {
  readonly nodes: readonly PoolNode[];
  /** Machines that are ordered and have no node yet. */
  readonly pending: number;
  /** Names of nodes that claim to be of the group and are another's. */
  readonly strays: readonly string[];
  /** Machines of the ledger that live, and have no node any more. */
  readonly orphans: readonly PendingDeletion[];
}

/** A tool that is about to remove a node says so by one of these. */
const FOREIGN_TAINTS = new Set([
  'ToBeDeletedByClusterAutoscaler',
  'karpenter.sh/disrupted',
  'karpenter.sh/disruption',
  'node.cloudprovider.kubernetes.io/shutdown',
]);

export function isHeldByOthers({ taints }: ObservedNode): boolean {
  return taints.some((taint) => FOREIGN_TAINTS.has(taint));
}

/** What EC2 Auto Scaling's word for the state of an instance means. A word that is not known holds the node. */
export function lifeOf(state: string | undefined): 'live' | 'leaving' | 'held' {
  if (state === undefined || /^(Terminat|Detach)/.test(state)) return 'leaving';
  return state === 'InService' || /^Pending(:|$)/.test(state) ? 'live' : 'held';
}

/** Whether somebody takes a machine out of its group, which goes on running: its Node stays, or nobody would know of it. */
export function isDetached(instance: string | undefined, { instances }: Pick<Group, 'instances'>): boolean {
  return /^Detach/.test(instances.get(instance ?? '') ?? '');
}

/** Sorts the nodes of `snapshot` that are the pool's into their classes, and counts what is on its way. */
export function classify(
  object: string,
  snapshot: ClusterSnapshot,
  ledger: Ledger,
  selection: Selection,
  now: EpochMs,
): Pool {
  const pods = groupBy(snapshot.pods.filter(isRunningGamePod), ({ nodeName }) => nodeName);
  const servers = groupBy(snapshot.gameServers, nodeOf);
  const twins = twinsOf(snapshot.nodes);
  const strays: string[] = [];
  const nodes: PoolNode[] = [];
  for (const node of snapshot.nodes) {
    const membership = membershipOf(node, selection);
    if (membership.kind === 'stray') strays.push(node.name);
    if (membership.kind !== 'member') continue;
    const here = servers.get(node.name) ?? [];
    const life = selection.group === undefined ? 'live' : lifeOf(membership.state);
    const ours = node.unschedulable && isMarkedBy(object, node);
    const cordonedAt = cordonedAtOf(node, now);
    const twin = twins.get(node.uid);
    const counts = twin?.counts ?? true;
    const of = classOf(node, life, ours, ledger);
    nodes.push({
      node,
      class: counts || of === 'leaving' ? of : 'held',
      ...(membership.instance === undefined ? {} : { instance: membership.instance }),
      live: life === 'live' && counts,
      ours,
      ...(ours && cordonedAt !== undefined ? { cordonedAt } : {}),
      gamePods: pods.get(node.name)?.length ?? 0,
      servers: here,
      protectedServers: here.filter(isProtected).length,
      ...(twin && { twins: twin.others }),
    });
  }
  const orphans = orphansOf(ledger, snapshot.nodes, selection);
  return { nodes, strays, orphans, pending: pendingOf(nodes, orphans, ledger, selection, now) };
}

function classOf(node: ObservedNode, life: 'live' | 'leaving' | 'held', ours: boolean, ledger: Ledger): NodeClass {
  if (node.deleting || life === 'leaving') return 'leaving';
  if (life === 'held' || isHeldByOthers(node)) return 'held';
  if (!node.unschedulable) return 'active';
  if (!ours) return 'held';
  const intended = isPendingDelete(node) || ledger.pendingDeletions.some(({ uid }) => uid === node.uid);
  return intended ? 'leaving' : 'draining';
}

function orphansOf(ledger: Ledger, nodes: readonly ObservedNode[], { group }: Selection): PendingDeletion[] {
  const present = new Set(nodes.map(({ uid }) => uid));
  // A kubelet that was started again registers its machine anew, under another uid, and with games perhaps.
  const registered = new Set(nodes.map(instanceOf));
  return ledger.pendingDeletions.filter(({ uid, instance }) => {
    if (present.has(uid) || instance === undefined || registered.has(instance)) return false;
    return lifeOf(group?.instances.get(instance)) === 'live';
  });
}

function pendingOf(
  nodes: readonly PoolNode[],
  orphans: readonly PendingDeletion[],
  { pendingIncrease }: Ledger,
  { group }: Selection,
  now: EpochMs,
): number {
  if (group !== undefined) return Math.max(0, group.desired - nodes.filter(({ live }) => live).length - orphans.length);
  if (pendingIncrease === undefined || now >= pendingIncrease.since + SCALER.joinSeconds * 1000) return 0;
  const before = new Set(pendingIncrease.baseline);
  return Math.max(0, pendingIncrease.count - nodes.filter(({ node }) => !before.has(node.uid)).length);
}

function groupBy<T, K>(items: readonly T[], keyOf: (item: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group) group.push(item);
    else groups.set(keyOf(item), [item]);
  }
  return groups;
}
