import type { Group, Ledger, ObservedGameServer, ObservedNode, ObservedPod } from '../../lib/scaler/observation.ts';
import { MARKS } from '../../lib/scaler/pool/marks.ts';
import { instanceOf } from '../../lib/scaler/pool/membership.ts';
import type { EpochMs } from '../../lib/time.ts';
import type { GameServerCase, NodeCase, PodCase, ProviderCase, ScalerCase } from './case.ts';
import { ScalerWorld } from './world.ts';

/** Name of the object that a case is of. */
export const OBJECT = 'game';

const LONG_AGO = '2026-01-01T00:00:00Z';

/** The world that a case begins with. */
export function worldOf({ spec, cluster, provider }: ScalerCase): ScalerWorld {
  // What `auto` comes to without a group.
  const kind = provider !== null ? 'eks' : spec.provider === 'custom' ? 'custom' : 'minikube';
  const world = new ScalerWorld(kind, OBJECT);
  if (provider !== null) world.group = groupOf(provider);
  for (const one of cluster.nodes ?? []) addNode(world, one, spec);
  for (const one of cluster.gameServers ?? []) addServer(world, one);
  for (const one of cluster.pods ?? []) addPod(world, one);
  world.ledger = ledgerOf(cluster, (uid) => uid);
  return world;
}

/** What is remembered at first. `uidOf`: the uid that a node has which the case gives this one. */
export function ledgerOf({ ledger, nodes = [] }: ScalerCase['cluster'], uidOf: (uid: string) => string): Ledger {
  const { pendingDeletions = [], pendingIncrease } = ledger ?? {};
  const order = pendingIncrease && {
    count: pendingIncrease.count,
    since: at(pendingIncrease.since),
    baseline: (pendingIncrease.baseline ?? nodes.map(caseUidOf)).map(uidOf),
  };
  return {
    version: 1,
    pendingDeletions: pendingDeletions.map(({ node, uid, instance, since }) => ({
      node,
      uid: uidOf(uid),
      ...(instance === undefined ? {} : { instance }),
      since: at(since),
    })),
    ...(order ? { pendingIncrease: order } : {}),
  };
}

export function caseUidOf({ name, uid }: NodeCase): string {
  return uid ?? `uid-${name}`;
}

/** A GameServerNode of a case. */
export interface ObjectCase {
  readonly name: string;
  readonly createdAt: string | undefined;
  readonly spec: Readonly<Record<string, unknown>>;
}

/** The objects of a case, its own first, whose spec is `spec` by now. */
export function objectsOf({ cluster }: ScalerCase, spec: ScalerCase['spec']): ObjectCase[] {
  const { createdAt, ...own } = spec as ScalerCase['spec'] & { createdAt?: string };
  const others = (cluster.otherGameServerNodes ?? []).map(({ name, createdAt: made, selectsSamePool }) => ({
    name,
    createdAt: made,
    // The file says nothing of what it wants; what it does is not what the case is about.
    spec: { ...own, paused: true, ...(selectsSamePool ? {} : { config: { nodegroup: name } }) },
  }));
  return [{ name: OBJECT, createdAt, spec: own }, ...others];
}

export function at(text: string | undefined): EpochMs {
  return Date.parse(text ?? LONG_AGO) as EpochMs;
}

export function groupOf(provider: ProviderCase, before?: Group): Group {
  const failed = provider.activities?.find(({ status }) => status === 'Failed')?.message;
  const shortage = failed ?? before?.shortage;
  const status = provider.status;
  return {
    steady: status === undefined ? (before?.steady ?? true) : ['ACTIVE', 'DEGRADED'].includes(status),
    desired: provider.desired ?? before?.desired ?? 0,
    min: provider.min ?? before?.min ?? 0,
    max: provider.max ?? before?.max ?? 0,
    instances: provider.instances
      ? new Map(provider.instances.map(({ id, state }) => [id, state]))
      : (before?.instances ?? new Map()),
    terminateSuspended: provider.suspendedProcesses?.includes('Terminate') ?? before?.terminateSuspended ?? false,
    ...(shortage === undefined ? {} : { shortage }),
  };
}

/** A node, and the machine under it: one that joins is in service. */
export function addNode(world: ScalerWorld, one: NodeCase, spec: ScalerCase['spec']): void {
  const node = observedNode(one, spec, world.nextVersion());
  world.nodes.set(node.name, node);
  const instance = instanceOf(node);
  if (instance !== undefined && one.instanceGroup !== undefined) world.elsewhere.add(instance);
}

/** A node that joins, and whose machine was not told of or was pending until now. */
export function joinNode(world: ScalerWorld, one: NodeCase, spec: ScalerCase['spec']): void {
  addNode(world, one, spec);
  const instance = instanceOf({ providerId: one.providerID ?? '' });
  if (world.group === undefined || instance === undefined || world.elsewhere.has(instance)) return;
  world.group = { ...world.group, instances: new Map(world.group.instances).set(instance, 'InService') };
}

/** A node as a tick sees it. */
export function observedNode(one: NodeCase, { config }: ScalerCase['spec'], resourceVersion: string): ObservedNode {
  const { cordonedBy = 'none', cordonedAt } = one;
  const nodegroup = (config as { nodegroup?: string } | undefined)?.nodegroup;
  const marked = cordonedBy !== 'none' && cordonedBy !== 'admin';
  return {
    name: one.name,
    uid: caseUidOf(one),
    resourceVersion,
    providerId: one.providerID ?? '',
    labels: {
      'topology.kubernetes.io/zone': one.zone ?? '',
      ...(nodegroup === undefined ? {} : { 'eks.amazonaws.com/nodegroup': nodegroup }),
      ...one.labels,
    },
    annotations: {
      ...(marked ? { [MARKS.cordonedBy]: cordonedBy === 'scaler' ? OBJECT : cordonedBy } : {}),
      ...(marked && cordonedAt !== undefined ? { [MARKS.cordonedAt]: cordonedAt } : {}),
      ...(one.pendingDelete === undefined ? {} : { [MARKS.pendingDelete]: one.pendingDelete }),
      ...(one.scaleDownDisabled ? { 'cluster-autoscaler.kubernetes.io/scale-down-disabled': 'true' } : {}),
      ...one.annotations,
    },
    taints: (one.taints ?? []).map((taint) => (typeof taint === 'string' ? taint : taint.key)),
    unschedulable: one.unschedulable ?? false,
    ready: one.ready ?? true,
    createdAt: at(one.createdAt),
    deleting: typeof one.deletionTimestamp === 'string',
    ineligible: one.ineligible ?? false,
    allocatable: {},
  };
}

export function addServer(world: ScalerWorld, one: GameServerCase): ObservedGameServer {
  const server: ObservedGameServer = {
    namespace: one.namespace ?? 'default',
    name: one.name,
    uid: one.uid ?? `uid-${one.name}`,
    resourceVersion: one.resourceVersion ?? world.nextVersion(),
    ...(one.node ? { nodeName: one.node } : {}),
    state: one.state,
    deleting: typeof one.deletionTimestamp === 'string',
    development: one.devAddress !== undefined,
  };
  world.servers.set(`${server.namespace}/${server.name}`, server);
  return server;
}

export function addPod(world: ScalerWorld, one: PodCase): void {
  const { kind = 'game', namespace = 'default', name } = one;
  const pod: ObservedPod = {
    namespace,
    name,
    ...(one.node ? { nodeName: one.node } : {}),
    labels: { ...(kind === 'game' ? { 'agones.dev/role': 'gameserver' } : {}), ...one.labels },
    ...(kind === 'game' ? { ownerKind: 'GameServer' } : kind === 'daemonset' ? { ownerKind: 'DaemonSet' } : {}),
    phase: one.phase ?? 'Running',
  };
  world.pods.set(`${namespace}/${name}`, pod);
}
