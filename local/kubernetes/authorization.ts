import { ApiError } from './api-error.ts';
import type { ApiRequest } from './api-request.ts';
import type { KubeObject } from './kube-object.ts';
import type { ObjectStore } from './object-store.ts';

export interface Identity {
  readonly name: string;
  readonly groups: readonly string[];
}

/** Whoever is of this group may do everything. */
export const ADMINISTRATORS = 'system:masters';

interface Rule {
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

interface RoleRef {
  readonly kind: string;
  readonly name: string;
}

interface Subject {
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string;
}

/** RBAC: whether a role that is bound to `user` allows the request; 403 in the words of the API server otherwise. */
export function authorize(store: ObjectStore, user: Identity, request: ApiRequest): void {
  // What is not about resources (discovery, version, schemas) is open to whoever is known.
  if (request.resource === '' || user.groups.includes(ADMINISTRATORS)) return;
  if (rulesFor(store, user, request.namespace).some((rule) => allows(rule, request))) return;
  const { group, resource, subresource, namespace, name, verb } = request;
  const kind = group === '' ? resource : `${resource}.${group}`;
  const whole = subresource === '' ? resource : `${resource}/${subresource}`;
  const where = namespace === undefined ? 'at the cluster scope' : `in the namespace "${namespace}"`;
  const what = name === undefined ? kind : `${kind} "${name}"`;
  const message = `${what} is forbidden: User "${user.name}" cannot ${verb} resource "${whole}" in API group "${group}" ${where}`;
  const details = { ...(name !== undefined && { name }), ...(group !== '' && { group }), kind: resource };
  throw new ApiError(403, 'Forbidden', message, details);
}

function rulesFor(store: ObjectStore, user: Identity, namespace: string | undefined): readonly Rule[] {
  const wide = store.list('clusterrolebindings').filter((binding) => isBound(binding, user));
  const narrow = namespace === undefined ? [] : store.list('rolebindings', namespace).filter((it) => isBound(it, user));
  return [...wide, ...narrow].flatMap(({ roleRef, metadata }) => {
    const { kind, name } = roleRef as RoleRef;
    const role = kind === 'Role' ? store.get('roles', name, metadata.namespace) : store.get('clusterroles', name);
    return (role?.rules ?? []) as readonly Rule[];
  });
}

function isBound({ subjects }: KubeObject, { name, groups }: Identity): boolean {
  return ((subjects ?? []) as readonly Subject[]).some((subject) =>
    subject.kind === 'Group' ? groups.includes(subject.name) : subject.kind === 'User' && subject.name === name,
  );
}

function allows(rule: Rule, { group, resource, subresource, name, verb }: ApiRequest): boolean {
  const { apiGroups = [], resources = [], resourceNames = [], verbs } = rule;
  const whole = subresource === '' ? resource : `${resource}/${subresource}`;
  const has = (list: readonly string[], ...items: string[]) =>
    list.includes('*') || items.some((it) => list.includes(it));
  const named = resourceNames.length === 0 || (name !== undefined && resourceNames.includes(name));
  return named && has(verbs, verb) && has(apiGroups, group) && has(resources, whole, `*/${subresource}`);
}
