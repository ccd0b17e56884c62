import { type ApiError, badRequest, invalid, notFound } from './api-error.ts';
import type { ApiRequest } from './api-request.ts';
import type { KubeObject, ObjectInput } from './kube-object.ts';
import type { ObjectStore } from './object-store.ts';
import { apiVersionOf, kindName, type ResourceType } from './resource-type.ts';
import { prune, violations } from './structural-schema.ts';

export interface Admitted {
  readonly object: ObjectInput;
  /** For the client to show: fields that nobody knows and that were taken out. */
  readonly warnings: readonly string[];
}

/** What is to be stored of `body`; an ApiError where the API server would refuse it. `stored` is what is there. */
export function admit(
  type: ResourceType,
  body: unknown,
  request: ApiRequest,
  stored: KubeObject | undefined,
): Admitted {
  const input = identified(type, body, request, stored);
  const { object, unknown } = type.schema ? prune(input, type.schema) : { object: input, unknown: [] };
  const warnings = unknown.map((field) => `unknown field "${field}"`);
  const { fieldValidation = 'Warn' } = request.query;
  if (fieldValidation === 'Strict' && warnings.length > 0) throw strict(type, warnings);
  const whole = withStatus(type, object as ObjectInput, request, stored);
  check(type, whole, stored);
  return { object: whole, warnings: fieldValidation === 'Ignore' ? [] : warnings };
}

/** The body as an object of the type, of the name and in the namespace that the path says. */
function identified(
  type: ResourceType,
  body: unknown,
  { name, namespace }: ApiRequest,
  stored: KubeObject | undefined,
): ObjectInput {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) throw badRequest('the body is no object');
  const { apiVersion = apiVersionOf(type), kind = type.kind, metadata = {}, ...rest } = body as Partial<ObjectInput>;
  if (apiVersion !== apiVersionOf(type) || kind !== type.kind) {
    const given = `the API version in the data (${apiVersion}, kind ${kind})`;
    throw badRequest(`${given} does not match the expected API version (${apiVersionOf(type)}, kind ${type.kind})`);
  }
  if (name !== undefined && metadata.name !== undefined && metadata.name !== name) {
    throw badRequest(`the name of the object (${metadata.name}) does not match the name on the URL (${name})`);
  }
  if (type.namespaced && metadata.namespace !== undefined && metadata.namespace !== namespace) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  }
  const place = { name: metadata.name ?? name, namespace: type.namespaced ? namespace : undefined };
  // An empty version is none, as Go's clients send it.
  const resourceVersion = metadata.resourceVersion === '' ? undefined : metadata.resourceVersion;
  const identity = stored ? { uid: metadata.uid ?? stored.metadata.uid } : {};
  return {
    ...rest,
    apiVersion,
    kind,
    metadata: { ...metadata, ...identity, ...place, resourceVersion },
  } as ObjectInput;
}

/** Where status is a subresource, the one kind of write leaves it as it is, and the other leaves all else. */
function withStatus(
  type: ResourceType,
  object: ObjectInput,
  { subresource }: ApiRequest,
  stored: KubeObject | undefined,
): ObjectInput {
  if (!type.status) return object;
  if (!stored) return type.custom ? { ...object, status: undefined } : object;
  if (subresource !== 'status') return { ...object, status: stored.status };
  const { resourceVersion, uid } = object.metadata;
  return { ...stored, metadata: { ...stored.metadata, resourceVersion, uid }, status: object.status } as ObjectInput;
}

function check(type: ResourceType, object: ObjectInput, stored: KubeObject | undefined): void {
  const name = object.metadata.name ?? '';
  const causes = type.schema ? [...violations(JSON.parse(JSON.stringify(object)), type.schema)] : [];
  if (type.custom && stored && object.metadata.resourceVersion === undefined) {
    const message = 'Invalid value: 0x0: must be specified for an update';
    causes.push({ reason: 'FieldValueInvalid', message, field: 'metadata.resourceVersion' });
  }
  if (name !== '' && !NAME.test(name) && !type.group.startsWith('rbac.')) causes.push(badName(name));
  if (type.resource === 'events' && !stored) causes.push(...eventCauses(object));
  if (causes.length > 0) throw invalid(kindName(type), name, causes);
}

/** RFC 1123, in lower case. */
const NAME = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/;

function badName(name: string) {
  const rule = 'a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, "-" or "."';
  const message = `Invalid value: ${JSON.stringify(name)}: ${rule}, and must start and end with an alphanumeric character`;
  return { reason: 'FieldValueInvalid', message, field: 'metadata.name' };
}

/** An event is where its object is; one about an object of no namespace is in `default`. */
function eventCauses({ metadata, involvedObject }: ObjectInput) {
  const { namespace = '' } = (involvedObject ?? {}) as { namespace?: string };
  if (namespace === metadata.namespace || (namespace === '' && metadata.namespace === 'default')) return [];
  const message = `Invalid value: ${JSON.stringify(namespace)}: does not match event.namespace`;
  return [{ reason: 'FieldValueInvalid', message, field: 'involvedObject.namespace' }];
}

function strict({ kind, version }: ResourceType, warnings: readonly string[]): ApiError {
  const why = `strict decoding error: ${warnings.join(', ')}`;
  return badRequest(`${kind} in version "${version}" cannot be handled as a ${kind}: ${why}`);
}

/** Nothing is created in a namespace that is not there. */
export function checkNamespace(store: ObjectStore, { namespaced }: ResourceType, namespace: string | undefined): void {
  if (!namespaced) return;
  if (namespace === undefined) throw badRequest('an object of this kind is in a namespace: the path must name one');
  if (!store.get('namespaces', namespace)) {
    throw notFound({ group: '', resource: 'namespaces', name: namespace });
  }
}
