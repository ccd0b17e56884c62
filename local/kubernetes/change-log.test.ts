import { describe, expect, test } from 'vitest';
import type { EpochMs } from '../../lib/time.ts';
import { node } from './api-test-bed.ts';
import { ChangeLog } from './change-log.ts';
import type { KubeObject } from './kube-object.ts';
import { ObjectStore } from './object-store.ts';

function world() {
  const store = new ObjectStore({ clock: () => 0 as EpochMs, seed: 'test' });
  store.create('nodes', node('a'));
  const log = new ChangeLog(store);
  const seen: string[] = [];
  const watch = (since?: string, matches: (object: KubeObject) => boolean = () => true) =>
    log.watch({ resource: 'nodes', since, matches }, ({ type, object }) =>
      seen.push(`${type} ${object.metadata.name}`),
    );
  const cordon = (name: string, unschedulable: boolean) =>
    store.update('nodes', { ...(store.get('nodes', name) as KubeObject), spec: { unschedulable } });
  return { store, log, seen, watch, cordon };
}

describe('a watch', () => {
  test('without a version begins with what is there, and goes on until it is ended', () => {
    const { store, seen, watch } = world();
    const end = watch();
    store.create('nodes', node('b'));
    store.create('pods', { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p', namespace: 'default' } });
    store.delete('nodes', 'a');
    end();
    store.create('nodes', node('c'));
    expect(seen).toEqual(['ADDED a', 'ADDED b', 'DELETED a']);
  });

  test('from a version shows what was missed since', () => {
    const { store, seen, watch, cordon } = world();
    const since = store.resourceVersion;
    store.create('nodes', node('b'));
    cordon('b', true);
    watch(since);
    expect(seen).toEqual(['ADDED b', 'MODIFIED b']);
  });

  test('shows what begins to match as added, and what ends to as deleted', () => {
    const { seen, watch, cordon } = world();
    watch(undefined, ({ spec }) => spec.unschedulable === true);
    cordon('a', true);
    cordon('a', false);
    expect(seen).toEqual(['ADDED a', 'DELETED a']);
  });

  test('from a version that is forgotten is 410', () => {
    const { store, log, watch } = world();
    const since = store.resourceVersion;
    store.create('nodes', node('b'));
    log.expire();
    expect(() => watch(since)).toThrow(expect.objectContaining({ status: 410, reason: 'Expired' }));
    watch(store.resourceVersion);
  });
});
