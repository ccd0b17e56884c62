import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { NodeId } from '../ids.ts';
import { shardOf } from './shard.ts';

describe('shardOf', () => {
  // Nodes are found by it: another answer would lose every node that is stored.
  it.each([
    ['n1', 8, 0],
    ['n2', 8, 5],
    ['openb-node-0000', 8, 4],
    ['n1', 64, 56],
    ['n1', 1, 0],
  ])('puts node %s of %d shards into %d for ever', (node, shards, shard) => {
    expect(shardOf(node as NodeId, shards)).toBe(shard);
  });

  it('is one of the shards', () => {
    fc.assert(
      fc.property(fc.string(), fc.integer({ min: 1, max: 64 }), (node, shards) => {
        const shard = shardOf(node as NodeId, shards);
        expect(Number.isInteger(shard) && shard >= 0 && shard < shards).toBe(true);
      }),
    );
  });

  it('spreads nodes that are numbered evenly', () => {
    const counts = new Map<number, number>();
    for (let at = 0; at < 8000; at++) {
      const shard = shardOf(`node-${at}` as NodeId, 8);
      counts.set(shard, (counts.get(shard) ?? 0) + 1);
    }
    expect(Math.min(...counts.values())).toBeGreaterThan(850);
    expect(Math.max(...counts.values())).toBeLessThan(1150);
  });
});
