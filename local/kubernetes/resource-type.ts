import type { Schema } from './structural-schema.ts';

/** A column of `kubectl get`, as a CRD describes it. */
export interface PrinterColumn {
  readonly name: string;
  /** `date` is shown as an age. */
  readonly type: string;
  readonly jsonPath: string;
  readonly description?: string;
  /** Above 0: shown by `-o wide` alone. */
  readonly priority?: number;
}

/** Where a scale subresource finds its numbers: `.spec.replicas`. */
export interface ScalePaths {
  readonly specReplicasPath: string;
  readonly statusReplicasPath: string;
}

export interface ResourceType {
  /** Empty for the core's. */
  readonly group: string;
  readonly version: string;
  /** The plural. */
  readonly resource: string;
  readonly singular: string;
  readonly kind: string;
  readonly shortNames: readonly string[];
  readonly namespaced: boolean;
  /** A custom resource's: no strategic merge patch, and every update must name its version. */
  readonly custom: boolean;
  /** Whether status is a subresource: then no other write changes it. */
  readonly status: boolean;
  readonly scale?: ScalePaths;
  /** Of a custom resource; undefined: name and age. */
  readonly columns?: readonly PrinterColumn[];
  /** Undefined: any JSON is taken. */
  readonly schema?: Schema;
}

export function apiVersionOf({ group, version }: Pick<ResourceType, 'group' | 'version'>): string {
  return group === '' ? version : `${group}/${version}`;
}

/** `GameServerNode.stable.agones.dev`, as errors of the API server call it. */
export function kindName({ group, kind }: Pick<ResourceType, 'group' | 'kind'>): string {
  return group === '' ? kind : `${kind}.${group}`;
}

interface Traits {
  readonly namespaced?: boolean;
  readonly status?: boolean;
  readonly plural?: string;
}

function builtIn(group: string, kind: string, shortNames: readonly string[], traits: Traits = {}): ResourceType {
  const singular = kind.toLowerCase();
  const { namespaced = false, status = false, plural = `${singular}s` } = traits;
  return { group, version: 'v1', resource: plural, singular, kind, shortNames, namespaced, custom: false, status };
}

function agones(kind: string, shortNames: readonly string[], more: Partial<ResourceType>): ResourceType {
  return { ...builtIn('agones.dev', kind, shortNames, { namespaced: true }), custom: true, ...more };
}

const AGE: PrinterColumn = { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' };

/** Columns of sets of game servers, as Agones's CRDs have them. */
const SET_COLUMNS: readonly PrinterColumn[] = [
  { name: 'Scheduling', type: 'string', jsonPath: '.spec.scheduling' },
  { name: 'Desired', type: 'integer', jsonPath: '.spec.replicas' },
  { name: 'Current', type: 'integer', jsonPath: '.status.replicas' },
  { name: 'Allocated', type: 'integer', jsonPath: '.status.allocatedReplicas' },
  { name: 'Ready', type: 'integer', jsonPath: '.status.readyReplicas' },
  AGE,
];

const SET: Partial<ResourceType> = {
  status: true,
  scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' },
  columns: SET_COLUMNS,
};

const RBAC = 'rbac.authorization.k8s.io';

/** What is served whatever is installed; custom resources come with their definitions (custom-resources.ts). */
export const BUILT_IN: readonly ResourceType[] = [
  builtIn('', 'Namespace', ['ns'], { status: true }),
  builtIn('', 'Node', ['no'], { status: true }),
  builtIn('', 'Pod', ['po'], { namespaced: true, status: true }),
  builtIn('', 'Service', ['svc'], { namespaced: true, status: true }),
  builtIn('', 'ConfigMap', ['cm'], { namespaced: true }),
  builtIn('', 'Event', ['ev'], { namespaced: true }),
  builtIn('coordination.k8s.io', 'Lease', [], { namespaced: true }),
  builtIn('apiextensions.k8s.io', 'CustomResourceDefinition', ['crd', 'crds'], { status: true }),
  builtIn(RBAC, 'ClusterRole', []),
  builtIn(RBAC, 'ClusterRoleBinding', []),
  builtIn(RBAC, 'Role', [], { namespaced: true }),
  builtIn(RBAC, 'RoleBinding', [], { namespaced: true }),
  // As install/helm/agones/templates/crds has it: the state is no subresource, it changes with everything else.
  agones('GameServer', ['gs'], {
    columns: [
      { name: 'State', type: 'string', jsonPath: '.status.state' },
      { name: 'Address', type: 'string', jsonPath: '.status.address' },
      { name: 'Port', type: 'string', jsonPath: '.status.ports[0].port' },
      { name: 'Node', type: 'string', jsonPath: '.status.nodeName' },
      AGE,
    ],
  }),
  agones('Fleet', ['flt'], SET),
  agones('GameServerSet', ['gss'], SET),
];
