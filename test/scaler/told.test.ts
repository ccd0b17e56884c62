import { describe, expect, it } from 'vitest';
import { cronTimes } from '../../lib/cron/croner.ts';
import type { Deed } from '../../lib/scaler/act/report.ts';
import type { Ledger } from '../../lib/scaler/observation.ts';
import type { Finding } from '../../lib/scaler/plan/findings.ts';
import { planTick } from '../../lib/scaler/plan/plan-tick.ts';
import type { Scene } from '../../lib/scaler/pool/scene.ts';
import { conditionEvents, deedEvents } from '../../lib/scaler/tell/cluster-events.ts';
import { type Condition, statusOf } from '../../lib/scaler/tell/status.ts';
import { aCordonedNode, aGroup, ago, aNode, aScene, aServer, aSnapshot, aSpec, NOW } from './plain.ts';

/** What is told of a pool, and of what was done to it, taken for itself. */

function statusAfter(scene: Scene, found: readonly Finding[] = [], ledger: Ledger = scene.ledger) {
  return statusOf(scene, planTick(scene, cronTimes), found, cronTimes, [], ledger);
}

function conditionOf(type: Condition['type'], scene: Scene, found: readonly Finding[] = []): Condition | undefined {
  return statusAfter(scene, found).conditions.find((condition) => condition.type === type);
}

const group = aGroup(['n1', 'n2', 'n3', 'n4']);
const nodes = [
  ...[aNode('n1'), aNode('n2', { ready: false })],
  ...[aCordonedNode('n3', 10), aNode('n4', { unschedulable: true })],
];
const gameServers = [
  ...[aServer('g1', 'n1', 'Allocated'), aServer('g2', 'n1', 'Reserved'), aServer('g3', 'n3', 'Allocated')],
  ...[aServer('g4', 'n2'), aServer('g5', 'n9', 'Allocated')],
];
const scene = aScene({ group, snapshot: aSnapshot({ nodes, gameServers }), spec: aSpec({ replicas: 2 }) });

describe('a status', () => {
  it('counts the nodes of each kind, and the sessions on all of them', () => {
    const status = statusAfter({ ...scene, group: { ...group, desired: 6, max: 7 } });
    expect(status).toMatchObject({
      ...{ effectiveTarget: 2, targetSource: 'base', protectedServers: 3 },
      nodes: { active: 2, pending: 2, draining: 1, held: 1, notReady: 1 },
      provider: { name: 'eks', desired: 6, min: 0, max: 7 },
    });
    expect(status.drains).toEqual([{ node: 'n3', since: ago(10), protectedServers: 1, gamePods: 0 }]);
  });

  it('has no drains and no change to come where there are none', () => {
    const status = statusAfter({ ...scene, snapshot: aSnapshot({ nodes: [aNode('n1')] }) });
    expect(status).not.toHaveProperty('drains');
    expect(status).not.toHaveProperty('nextTransition');
    expect(status.degraded).toEqual([]);
  });

  it('has the next change of the target', () => {
    const [start, end] = ['2026-01-15T13:00:00Z', '2026-01-15T14:00:00Z'];
    const spec = aSpec({ replicas: 2, overrides: [{ name: 'o', start, end, replicas: 5 }] });
    expect(statusAfter({ ...scene, spec }).nextTransition).toEqual({
      ...{ at: Date.parse(start), target: { replicas: 5, source: 'override' } },
    });
  });

  it('lists drains from the oldest on, then by name, those without a date first', () => {
    const undated = aCordonedNode('n5');
    const { 'stable.agones.dev/cordoned-at': _, ...annotations } = undated.annotations;
    const draining = [
      ...[aCordonedNode('n4', 10), aCordonedNode('n2', 10), aCordonedNode('n3', 10), aCordonedNode('n1', 5)],
      { ...undated, annotations },
    ];
    const { drains } = statusAfter(
      aScene({ snapshot: aSnapshot({ nodes: draining }), group: aGroup(['n1', 'n2', 'n3', 'n4', 'n5']) }),
    );
    expect(drains?.map(({ node }) => node)).toEqual(['n5', 'n2', 'n3', 'n4', 'n1']);
    expect(drains?.[0]).not.toHaveProperty('since');
  });

  it('lists machines that are being removed from the oldest on, and leaves the ledger as it is', () => {
    const deletion = (at: number) => ({ node: `n${at}`, uid: `uid-n${at}`, since: ago(at) });
    const pendingDeletions = Array.from({ length: 150 }, (_, at) => deletion(at));
    const ledger = { version: 1, pendingDeletions: Object.freeze(pendingDeletions) };
    const shown = statusAfter(scene, [], ledger).pendingDeletions ?? [];
    expect(shown.length).toBeLessThan(150);
    expect(shown.slice(0, 2)).toEqual([
      { node: 'n149', since: ago(149) },
      { node: 'n148', since: ago(148) },
    ]);
  });
});

describe('the condition', () => {
  it.each([
    [2, 'ScalingDown', 'False'],
    [3, 'ScalingUp', 'False'],
    [1, 'ScalingDown', 'False'],
  ])('AtTarget with a target of %i, two active and one draining, is %s', (replicas, reason, status) => {
    expect(conditionOf('AtTarget', { ...scene, spec: aSpec({ replicas }) })).toMatchObject({
      ...{ status, reason, message: `2 active, 0 pending, 1 draining, target ${replicas}` },
    });
  });

  it('AtTarget is True where as many nodes are active as are asked for, whoever holds others', () => {
    const held = aSnapshot({ nodes: [aNode('n1'), aNode('n4', { unschedulable: true })] });
    const at = { ...scene, snapshot: held, spec: aSpec({ replicas: 1 }), group: aGroup(['n1', 'n4']) };
    expect(conditionOf('AtTarget', at)).toMatchObject({ status: 'True', reason: 'AtTarget' });
  });

  it('Degraded has what weighs most first, each of a reason together, and nothing twice', () => {
    const found: Finding[] = [
      { reason: 'DrainBlocked', message: 'drain' },
      { reason: 'Unknown', message: 'first' },
      { reason: 'DrainBlocked', message: 'drain' },
      { reason: 'Unknown', message: 'second' },
    ];
    expect(conditionOf('Degraded', scene, found)).toMatchObject({
      ...{ status: 'True', reason: 'Unknown', message: 'first; second; drain' },
    });
    expect(statusAfter(scene, found).degraded).toEqual(['Unknown', 'DrainBlocked']);
  });
});

describe('an event', () => {
  const object = { name: 'game', uid: 'u', createdAt: ago(600) };
  const { createdAt: _, ...about } = object;
  const toldOf = (...deeds: Deed[]) => deedEvents({ deeds }, object, NOW).map(({ message }) => message);

  it.each<[Deed, string]>([
    [{ kind: 'increased', by: 1 }, '1 more node is ordered'],
    [{ kind: 'increased', by: 2 }, '2 more nodes are ordered'],
    [{ kind: 'machine-ended', node: 'n1' }, 'the machine of node n1 is ended'],
    [{ kind: 'machine-ended', node: 'n1', instance: 'i-1' }, 'the machine of node n1 is ended (i-1)'],
    [{ kind: 'registered', node: 'n1', pool: 'eu' }, 'node n1 is registered in pool eu'],
    [{ kind: 'unregistered', node: 'n1', pool: 'eu', orphaned: 0 }, 'node n1 is taken out of pool eu'],
    [
      { kind: 'unregistered', node: 'n1', pool: 'eu', orphaned: 1 },
      'node n1 is taken out of pool eu, which orphans 1 task',
    ],
    [
      { kind: 'unregistered', node: 'n1', pool: 'eu', orphaned: 2 },
      'node n1 is taken out of pool eu, which orphans 2 tasks',
    ],
  ])('of %o is "%s"', (deed, message) => {
    expect(toldOf(deed)).toEqual([message]);
  });

  it('is not told of the end of a server, of which Agones tells', () => {
    expect(toldOf({ kind: 'server-deleted', namespace: 'default', name: 'g1' })).toEqual([]);
  });

  const valid = (status: 'True' | 'False', reason: string, message = ''): Condition => {
    return { type: 'Valid', status, reason, message };
  };
  const degraded = (status: 'True' | 'False', reason: string, message = ''): Condition => {
    return { type: 'Degraded', status, reason, message };
  };
  const accepted = valid('True', 'Accepted');
  const expected = degraded('False', 'AsExpected');

  it.each<[what: string, before: Condition | undefined, now: Condition, told: object[]]>([
    ['a new object that is right', undefined, accepted, []],
    [
      'a new object that is wrong',
      undefined,
      valid('False', 'InvalidSpec', 'no'),
      [{ type: 'Warning', reason: 'InvalidSpec' }],
    ],
    ['an object that stays wrong', valid('False', 'InvalidSpec', 'no'), valid('False', 'InvalidSpec', 'no'), []],
    [
      'one that is wrong in another way',
      valid('False', 'InvalidSpec', 'no'),
      valid('False', 'InvalidConfig', 'no'),
      [{ reason: 'InvalidConfig' }],
    ],
    [
      'one of which more is wrong',
      valid('False', 'InvalidSpec', 'no'),
      valid('False', 'InvalidSpec', 'no; nor'),
      [{ message: 'no; nor' }],
    ],
    [
      'one that is mended',
      valid('False', 'InvalidSpec', 'no'),
      accepted,
      [{ type: 'Normal', reason: 'Accepted', message: 'the object is acted on, without warnings' }],
    ],
    [
      'a warning',
      accepted,
      valid('True', 'Accepted', 'Spot'),
      [{ type: 'Warning', reason: 'ProviderWarning', message: 'Spot' }],
    ],
    ['a new object in good order', undefined, expected, []],
    ['a pool that goes on in good order', expected, degraded('False', 'AsExpected', 'other words'), []],
    [
      'a new object in bad order',
      undefined,
      degraded('True', 'DrainBlocked', 'n1'),
      [{ type: 'Warning', reason: 'DrainBlocked', message: 'n1' }],
    ],
    [
      'a pool in bad order for the same reason',
      degraded('True', 'DrainBlocked', 'n1'),
      degraded('True', 'DrainBlocked', 'n2'),
      [],
    ],
    [
      'a pool in bad order for another reason',
      degraded('True', 'DrainBlocked', 'n1'),
      degraded('True', 'Unknown', 'n2'),
      [{ type: 'Warning', reason: 'Unknown' }],
    ],
    [
      'a pool in good order again',
      degraded('True', 'DrainBlocked', 'n1'),
      expected,
      [{ type: 'Normal', reason: 'Recovered', message: 'not any more: n1' }],
    ],
  ])('is told, or not, of %s', (_, before, now, told) => {
    const status = before === undefined ? undefined : { conditions: [before] };
    expect(conditionEvents({ conditions: [now] }, { ...object, status }, NOW)).toEqual(
      told.map((one) => expect.objectContaining({ object: about, at: NOW, ...one })),
    );
  });

  it('is told of what a status says that somebody has written by hand', () => {
    for (const conditions of ['x', [null, { status: 'True' }, { type: 3 }]]) {
      const told = conditionEvents({ conditions: [accepted] }, { ...object, status: { conditions } }, NOW);
      expect(told).toEqual([]);
    }
  });
});
