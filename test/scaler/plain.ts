import { cronTimes } from '../../lib/cron/croner.ts';
import type {
  ClusterSnapshot,
  Group,
  ObservedGameServer,
  ObservedNode,
  ObservedPod,
} from '../../lib/scaler/observation.ts';
import type { Pool, PoolNode } from '../../lib/scaler/pool/classes.ts';
import { MARKS } from '../../lib/scaler/pool/marks.ts';
import type { Scene } from '../../lib/scaler/pool/scene.ts';
import { readSpec } from '../../lib/scaler/spec/spec.ts';
import type { EpochMs } from '../../lib/time.ts';

/** What a tick decides from, as plain data: one thing each, with whatever a test wants to be otherwise. */

export const OBJECT = 'game';
export const NOW = Date.UTC(2026, 0, 15, 12) as EpochMs;

/** So many minutes before `NOW`. */
export function ago(minutes: number): EpochMs {
  return (NOW - minutes * 60_000) as EpochMs;
}

/** A node that takes games, on the machine of its number: n1 on i-1. */
export function aNode(name: string, fields: Partial<ObservedNode> = {}): ObservedNode {
  return {
    name,
    uid: `uid-${name}`,
    resourceVersion: '1',
    providerId: `aws:///eu-west-1a/${instanceOn(name)}`,
    labels: { 'eks.amazonaws.com/nodegroup': 'games' },
    annotations: {},
    taints: [],
    unschedulable: false,
    ready: true,
    createdAt: ago(600),
    deleting: false,
    ineligible: false,
    allocatable: {},
    ...fields,
  };
}

export function instanceOn(node: string): string {
  return `i-${node.replace(/\D/g, '')}`;
}

/** A node that this object has cordoned, `minutes` ago. */
export function aCordonedNode(name: string, minutes = 10, fields: Partial<ObservedNode> = {}): ObservedNode {
  const annotations = { [MARKS.cordonedBy]: OBJECT, [MARKS.cordonedAt]: new Date(ago(minutes)).toISOString() };
  return aNode(name, { unschedulable: true, annotations, ...fields });
}

export function aServer(name: string, node: string, state = 'Ready'): ObservedGameServer {
  const [namespace, uid, resourceVersion] = ['default', `uid-${name}`, '1'];
  return { namespace, name, uid, resourceVersion, nodeName: node, state, deleting: false, development: false };
}

export function aGamePod(node: string, fields: Partial<ObservedPod> = {}): ObservedPod {
  const labels = { 'agones.dev/role': 'gameserver' };
  return {
    ...{ namespace: 'default', name: `pod-on-${node}`, nodeName: node, labels },
    ...{ ownerKind: 'GameServer', phase: 'Running' },
    ...fields,
  };
}

/** A node of the pool that is active, with nothing on it. */
export function aPoolNode(name: string, fields: Partial<PoolNode> = {}): PoolNode {
  return {
    ...{ node: aNode(name), class: 'active', instance: instanceOn(name), live: true, ours: false },
    ...{ gamePods: 0, servers: [], protectedServers: 0 },
    ...fields,
  };
}

/** One that the scaler has cordoned, `minutes` ago. */
export function aDrainingNode(name: string, minutes = 10, fields: Partial<PoolNode> = {}): PoolNode {
  const cordoned = { class: 'draining', ours: true, cordonedAt: ago(minutes) } as const;
  return aPoolNode(name, { node: aCordonedNode(name, minutes), ...cordoned, ...fields });
}

export function aPool(nodes: readonly PoolNode[], fields: Partial<Pool> = {}): Pool {
  return { nodes, pending: 0, strays: [], orphans: [], ...fields };
}

/** A group of the machines of `nodes`, all in service, that may be of up to 20. */
export function aGroup(nodes: readonly string[], fields: Partial<Group> = {}): Group {
  const instances = new Map(nodes.map((name): [string, string] => [instanceOn(name), 'InService']));
  return { steady: true, desired: nodes.length, min: 0, max: 20, instances, terminateSuspended: false, ...fields };
}

/** What is asked of a pool of EKS, or what `fields` say. */
export function aSpec(fields: object = {}): Scene['spec'] {
  const read = readSpec({ replicas: 1, provider: 'eks', config: { nodegroup: 'games' }, ...fields }, cronTimes);
  if ('problems' in read) throw new Error(JSON.stringify(read.problems));
  return read.spec;
}

export function aSnapshot(fields: Partial<ClusterSnapshot> = {}): ClusterSnapshot {
  return { nodes: [], pods: [], gameServers: [], ...fields };
}

/** A scene of a provider that can be asked and changed. Without `group` there is none. */
export function aScene(fields: Partial<Scene> = {}): Scene {
  return {
    object: OBJECT,
    spec: aSpec(),
    capabilities: { readsSize: true, changesSize: true },
    snapshot: aSnapshot(),
    whereabouts: new Map(),
    ledger: { version: 1, pendingDeletions: [] },
    replaceIneligible: false,
    now: NOW,
    ...fields,
  };
}
