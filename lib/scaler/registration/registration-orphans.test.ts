import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import { OBJECT, ScalerBed } from '../../../test/scaler/bed.ts';
import { MemoryRegistry } from '../../../test/scaler/memory-registry.ts';
import { MemoryTurns } from '../../../test/support/memory-turns.ts';
import { cronTimes } from '../../cron/croner.ts';
import type { EpochMs } from '../../time.ts';
import { CallError } from '../call-error.ts';
import { type ClusterOutcome, type ReachedCluster, runCluster } from '../run-cluster.ts';
import { fateOf } from './registration-fate.ts';
import { BERTH_LABELS } from './registration-spec.ts';

/** Nodes that are registered with Berth, of an object that is deleted. */

const CLUSTER = 'eu-central-1/game';
const MINUTE = 60_000;
const NO_ANSWER = new CallError('unknown', 'Timeout', 'no answer');

/** Thrown by whoever is dead: nothing that a port answers. */
class Dead extends Error {}

let bed: ScalerBed;
let turns: MemoryTurns;
let berthNodes: MemoryRegistry;
/** Names of the objects that are there; undefined: the cluster does not know the kind. */
let objects: readonly string[] | undefined;
let calls: string[];
/** What happens to a call before it is made. */
let meanwhile: (call: string) => void;

async function setUp(kind: 'eks' | 'custom' = 'eks') {
  bed = new ScalerBed(kind, 2);
  for (const _ of [1, 2]) bed.addNode();
  bed.extra = { config: { ...(kind === 'eks' ? { nodegroup: 'games' } : {}), pool: 'eu' } };
  turns = new MemoryTurns();
  berthNodes = new MemoryRegistry('eu');
  berthNodes.before = (operation) => meanwhile(operation);
  [objects, calls, meanwhile] = [[OBJECT], [], () => undefined];
  await tick();
}

beforeEach(() => setUp());

async function tick(deadlineMs = 44_000): Promise<ClusterOutcome> {
  bed.now = (bed.now + MINUTE) as EpochMs;
  berthNodes.takeCalls();
  calls = [];
  const asked = <T>(call: string, answer: () => T) => {
    calls.push(call);
    meanwhile(call);
    return answer();
  };
  bed.world.intercept = async ({ operation }, act) => asked(operation, act);
  const known = (instance: string) => bed.world.elsewhere.has(instance) || bed.world.group?.instances.has(instance);
  const reached: ReachedCluster = {
    objects: {
      list: async () =>
        asked('list objects', () =>
          objects?.map((name) => ({
            ...{ name, uid: `uid-${name}`, resourceVersion: '1', generation: 1, createdAt: bed.now },
            ...{ spec: bed.spec(), status: undefined },
          })),
        ),
      writeStatus: async () => undefined,
      tell: async () => undefined,
    },
    cluster: bed.world.cluster,
    provider: () => bed.world.provider,
    locate: async (instances: readonly string[]) =>
      asked('locate', () => new Map(instances.map((one) => [one, known(one) ? 'elsewhere' : 'gone']))),
  };
  const { now } = bed;
  return runCluster(
    {
      ...{ cluster: CLUSTER, scheduledAt: now, holder: randomUUID() },
      ...{ until: (now + 50_000) as EpochMs, deadline: (now + deadlineMs) as EpochMs },
    },
    { turns, reach: async () => reached, registry: berthNodes, times: cronTimes, clock: () => bed.now },
  );
}

const eu = () => berthNodes.nodesOf('eu');
const ledgers = () => [...(turns.clusters.get(CLUSTER)?.ledgers.keys() ?? [])];
const registered = () =>
  [...eu().values()].map(({ nodeId, drain, status }) => `${nodeId} ${drain ? 'drained' : 'open'} ${status}`);
const leavingOf = (outcome: ClusterOutcome) => (outcome.kind === 'done' ? outcome.leaving : undefined);
const endMachine = (instance: string) => {
  const { group } = bed.world;
  if (group === undefined) return;
  const instances = new Map([...group.instances].filter(([id]) => id !== instance));
  bed.world.group = { ...group, instances, desired: instances.size };
};
const failing = (label: string) => (call: string) => {
  if (call === label) throw NO_ANSWER;
};

describe('the nodes of an object that is gone', () => {
  test('are drained, removed once no task holds them, and then the object is forgotten', async () => {
    berthNodes.change('eu', 'n1', { tasks: 1 });
    objects = [];
    await tick();
    expect(registered()).toEqual(['n1 drained ready', 'n2 drained ready']);
    const outcome = await tick();
    expect(registered()).toEqual(['n1 drained ready']);
    expect(leavingOf(outcome)).toMatchObject([
      {
        name: OBJECT,
        report: {
          deeds: [{ kind: 'unregistered', node: 'n2', orphaned: 0 }],
          findings: [
            { message: expect.stringContaining('node n1 belongs to pool eu no more') },
            { message: 'nodes are still registered in pool eu, whose object is gone' },
          ],
        },
      },
    ]);
    berthNodes.change('eu', 'n1', { tasks: 0 });
    expect(leavingOf(await tick())).toMatchObject([{ report: { findings: [], errors: [] } }]);
    expect(registered()).toEqual([]);
    await tick();
    expect(ledgers()).toEqual([]);
    expect(bed.takeLog().violations).toEqual([]);
  });

  test('are removed with their tasks once their machine has ended, and not while it runs', async () => {
    berthNodes.change('eu', 'n1', { tasks: 3 });
    objects = [];
    bed.world.nodes.delete('n1');
    for (const _ of [1, 2]) await tick();
    expect(eu().get('n1')).toMatchObject({ status: 'down', drain: true, tasks: 3 });
    meanwhile = failing('locate');
    endMachine('i-1');
    await tick();
    expect(eu().get('n1')).toMatchObject({ tasks: 3 });
    meanwhile = () => undefined;
    const [leaving] = leavingOf(await tick()) ?? [];
    expect(leaving?.report.deeds).toEqual([{ kind: 'unregistered', node: 'n1', pool: 'eu', orphaned: 3 }]);
    expect(registered()).toEqual([]);
  });

  test('keep their tasks where nobody can be asked for their machines, which Auto Scaling never had', async () => {
    await setUp('custom');
    bed.changeNode('n1', { providerId: 'aws:///z/i-1' });
    await tick();
    berthNodes.change('eu', 'n1', { tasks: 3 });
    objects = [];
    bed.world.nodes.delete('n1');
    for (const _ of [1, 2, 3]) await tick();
    expect(eu().get('n1')).toMatchObject({ status: 'down', drain: true, tasks: 3 });
    expect(calls).not.toContain('locate');
    berthNodes.change('eu', 'n1', { tasks: 0 });
    await tick();
    expect(registered()).toEqual([]);
  });

  test('keep their tasks though the cluster answers with no object and no node at all', async () => {
    for (const name of ['n1', 'n2']) berthNodes.change('eu', name, { tasks: 1 });
    const nodes = new Map(bed.world.nodes);
    objects = [];
    bed.world.nodes.clear();
    for (const _ of [1, 2, 3]) await tick();
    objects = [OBJECT];
    for (const [name, node] of nodes) bed.world.nodes.set(name, node);
    await tick();
    expect([...eu().values()]).toMatchObject([1, 2].map(() => ({ drain: false, status: 'ready', tasks: 1 })));
  });

  test('of another object are left alone, and those of an object of the same name go on from there', async () => {
    berthNodes.change('eu', 'n1', { tasks: 1 });
    objects = ['successor'];
    await tick();
    expect(registered()).toEqual(['n1 drained ready', 'n2 drained ready']);
    for (const _ of [1, 2]) await tick();
    expect(registered().sort()).toEqual(['n1 drained ready', 'n2 open ready']);
    expect(eu().get('n2')?.labels[BERTH_LABELS.registeredBy]).toBe('prod/successor');
    objects = [OBJECT];
    for (const _ of [1, 2, 3]) await tick();
    expect(registered().sort()).toEqual(['n1 open ready', 'n2 open ready']);
    expect(eu().get('n1')).toMatchObject({ tasks: 1 });
    expect(eu().get('n2')?.labels[BERTH_LABELS.registeredBy]).toBe(`prod/${OBJECT}`);
    await tick();
    expect(ledgers()).toEqual([OBJECT]);
  });
});

describe('nothing is changed', () => {
  test.each(['list objects', 'snapshot'])('if %s fails', async (call) => {
    objects = [];
    meanwhile = failing(call);
    const outcome = await tick();
    expect(registered()).toEqual(['n1 open ready', 'n2 open ready']);
    expect(berthNodes.takeCalls()).toEqual([]);
    if (call === 'snapshot') {
      expect(leavingOf(outcome)).toMatchObject([
        { report: { errors: [{ operation: 'read', subject: 'cluster', code: 'Timeout', kind: 'unknown' }] } },
      ]);
    }
    expect(ledgers()).toEqual([OBJECT]);
  });

  test('if the kind is gone, which may come back with its objects; that nodes stay registered is told', async () => {
    objects = undefined;
    expect(await tick()).toEqual({ kind: 'no-kind', stranded: [OBJECT] });
    expect(registered()).toEqual(['n1 open ready', 'n2 open ready']);
    expect(berthNodes.takeCalls()).toEqual([]);
    objects = [];
    for (const _ of [1, 2, 3]) await tick();
    expect(ledgers()).toEqual([]);
    objects = undefined;
    expect(await tick()).toEqual({ kind: 'no-kind' });
  });

  test('past the deadline, and that is told', async () => {
    objects = [];
    expect(leavingOf(await tick(0))).toMatchObject([{ report: { outOfTime: true } }]);
    expect(calls).toEqual(['list objects']);
    expect(berthNodes.takeCalls()).toEqual([]);
  });
});

test('a registry that fails is asked again by the next tick', async () => {
  for (const operation of ['list', 'register', 'remove']) {
    await setUp();
    objects = [];
    meanwhile = failing(operation);
    for (const _ of [1, 2]) expect(leavingOf(await tick())?.[0]?.report.findings).not.toEqual([]);
    expect(registered()).not.toEqual([]);
    meanwhile = () => undefined;
    for (const _ of [1, 2, 3]) await tick();
    expect(registered()).toEqual([]);
    expect(ledgers()).toEqual([]);
  }
});

test('a tick that dies anywhere leaves what the next ones go on from', async () => {
  let deaths = 0;
  for (let after = 0, dead = true; dead; after++) {
    await setUp();
    berthNodes.change('eu', 'n1', { tasks: 3 });
    objects = [];
    bed.world.nodes.delete('n1');
    endMachine('i-1');
    await tickThatDies(after).then(
      () => {
        dead = false;
      },
      (error: unknown) => {
        if (!(error instanceof Dead)) throw error;
        deaths += 1;
      },
    );
    for (const _ of [1, 2, 3, 4]) await tick();
    expect(registered()).toEqual([]);
    expect(ledgers()).toEqual([]);
  }
  expect(deaths).toBeGreaterThan(4);
});

async function tickThatDies(after: number): Promise<ClusterOutcome> {
  let left = after;
  meanwhile = () => {
    if (left === 0) throw new Dead();
    left -= 1;
  };
  try {
    return await tick();
  } finally {
    meanwhile = () => undefined;
  }
}

test('a tick without such objects asks for nothing more', async () => {
  const { requests } = turns;
  await tick();
  expect(calls).toEqual(['list objects', 'validate', 'describe', 'snapshot']);
  expect(berthNodes.takeCalls()).toEqual(['read']);
  expect(turns.requests - requests).toBe(2);
  objects = [];
  for (const _ of [1, 2, 3]) await tick();
  const forgotten = turns.requests;
  await tick();
  expect(calls).toEqual(['list objects']);
  expect(turns.requests - forgotten).toBe(2);
});

test('the end of a machine is not that of another one that had its name before, or has it now', () => {
  const seen = {
    ...{ nodeId: 'n1', capacity: {}, status: 'ready' as const, drain: false, ineligible: false, revision: 1 },
    labels: { [BERTH_LABELS.uid]: 'u2', [BERTH_LABELS.instance]: 'i-2' },
  };
  const group = { steady: true, desired: 1, min: 0, max: 1, instances: new Map([['i-2', 'InService']]) };
  const view = {
    ...{ snapshot: { nodes: [] }, whereabouts: new Map(), ended: ['u1'] },
    group: { ...group, terminateSuspended: false },
  };
  const ended = { kind: 'machine-ended', node: 'n1' } as const;
  expect(
    fateOf(seen, {
      ...view,
      deeds: [
        { ...ended, instance: 'i-1' },
        { kind: 'node-deleted', node: 'n1' },
      ],
    }),
  ).toBe('unsure');
  expect(fateOf(seen, { ...view, deeds: [{ ...ended, instance: 'i-2' }] })).toBe('ended');
  expect(fateOf(seen, { ...view, deeds: [], ended: ['u2'] })).toBe('ended');
});
