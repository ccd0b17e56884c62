import type { EpochMs } from '../../lib/time.ts';
import type { KubeObject } from '../../local/kubernetes/kube-object.ts';
import type { Outside } from '../../local/outside/outside.ts';
import { FLEET, GROUP } from './scene.ts';

/** What is there, counted from the world itself and not from what the scaler says of it. */

/** active: takes games. draining: the scaler has cordoned it. held: somebody else has. pending: ordered, not ready yet. lost: dead. */
export const NODE_CLASSES = ['active', 'pending', 'draining', 'held', 'lost'] as const;
export type NodeClass = (typeof NODE_CLASSES)[number];
export const SERVER_STATES = ['allocated', 'ready', 'starting', 'ending'] as const;
export type ServerState = (typeof SERVER_STATES)[number];

export interface Census {
  readonly nodes: Readonly<Record<NodeClass, number>>;
  readonly servers: Readonly<Record<ServerState, number>>;
}

/** The world at one minute, after the tick of it. */
export interface Sample extends Census {
  readonly at: EpochMs;
  /** By the timetable. */
  readonly target: number;
  readonly waiting: number;
  /** What the GameServerNode's status says; undefined: nothing. */
  readonly effectiveTarget: number | undefined;
  readonly degraded: string | undefined;
}

/** What the scaler writes on nodes that it cordons: docs/node-scaler.md. */
const CORDONED_BY = 'stable.agones.dev/cordoned-by';

export function isCordoned({ spec }: KubeObject): boolean {
  return spec?.unschedulable === true;
}

export function isMarked({ metadata }: KubeObject): boolean {
  return metadata.annotations?.[CORDONED_BY] !== undefined;
}

/** Pods of game servers on a node that have not finished. */
export function gamesOn(outside: Pick<Outside, 'cluster'>, node: string): number {
  const pods = outside.cluster().store.list('pods');
  return pods.filter(({ spec, status }) => spec?.nodeName === node && !/^(Succeeded|Failed)$/.test(status?.phase))
    .length;
}

/** States of instances that the desired capacity counts. */
const LIVE = /^(InService|Pending)/;

export function censusOf(outside: Pick<Outside, 'cluster' | 'groups'>): Census {
  const { store, machines } = outside.cluster();
  const nodes = { active: 0, pending: 0, draining: 0, held: 0, lost: 0 };
  for (const node of store.list('nodes')) {
    const running = machines.of(node)?.running === true;
    nodes[
      isCordoned(node)
        ? isMarked(node)
          ? 'draining'
          : 'held'
        : isReady(node) && running
          ? 'active'
          : running
            ? 'pending'
            : 'lost'
    ] += 1;
  }
  const { desired, instances } = outside.groups.get(GROUP) ?? { desired: 0, instances: new Map<string, never>() };
  const joined = machines
    .list()
    .filter(({ instance, joined: has }) => has && LIVE.test(instances.get(instance)?.state ?? ''));
  nodes.pending += Math.max(0, desired - joined.length);
  const servers = { allocated: 0, ready: 0, starting: 0, ending: 0 };
  for (const server of outside.cluster().fleets.servers(FLEET)) servers[serverState(server)] += 1;
  return { nodes, servers };
}

function isReady({ status }: KubeObject): boolean {
  const conditions: readonly { type: string; status: string }[] = status?.conditions ?? [];
  return conditions.some((one) => one.type === 'Ready' && one.status === 'True');
}

function serverState({ metadata, status }: KubeObject): ServerState {
  if (metadata.deletionTimestamp !== undefined) return 'ending';
  switch (status?.state) {
    case 'Allocated':
      return 'allocated';
    case 'Ready':
      return 'ready';
    case 'Shutdown':
    case 'Unhealthy':
      return 'ending';
    default:
      return 'starting';
  }
}
