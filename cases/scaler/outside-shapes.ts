import type { ObservedNode } from '../../lib/scaler/observation.ts';
import type { EpochMs } from '../../lib/time.ts';
import type { KubeObject, ObjectInput } from '../../local/kubernetes/kube-object.ts';
import type { NodeSettings } from '../../local/outside/cluster-objects.ts';
import type { Instance } from '../../local/outside/scaling-group.ts';
import type { NodeCase } from './case.ts';
import { at } from './scene.ts';

/** What a case says of things, in the form of the simulated services. */

/** The controller of a pod that is none of a game. */
export const DAEMON_SET = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'agent', uid: 'of-agent' };

/** A node for the simulated cluster, as the pure way sees it. */
export function nodeSettings(node: ObservedNode, one: NodeCase, now: EpochMs): NodeSettings {
  const { name, providerId, labels, annotations, taints, unschedulable, ready, createdAt, deleting } = node;
  return {
    ...{ name, labels, annotations, taints: taints.map((key) => ({ key })), unschedulable, ready, createdAt },
    ...(providerId === '' ? {} : { providerId }),
    ...(deleting ? { deletedAt: typeof one.deletionTimestamp === 'string' ? at(one.deletionTimestamp) : now } : {}),
  };
}

/** The instance that a node of a case is. */
export function instanceOf({ providerID = '' }: NodeCase): string | undefined {
  return /\/(i-[0-9a-z]+)$/.exec(providerID)?.[1];
}

/** A machine of a group. */
export function instanceIn(id: string, state: string, launchedAt: EpochMs): Instance {
  return { id, state, launchedAt, zone: 'us-east-1a', healthy: true, protectedFromScaleIn: false };
}

/** `there` with the content of `input`, and its own name, uid and version. */
export function replaced(there: KubeObject, input: ObjectInput): ObjectInput {
  return { ...input, metadata: { ...there.metadata, ...input.metadata } };
}

/** Of another version, whatever else is changed. */
export function touched(one: KubeObject): ObjectInput {
  const annotations = { ...one.metadata.annotations, touched: one.metadata.resourceVersion };
  return { ...one, metadata: { ...one.metadata, annotations } };
}
