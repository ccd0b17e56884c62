import type { Clock } from '../../lib/time.ts';
import { type Admitted, admit, checkNamespace } from './admission.ts';
import { ApiError, badRequest, notFound } from './api-error.ts';
import type { ApiRequest } from './api-request.ts';
import type { ResourceTypes } from './custom-resources.ts';
import { withValueAt } from './json-path.ts';
import type { KubeObject, ObjectInput } from './kube-object.ts';
import type { DeleteOptions, ObjectStore } from './object-store.ts';
import type { PagedLists } from './paged-lists.ts';
import { jsonPatch, mergePatch, strategicMergePatch } from './patches.ts';
import { apiVersionOf, kindName, type ResourceType } from './resource-type.ts';
import { replicasOf, scaleOf } from './scale.ts';
import { fieldSelector, labelSelector, type Selector } from './selectors.ts';
import { tableOf, tableVersion } from './table.ts';

export interface ApiAnswer {
  readonly status: number;
  readonly body: object;
  readonly warnings?: readonly string[];
}

export interface ObjectApiOptions {
  readonly store: ObjectStore;
  readonly types: ResourceTypes;
  readonly lists: PagedLists;
  readonly clock: Clock;
  /** Whether somebody plays the kubelets: a pod that is bound then goes only when it is deleted with no grace. */
  readonly kubelets: boolean;
}

/** Seconds that a pod is given which says nothing else. */
const POD_GRACE_SECONDS = 30;

/** The verbs of the API over a store, each done at once: what a request has read, nobody has changed before it writes. */
export class ObjectApi {
  readonly #store: ObjectStore;
  readonly #types: ResourceTypes;
  readonly #lists: PagedLists;
  readonly #clock: Clock;
  readonly #kubelets: boolean;

  constructor({ store, types, lists, clock, kubelets }: ObjectApiOptions) {
    this.#store = store;
    this.#types = types;
    this.#lists = lists;
    this.#clock = clock;
    this.#kubelets = kubelets;
  }

  /** Every verb but watch. Errors are ApiError. */
  handle(request: ApiRequest): ApiAnswer {
    const type = this.typeOf(request);
    if (request.subresource === 'scale') return this.#scale(type, request);
    switch (request.verb) {
      case 'get':
        return this.#show(type, this.#stored(type, request), 200, request);
      case 'list':
        return this.#list(type, request);
      case 'create':
        return this.#create(type, request);
      case 'update':
        return this.#update(type, request.body, request, this.#find(type, request));
      case 'patch':
        return this.#patch(type, request);
      case 'delete':
        return this.#delete(type, this.#stored(type, request), request);
      case 'deletecollection':
        return this.#deleteCollection(type, request);
      case 'watch':
        throw new Error('a watch is no request with one answer');
    }
  }

  typeOf({ group, version, resource, subresource }: ApiRequest): ResourceType {
    const type = this.#types.find(group, version, resource);
    const served =
      subresource === '' || (subresource === 'status' && type?.status) || (subresource === 'scale' && type?.scale);
    if (!type || !served) throw nothingThere();
    return type;
  }

  /** What of a resource a list or watch is about. */
  matching(type: ResourceType, { query, namespace, name }: ApiRequest): Selector {
    const labels = labelSelector(query.labelSelector);
    const fields = fieldSelector(query.fieldSelector, type);
    return (object) =>
      (namespace === undefined || object.metadata.namespace === namespace) &&
      (name === undefined || object.metadata.name === name) &&
      labels(object) &&
      fields(object);
  }

  /** An object as a client is shown it: itself, or a table of one row. */
  shown(type: ResourceType, object: KubeObject, { accept, query }: ApiRequest): object {
    const version = tableVersion(accept);
    if (version === undefined) return object;
    const { resourceVersion } = object.metadata;
    const { includeObject = 'Metadata' } = query;
    return tableOf(type, [object], { resourceVersion }, { version, includeObject, now: this.#clock() });
  }

  #show(type: ResourceType, object: KubeObject, status: number, request: ApiRequest, from?: Admitted): ApiAnswer {
    return { status, body: this.shown(type, object, request), warnings: from?.warnings ?? [] };
  }

  #find(type: ResourceType, { name = '', namespace }: ApiRequest): KubeObject | undefined {
    return this.#store.get(type.resource, name, namespace);
  }

  #stored(type: ResourceType, request: ApiRequest): KubeObject {
    const object = this.#find(type, request);
    if (!object) throw missing(type, request);
    return object;
  }

  #list(type: ResourceType, request: ApiRequest): ApiAnswer {
    const { query, accept } = request;
    const selects = Boolean(query.labelSelector) || Boolean(query.fieldSelector);
    const page = this.#lists.page({
      resource: type.resource,
      matches: this.matching(type, request),
      // A list of any state comes from the cache of the API server, which knows no pages.
      limit: query.resourceVersion === '0' ? 0 : limitOf(query.limit),
      continueToken: query.continue || undefined,
    });
    const metadata = {
      resourceVersion: page.resourceVersion,
      ...(page.continueToken !== undefined && { continue: page.continueToken }),
      ...(page.remaining !== undefined && !selects && { remainingItemCount: page.remaining }),
    };
    const version = tableVersion(accept);
    if (version !== undefined) {
      const { includeObject = 'Metadata' } = query;
      const body = tableOf(type, page.items, metadata, { version, includeObject, now: this.#clock() });
      return { status: 200, body };
    }
    const items = type.custom ? page.items : page.items.map(withoutKind);
    return { status: 200, body: { kind: `${type.kind}List`, apiVersion: apiVersionOf(type), metadata, items } };
  }

  #create(type: ResourceType, request: ApiRequest): ApiAnswer {
    checkNamespace(this.#store, type, request.namespace);
    const admitted = admit(type, request.body, request, undefined);
    const { resourceVersion } = admitted.object.metadata;
    if (resourceVersion !== undefined) throw badRequest('resourceVersion should not be set on objects to be created');
    const object = this.#store.create(type.resource, admitted.object, { dryRun: isDryRun(request) });
    return this.#show(type, object, 201, request, admitted);
  }

  #update(type: ResourceType, body: unknown, request: ApiRequest, stored: KubeObject | undefined): ApiAnswer {
    if (!stored) throw missing(type, request);
    const admitted = admit(type, body, request, stored);
    const object = this.#store.update(type.resource, admitted.object, { dryRun: isDryRun(request) });
    return this.#show(type, object, 200, request, admitted);
  }

  #patch(type: ResourceType, request: ApiRequest): ApiAnswer {
    const { contentType, body, query } = request;
    const stored = this.#find(type, request);
    if (contentType === 'application/apply-patch+yaml') {
      if (!query.fieldManager) throw badRequest('fieldManager is required for apply patch');
      if (!stored) return this.#create(type, request);
    }
    if (!stored) throw missing(type, request);
    return this.#update(type, patched(type, stored, contentType, body), request, stored);
  }

  #delete(type: ResourceType, stored: KubeObject, request: ApiRequest): ApiAnswer {
    const { name, namespace, uid } = stored.metadata;
    const options = deleteOptions(request);
    const gracePeriodSeconds = this.#graceOf(type, stored, options.gracePeriodSeconds);
    const object = this.#store.delete(type.resource, name, { ...options, namespace, gracePeriodSeconds });
    if (type.resource === 'pods' || this.#store.get(type.resource, name, namespace)?.metadata.uid === uid) {
      return this.#show(type, object, 200, request);
    }
    const details = { name, ...(type.group !== '' && { group: type.group }), kind: type.resource, uid };
    return { status: 200, body: { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details } };
  }

  #graceOf({ resource }: ResourceType, { spec }: KubeObject, given: number | undefined): number {
    if (!this.#kubelets || resource !== 'pods' || !spec?.nodeName) return 0;
    return given ?? spec.terminationGracePeriodSeconds ?? POD_GRACE_SECONDS;
  }

  #deleteCollection(type: ResourceType, request: ApiRequest): ApiAnswer {
    const matches = this.matching(type, request);
    const items = this.#store.list(type.resource).filter(matches);
    for (const object of items) this.#delete(type, object, request);
    const metadata = { resourceVersion: this.#store.resourceVersion };
    return { status: 200, body: { kind: `${type.kind}List`, apiVersion: apiVersionOf(type), metadata, items } };
  }

  #scale(type: ResourceType, request: ApiRequest): ApiAnswer {
    const stored = this.#stored(type, request);
    const paths = type.scale;
    if (!paths) throw nothingThere();
    const scale = scaleOf(stored, paths);
    if (request.verb === 'get') return { status: 200, body: scale };
    const { contentType, body, verb } = request;
    const wanted = verb === 'patch' ? patched({ ...type, custom: true }, scale, contentType, body) : body;
    const { metadata = {}, replicas } = replicasOf(wanted);
    const changed = withValueAt(stored as ObjectInput, paths.specReplicasPath, replicas);
    const resourceVersion = metadata.resourceVersion ?? stored.metadata.resourceVersion;
    const next = { ...changed, metadata: { ...stored.metadata, resourceVersion } };
    const { object } = admit(type, next, { ...request, subresource: '' }, stored);
    const updated = this.#store.update(type.resource, object, { dryRun: isDryRun(request) });
    return { status: 200, body: scaleOf(updated, paths) };
  }
}

/** A path that leads nowhere. */
export function nothingThere(): ApiError {
  return new ApiError(404, 'NotFound', 'the server could not find the requested resource', {});
}

function missing({ group, resource }: ResourceType, { name = '' }: ApiRequest): ApiError {
  return notFound({ group, resource, name });
}

/** As the API server lists what is built in: the list says what its items are. */
function withoutKind({ apiVersion: _, kind: __, ...rest }: KubeObject): object {
  return rest;
}

function limitOf(text: string | undefined): number {
  const limit = Number(text ?? 0);
  if (!Number.isInteger(limit) || limit < 0) throw badRequest(`limit ${text} is no whole number of 0 or more`);
  return limit;
}

function patched(type: ResourceType, stored: object, contentType: string, patch: unknown): unknown {
  switch (contentType) {
    case 'application/merge-patch+json':
      return mergePatch(stored, patch);
    case 'application/json-patch+json':
      return jsonPatch(stored, patch);
    case 'application/apply-patch+yaml':
      return strategicMergePatch(stored, patch);
    case 'application/strategic-merge-patch+json':
      if (!type.custom) return strategicMergePatch(stored, patch);
  }
  const accepted = ['application/json-patch+json', 'application/merge-patch+json', 'application/apply-patch+yaml'];
  const message = `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}`;
  throw new ApiError(415, 'UnsupportedMediaType', `${message} (${kindName(type)})`);
}

interface DeleteBody {
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
  readonly propagationPolicy?: string;
  readonly gracePeriodSeconds?: number;
  readonly dryRun?: readonly string[];
}

function deleteOptions(request: ApiRequest): DeleteOptions {
  const { query } = request;
  const body = (request.body ?? {}) as DeleteBody;
  const grace = body.gracePeriodSeconds ?? (query.gracePeriodSeconds && Number(query.gracePeriodSeconds));
  return {
    ...body.preconditions,
    propagationPolicy: body.propagationPolicy ?? query.propagationPolicy,
    ...(typeof grace === 'number' && { gracePeriodSeconds: grace }),
    dryRun: isDryRun(request) || body.dryRun?.includes('All') === true,
  };
}

function isDryRun({ query }: ApiRequest): boolean {
  return query.dryRun === 'All';
}
