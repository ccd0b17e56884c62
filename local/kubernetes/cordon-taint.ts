import type { Clock } from '../../lib/time.ts';
import { kubeTime, type ObjectStore } from './object-store.ts';

const KEY = 'node.kubernetes.io/unschedulable';

interface Taint {
  readonly key: string;
  readonly effect: string;
}

/**
 * What the node lifecycle controller does about a cordon: while `spec.unschedulable` is true the node has a taint, so
 * its version moves on once more after the write that cordoned it. The answer ends it.
 */
export function keepCordonTaints(store: ObjectStore, clock: Clock): () => void {
  return store.onChange(({ type, resource, object: { metadata } }) => {
    if (resource !== 'nodes' || type === 'DELETED') return;
    const node = store.get(resource, metadata.name);
    if (!node) return;
    const taints: readonly Taint[] = node.spec?.taints ?? [];
    const others = taints.filter(({ key }) => key !== KEY);
    const cordoned = node.spec?.unschedulable === true;
    if (cordoned === others.length < taints.length) return;
    const taint = { key: KEY, effect: 'NoSchedule', timeAdded: kubeTime(clock()) };
    const next = cordoned ? [...others, taint] : others;
    store.update(resource, { ...node, spec: { ...node.spec, taints: next.length > 0 ? next : undefined } });
  });
}
