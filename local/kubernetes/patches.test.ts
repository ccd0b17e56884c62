import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { jsonPatch, mergePatch, strategicMergePatch } from './patches.ts';

test('a merge patch sets, takes out with null, and replaces lists whole', () => {
  const target = { a: { b: 1, c: 2 }, list: [1, 2], gone: true };
  const patch = { a: { b: 3 }, list: [4], gone: null, made: { x: null, y: 1 } };
  expect(mergePatch(target, patch)).toEqual({ a: { b: 3, c: 2 }, list: [4], made: { y: 1 } });
});

test('a merge patch done twice is as done once, and leaves its target as it is', () => {
  const json = fc.object({
    key: fc.constantFrom('a', 'b', 'c'),
    maxDepth: 3,
    values: [fc.integer(), fc.constant(null)],
  });
  fc.assert(
    fc.property(json, json, (target, patch) => {
      const before = structuredClone(target);
      const once = mergePatch(target, patch);
      expect(mergePatch(once, patch)).toEqual(once);
      expect(target).toEqual(before);
    }),
  );
});

describe('a JSON patch', () => {
  test('changes a copy', () => {
    const target = Object.freeze({ metadata: Object.freeze({ labels: Object.freeze({ a: 'b' }) }) });
    const operations = [
      { op: 'test', path: '/metadata/labels/a', value: 'b' },
      { op: 'add', path: '/metadata/labels/x~1y', value: 'c' },
    ];
    expect(jsonPatch(target, operations)).toEqual({ metadata: { labels: { a: 'b', 'x/y': 'c' } } });
  });

  test.each([
    ['whose test fails', [{ op: 'test', path: '/a', value: 2 }]],
    ['of a path that is not there', [{ op: 'replace', path: '/b/c', value: 2 }]],
  ])('%s is 422', (_, operations) => {
    expect(() => jsonPatch({ a: 1 }, operations)).toThrow(expect.objectContaining({ status: 422, reason: 'Invalid' }));
  });
});

describe('a strategic merge patch', () => {
  const conditions = [
    { type: 'Ready', status: 'True' },
    { type: 'DiskPressure', status: 'False' },
  ];

  test('merges conditions by their type', () => {
    const order = [{ type: 'Ready' }, { type: 'DiskPressure' }];
    const changed = [{ type: 'Ready', status: 'False' }];
    const patch = { status: { '$setElementOrder/conditions': order, conditions: changed } };
    expect(strategicMergePatch({ status: { conditions } }, patch)).toEqual({
      status: { conditions: [{ type: 'Ready', status: 'False' }, conditions[1]] },
    });
  });

  test('takes one out that it names', () => {
    const patch = { conditions: [{ type: 'Ready', $patch: 'delete' }] };
    expect(strategicMergePatch({ conditions }, patch)).toEqual({ conditions: [conditions[1]] });
  });

  test('replaces them where it says so', () => {
    const patch = { conditions: [{ $patch: 'replace' }, { type: 'New' }] };
    expect(strategicMergePatch({ conditions }, patch)).toEqual({ conditions: [{ type: 'New' }] });
  });

  test('replaces taints, whose list is atomic', () => {
    const spec = { taints: [{ key: 'a', effect: 'NoSchedule' }], providerID: 'x' };
    const taints = [{ key: 'b', effect: 'NoSchedule' }];
    expect(strategicMergePatch({ spec }, { spec: { taints } })).toEqual({ spec: { taints, providerID: 'x' } });
  });

  test('adds finalizers, and takes out those that it names', () => {
    const target = { metadata: { finalizers: ['a', 'b'] } };
    expect(strategicMergePatch(target, { metadata: { finalizers: ['c', 'a'] } })).toEqual({
      metadata: { finalizers: ['a', 'b', 'c'] },
    });
    expect(strategicMergePatch(target, { metadata: { '$deleteFromPrimitiveList/finalizers': ['a'] } })).toEqual({
      metadata: { finalizers: ['b'] },
    });
  });
});
