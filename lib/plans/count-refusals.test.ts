import { describe, expect, it } from 'vitest';
import { accountWith, NOW } from '../../test/support/builders.ts';
import { placing } from '../../test/support/deciding.ts';
import { delivered, factsOf, folded, type KnownFacts } from '../../test/support/folding.ts';
import { poolOf } from '../../test/support/plans.ts';
import type { NodeId } from '../ids.ts';
import type { Pool, PoolSettingsInput } from '../nodes/pool.ts';
import { foldPlans } from './fold.ts';
import type { RejectionWindow } from './rejections.ts';

const node = (nodeId: string, more: Parameters<typeof accountWith>[0] = {}) => accountWith({ nodeId, ...more });
const place = (planId: string, ...nodes: string[]) =>
  delivered(planId, {
    placements: nodes.map((nodeId, slot) => placing(`t-${planId}-${slot}`, { slot, nodeId, resources: { cpu: 1 } })),
  });
const tasks = (...plans: ReturnType<typeof place>[]) =>
  plans.flatMap(({ content }) => ('plan' in content ? content.plan.placements : []));
const pool = (settings: PoolSettingsInput = {}, more: Partial<Pool> = {}): Pool => ({
  ...poolOf('prod', { index: 7, settings }),
  ...more,
});
const windowOf = (nodeId: string, count: number, version = 5): RejectionWindow => ({
  nodeId: nodeId as NodeId,
  times: Array.from({ length: count }, () => NOW),
  version,
  expiresAt: 0 as never,
});

function fold(plans: ReturnType<typeof place>[], known: KnownFacts) {
  return folded(plans, factsOf({ noTasks: tasks(...plans), ...known }));
}

describe('a refusal', () => {
  it('counts once for its node and plan, however many of its tasks were refused', () => {
    const { commit } = fold([place('p1', 'n1', 'n1', 'n1')], { accounts: [node('n1')], noWindows: ['n1'] });
    expect([...commit.windows.values()]).toMatchObject([{ nodeId: 'n1', times: [NOW], version: 1 }]);
  });

  it('counts whatever else its plan did, and of a plan at once as well', () => {
    const partial = place('p1', 'n1', 'n2');
    const { decided, commit } = fold([partial], {
      accounts: [node('n1'), node('n2', { capacity: { cpu: 1 } })],
      noWindows: ['n1'],
    });
    expect(decided[0]?.result.status).toBe('partial');
    expect([...commit.windows.keys()]).toEqual(['n1']);
    const atOnce = delivered('p2', { allAtOnce: true, placements: [placing('t1', { resources: { cpu: 1 } })] });
    const voided = folded([atOnce], factsOf({ accounts: [node('n1')], noTasks: [placing('t1')], noWindows: ['n1'] }));
    expect([...voided.commit.windows.keys()]).toEqual(['n1']);
  });

  it('of a node that is not there or was not eligible does not count, of any other it does', () => {
    const plan = place('p1', 'down', 'draining', 'gone', 'ineligible', 'off');
    const { decided, commit } = fold([plan], {
      accounts: [
        node('down', { status: 'down' }),
        node('draining', { drain: true }),
        node('ineligible', { eligibility: 'ineligible' }),
        node('off', { status: 'down', eligibility: 'ineligible' }),
      ],
      noNodes: ['gone'],
      noWindows: ['down', 'draining', 'ineligible', 'off'],
    });
    expect(decided[0]?.result.rejectedNodes).toHaveLength(5);
    expect([...commit.windows.keys()].sort()).toEqual(['down', 'draining']);
  });

  it('is added to those that are stored, in one write for the whole batch', () => {
    const { commit } = fold([place('p1', 'n1'), place('p2', 'n1'), place('p3', 'n1')], {
      accounts: [node('n1')],
      windows: [windowOf('n1', 2)],
    });
    expect(commit.windows.get('n1' as NodeId)).toMatchObject({ times: Array(5).fill(NOW), version: 6 });
  });

  it('is not counted where the pool does not track them', () => {
    const { decided, commit } = fold([place('p1', 'n1')], {
      pool: pool({ tracker: { enabled: false } }),
      accounts: [node('n1')],
    });
    expect(decided[0]?.result.status).toBe('rejected');
    expect(commit.windows.size).toBe(0);
  });

  it('of an expired or repeated plan is none', () => {
    const plan = delivered('p1', {
      notAfter: '2020-01-01T00:00:00Z',
      placements: [placing('t1', { resources: { cpu: 1 } })],
    });
    expect(folded([plan], factsOf({ accounts: [node('n1')] })).commit.windows.size).toBe(0);
  });

  it('needs the window of its node', () => {
    const plan = place('p1', 'n1');
    const outcome = foldPlans([plan], factsOf({ accounts: [node('n1')], noTasks: tasks(plan) }), NOW);
    expect(outcome).toMatchObject({ kind: 'needs', needs: { windows: new Set(['n1']) } });
  });
});

describe('a node that reaches the threshold', () => {
  const settings = { tracker: { threshold: 3 } };
  const known = { pool: pool(settings), accounts: [node('n1')], windows: [windowOf('n1', 2)], events: { n1: [] } };

  it('is made ineligible by the same commit, with an event, an emptied window and a mark less', () => {
    const group = fold([place('p1', 'n1')], known);
    const { decided, commit, marked, withheld } = group;
    expect(decided[0]?.result).toMatchObject({ status: 'rejected', ineligibleNodes: ['n1'] });
    expect(commit.nodes.get('n1' as NodeId)).toMatchObject({
      kind: 'known',
      image: { eligibility: 'ineligible', version: 2, index: 8 },
    });
    expect(commit.nodes.get('n1' as NodeId)).not.toHaveProperty('image.eligibleAt');
    expect(commit.windows.get('n1' as NodeId)).toMatchObject({ times: [], version: 6 });
    expect(commit.events.get('n1' as NodeId)).toEqual({
      before: [],
      events: [{ at: NOW, message: 'made ineligible: refused 3 times in 300 seconds' }],
    });
    expect(commit.pool?.marks).toEqual({ left: 9, at: NOW });
    expect([marked, withheld]).toEqual([[{ nodeId: 'n1', score: 3 }], []]);
  });

  it('is ineligible for the plans after it, whose refusals count no more, and keeps its tasks', () => {
    const { decided, commit } = fold([place('p1', 'n1'), place('p2', 'n1')], known);
    expect(decided[1]?.result).toMatchObject({ rejectedNodes: [{ code: 'node-ineligible' }], ineligibleNodes: [] });
    expect(commit.windows.get('n1' as NodeId)?.times).toEqual([]);
  });

  it('is so for a time, if the pool is set so', () => {
    const { commit } = fold([place('p1', 'n1')], { ...known, pool: pool({ ...settings, ineligibleForSeconds: 60 }) });
    expect(commit.nodes.get('n1' as NodeId)).toMatchObject({
      image: { eligibility: 'ineligible', eligibleAt: NOW + 60_000 },
    });
  });

  it('is left eligible while the pool has no mark left, and said to be', () => {
    const used = pool(settings, { marks: { left: 0.5, at: NOW } });
    const { decided, commit, marked, withheld } = fold([place('p1', 'n1')], { ...known, pool: used });
    expect(decided[0]?.result.ineligibleNodes).toEqual([]);
    expect(commit.nodes.size).toBe(0);
    expect(commit.pool?.marks).toBeUndefined();
    expect(commit.windows.get('n1' as NodeId)?.times).toHaveLength(3);
    expect([marked, withheld]).toEqual([[], [{ nodeId: 'n1', score: 3 }]]);
  });

  it('takes the marks of the batch one by one', () => {
    const names = ['n1', 'n2', 'n3'];
    const { marked, withheld, commit } = fold([place('p1', 'n1', 'n2'), place('p2', 'n3')], {
      pool: pool(settings, { marks: { left: 2, at: NOW } }),
      accounts: names.map((name) => node(name)),
      windows: names.map((name) => windowOf(name, 2)),
      events: { n1: [], n2: [], n3: [] },
    });
    expect(marked.map(({ nodeId }) => nodeId)).toEqual(['n1', 'n2']);
    expect(withheld.map(({ nodeId }) => nodeId)).toEqual(['n3']);
    expect(commit.pool?.marks?.left).toBe(0);
  });

  it('needs its events, of which the last ten are kept', () => {
    const { events: _events, ...without } = known;
    const plan = place('p1', 'n1');
    expect(foldPlans([plan], factsOf({ ...without, noTasks: tasks(plan) }), NOW)).toMatchObject({
      kind: 'needs',
      needs: { events: new Set(['n1']) },
    });
    const old = Array.from({ length: 10 }, (_, at) => ({ at: NOW, message: `event ${at}` }));
    const { commit } = fold([plan], { ...known, events: { n1: old } });
    const write = commit.events.get('n1' as NodeId);
    expect(write?.before).toEqual(old);
    expect(write?.events.map(({ message }) => message)).toEqual([
      ...old.slice(1).map(({ message }) => message),
      'made ineligible: refused 3 times in 300 seconds',
    ]);
  });

  it('is eligible again when its time has come, and counted anew', () => {
    const marked = { ...node('n1', { capacity: { cpu: 1 }, eligibility: 'ineligible' }), eligibleAt: NOW };
    const { decided, commit } = fold([place('p1', 'n1'), place('p2', 'n1')], { accounts: [marked], noWindows: ['n1'] });
    expect(decided.map(({ result }) => result.status)).toEqual(['applied', 'rejected']);
    expect(commit.nodes.get('n1' as NodeId)).toMatchObject({ image: { eligibility: 'eligible' } });
    expect(commit.nodes.get('n1' as NodeId)).not.toHaveProperty('image.eligibleAt');
    expect(commit.windows.get('n1' as NodeId)?.times).toHaveLength(1);
  });
});
