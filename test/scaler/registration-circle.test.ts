import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { nodeRegistry } from '../../lib/client/node-registry.ts';
import type { EpochMs } from '../../lib/time.ts';
import { type BerthBed, startBerthBed } from '../support/berth-bed.ts';
import { ScalerBed } from './bed.ts';

/** The scaler's pool and Berth's, over its tables, with plans applied in between. */

let berth: BerthBed;
let bed: ScalerBed;
let pools = 0;
let plans = 0;

beforeAll(async () => {
  berth = await startBerthBed();
});
afterAll(() => berth.stop());

const poolName = () => `circle-${pools}`;

beforeEach(async () => {
  pools += 1;
  await berth.berth.registerPool({ pool: poolName(), settings: { tracker: { threshold: 1 } } });
  bed = new ScalerBed('eks', 3);
  for (let at = 0; at < 3; at++) bed.changeNode(bed.addNode(), { allocatable: { cpu: '4', memory: '8Gi' } });
  bed.extra = { config: { nodegroup: 'games', pool: poolName() } };
  bed.registry = nodeRegistry(berth.connection, 'prod');
  await bed.tick();
});

/** What becomes of a plan that places a task of so many thousandths of a core on `nodeId`. */
async function place(nodeId: string, cpu: number): Promise<string | undefined> {
  plans += 1;
  const planId = `${poolName()}-${plans}`;
  const task = { taskId: `${planId}-t`, serviceId: 'web', slot: plans, nodeId, resources: { cpu, memory: 256 } };
  await berth.berth.push({ planId, pool: poolName(), placements: [task] });
  await berth.applyWaiting();
  return (await berth.berth.result(planId))?.status;
}

it('a cordoned node gets no placements from the same tick on, and gets them again once it is uncordoned', async () => {
  expect(await place('n1', 500)).toBe('applied');
  bed.changeNode('n1', { unschedulable: true });
  await bed.tick();
  expect(await place('n1', 500)).toBe('rejected');
  expect(await place('n2', 500)).toBe('applied');
  bed.changeNode('n1', { unschedulable: false });
  await bed.tick();
  // The refusal has made it ineligible: an operator's word, or time, ends that; the scaler does not.
  expect((await berth.berth.node(poolName(), 'n1')).account).toMatchObject({ drain: false, eligibility: 'ineligible' });
  await berth.berth.setEligibility(poolName(), 'n1', 'eligible');
  expect(await place('n1', 500)).toBe('applied');
});

it('a node that refusals have made ineligible is the first to go, and its tasks are orphaned when its machine ends', async () => {
  expect(await place('n3', 500)).toBe('applied');
  expect(await place('n3', 4000)).toBe('rejected');
  bed.addServer('n3', 'Allocated');
  bed.replicas = 2;
  await bed.tick();
  expect(bed.takeLog().cordoned).toEqual(['n3']);
  bed.removeServer([...bed.world.servers.values()][0]?.name ?? '');
  bed.now = (bed.now + 60_000) as EpochMs;
  const outcome = await bed.tick();
  expect(outcome?.report.deeds.at(-1)).toEqual({ kind: 'unregistered', node: 'n3', pool: poolName(), orphaned: 1 });
  const { nodes } = await berth.berth.snapshot(poolName());
  expect(nodes.map(({ nodeId }) => nodeId).sort()).toEqual(['n1', 'n2']);
  for await (const task of berth.berth.tasks(poolName())) expect(task.state).toBe('orphaned');
});

it('an idle tick over the tables changes nothing there', async () => {
  const before = await berth.berth.snapshot(poolName());
  await bed.tick();
  const after = await berth.berth.snapshot(poolName());
  expect(after.nodes).toEqual(before.nodes);
  expect(after.nodes.map(({ capacity, schedulable }) => [capacity.cpu, schedulable])).toEqual(
    Array(3).fill([4000, true]),
  );
});
