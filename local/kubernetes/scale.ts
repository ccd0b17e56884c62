import { badRequest } from './api-error.ts';
import { valuesAt } from './json-path.ts';
import type { KubeObject } from './kube-object.ts';
import type { ScalePaths } from './resource-type.ts';

/** An object as the scale subresource shows it. */
export function scaleOf(object: KubeObject, { specReplicasPath, statusReplicasPath }: ScalePaths): object {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  return {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
    spec: { replicas: valuesAt(object, specReplicasPath)[0] ?? 0 },
    status: { replicas: valuesAt(object, statusReplicasPath)[0] ?? 0 },
  };
}

export interface WantedScale {
  readonly metadata?: { readonly resourceVersion?: string };
  readonly replicas: number;
}

/** What is asked for by a Scale that somebody has written. */
export function replicasOf(scale: unknown): WantedScale {
  const { metadata, spec } = (scale ?? {}) as { metadata?: WantedScale['metadata']; spec?: { replicas?: unknown } };
  const replicas = spec?.replicas;
  if (typeof replicas !== 'number') throw badRequest('a Scale needs spec.replicas, a whole number');
  return { replicas, ...(metadata && { metadata }) };
}
