import type { ObjectStore } from '../kubernetes/object-store.ts';
import type { Agenda } from './agenda.ts';

/** Deletes the pods of a Node that is gone, some time after, whatever runs there still, as Kubernetes's pod GC does. */
export function runPodGc(settings: {
  readonly store: ObjectStore;
  readonly agenda: Agenda;
  readonly podGcSeconds: number;
}): void {
  const { store, agenda, podGcSeconds } = settings;
  const collect = (node: string) => {
    if (store.get('nodes', node) !== undefined) return;
    for (const { spec, metadata } of store.list('pods')) {
      if (spec?.nodeName === node) store.delete('pods', metadata.name, { namespace: metadata.namespace });
    }
  };
  store.onChange(({ type, resource, object }) => {
    if (resource === 'nodes' && type === 'DELETED') agenda.after(podGcSeconds, () => collect(object.metadata.name));
  });
}
