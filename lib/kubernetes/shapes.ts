import * as z from 'zod/mini';
import type { GameServerNodeObject, ObservedGameServer, ObservedNode, ObservedPod } from '../scaler/observation.ts';
import type { EpochMs } from '../time.ts';

/**
 * The parts of Kubernetes's objects that the scaler looks at; everything else is dropped, so that a cluster's pods fit into a
 * small memory. What decides about nodes and games must be as expected; what is merely told on may be missing.
 */

const text = z.string({ error: 'a text' });
const bool = z.boolean({ error: 'true or false' });
/** Go leaves out what is empty; what came through a custom resource may say null. */
const texts = z.nullish(z.record(text, text, { error: 'texts by name' }));

const time = z.pipe(
  z.iso.datetime({ offset: true, error: 'a time as in RFC 3339' }),
  z.transform((at) => Date.parse(at) as EpochMs),
);

/** Of paths of requests, keys of tables and every message: what Kubernetes lets nobody have is not taken from whoever is there. */
const NAME = 'a name of 1 to 253 characters that may stand in a path';
const name = z.string({ error: NAME }).check(z.regex(/^(?!\.{1,2}$)[^\p{C}\p{Z}/%]{1,253}$/u, { error: NAME }));

const named = { name, uid: text, resourceVersion: text };

function shape<T extends z.core.$ZodLooseShape>(fields: T) {
  return z.object(fields, { error: 'an object' });
}

function list<S extends z.ZodMiniType>(item: S) {
  return z.nullish(z.array(item, { error: 'a list' }));
}

const node = shape({
  metadata: shape({
    ...named,
    labels: texts,
    annotations: texts,
    creationTimestamp: time,
    deletionTimestamp: z.nullish(text),
  }),
  spec: z.nullish(
    shape({
      providerID: z.nullish(text),
      unschedulable: z.nullish(bool),
      taints: list(shape({ key: text })),
    }),
  ),
  status: z.nullish(
    shape({
      conditions: list(shape({ type: text, status: text })),
      allocatable: texts,
      nodeInfo: z.nullish(shape({ machineID: z.nullish(text), systemUUID: z.nullish(text) })),
    }),
  ),
});

const pod = shape({
  metadata: shape({
    name,
    namespace: name,
    labels: texts,
    ownerReferences: list(shape({ kind: text, controller: z.nullish(bool) })),
  }),
  spec: z.nullish(shape({ nodeName: z.nullish(text) })),
  status: z.nullish(shape({ phase: z.nullish(text) })),
});

const gameServer = shape({
  metadata: shape({
    ...named,
    namespace: name,
    annotations: texts,
    creationTimestamp: z.nullish(z.unknown()),
    deletionTimestamp: z.nullish(text),
  }),
  status: z.nullish(shape({ state: z.nullish(text), nodeName: z.nullish(text) })),
});

const gameServerNode = shape({
  metadata: shape({ ...named, generation: z.number({ error: 'a number' }), creationTimestamp: time }),
  spec: z.optional(z.unknown()),
  status: z.optional(z.unknown()),
});

const service = shape({
  status: z.nullish(
    shape({
      loadBalancer: z.nullish(shape({ ingress: list(shape({ hostname: z.nullish(text), ip: z.nullish(text) })) })),
    }),
  ),
});

/** How objects of one kind are read. */
export interface Shape<T> {
  /** In plural, for messages. */
  readonly kind: string;
  readonly schema: z.ZodMiniType<T, unknown>;
}

function shapeOf<S extends z.ZodMiniType, T>(kind: string, schema: S, narrow: (value: z.output<S>) => T): Shape<T> {
  return { kind, schema: z.pipe(schema, z.transform(narrow)) as unknown as z.ZodMiniType<T, unknown> };
}

export const NODES: Shape<ObservedNode> = shapeOf('nodes', node, ({ metadata, spec, status }) => ({
  name: metadata.name,
  uid: metadata.uid,
  resourceVersion: metadata.resourceVersion,
  providerId: spec?.providerID ?? '',
  ...machineIdOf(status?.nodeInfo ?? {}),
  labels: metadata.labels ?? {},
  annotations: metadata.annotations ?? {},
  taints: (spec?.taints ?? []).map(({ key }) => key),
  unschedulable: spec?.unschedulable ?? false,
  ready: (status?.conditions ?? []).some(({ type, status: is }) => type === 'Ready' && is === 'True'),
  createdAt: metadata.creationTimestamp,
  deleting: isSet(metadata.deletionTimestamp),
  // Berth's own table says so, not the cluster.
  ineligible: false,
  allocatable: status?.allocatable ?? {},
}));

/** Both: images are cloned with their machine id, and boards are sold with one UUID. */
function machineIdOf({
  machineID,
  systemUUID,
}: {
  readonly machineID?: string | null | undefined;
  readonly systemUUID?: string | null | undefined;
}): { readonly machineId?: string } {
  return machineID && systemUUID ? { machineId: `${systemUUID}/${machineID}` } : {};
}

export const PODS: Shape<ObservedPod> = shapeOf('pods', pod, ({ metadata, spec, status }) => {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
  return {
    namespace: metadata.namespace,
    name: metadata.name,
    ...(spec?.nodeName ? { nodeName: spec.nodeName } : {}),
    labels: metadata.labels ?? {},
    ...(owner === undefined ? {} : { ownerKind: owner.kind }),
    // One that says nothing counts as running.
    phase: status?.phase ?? '',
  };
});

export const GAME_SERVERS: Shape<ObservedGameServer> = shapeOf('gameservers', gameServer, ({ metadata, status }) => ({
  namespace: metadata.namespace,
  name: metadata.name,
  uid: metadata.uid,
  resourceVersion: metadata.resourceVersion,
  ...(status?.nodeName ? { nodeName: status.nodeName } : {}),
  // Before Agones has looked at it. No state that is known is one that keeps its node.
  state: status?.state ?? '',
  deleting: isSet(metadata.deletionTimestamp),
  development: metadata.annotations?.['agones.dev/dev-address'] !== undefined,
  ...createdAtOf(metadata.creationTimestamp),
}));

/** Of a server it decides about nothing, so that nothing but what is a time is no reason to read none. */
function createdAtOf(at: unknown): { readonly createdAt?: EpochMs } {
  const read = time.safeParse(at);
  return read.success ? { createdAt: read.data } : {};
}

export const GAME_SERVER_NODES: Shape<GameServerNodeObject> = shapeOf(
  'gameservernodes',
  gameServerNode,
  ({ metadata, spec, status }) => ({
    name: metadata.name,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    generation: metadata.generation,
    createdAt: metadata.creationTimestamp,
    spec,
    status,
  }),
);

/** Addresses of a Service's load balancer; empty: it has none. */
export const SERVICES: Shape<readonly string[]> = shapeOf('services', service, ({ status }) =>
  (status?.loadBalancer?.ingress ?? []).map(({ hostname, ip }) => hostname || ip || '').filter((host) => host !== ''),
);

function isSet(value: string | null | undefined): boolean {
  return value !== undefined && value !== null;
}
