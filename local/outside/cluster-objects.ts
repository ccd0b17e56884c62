import type { EpochMs } from '../../lib/time.ts';
import type { KubeObject, ObjectInput } from '../kubernetes/kube-object.ts';

/** Objects of a cluster of game servers as its parts write them, and what can be told from them. */

export const NODEGROUP_LABEL = 'eks.amazonaws.com/nodegroup';
const ZONE_LABEL = 'topology.kubernetes.io/zone';
const ROLE_LABEL = 'agones.dev/role';
export const FLEET_LABEL = 'agones.dev/fleet';
const DEV_ADDRESS = 'agones.dev/dev-address';
export const AGONES_FINALIZER = 'agones.dev/controller';

export interface Taint {
  readonly key: string;
  readonly value?: string;
  /** Default NoSchedule. */
  readonly effect?: string;
}

export interface NodeSettings {
  readonly name: string;
  /** Of AWS, as in `aws:///eu-central-1a/i-1`. Left out: none. */
  readonly providerId?: string;
  readonly zone?: string;
  readonly nodegroup?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly taints?: readonly Taint[];
  readonly unschedulable?: boolean;
  /** Default true. */
  readonly ready?: boolean;
  /** Quantities of Kubernetes by resource. */
  readonly allocatable?: Readonly<Record<string, string>>;
  /** Default: now. */
  readonly createdAt?: EpochMs;
  /** Set: it is being deleted since, and a finalizer keeps it. */
  readonly deletedAt?: EpochMs;
}

const ALLOCATABLE = { cpu: '3920m', memory: '15Gi', pods: '58' };

export function nodeInput(settings: NodeSettings): ObjectInput {
  const { name, providerId, zone, nodegroup, unschedulable = false, ready = true, taints = [] } = settings;
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      labels: {
        'kubernetes.io/hostname': name,
        ...(zone === undefined ? {} : { [ZONE_LABEL]: zone }),
        ...(nodegroup === undefined ? {} : { [NODEGROUP_LABEL]: nodegroup }),
        ...settings.labels,
      },
      annotations: { ...settings.annotations },
      ...(settings.deletedAt === undefined ? {} : { finalizers: ['example.com/hold'] }),
    },
    spec: {
      ...(providerId === undefined ? {} : { providerID: providerId }),
      ...(unschedulable ? { unschedulable } : {}),
      ...(taints.length === 0 ? {} : { taints: taints.map((taint) => ({ effect: 'NoSchedule', ...taint })) }),
    },
    status: {
      allocatable: settings.allocatable ?? ALLOCATABLE,
      conditions: [readyCondition(ready ? 'True' : 'False')],
    },
  };
}

export type Readiness = 'True' | 'False' | 'Unknown';

export function readyCondition(status: Readiness): object {
  const reason = { True: 'KubeletReady', False: 'KubeletNotReady', Unknown: 'NodeStatusUnknown' }[status];
  return { type: 'Ready', status, reason };
}

export function isReady(node: KubeObject): boolean {
  const conditions: readonly { type: string; status: string }[] = node.status?.conditions ?? [];
  return conditions.some(({ type, status }) => type === 'Ready' && status === 'True');
}

export function taintsOf(node: KubeObject): readonly Taint[] {
  return node.spec?.taints ?? [];
}

export function isCordoned(node: KubeObject): boolean {
  return node.spec?.unschedulable === true;
}

export interface GameServerSettings {
  readonly name: string;
  /** Default `default`. */
  readonly namespace?: string;
  readonly fleet?: string;
  readonly state: string;
  /** Left out: it is on no node yet. */
  readonly node?: string;
  /** Set: it is a development server, which runs elsewhere. */
  readonly devAddress?: string;
  /** Default: now. */
  readonly createdAt?: EpochMs;
  /** Set: it is being deleted since. */
  readonly deletedAt?: EpochMs;
}

export function gameServerInput(settings: GameServerSettings): ObjectInput {
  const { name, namespace = 'default', fleet, state, node, devAddress } = settings;
  return {
    apiVersion: 'agones.dev/v1',
    kind: 'GameServer',
    metadata: {
      name,
      namespace,
      finalizers: [AGONES_FINALIZER],
      labels: fleet === undefined ? {} : { [FLEET_LABEL]: fleet },
      annotations: devAddress === undefined ? {} : { [DEV_ADDRESS]: devAddress },
    },
    spec: { template: { spec: { containers: [{ name: 'game', image: 'example.com/game' }] } } },
    status: { state, ...(node === undefined ? {} : { nodeName: node }) },
  };
}

export interface PodSettings {
  readonly name: string;
  /** Default `default`. */
  readonly namespace?: string;
  /** Left out: it is bound to no node yet. */
  readonly node?: string;
  /** Default Running. */
  readonly phase?: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** Set: it is terminating since. */
  readonly deletedAt?: EpochMs;
  /** Its controller. */
  readonly owner?: { readonly apiVersion: string; readonly kind: string; readonly name: string; readonly uid: string };
}

export function podInput({
  name,
  namespace = 'default',
  node,
  phase = 'Running',
  labels,
  owner,
}: PodSettings): ObjectInput {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace,
      labels: { ...labels },
      ...(owner === undefined ? {} : { ownerReferences: [{ ...owner, controller: true, blockOwnerDeletion: true }] }),
    },
    spec: {
      containers: [{ name: 'main', image: 'example.com/main' }],
      ...(node === undefined ? {} : { nodeName: node }),
    },
    status: { phase },
  };
}

/** The settings of a game server's pod, whose name is the server's. */
export function gamePodOf(server: KubeObject): PodSettings {
  const { apiVersion, kind, metadata, status } = server;
  const { name, namespace = 'default', uid } = metadata;
  return {
    name,
    namespace,
    labels: { [ROLE_LABEL]: 'gameserver', 'agones.dev/gameserver': name },
    owner: { apiVersion, kind, name, uid },
    ...(status?.nodeName === undefined ? {} : { node: status.nodeName }),
  };
}

/** By role label and controlling owner, as Agones tells its pods (pkg/gameservers/gameservers.go). */
export function isGamePod({ metadata }: KubeObject): boolean {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
  return metadata.labels?.[ROLE_LABEL] === 'gameserver' && owner?.kind === 'GameServer';
}

/** Whether a pod is a game server's and has not finished; one that is terminating still runs. */
export function isRunningGame(pod: KubeObject): boolean {
  return isGamePod(pod) && !['Succeeded', 'Failed'].includes(pod.status?.phase);
}

export function stateOf(server: KubeObject): string {
  return server.status?.state ?? '';
}

/** Whether players may be on a server. */
export function isInUse(server: KubeObject): boolean {
  return ['Allocated', 'Reserved'].includes(stateOf(server));
}

export function isBeingDeleted({ metadata }: KubeObject): boolean {
  return metadata.deletionTimestamp !== undefined;
}

/** The EC2 instance that a Node says it is. */
export function instanceOf(node: KubeObject): string | undefined {
  return /^aws:\/\/\/[^/]*\/(i-[0-9a-zA-Z]+)$/.exec(node.spec?.providerID ?? '')?.[1];
}
