import { describe, expect, it } from 'vitest';
import { cronTimes } from '../../lib/cron/croner.ts';
import { planJoins } from '../../lib/scaler/plan/plan-joins.ts';
import { planTick } from '../../lib/scaler/plan/plan-tick.ts';
import { planUp } from '../../lib/scaler/plan/plan-up.ts';
import { MARKS } from '../../lib/scaler/pool/marks.ts';
import {
  aCordonedNode,
  aDrainingNode,
  aGroup,
  ago,
  aNode,
  aPool,
  aPoolNode,
  aScene,
  aServer,
  aSnapshot,
  aSpec,
  NOW,
  OBJECT,
} from './plain.ts';

/** What brings a pool up to its target, and what is told of a whole tick, taken for itself. */

describe('nodes that are missing', () => {
  const draining = aDrainingNode('n2');
  const uncordon = { kind: 'uncordon', node: draining };

  it('are none where the target is met by those that are pending', () => {
    const pool = aPool([aPoolNode('n1'), draining], { pending: 1 });
    expect(planUp(aScene(), pool, 2)).toEqual({ intents: [], findings: [] });
  });

  it('come back first, and nothing is ordered where these are enough, whatever the provider can', () => {
    const scene = aScene({ capabilities: { readsSize: false, changesSize: false } });
    expect(planUp(scene, aPool([aPoolNode('n1'), draining]), 2)).toEqual({ intents: [uncordon], findings: [] });
  });

  it('are more than the provider can, where it adds none', () => {
    const scene = aScene({ capabilities: { readsSize: false, changesSize: false } });
    const part = planUp(scene, aPool([draining]), 2);
    expect(part).toEqual({ intents: [uncordon], findings: [], beyondProvider: true });
  });

  it('are ordered for the rest: of a hook with all that is under way', () => {
    const part = planUp(aScene(), aPool([aPoolNode('n1'), draining], { pending: 2 }), 6);
    const entry = { count: 4, since: NOW, baseline: ['uid-n1', 'uid-n2'] };
    expect(part).toEqual({ intents: [uncordon, { kind: 'increase', order: { by: 2, entry } }], findings: [] });
  });

  it.each([
    [4, '1 more node is needed'],
    [5, '2 more nodes are needed'],
  ])('are ordered of a group up to its maximum: of %i it is told that %s', (target, told) => {
    const scene = aScene({ group: aGroup(['n1'], { max: 3 }) });
    const { intents, findings } = planUp(scene, aPool([aPoolNode('n1')]), target);
    expect(intents).toEqual([{ kind: 'increase', order: { by: 2, from: 1 } }]);
    expect(findings).toEqual([{ reason: 'AtProviderMaximum', message: expect.stringContaining(`${told}, and`) }]);
  });

  it('are not those that are ineligible, except where these are to be replaced', () => {
    const node = aCordonedNode('n2', 10, { ineligible: true });
    const pool = aPool([aDrainingNode('n2', 10, { node })]);
    const group = aGroup(['n2']);
    expect(planUp(aScene({ group }), pool, 1).intents).toMatchObject([{ kind: 'uncordon' }]);
    expect(planUp(aScene({ group, replaceIneligible: true }), pool, 1).intents).toMatchObject([{ kind: 'increase' }]);
    const eligible = aPool([draining]);
    expect(planUp(aScene({ group, replaceIneligible: true }), eligible, 1).intents).toEqual([uncordon]);
  });
});

describe('machines that have not joined', () => {
  const sceneOf = (late: Readonly<Record<string, number>>, machines = Object.keys(late)) =>
    aScene({
      group: aGroup([], { instances: new Map(machines.map((instance) => [instance, 'InService'])) }),
      ledger: {
        ...{ version: 1, pendingDeletions: [] },
        unjoined: Object.entries(late).map(([instance, minutes]) => ({ instance, since: ago(minutes) })),
      },
    });

  it('are followed in the order in which they came, then by id, however the group has them', () => {
    const { findings, remember } = planJoins(
      sceneOf({ 'i-3': 20, 'i-1': 20, 'i-2': 30 }, ['i-3', 'i-5', 'i-1', 'i-4', 'i-2']),
    );
    expect(remember).toEqual([
      { instance: 'i-2', since: ago(30) },
      { instance: 'i-1', since: ago(20) },
      { instance: 'i-3', since: ago(20) },
      { instance: 'i-4', since: NOW },
      { instance: 'i-5', since: NOW },
    ]);
    expect(findings).toEqual([
      {
        reason: 'NodesNotJoining',
        message: expect.stringMatching(
          /run for 15 minutes and more, .* as a node: i-2, i-1, i-3\. .*--instance-id i-2`/,
        ),
      },
    ]);
  });

  it('are nothing to be told or written where there are none, or those that are known have time left', () => {
    expect(planJoins(aScene({ group: aGroup([]) }))).toEqual({ findings: [] });
    expect(planJoins(sceneOf({ 'i-1': 14 }))).toEqual({ findings: [] });
  });

  it('keep a time that is ahead by as much as clocks differ, and no more', () => {
    expect(planJoins(sceneOf({ 'i-1': -1 }))).toEqual({ findings: [] });
    expect(planJoins(sceneOf({ 'i-1': -1.001 })).remember).toEqual([{ instance: 'i-1', since: NOW }]);
  });
});

describe('a whole tick', () => {
  const nodes = [aNode('n1'), aNode('n2')];
  const kindsOf = (scene: Parameters<typeof planTick>[0]) => planTick(scene, cronTimes).intents.map(({ kind }) => kind);

  it.each([
    ['paused', { spec: aSpec({ replicas: 0, paused: true }), group: aGroup(['n1', 'n2']) }, 'Paused'],
    ['of a group that its provider changes', { group: aGroup(['n1', 'n2'], { steady: false }) }, 'ProviderFrozen'],
  ])('that is %s does nothing, and there is nothing that its provider could not do', (_, fields, still) => {
    const { intents, findings, beyondProvider, ...plan } = planTick(
      aScene({ snapshot: aSnapshot({ nodes }), ...fields }),
      cronTimes,
    );
    expect({ intents, findings, beyondProvider }).toEqual({ intents: [], findings: [], beyondProvider: false });
    expect(plan.still).toBe(still);
  });

  it('with nothing to do plans nothing and tells nothing', () => {
    const scene = aScene({ snapshot: aSnapshot({ nodes }), group: aGroup(['n1', 'n2']), spec: aSpec({ replicas: 2 }) });
    expect(planTick(scene, cronTimes)).toMatchObject({ intents: [], findings: [], beyondProvider: false });
  });

  it.each([
    ['tells why machines could not be launched while some are pending', 3, ['CapacityShortage']],
    ['does not tell that once none is pending any more', 2, []],
  ])('%s', (_, desired, reasons) => {
    const group = aGroup(['n1', 'n2'], { desired, shortage: 'no capacity in eu-west-1a' });
    const plan = planTick(aScene({ snapshot: aSnapshot({ nodes }), group, spec: aSpec({ replicas: 3 }) }), cronTimes);
    expect(plan.findings.map(({ reason }) => reason)).toEqual(reasons);
    for (const { message } of plan.findings) expect(message).toContain('launched: no capacity in eu-west-1a. The');
  });

  it('deletes servers on the nodes that it cordons and on those that go, not where the machine goes already', () => {
    const gameServers = ['n1', 'n2', 'n3'].map((node, at) => aServer(`g${at}`, node));
    const group = aGroup(['n1', 'n2', 'n3'], { desired: 2 });
    const plan = planTick(
      aScene({
        snapshot: aSnapshot({ nodes: [aNode('n1'), aCordonedNode('n2', 0), aCordonedNode('n3', 0)], gameServers }),
        group: { ...group, instances: new Map(group.instances).set('i-3', 'Terminating') },
        spec: aSpec({ replicas: 0 }),
      }),
      cronTimes,
    );
    const drains = plan.intents.flatMap((intent) => (intent.kind === 'drain' ? intent.nodes : []));
    expect(drains.map(({ node }) => node.name)).toEqual(['n2', 'n1']);
  });

  describe('that has ineligible nodes to replace, and one too many', () => {
    const ineligible = ['n1', 'n2', 'n3'].map((name) => aNode(name, { ineligible: true }));
    const spec = aSpec({ replicas: 2 });

    it('orders and cordons at once', () => {
      const group = aGroup(['n1', 'n2', 'n3']);
      const scene = aScene({ snapshot: aSnapshot({ nodes: ineligible }), group, spec, replaceIneligible: true });
      expect(kindsOf(scene)).toEqual(['increase', 'cordon']);
    });

    it('cordons nothing in the tick that brings a node back: who decides last would undo who decided first', () => {
      const group = aGroup(['n1', 'n2', 'n3', 'n4']);
      const nodes = [...ineligible, aCordonedNode('n4')];
      const scene = aScene({ snapshot: aSnapshot({ nodes }), group, spec, replaceIneligible: true });
      const { intents, findings } = planTick(scene, cronTimes);
      expect(intents.map(({ kind }) => kind)).toEqual(['uncordon', 'increase']);
      expect(findings).toEqual([]);
    });
  });

  it('leaves a node that is being deleted as it is, marks and all', () => {
    const { annotations } = aCordonedNode('n1');
    const undated = { annotations: { [MARKS.cordonedBy]: OBJECT }, unschedulable: true, deleting: true };
    const deleted = [aNode('n1', { annotations, deleting: true }), aNode('n2', undated)];
    const group = aGroup(['n1', 'n2']);
    expect(kindsOf(aScene({ snapshot: aSnapshot({ nodes: deleted }), group, spec: aSpec({ replicas: 0 }) }))).toEqual(
      [],
    );
  });
});
