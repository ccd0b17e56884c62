import { isDeepStrictEqual } from 'node:util';
import { conflict, invalid, type Named } from './api-error.ts';
import { groupOf, type KubeObject, type ObjectInput, type ObjectMeta } from './kube-object.ts';

/** What a write may be made to depend on. */
export interface Versioned {
  readonly uid?: string | undefined;
  readonly resourceVersion?: string | undefined;
}

export function named(resource: string, { apiVersion }: Pick<ObjectInput, 'apiVersion'>, name: string): Named {
  return { group: groupOf(apiVersion), resource, name };
}

function qualifiedKind({ apiVersion, kind }: Pick<ObjectInput, 'apiVersion' | 'kind'>): string {
  const group = groupOf(apiVersion);
  return group === '' ? kind : `${kind}.${group}`;
}

export function nameless(input: ObjectInput): Error {
  const message = 'Required value: name or generateName is required';
  return invalid(qualifiedKind(input), '', [{ reason: 'FieldValueRequired', message, field: 'metadata.name' }]);
}

export function finalizersAfterDeletion(stored: KubeObject, added: readonly string[]): Error {
  const found = `found new finalizers []string{${added.map((finalizer) => `"${finalizer}"`).join(', ')}}`;
  const message = `Forbidden: no new finalizers can be added if the object is being deleted, ${found}`;
  const cause = { reason: 'FieldValueForbidden', message, field: 'metadata.finalizers' };
  return invalid(qualifiedKind(stored), stored.metadata.name, [cause]);
}

const MODIFIED = 'the object has been modified; please apply your changes to the latest version and try again';

export function checkVersion(what: Named, stored: KubeObject, given: Partial<ObjectMeta>): void {
  const { uid, resourceVersion } = stored.metadata;
  if (given.uid !== undefined && given.uid !== uid) {
    throw conflict(what, `Precondition failed: UID in precondition: ${given.uid}, UID in object meta: ${uid}`);
  }
  if (given.resourceVersion !== undefined && given.resourceVersion !== resourceVersion) throw conflict(what, MODIFIED);
}

export function checkPreconditions(what: Named, stored: KubeObject, given: Versioned): void {
  const { uid, resourceVersion } = stored.metadata;
  if (given.uid !== undefined && given.uid !== uid) {
    const why = `the UID in the precondition (${given.uid}) does not match the UID in record (${uid})`;
    throw conflict(what, `${why}. The object might have been deleted and then recreated`);
  }
  if (given.resourceVersion !== undefined && given.resourceVersion !== resourceVersion) {
    const record = `the ResourceVersion in record (${resourceVersion})`;
    const why = `the ResourceVersion in the precondition (${given.resourceVersion}) does not match ${record}`;
    throw conflict(what, `${why}. The object might have been modified`);
  }
}

export function isFree({ metadata }: KubeObject): boolean {
  return (metadata.finalizers?.length ?? 0) === 0;
}

/** Whether two differ in metadata and status alone. */
export function sameSpec(a: KubeObject, b: KubeObject): boolean {
  const { metadata: _a, status: _c, ...one } = a;
  const { metadata: _b, status: _d, ...other } = b;
  return isDeepStrictEqual(one, other);
}
