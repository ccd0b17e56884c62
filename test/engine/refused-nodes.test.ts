import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Berth, connect, type PlanInput, type PlanResult } from '../../lib/client/index.ts';
import type { TrackerSettings } from '../../lib/nodes/pool.ts';
import { type Engine, startEngine } from '../../local/engine.ts';
import type { BusEvent } from '../../local/event-bus/server.ts';

/** The loop of hashicorp/nomad#13017, through the whole system: workers go on choosing a node that the applier refuses. */

let engine: Engine;
let berth: Berth;
const events: BusEvent[] = [];
const log: string[] = [];

beforeAll(async () => {
  engine = await startEngine({ onEvent: (event) => events.push(event), onLog: ({ line }) => log.push(line) });
  berth = connect({ env: engine.env });
});

afterAll(async () => {
  berth?.close();
  await engine?.stop();
});

/** Whether a line of the log holds all of `texts`. Lines arrive after the answers that they are about. */
function logged(...texts: string[]): boolean {
  return log.some((line) => texts.every((text) => line.includes(text)));
}

/** A pool of good nodes, and of nodes that look better to a worker that does not know of task limits, and take nothing. */
async function makePool(pool: string, bad: number, tracker: Partial<TrackerSettings>): Promise<void> {
  await berth.registerPool({ pool, settings: { tracker } });
  const node = (nodeId: string, cpu: number) => ({ nodeId, pool, capacity: { cpu, memory: 4096 } });
  await berth.registerNodes([
    ...Array.from({ length: bad }, (_, at) => ({ ...node(`bad-${at}`, 2000), maxTasks: 0 })),
    node('good-0', 8000),
    node('good-1', 8000),
  ]);
}

function planFor(pool: string, planId: string, nodeId: string): PlanInput {
  const task = { taskId: `${planId}-task`, serviceId: `${pool}-service`, slot: 1, nodeId, resources: { cpu: 100 } };
  return { planId: `${pool}-${planId}`, pool, placements: [task] };
}

/** Best fit as a worker sees it: of the nodes on which a task may be placed, the one with the least cpu left. */
async function choose(pool: string, atLeast: number): Promise<string> {
  const { nodes } = await berth.snapshot(pool, { atLeast });
  const [best] = nodes.filter(({ schedulable }) => schedulable).sort((a, b) => (a.free.cpu ?? 0) - (b.free.cpu ?? 0));
  return best?.nodeId ?? '';
}

/** One evaluation: plans again after every refusal, on a snapshot at the index that the result names. */
async function evaluate(pool: string, tries: number): Promise<PlanResult[]> {
  const results: PlanResult[] = [];
  let index = 0;
  for (let at = 0; at < tries; at++) {
    const result = await berth.submit(planFor(pool, `try-${at}`, await choose(pool, index)));
    results.push(result);
    if (result.status === 'applied') break;
    index = result.refreshIndex;
  }
  return results;
}

test('with the tracker an evaluation gets through after as many refusals as the threshold', async () => {
  await makePool('tracked', 1, { threshold: 5 });
  const results = await evaluate('tracked', 20);
  expect(results.map(({ status }) => status)).toEqual([...Array(5).fill('rejected'), 'applied']);
  expect(results.map(({ ineligibleNodes }) => ineligibleNodes)).toEqual([[], [], [], [], ['bad-0'], []]);

  const { account, profile } = await berth.node('tracked', 'bad-0');
  expect(account.eligibility).toBe('ineligible');
  expect(profile?.events.map(({ message }) => message)).toEqual(['made ineligible: refused 5 times in 300 seconds']);
  const told = events.filter(({ detail }) => (detail as { pool: string }).pool === 'tracked');
  expect(told.map(({ detailType }) => detailType)).toEqual([...Array(5).fill('Plan Refused'), 'Node Made Ineligible']);
  expect(told.at(-1)?.detail).toMatchObject({ nodeId: 'bad-0', planId: 'tracked-try-4' });
  await expect.poll(() => logged('node made ineligible', 'bad-0')).toBe(true);
});

test('without it the evaluation does not get through, however often it is tried', async () => {
  await makePool('untracked', 1, { threshold: 5, enabled: false });
  const results = await evaluate('untracked', 15);
  expect(new Set(results.map(({ status }) => status))).toEqual(new Set(['rejected']));
  expect((await berth.node('untracked', 'bad-0')).account.eligibility).toBe('eligible');
});

test('ten bad nodes are made ineligible at once, the eleventh is withheld and is when a mark is free', async () => {
  await makePool('many', 11, { threshold: 2 });
  const refuse = async (round: number, at: number) =>
    (await berth.submit(planFor('many', `round-${round}-${at}`, `bad-${at}`))).ineligibleNodes;
  const marked: string[][] = [];
  for (let at = 0; at < 11; at++) {
    expect(await refuse(1, at)).toEqual([]);
    marked.push([...(await refuse(2, at))]);
  }
  expect(marked.slice(0, 10)).toEqual(Array.from({ length: 10 }, (_, at) => [`bad-${at}`]));
  expect(marked[10]).toEqual([]);
  await expect.poll(() => logged('withheld by rate limit', 'bad-10')).toBe(true);

  await berth.changePool('many', { tracker: { markRatePerSecond: 1000 } });
  expect(await refuse(3, 10)).toEqual(['bad-10']);
});

test('a node that an operator makes eligible again takes a whole threshold', async () => {
  await makePool('again', 1, { threshold: 3 });
  await evaluate('again', 10);
  await berth.setEligibility('again', 'bad-0', 'eligible');
  const results: string[][] = [];
  for (let at = 0; at < 3; at++) {
    results.push([...(await berth.submit(planFor('again', `later-${at}`, 'bad-0'))).ineligibleNodes]);
  }
  expect(results).toEqual([[], [], ['bad-0']]);
});

test('a node is eligible again by itself after the time that its pool sets', async () => {
  await berth.registerPool({ pool: 'timed', settings: { tracker: { threshold: 1 }, ineligibleForSeconds: 1 } });
  await berth.registerNode({ nodeId: 'n', pool: 'timed', capacity: { cpu: 100 } });
  const big = { ...planFor('timed', 'big', 'n') };
  await berth.submit({
    ...big,
    placements: big.placements?.map((task) => ({ ...task, resources: { cpu: 1000 } })) ?? [],
  });
  await expect
    .poll(async () => (await berth.submit(planFor('timed', `p-${Date.now()}`, 'n'))).status, { timeout: 30_000 })
    .toBe('applied');
});
