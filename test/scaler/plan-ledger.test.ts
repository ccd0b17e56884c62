import { describe, expect, it } from 'vitest';
import { planLedger } from '../../lib/scaler/plan/plan-ledger.ts';
import type { Scene } from '../../lib/scaler/pool/scene.ts';
import { aCordonedNode, aGamePod, aGroup, ago, aNode, aPool, aPoolNode, aScene, aSnapshot, NOW } from './plain.ts';

/** What is made of what an earlier tick wrote down, taken for itself. */

describe('a machine that was to be ended', () => {
  const entry = { node: 'n1', uid: 'uid-n1', instance: 'i-1', since: ago(10) };
  const sceneOf = (snapshot: Partial<Scene['snapshot']>) =>
    aScene({ snapshot: aSnapshot(snapshot), ledger: { version: 1, pendingDeletions: [entry] }, group: aGroup(['n1']) });
  const lives = aPool([], { orphans: [entry] });

  it('waits for its node to go, as long as that is cordoned by this object', () => {
    const scene = sceneOf({ nodes: [aNode('n2'), aCordonedNode('n1')] });
    expect(planLedger(scene, aPool([]))).toEqual({ intents: [], findings: [] });
  });

  it.each([
    ['somebody has uncordoned its node', [aCordonedNode('n1', 10, { unschedulable: false })]],
    ['the cordon of its node is somebody else’s now', [aNode('n1', { unschedulable: true })]],
    ['its node is gone, and its machine as well', []],
    ['another node has the name of its own, and its machine is gone', [aCordonedNode('n1', 10, { uid: 'uid-other' })]],
  ])('is forgotten where %s', (_, nodes) => {
    expect(planLedger(sceneOf({ nodes }), aPool([])).intents).toEqual([{ kind: 'forget', entry }]);
  });

  it('is ended where its node is gone and it lives', () => {
    const finish = { intents: [{ kind: 'finish', entry }], findings: [] };
    expect(planLedger(sceneOf({}), lives)).toEqual(finish);
    expect(planLedger(sceneOf({ pods: [aGamePod('n2'), aGamePod('n1', { phase: 'Failed' })] }), lives)).toEqual(finish);
  });

  it('is not ended while games run on it: its pods are those of its node until Kubernetes notices', () => {
    expect(planLedger(sceneOf({ nodes: [aNode('n2')], pods: [aGamePod('n1')] }), lives).intents).toEqual([]);
  });

  it('is ended though pods have the name of its node, where that is another node’s by now', () => {
    const scene = sceneOf({
      nodes: [aNode('n2'), aNode('n1', { uid: 'uid-other', providerId: '' })],
      pods: [aGamePod('n1')],
    });
    expect(planLedger(scene, lives).intents).toEqual([{ kind: 'finish', entry }]);
  });
});

describe('an order to a hook', () => {
  const pendingIncrease = { count: 3, since: ago(15), baseline: ['uid-n1'] };
  const scene = aScene({ ledger: { version: 1, pendingDeletions: [], pendingIncrease } });
  const forgotten = [{ kind: 'forget-order' }];

  it('that is not there needs nothing', () => {
    expect(planLedger(aScene(), aPool([]))).toEqual({ intents: [], findings: [] });
  });

  it('is waited for while something of it is under way', () => {
    expect(planLedger(scene, aPool([], { pending: 1 }))).toEqual({ intents: [], findings: [] });
  });

  it('that has been filled is forgotten, and nothing is told', () => {
    const joined = ['n1', 'n2', 'n3', 'n4'].map((name) => aPoolNode(name));
    expect(planLedger(scene, aPool(joined))).toEqual({ intents: forgotten, findings: [] });
  });

  it('that has not been filled in time is forgotten, and it is told how many are missing', () => {
    const { intents, findings } = planLedger(scene, aPool([aPoolNode('n1'), aPoolNode('n2')]));
    expect(intents).toEqual(forgotten);
    expect(findings).toEqual([
      { reason: 'NodesNotJoining', message: expect.stringMatching(/^2 of 3 nodes .* within 15 minutes/) },
    ]);
  });

  it('is forgotten where the provider can be asked now, and nothing is told', () => {
    expect(planLedger({ ...scene, group: aGroup([]), now: NOW }, aPool([]))).toEqual({
      intents: forgotten,
      findings: [],
    });
  });
});
