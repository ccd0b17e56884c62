import { applyPatch, type Operation } from 'rfc6902';
import { ApiError, badRequest } from './api-error.ts';

type Members = Readonly<Record<string, unknown>>;

function isMembers(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** RFC 7386. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isMembers(patch)) return patch;
  const merged: Record<string, unknown> = isMembers(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete merged[name];
    else merged[name] = mergePatch(merged[name], value);
  }
  return merged;
}

/** RFC 6902. A test that fails, and a path that is not there, is 422, as the API server has it. */
export function jsonPatch(target: unknown, operations: unknown): unknown {
  if (!Array.isArray(operations)) throw badRequest('a JSON Patch is a list of operations');
  const patched = structuredClone(target);
  const error = applyPatch(patched, operations as Operation[]).find((result) => result !== null);
  if (error) {
    throw new ApiError(422, 'Invalid', 'the server rejected our request due to an error in our request', {
      causes: [{ reason: 'UnexpectedServerResponse', message: error.message, field: '' }],
    });
  }
  return patched;
}

/**
 * By the name of the field: what tells the items of a list apart, so that a patch of one leaves the others. Lists that
 * are not here, `taints` among them, are replaced whole (patchMergeKey in k8s.io/api/core/v1/types.go).
 */
const MERGE_KEYS: Readonly<Record<string, string>> = {
  conditions: 'type',
  addresses: 'type',
  ownerReferences: 'uid',
  containers: 'name',
  initContainers: 'name',
  volumes: 'name',
  env: 'name',
  podIPs: 'ip',
};

/** Lists of texts that a patch adds to. */
const SETS: readonly string[] = ['finalizers', 'podCIDRs'];

const DELETE_FROM = '$deleteFromPrimitiveList/';
const ORDER_OF = '$setElementOrder/';

/** Strategic merge patch, as far as the lists of nodes, pods, services and events need it. */
export function strategicMergePatch(target: unknown, patch: unknown): unknown {
  if (!isMembers(patch)) return patch;
  const { $patch: directive, $retainKeys: _, ...members } = patch;
  if (directive === 'replace') return members;
  const merged: Record<string, unknown> = isMembers(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(members)) {
    if (name.startsWith(ORDER_OF)) continue;
    if (name.startsWith(DELETE_FROM)) {
      const field = name.slice(DELETE_FROM.length);
      merged[field] = listOf(merged[field]).filter((item) => !listOf(value).includes(item));
    } else if (value === null || (isMembers(value) && value.$patch === 'delete')) delete merged[name];
    else if (SETS.includes(name)) merged[name] = [...new Set([...listOf(merged[name]), ...listOf(value)])];
    else if (MERGE_KEYS[name] && Array.isArray(value)) merged[name] = mergedList(merged[name], value, MERGE_KEYS[name]);
    else merged[name] = strategicMergePatch(merged[name], value);
  }
  return merged;
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function mergedList(target: unknown, patch: readonly unknown[], key: string): unknown[] {
  const items = patch.filter(isMembers);
  if (items.some(({ $patch, ...rest }) => $patch === 'replace' && Object.keys(rest).length === 0)) {
    return items.filter((item) => item.$patch === undefined);
  }
  const merged = [...listOf(target)];
  for (const item of items) {
    const at = merged.findIndex((other) => isMembers(other) && other[key] === item[key]);
    if (item.$patch === 'delete') {
      if (at >= 0) merged.splice(at, 1);
    } else if (at >= 0) merged[at] = strategicMergePatch(merged[at], item);
    else merged.push(strategicMergePatch(undefined, item));
  }
  return merged;
}
