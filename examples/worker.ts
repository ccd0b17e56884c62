/**
 * A scheduler worker of one page: places tasks of a service on the nodes of a pool.
 *
 *   npm start -- --write-env berth.env    in one terminal: the local engine
 *   . ./berth.env && npm run example      in another; any number at once (npm run example -- TASKS, default 12)
 */
import { ulid } from 'ulid';
import { type Berth, connect, type NodeView, type PoolSnapshot } from '../lib/client/index.ts';

const POOL = 'example';
const SERVICE = 'web';
const NEED = { cpu: 250, memory: 128 };
const PER_PLAN = 4;

/** Some nodes to place tasks on. Agents do this in earnest, each for its own node. */
async function registerCluster(berth: Berth): Promise<void> {
  await berth.registerPool({ pool: POOL });
  const nodes = ['a', 'b', 'c', 'd'].map((nodeId) => ({ pool: POOL, nodeId, capacity: { cpu: 4000, memory: 4096 } }));
  await berth.registerNodes(nodes);
}

/** Best fit: the node with the least cpu left among those that have enough. What was planned by us counts as taken. */
function choose(nodes: readonly NodeView[], planned: ReadonlyMap<string, number>): NodeView | undefined {
  const left = ({ nodeId, free }: NodeView, name: 'cpu' | 'memory') =>
    (free[name] ?? 0) - (planned.get(nodeId) ?? 0) * NEED[name];
  return nodes
    .filter((node) => node.schedulable && left(node, 'cpu') >= NEED.cpu && left(node, 'memory') >= NEED.memory)
    .sort((a, b) => left(a, 'cpu') - left(b, 'cpu'))[0];
}

async function placeAll(berth: Berth, tasks: number): Promise<Map<number, string>> {
  const placed = new Map<number, string>();
  let waiting = Array.from({ length: tasks }, (_, slot) => slot);
  let view: PoolSnapshot = await berth.snapshot(POOL);
  while (waiting.length > 0) {
    const planned = new Map<string, number>();
    const placements = waiting.slice(0, PER_PLAN).flatMap((slot) => {
      const node = choose(view.nodes, planned);
      if (!node) return [];
      planned.set(node.nodeId, (planned.get(node.nodeId) ?? 0) + 1);
      // A task id is used once: a task is never run again, its successor in the slot is a new one.
      return [{ taskId: ulid(), serviceId: SERVICE, slot, nodeId: node.nodeId, resources: NEED }];
    });
    if (placements.length === 0) throw new Error(`no node of pool ${POOL} has room for another task`);

    const plan = { planId: ulid(), pool: POOL, snapshotIndex: view.index, placements };
    const result = await berth.submit(plan);
    if (result.status === 'invalid' || result.status === 'expired') throw new Error(JSON.stringify(result));
    const refused = new Map(result.rejectedNodes.map(({ nodeId, message }) => [nodeId as string, message]));
    for (const { taskId, slot, nodeId } of placements)
      if (!refused.has(nodeId)) placed.set(slot, `${nodeId} ${taskId}`);
    for (const [node, why] of refused) console.log(`  ${node} refused: ${why}`);
    console.log(`plan ${plan.planId} ${result.status} at index ${result.index}, ${placed.size} of ${tasks} placed`);

    waiting = waiting.filter((slot) => !placed.has(slot));
    // Our view was stale, or is so now. At least what refused us is looked at again; of the rest what plans have changed.
    view = await berth.snapshot(POOL, { since: view, atLeast: result.index, nodes: [...refused.keys()] });
  }
  return placed;
}

/** Plays the agents: the tasks run, and end, so that the example can be run again. */
async function runAndEnd(berth: Berth, placed: ReadonlyMap<number, string>): Promise<void> {
  for (const [slot, place] of placed) {
    const [nodeId = '', taskId = ''] = place.split(' ');
    await berth.reportTask({ taskId, serviceId: SERVICE, slot, nodeId }, { state: 'running' });
    await berth.reportTask({ taskId, serviceId: SERVICE, slot, nodeId }, { state: 'complete' });
  }
  console.log(`${placed.size} tasks have run and ended`);
}

/** Says that there are to be no successors. A task that ended while it was wanted stays in its slot until somebody has. */
async function dealWithEnds(berth: Berth, placed: ReadonlyMap<number, string>): Promise<void> {
  const stops = [...placed].map(([slot, place]) => {
    const [nodeId = '', taskId = ''] = place.split(' ');
    return { taskId, serviceId: SERVICE, slot, nodeId };
  });
  const { index } = await berth.snapshot(POOL);
  const { status } = await berth.submit({ planId: ulid(), pool: POOL, snapshotIndex: index, stops });
  if (status !== 'applied') throw new Error(`the plan that deals with their ends is ${status}`);
}

const berth = connected();
try {
  await registerCluster(berth);
  const placed = await placeAll(berth, Number(process.argv[2] ?? 12));
  await runAndEnd(berth, placed);
  await dealWithEnds(berth, placed);
} finally {
  berth.close();
}

/** Berth, or one line that says how to find it. */
function connected(): Berth {
  try {
    return connect();
  } catch (error) {
    console.error((error as Error).message);
    process.exit(2);
  }
}
