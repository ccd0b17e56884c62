import { describe, expect, it, vi } from 'vitest';
import { CountingMap, WalkedOverError } from './counting-map.ts';

describe('CountingMap', () => {
  it('holds what a map holds, and counts how often it is looked into', () => {
    const map = new CountingMap([
      ['a', 1],
      ['b', 2],
    ]);
    expect([map.get('a'), map.get('c'), map.has('b'), map.size]).toEqual([1, undefined, true, 2]);
    expect(map.looks).toBe(3);
  });

  it('does not count what is written', () => {
    const map = new CountingMap<string, number>();
    map.set('a', 1).delete('a');
    map.clear();
    expect(map.looks).toBe(0);
  });

  it.each<[string, (map: Map<string, number>) => unknown]>([
    ['a loop', (map) => [...map]],
    ['a copy', (map) => new Map(map)],
    ['entries', (map) => map.entries()],
    ['keys', (map) => map.keys()],
    ['values', (map) => map.values()],
    ['forEach', (map) => map.forEach(vi.fn())],
  ])('does not let itself be walked over: %s', (_what, walk) => {
    expect(() => walk(new CountingMap([['a', 1]]))).toThrow(WalkedOverError);
  });
});
