import { describe, expect, it } from 'vitest';
import { aGroup, aNode } from '../../test/scaler/plain.ts';
import { type Claim, sharedNodes } from './shared-nodes.ts';

const nodes = [aNode('n1', { labels: { role: 'game' } }), aNode('n2', { labels: { role: 'game', zone: 'a' } })];

const byHook = (name: string, nodeSelector: string): Claim => {
  return { name, spec: { provider: 'custom', config: { nodeSelector } }, group: undefined };
};
const byGroup = (name: string, group: ReturnType<typeof aGroup>, config: Record<string, string> = {}): Claim => {
  return { name, spec: { provider: 'asg', config: { autoScalingGroup: 'own', ...config } }, group };
};

describe('an object shares nodes', () => {
  it('with the older one that has them, whatever words select them', () => {
    const shared = sharedNodes([byHook('old', 'zone=a'), byHook('new', 'role=game')], nodes);
    expect([...shared]).toEqual([['new', { node: 'n2', ruler: 'old' }]]);
  });

  it('and then takes none from a younger one', () => {
    const third = byGroup('third', aGroup(['n1']));
    const shared = sharedNodes([byHook('old', 'zone=a'), byHook('new', 'role=game'), third], nodes);
    expect([...shared.keys()]).toEqual(['new']);
  });

  it('by the machines of its group where that is known, and by its labels where its provider did not answer', () => {
    const old = byHook('old', 'role=game');
    expect([...sharedNodes([old, byGroup('new', aGroup(['n2']))], nodes).values()]).toEqual([
      { node: 'n2', ruler: 'old' },
    ]);
    expect(sharedNodes([old, byGroup('new', aGroup(['n7']), { nodeSelector: 'role=game' })], nodes).size).toBe(0);
    const { group: _, ...unanswered } = byGroup('new', aGroup([]), { nodeSelector: 'zone=a' });
    expect([...sharedNodes([old, unanswered], nodes).keys()]).toEqual(['new']);
    // Without labels in its config nothing can be told of it.
    const { group: __, ...unlabelled } = byGroup('new', aGroup([]));
    expect(sharedNodes([old, unlabelled], nodes).size).toBe(0);
  });

  it('not if it is so wrong that it claims none', () => {
    expect(sharedNodes([{ name: 'wrong', spec: undefined }, byHook('new', 'role=game')], nodes).size).toBe(0);
  });
});
