import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { EpochMs } from '../../lib/time.ts';
import { ApiError } from './api-error.ts';
import type { ObjectInput } from './kube-object.ts';
import { type Change, ObjectStore } from './object-store.ts';

const AT = Date.parse('2027-03-01T08:00:00.500Z') as EpochMs;

function newStore(): ObjectStore {
  return new ObjectStore({ clock: () => AT, seed: 'test' });
}

function pod(name: string, more: Partial<ObjectInput['metadata']> = {}, spec: object = {}): ObjectInput {
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: 'default', ...more }, spec };
}

function errorOf(act: () => unknown): ApiError {
  try {
    act();
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
  throw new Error('no error');
}

describe('a write', () => {
  test('gives a new object uid, version, generation and time', () => {
    const { metadata } = newStore().create('pods', pod('a'));
    expect(metadata).toMatchObject({
      uid: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/),
      resourceVersion: '1',
      generation: 1,
      creationTimestamp: '2027-03-01T08:00:00Z',
    });
  });

  test('has the same uids in every run with a seed, and never two of one', () => {
    const uids = () => {
      const store = newStore();
      return ['a', 'b'].map((name) => store.create('pods', pod(name)).metadata.uid);
    };
    expect(uids()).toEqual(uids());
    expect(new Set(uids()).size).toBe(2);
  });

  test('of another version than the stored one is refused, and changes nothing', () => {
    const store = newStore();
    const first = store.create('pods', pod('a'));
    const second = store.update('pods', { ...first, spec: { x: 1 } });
    const error = errorOf(() => store.update('pods', { ...first, spec: { x: 2 } }));
    expect(error).toMatchObject({ status: 409, reason: 'Conflict' });
    expect(error.message).toBe(
      'Operation cannot be fulfilled on pods "a": the object has been modified; please apply your changes to the latest version and try again',
    );
    expect(store.get('pods', 'a', 'default')).toBe(second);
  });

  test('counts the generation for a change of the spec, not of labels or status', () => {
    const store = newStore();
    const first = store.create('pods', pod('a'));
    const labelled = store.update('pods', { ...first, metadata: { ...first.metadata, labels: { a: 'b' } } });
    const withStatus = store.updateStatus('pods', {
      ...labelled,
      spec: { ignored: true },
      status: { phase: 'Running' },
    });
    expect(withStatus).toMatchObject({ metadata: { generation: 1, labels: { a: 'b' } }, spec: {} });
    expect(store.update('pods', { ...withStatus, spec: { x: 1 } }).metadata.generation).toBe(2);
  });

  test('that changes nothing leaves the version as it is', () => {
    const store = newStore();
    const first = store.create('pods', pod('a'));
    expect(store.update('pods', structuredClone(first))).toBe(first);
    expect(store.resourceVersion).toBe('1');
  });

  test('keeps what is handed in and out apart from what is stored', () => {
    const store = newStore();
    const spec = { deep: { list: [1] } };
    const stored = store.create('pods', pod('a', {}, spec));
    spec.deep.list.push(2);
    expect(() => stored.spec.deep.list.push(3)).toThrow(TypeError);
    expect(store.get('pods', 'a', 'default')?.spec).toEqual({ deep: { list: [1] } });
  });

  test('on trial is answered and not made', () => {
    const store = newStore();
    store.create('pods', pod('a'), { dryRun: true });
    const stored = store.create('pods', pod('b'));
    expect(store.update('pods', { ...stored, spec: { x: 1 } }, { dryRun: true }).spec).toEqual({ x: 1 });
    store.delete('pods', 'b', { namespace: 'default', dryRun: true });
    expect(store.list('pods')).toEqual([stored]);
  });
});

describe('deleting', () => {
  test('with preconditions that do not hold is a conflict', () => {
    const store = newStore();
    const { uid, resourceVersion } = store.create('pods', pod('a')).metadata;
    const remove = (given: object) => errorOf(() => store.delete('pods', 'a', { namespace: 'default', ...given }));
    expect(remove({ uid: 'other' })).toMatchObject({
      status: 409,
      message: expect.stringContaining('UID in the prec'),
    });
    expect(remove({ uid, resourceVersion: '99' })).toMatchObject({
      status: 409,
      message: `Operation cannot be fulfilled on pods "a": the ResourceVersion in the precondition (99) does not match the ResourceVersion in record (1). The object might have been modified`,
    });
    store.delete('pods', 'a', { namespace: 'default', uid, resourceVersion });
    expect(store.list('pods')).toEqual([]);
  });

  test('an object with finalizers marks it, and it goes with the last of them', () => {
    const store = newStore();
    store.create('pods', pod('a', { finalizers: ['x/one', 'x/two'] }));
    const marked = store.delete('pods', 'a', { namespace: 'default' });
    expect(marked.metadata).toMatchObject({ deletionTimestamp: '2027-03-01T08:00:00Z', generation: 2 });
    expect(store.delete('pods', 'a', { namespace: 'default' })).toBe(marked);
    const withFinalizers = (finalizers: string[]) => store.update('pods', pod('a', { finalizers }));
    expect(errorOf(() => withFinalizers(['x/one', 'x/three'])).status).toBe(422);
    withFinalizers(['x/two']);
    expect(store.get('pods', 'a', 'default')).toBeDefined();
    withFinalizers([]);
    expect(store.get('pods', 'a', 'default')).toBeUndefined();
  });

  test('with a grace marks it until it is deleted without', () => {
    const store = newStore();
    store.create('pods', pod('a'));
    const marked = store.delete('pods', 'a', { namespace: 'default', gracePeriodSeconds: 30 });
    expect(marked.metadata).toMatchObject({
      deletionTimestamp: '2027-03-01T08:00:30Z',
      deletionGracePeriodSeconds: 30,
    });
    store.update('pods', { ...marked, status: { phase: 'Succeeded' } });
    expect(store.get('pods', 'a', 'default')).toBeDefined();
    store.delete('pods', 'a', { namespace: 'default' });
    expect(store.get('pods', 'a', 'default')).toBeUndefined();
  });

  test('takes what the object owns along, unless another owner is left or it is to be orphaned', () => {
    const store = newStore();
    const owner = (name: string) => {
      const { uid } = store.create('pods', pod(name)).metadata;
      return { apiVersion: 'v1', kind: 'Pod', name, uid };
    };
    const [a, b, c] = [owner('a'), owner('b'), owner('c')];
    store.create('pods', pod('of-a', { ownerReferences: [a] }));
    store.create('pods', pod('of-both', { ownerReferences: [a, b] }));
    store.create('pods', pod('of-c', { ownerReferences: [c] }));
    store.delete('pods', 'a', { namespace: 'default' });
    store.delete('pods', 'c', { namespace: 'default', propagationPolicy: 'Orphan' });
    expect(store.list('pods').map(({ metadata }) => metadata.name)).toEqual(['b', 'of-both', 'of-c']);
    expect(store.get('pods', 'of-both', 'default')?.metadata.ownerReferences).toEqual([b]);
  });
});

test('listeners hear of every write in its order, of those of other listeners as well', () => {
  const store = newStore();
  const heard: string[] = [];
  store.onChange(({ type, object }: Change) => {
    if (type === 'ADDED') store.update('pods', { ...object, spec: { seen: true } });
  });
  const end = store.onChange(({ type, object }) => heard.push(`${type} ${object.metadata.resourceVersion}`));
  store.create('pods', pod('a'));
  store.delete('pods', 'a', { namespace: 'default' });
  end();
  store.create('pods', pod('b'));
  expect(heard).toEqual(['ADDED 1', 'MODIFIED 2', 'DELETED 3']);
});

test('lists what is there in the order of the keys, whatever came and went', () => {
  const step = fc.record({
    name: fc.constantFrom('a', 'b', 'c', 'B', 'aa'),
    act: fc.constantFrom('put', 'delete', 'list'),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const store = newStore();
      const model = new Set<string>();
      for (const { name, act } of steps) {
        if (act === 'list') store.list('pods');
        else if (act === 'put' && !model.has(name)) store.create('pods', pod(name));
        else if (act === 'delete' && model.has(name)) store.delete('pods', name, { namespace: 'default' });
        if (act !== 'list') model[act === 'put' ? 'add' : 'delete'](name);
        expect(store.list('pods').map(({ metadata }) => metadata.name)).toEqual([...model].sort());
      }
    }),
  );
});
