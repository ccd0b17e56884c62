import { describe, expect, it } from 'vitest';
import { TERMINATE_SUSPENDED } from '../../lib/scaler/plan/plan-down.ts';
import { goingOf, hasSettled, planDrain, planRemovals } from '../../lib/scaler/plan/plan-drain.ts';
import type { PoolNode } from '../../lib/scaler/pool/classes.ts';
import type { Scene } from '../../lib/scaler/pool/scene.ts';
import { SCALER } from '../../lib/settings.ts';
import type { EpochMs } from '../../lib/time.ts';
import { aCordonedNode, aDrainingNode, aGroup, aPool, aPoolNode, aScene, aServer, aSpec, NOW } from './plain.ts';

/** What is emptied and removed, taken for itself. */

const DAY = 24 * 60;
const names = (nodes: readonly PoolNode[]) => nodes.map(({ node }) => node.name);
const sceneOf = (nodes: readonly PoolNode[], fields: Parameters<typeof aGroup>[1] = {}): Scene =>
  aScene({ group: aGroup(names(nodes), fields) });

function removalsOf(scene: Scene, nodes: readonly PoolNode[], returning: readonly string[] = []) {
  const { intents, ...rest } = planRemovals(scene, aPool(nodes), new Set(returning));
  return { removed: intents.map((intent) => 'node' in intent && intent.node.node.name), ...rest };
}

describe('servers are deleted', () => {
  it('on nodes that have some without a session, and on no others', () => {
    const full = aDrainingNode('n1', 10, { servers: [aServer('g1', 'n1')] });
    const busy = aDrainingNode('n2', 10, { servers: [aServer('g2', 'n2', 'Allocated')] });
    const intents = [{ kind: 'drain', nodes: [full], limit: Number.POSITIVE_INFINITY }];
    expect(planDrain(aScene(), [full, busy, aDrainingNode('n3')])).toEqual({ intents, findings: [] });
    expect(planDrain(aScene(), [busy])).toEqual({ intents: [], findings: [] });
  });
});

describe('nodes are removed', () => {
  it('that are ours, have settled and are empty, those first that were cordoned first, then by name', () => {
    const nodes = [
      ...[aDrainingNode('n3', 10), aDrainingNode('n2', 20), aDrainingNode('n1', 10), aPoolNode('n4')],
      ...[aDrainingNode('n5', 0), aDrainingNode('n6', 10, { gamePods: 1 })],
      ...[aDrainingNode('n7', 10, { protectedServers: 1 }), aDrainingNode('n8')],
    ];
    expect(removalsOf(sceneOf(nodes), nodes, ['uid-n8'])).toEqual({ removed: ['n2', 'n1', 'n3'], findings: [] });
  });

  it('by what the provider can: where it cannot, that is told, and only if there is one to be removed', () => {
    const scene = aScene({ capabilities: { readsSize: false, changesSize: false } });
    expect(removalsOf(scene, [aDrainingNode('n1')])).toEqual({ removed: [], findings: [], beyondProvider: true });
    expect(removalsOf(scene, [aDrainingNode('n1', 0)])).toEqual({ removed: [], findings: [] });
  });

  it('as long as the group is above its minimum; those whose machines are going take nothing of that', () => {
    const gone = aDrainingNode('n1', 30, { class: 'leaving', live: false });
    const nodes = [gone, aDrainingNode('n2', 20), aDrainingNode('n3', 10), aPoolNode('n4')];
    const { removed, findings } = removalsOf(sceneOf(nodes, { desired: 3, min: 2 }), nodes);
    expect(removed).toEqual(['n1', 'n2']);
    expect(findings).toEqual([
      {
        reason: 'BelowProviderMinimum',
        message: 'node n3 is empty and stays, since the group is at its minimum of 2: lower the minimum',
      },
    ]);
  });

  it('not where the process Terminate is suspended, which is told once; those whose machines are going are', () => {
    const gone = aDrainingNode('n1', 10, { class: 'leaving', live: false });
    const nodes = [aDrainingNode('n2'), aDrainingNode('n3'), gone];
    const { removed, findings } = removalsOf(sceneOf(nodes, { terminateSuspended: true }), nodes);
    expect(removed).toEqual(['n1']);
    expect(findings).toEqual([TERMINATE_SUSPENDED]);
  });

  it('not whose machines are being detached', () => {
    const nodes = [aDrainingNode('n1', 10, { class: 'leaving', live: false }), aDrainingNode('n2')];
    const instances = new Map([
      ['i-1', 'Detaching'],
      ['i-2', 'InService'],
    ]);
    expect(removalsOf(sceneOf(nodes, { instances }), nodes).removed).toEqual(['n2']);
  });
});

it('nodes that are going are ours, are neither held nor being deleted, and do not come back', () => {
  const nodes = [
    ...[aPoolNode('n1'), aDrainingNode('n2'), aDrainingNode('n3', 10, { class: 'leaving' })],
    ...[aDrainingNode('n4', 10, { class: 'held' }), aDrainingNode('n5')],
    aDrainingNode('n6', 10, { node: aCordonedNode('n6', 10, { deleting: true }) }),
  ];
  expect(names(goingOf(aPool(nodes), new Set(['uid-n5'])))).toEqual(['n2', 'n3']);
});

it('a cordon has settled after half a minute, and one without a date has not', () => {
  expect(hasSettled({ cordonedAt: (NOW - 30_000) as EpochMs }, NOW)).toBe(true);
  expect(hasSettled({ cordonedAt: (NOW - 29_999) as EpochMs }, NOW)).toBe(false);
  expect(hasSettled({}, NOW)).toBe(false);
});

describe('a drain that is blocked is told', () => {
  const busy = (minutes: number, more: Partial<PoolNode> = {}) =>
    aDrainingNode('n1', minutes, { gamePods: 2, protectedServers: 1, ...more });
  const toldOf = (one: PoolNode, scene = aScene()) => removalsOf(scene, [one]).findings.map(({ message }) => message);

  it('after a day and not before, with what keeps it', () => {
    expect(toldOf(busy(DAY - 1))).toEqual([]);
    expect(toldOf(busy(DAY))).toEqual([
      'node n1 has been draining for 24 h: 2 game server pods, 1 servers with a session. Nothing is forced; end them, or wait',
    ]);
  });

  it('with a few of its servers by name, and in whole hours', () => {
    const servers = [1, 2, 3, 4, 5, 6].map((at) => aServer(`g${at}`, 'n1', 'Allocated'));
    const [message] = toldOf(busy(90, { servers }), aScene({ spec: aSpec({ drainWarningSeconds: 3_600 }) }));
    expect(message).toContain('draining for 1 h');
    expect(message).toContain('(default/g1, default/g2, default/g3, default/g4, default/g5). Nothing');
  });

  it('not of a node that is empty, nor of one whose cordon has no date', () => {
    expect(toldOf(busy(2 * DAY, { gamePods: 0, protectedServers: 0 }))).toEqual([]);
    const { cordonedAt: _, ...undated } = busy(2 * DAY);
    expect(toldOf(undated)).toEqual([]);
  });
});

describe('servers that are placed on a cordoned node are told', () => {
  const placed = (seconds: number, count: number) => {
    const createdAt = (NOW - 600_000 + seconds * 1_000) as EpochMs;
    const servers = Array.from({ length: count }, (_, at) => ({ ...aServer(`g${at}`, 'n1'), createdAt }));
    return removalsOf(aScene(), [aDrainingNode('n1', 10, { servers, gamePods: count })]).findings;
  };

  it('if they were made later than the scheduler may have been behind, and no sooner', () => {
    const { staleCacheSeconds } = SCALER;
    expect(placed(staleCacheSeconds - 1, 1)).toEqual([]);
    expect(placed(staleCacheSeconds, 1)).toMatchObject([{ reason: 'DrainBlocked' }]);
  });

  it('with a few of them by name', () => {
    expect(placed(500, 5)[0]?.message).toContain('default/g3 on n1, default/g4 on n1. Their');
    expect(placed(500, 7)[0]?.message).toContain('default/g4 on n1 and 2 more. Their');
  });
});
