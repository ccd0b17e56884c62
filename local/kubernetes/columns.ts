import { humanDuration } from './human-duration.ts';
import { valuesAt } from './json-path.ts';
import type { KubeObject } from './kube-object.ts';
import type { PrinterColumn, ResourceType } from './resource-type.ts';

export interface Column {
  readonly name: string;
  readonly type: string;
  /** Above 0: of `-o wide`. */
  readonly priority: number;
  readonly description: string;
  cell(object: KubeObject, now: number): unknown;
}

function text(name: string, cell: Column['cell'], priority = 0): Column {
  return { name, type: 'string', priority, description: '', cell };
}

function at(name: string, path: string, priority = 0, missing = '<none>'): Column {
  return text(name, (object) => valuesAt(object, path)[0] ?? missing, priority);
}

function age(name: string, path: string): Column {
  return text(name, (object, now) => ageOf(valuesAt(object, path)[0], now));
}

function ageOf(time: unknown, now: number): string {
  return typeof time === 'string' ? humanDuration(now - Date.parse(time)) : '<unknown>';
}

const NAME = at('Name', '.metadata.name');
const AGE = age('Age', '.metadata.creationTimestamp');
const CREATED_AT = at('Created At', '.metadata.creationTimestamp');

function nodeStatus({ spec, status }: KubeObject): string {
  const ready = valuesAt(status, '.conditions[?(@.type=="Ready")].status')[0];
  const word = ready === undefined ? 'Unknown' : ready === 'True' ? 'Ready' : 'NotReady';
  return spec?.unschedulable ? `${word},SchedulingDisabled` : word;
}

const ROLE = 'node-role.kubernetes.io/';

function nodeRoles({ metadata }: KubeObject): string {
  const labels = Object.keys(metadata.labels ?? {}).filter((label) => label.startsWith(ROLE) && label !== ROLE);
  return (
    labels
      .map((label) => label.slice(ROLE.length))
      .sort()
      .join(',') || '<none>'
  );
}

function podStatus({ metadata, status }: KubeObject): string {
  if (metadata.deletionTimestamp !== undefined) return 'Terminating';
  return status?.reason ?? (status?.phase === 'Succeeded' ? 'Completed' : (status?.phase ?? 'Unknown'));
}

function containersOf({ status }: KubeObject): readonly { ready?: boolean; restartCount?: number }[] {
  return status?.containerStatuses ?? [];
}

function podReady(pod: KubeObject): string {
  const containers = pod.spec?.containers?.length ?? 0;
  return `${containersOf(pod).filter(({ ready }) => ready).length}/${containers}`;
}

function servicePorts({ spec }: KubeObject): string {
  const ports: readonly { port: number; nodePort?: number; protocol?: string }[] = spec?.ports ?? [];
  const shown = ports.map(
    ({ port, nodePort, protocol = 'TCP' }) => `${port}${nodePort ? `:${nodePort}` : ''}/${protocol}`,
  );
  return shown.join(',') || '<none>';
}

function serviceAddress({ spec, status }: KubeObject): string {
  const [ingress] = status?.loadBalancer?.ingress ?? [];
  return ingress?.hostname ?? ingress?.ip ?? (spec?.type === 'LoadBalancer' ? '<pending>' : '<none>');
}

function involvedObject({ involvedObject: involved }: KubeObject): string {
  const { kind = '', name = '' } = (involved ?? {}) as { kind?: string; name?: string };
  return `${kind.toLowerCase()}/${name}`;
}

function lastSeen(event: KubeObject, now: number): string {
  const { lastTimestamp, eventTime, metadata } = event;
  return ageOf(lastTimestamp ?? eventTime ?? metadata.creationTimestamp, now);
}

/** Those of the printers in k8s.io/kubernetes/pkg/printers/internalversion. */
const BUILT_IN: Readonly<Record<string, readonly Column[]>> = {
  nodes: [
    NAME,
    text('Status', nodeStatus),
    text('Roles', nodeRoles),
    AGE,
    at('Version', '.status.nodeInfo.kubeletVersion'),
    at('Internal-IP', '.status.addresses[?(@.type=="InternalIP")].address', 1),
    at('External-IP', '.status.addresses[?(@.type=="ExternalIP")].address', 1),
    at('OS-Image', '.status.nodeInfo.osImage', 1, '<unknown>'),
    at('Kernel-Version', '.status.nodeInfo.kernelVersion', 1, '<unknown>'),
    at('Container-Runtime', '.status.nodeInfo.containerRuntimeVersion', 1, '<unknown>'),
  ],
  pods: [
    NAME,
    text('Ready', podReady),
    text('Status', podStatus),
    text('Restarts', (pod) => String(containersOf(pod).reduce((sum, { restartCount = 0 }) => sum + restartCount, 0))),
    AGE,
    at('IP', '.status.podIP', 1),
    at('Node', '.spec.nodeName', 1),
    at('Nominated Node', '.status.nominatedNodeName', 1),
    text('Readiness Gates', () => '<none>', 1),
  ],
  namespaces: [NAME, at('Status', '.status.phase'), AGE],
  services: [
    NAME,
    at('Type', '.spec.type', 0, 'ClusterIP'),
    at('Cluster-IP', '.spec.clusterIP'),
    text('External-IP', serviceAddress),
    text('Port(s)', servicePorts),
    AGE,
  ],
  configmaps: [NAME, text('Data', ({ data }) => String(Object.keys(data ?? {}).length)), AGE],
  events: [
    text('Last Seen', lastSeen),
    at('Type', '.type'),
    at('Reason', '.reason'),
    text('Object', involvedObject),
    at('Message', '.message'),
  ],
  customresourcedefinitions: [NAME, CREATED_AT],
  clusterroles: [NAME, CREATED_AT],
  roles: [NAME, CREATED_AT],
};

/** What `kubectl get` shows of a resource. */
export function columnsOf({ resource, columns }: ResourceType): readonly Column[] {
  return columns ? [NAME, ...columns.map(printed)] : (BUILT_IN[resource] ?? [NAME, AGE]);
}

function printed({ name, type, jsonPath, priority = 0, description = '' }: PrinterColumn): Column {
  return {
    name,
    type: type === 'date' ? 'date' : type,
    priority,
    description,
    cell(object, now) {
      const [value] = valuesAt(object, jsonPath);
      return type === 'date' && value !== undefined ? ageOf(value, now) : (value ?? null);
    },
  };
}
