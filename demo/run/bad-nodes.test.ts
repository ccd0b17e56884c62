import { describe, expect, test } from 'vitest';
import type { PlanResult } from '../../lib/client/index.ts';
import { FakeCluster } from '../testing/fake-cluster.ts';
import { badNodesFor, nodeSpecsOf, withBadNodes } from '../workload/bad-nodes.ts';
import type { Workload } from '../workload/workload.ts';
import { auditAtEnd } from './audit.ts';
import { type BadNodesRun, badNodesRun, DEMO_TRACKER, loopGuard } from './bad-nodes.ts';
import { recording } from './recording.ts';
import { replay } from './replay.ts';
import { type WithoutTracker, withoutTracker } from './without-tracker.ts';

const PLAIN: Workload = {
  source: 'test',
  nodes: [{ name: 'n', cpuMilli: 9_000, memoryMib: 9_000, gpus: 0, model: '' }],
  tasks: Array.from({ length: 9 }, (_, at) => {
    const need = { cpuMilli: 1_000, memoryMib: 1, gpus: 0, gpuMilli: 0, models: [] };
    return { name: `t${at}`, ...need, arrival: at * 10, end: at * 10 + 5, outcome: 'complete' };
  }),
};
const BAD_NODES = badNodesFor(PLAIN, 2);
const UNTRACKED: WithoutTracker = { evaluations: 4, plans: 9, refusals: 9, placed: 0, eligibility: 'eligible' };

/** A replay with two bad nodes on a cluster in memory, each result a millisecond after the one before. */
async function run(fake = new FakeCluster()) {
  const { cluster, history } = recording(fake.asCluster());
  const { nodes, tasks } = withBadNodes(PLAIN, BAD_NODES);
  await cluster.registerPool({ pool: 'p', settings: { tracker: DEMO_TRACKER } });
  await cluster.registerNodes(nodeSpecsOf(nodes, BAD_NODES, 'p'));
  let now = 0;
  const outcome = await replay({
    cluster,
    pool: 'p',
    tasks,
    workers: 2,
    seed: 1,
    limits: { events: 9, seconds: 9 },
    reportRunning: false,
    clock: () => now++,
    signal: new AbortController().signal,
    onResult: loopGuard(BAD_NODES),
  });
  const seen = { pool: 'p', plans: history.plans, outcomes: outcome.plans };
  const facts = await badNodesRun(cluster, BAD_NODES, seen, async () => UNTRACKED);
  return { cluster, history, outcome, facts };
}

function factsOf({ nodes }: BadNodesRun, nodeId: string) {
  return nodes.find((node) => node.nodeId === nodeId);
}

test('each bad node is refused as often as the threshold says, and its tasks get through after the commit that marked it', async () => {
  const { outcome, facts, cluster, history } = await run();
  expect(outcome.placed).toBe(PLAIN.tasks.length + 8);
  expect(facts).toMatchObject({ pool: 'p', tracker: DEMO_TRACKER, othersMarked: [], untracked: UNTRACKED });
  for (const nodeId of ['bad-node-1', 'bad-node-2']) {
    const marking = outcome.plans.find(({ result }) => (result.ineligibleNodes as string[]).includes(nodeId));
    const node = factsOf(facts, nodeId);
    expect(node).toMatchObject({
      mark: { planId: marking?.result.planId, index: marking?.result.index, afterMs: marking?.afterMs },
      refusedLater: 0,
      eligibility: 'ineligible',
      event: 'made ineligible: refused 40 times',
    });
    expect(node?.refusedAfterMs).toHaveLength(DEMO_TRACKER.threshold);
    expect(node?.refusedAfterMs.at(-1)).toBe(marking?.afterMs);
    expect(node?.evaluations.map(({ taskId, placedAfterMark }) => [taskId, placedAfterMark])).toEqual(
      [1, 2, 3, 4].map((task) => [`${nodeId}-task-${task}`, true]),
    );
  }
  for (const { violations } of Object.values(await auditAtEnd(cluster, history, ['p']))) expect(violations).toEqual([]);
});

test('a cluster that never marks them ends the replay, which would not end by itself', async () => {
  const fake = new FakeCluster();
  fake.faults.tracksNothing = true;
  await expect(run(fake)).rejects.toThrow(
    'node bad-node-1 was refused 400 times; its pool makes a node ineligible after 40 in 120 s, and the workers still choose it',
  );
});

describe('what the results say', () => {
  const refused = (planId: string, index: number, code: string, ineligibleNodes: string[] = []) =>
    ({
      planId,
      index,
      status: 'rejected',
      rejectedNodes: [{ nodeId: 'bad-node-1', code }],
      ineligibleNodes,
    }) as unknown as PlanResult;
  const placed = (planId: string, index: number) =>
    ({ planId, index, status: 'applied', rejectedNodes: [], ineligibleNodes: [] }) as unknown as PlanResult;
  const results: [string, PlanResult][] = [
    ['bad-node-1', refused('p1', 1, 'max-tasks')],
    ['spare-node-1', placed('p2', 2)],
    ['bad-node-1', refused('p3', 3, 'max-tasks', ['bad-node-1', 'n'])],
    ['bad-node-1', refused('p4', 4, 'node-ineligible')],
  ];

  /** Task `a` is refused by p1 and placed by p2, before the mark; `b` is refused by p3 and p4 and placed by none. */
  async function factsOfFirst(eligibility: 'eligible' | 'ineligible') {
    const tasks = ['a', 'a', 'b', 'b'];
    const plans = results.map(([nodeId, answer], at) => {
      const placements = [{ taskId: tasks[at] ?? '', nodeId, resources: {}, devices: [] }];
      return { planId: answer.planId, pool: 'p', placements, pushedAt: at, answer };
    });
    const elsewhere = { ...plans[0], pool: 'other', planId: 'x' } as (typeof plans)[number];
    const outcomes = results.map(([, result], at) => ({ afterMs: at * 100, result }));
    const node = async () => ({ account: { eligibility }, events: [] }) as never;
    const seen = { pool: 'p', plans: [...plans, elsewhere], outcomes };
    return badNodesRun({ node }, BAD_NODES.slice(0, 1), seen, async () => UNTRACKED);
  }

  test('refusals on the way when it was marked are told apart, and so are tasks that got through before, or not at all', async () => {
    expect(factsOf(await factsOfFirst('ineligible'), 'bad-node-1')).toEqual({
      nodeId: 'bad-node-1',
      refusedAfterMs: [0, 200],
      refusedLater: 1,
      mark: { planId: 'p3', index: 3, afterMs: 200 },
      evaluations: [
        { taskId: 'a', refusals: 1, placedAfterMark: false },
        { taskId: 'b', refusals: 2, placedAfterMark: false },
      ],
      eligibility: 'ineligible',
      event: undefined,
    });
  });

  test('a good node that collisions alone have marked is told', async () => {
    expect((await factsOfFirst('ineligible')).othersMarked).toEqual(['n']);
  });

  test('the tables have their own word, whatever the results say', async () => {
    expect(factsOf(await factsOfFirst('eligible'), 'bad-node-1')?.eligibility).toBe('eligible');
  });
});

describe('the part without the tracker', () => {
  const badNode = BAD_NODES[0] as (typeof BAD_NODES)[number];
  const signal = new AbortController().signal;

  test('pushes as many plans as it may, all of them refused, and the node stays eligible', async () => {
    const fake = new FakeCluster();
    const options = { cluster: fake.asCluster(), pool: 'u', badNode, tries: 7, seed: 1, signal };
    expect(await withoutTracker(options)).toEqual({
      evaluations: 4,
      plans: 7,
      refusals: 7,
      placed: 0,
      eligibility: 'eligible',
    });
    expect(fake.decided.every(({ placements }) => placements.every(({ nodeId }) => nodeId === 'u-bad-node-1'))).toBe(
      true,
    );
  });

  test('tells of tasks that get through', async () => {
    const fake = new FakeCluster();
    const cluster = fake.asCluster();
    const registerNodes: typeof cluster.registerNodes = (specs, onProgress) =>
      cluster.registerNodes(
        specs.map(({ maxTasks: _, ...spec }) => spec),
        onProgress,
      );
    const options = { cluster: { ...cluster, registerNodes }, pool: 'u', badNode, tries: 7, seed: 1, signal };
    expect(await withoutTracker(options)).toMatchObject({ plans: 1, refusals: 0, placed: 4 });
  });
});
