import { describe, expect, it } from 'vitest';
import { planDown, replacementsOf, TERMINATE_SUSPENDED } from '../../lib/scaler/plan/plan-down.ts';
import type { PoolNode } from '../../lib/scaler/pool/classes.ts';
import type { Scene } from '../../lib/scaler/pool/scene.ts';
import { aDrainingNode, aGroup, aNode, aPool, aPoolNode, aScene, instanceOn, NOW } from './plain.ts';

/** What is cordoned of a pool that has more than it is to have, taken for itself. */

const KEPT = { annotations: { 'cluster-autoscaler.kubernetes.io/scale-down-disabled': 'true' } };

const active = (count: number) => Array.from({ length: count }, (_, at) => aPoolNode(`n${at + 1}`));
const names = (nodes: readonly PoolNode[]) => nodes.map(({ node }) => node.name);
const sceneOf = (nodes: readonly PoolNode[], fields: Parameters<typeof aGroup>[1] = {}): Scene =>
  aScene({ group: aGroup(names(nodes), fields) });

function cordonedOf(scene: Scene, nodes: readonly PoolNode[], target: number, more: Parameters<typeof aPool>[1] = {}) {
  return planDown(scene, aPool(nodes, more), target).intents.map((intent) => 'node' in intent && intent.node.node.name);
}

describe('of the nodes beyond the target', () => {
  it('as many are cordoned as there are too many, and nothing is told', () => {
    const nodes = active(3);
    const part = planDown(sceneOf(nodes), aPool(nodes), 1);
    expect(part.intents.map(({ kind }) => kind)).toEqual(['cordon', 'cordon']);
    expect(part.findings).toEqual([]);
  });

  it('none is cordoned where the process Terminate is suspended, which is told', () => {
    const nodes = active(3);
    const part = planDown(sceneOf(nodes, { terminateSuspended: true }), aPool(nodes), 1);
    expect(part).toEqual({ intents: [], findings: [TERMINATE_SUSPENDED] });
  });

  it.each([
    ['the pool is at its target', active(2), 2],
    ['nodes are missing', active(2), 3],
    ['all that are too many are kept by their annotation', [aPoolNode('n1', { node: aNode('n1', KEPT) })], 0],
  ])('and it is not told where %s: nothing waits for it', (_, nodes, target) => {
    const part = planDown(sceneOf(nodes, { terminateSuspended: true }), aPool(nodes), target);
    expect(part).toEqual({ intents: [], findings: [] });
  });
});

describe('no more are cordoned than can be removed above the minimum', () => {
  it('of a group that somebody has made smaller, and has not come to that yet', () => {
    const nodes = active(4);
    expect(cordonedOf(sceneOf(nodes, { desired: 3, min: 2 }), nodes, 2)).toHaveLength(1);
  });

  it('those that are on their way out counted', () => {
    const nodes = [...active(3), aDrainingNode('n9')];
    expect(cordonedOf(sceneOf(nodes, { desired: 3, min: 2 }), nodes, 2)).toEqual([]);
  });

  it('and not those that do not count in its size any more, or are not ours', () => {
    const nodes = [...active(3), aDrainingNode('n8', 10, { live: false }), aPoolNode('n9', { class: 'held' })];
    expect(cordonedOf(sceneOf(nodes, { desired: 3, min: 2 }), nodes, 2)).toHaveLength(1);
  });

  it('machines that are to be ended and have no node counted', () => {
    const nodes = active(3);
    const orphans = [{ node: 'n9', uid: 'uid-n9', instance: instanceOn('n9'), since: NOW }];
    expect(cordonedOf(sceneOf(nodes, { desired: 3, min: 2 }), nodes, 2, { orphans })).toEqual([]);
  });

  it('and as many as there are too many where there is no minimum', () => {
    expect(cordonedOf(aScene(), active(3), 0)).toHaveLength(3);
  });
});

describe('which of them', () => {
  const inZone = (name: string, zone: string, more: Partial<PoolNode> = {}) =>
    aPoolNode(name, { node: aNode(name, { labels: { 'topology.kubernetes.io/zone': zone } }), ...more });

  it('those of the fullest zone, as it is after those that were chosen before', () => {
    const nodes = [inZone('n1', 'a'), inZone('n2', 'a'), inZone('n3', 'a'), inZone('n4', 'b'), inZone('n5', 'b')];
    expect(cordonedOf(sceneOf(nodes), nodes, 2)).toEqual(['n1', 'n2', 'n4']);
  });

  it('never one that is to be kept', () => {
    const nodes = [aPoolNode('n1', { node: aNode('n1', KEPT) }), aPoolNode('n2', { protectedServers: 3 })];
    expect(cordonedOf(sceneOf(nodes), nodes, 0)).toEqual(['n2']);
  });
});

describe('nodes to be replaced are', () => {
  it('those that take games, are ineligible, and may be cordoned', () => {
    const ineligible = (name: string, more: Partial<PoolNode> = {}, fields: object = {}) =>
      aPoolNode(name, { node: aNode(name, { ineligible: true, ...fields }), ...more });
    const pool = aPool([
      ...[aPoolNode('n1'), ineligible('n2'), ineligible('n3', {}, KEPT)],
      ineligible('n4', { class: 'held' }),
    ]);
    expect(replacementsOf(aScene({ replaceIneligible: true }), pool)).toBe(1);
    expect(replacementsOf(aScene(), pool)).toBe(0);
  });
});
