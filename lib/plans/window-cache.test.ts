import { describe, expect, it } from 'vitest';
import type { NodeId, PoolName } from '../ids.ts';
import type { RejectionWindow } from './rejections.ts';
import { WindowCache } from './window-cache.ts';

const [A, B] = ['a', 'b'] as PoolName[] as [PoolName, PoolName];
const window = (node: string, version = 1): RejectionWindow => ({
  nodeId: node as NodeId,
  times: [],
  version,
  expiresAt: 0 as never,
});

describe('the windows that a warm function remembers', () => {
  it('are those of a pool, as they were last written', () => {
    const cache = new WindowCache();
    cache.set(A, window('n1', 1));
    cache.set(B, window('n1', 7));
    cache.set(A, window('n2', 1));
    cache.set(A, window('n1', 2));
    expect(cache.of(A).map(([node, { version }]) => [node, version])).toEqual([
      ['n2', 1],
      ['n1', 2],
    ]);
    expect(cache.of(B).map(([node, { version }]) => [node, version])).toEqual([['n1', 7]]);
  });

  it('are fifty, the latest', () => {
    const cache = new WindowCache();
    for (let at = 0; at < 60; at++) cache.set(A, window(`n${at}`));
    cache.set(A, window('n10', 2));
    cache.set(B, window('n0'));
    const kept = cache.of(A).map(([node]) => node);
    expect(kept).toHaveLength(49);
    expect(kept).toContain('n10');
    expect(kept).not.toContain('n11');
    expect(cache.of(B)).toHaveLength(1);
  });
});
