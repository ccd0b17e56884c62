import type { Finding, RegisteredNode, StoredNode, StoredTask, Violation } from './history.ts';

/** Tasks that end in these states hold nothing any more. */
const ENDED = new Set(['complete', 'shutdown', 'failed', 'rejected', 'orphaned']);

/**
 * Invariant 1 at one moment: on every node what is free and what its unreleased tasks use add up to the capacity it was
 * registered with, and every claim has the one holder that asked for it. `checked` counts nodes and tasks.
 */
export function checkNoOvercommitNow(
  registered: readonly RegisteredNode[],
  nodes: readonly StoredNode[],
  tasks: readonly StoredTask[],
): Finding {
  const violations: Violation[] = [];
  const broken = (where: string, message: string) => violations.push({ invariant: 1, where, message });
  const stored = new Map(nodes.map((node) => [node.nodeId, node]));
  const tasksOf = new Map<string, StoredTask[]>(registered.map(({ nodeId }) => [nodeId, []]));
  for (const task of tasks) {
    if (ENDED.has(task.state) !== task.released) {
      broken(
        task.taskId,
        `it is ${task.state}, and its resources were ${task.released ? 'given back already' : 'not given back'}`,
      );
    }
    const others = tasksOf.get(task.nodeId);
    if (others === undefined) broken(task.taskId, `it is on node ${task.nodeId}, which nobody registered`);
    else if (!task.released) others.push(task);
  }
  for (const spec of registered) {
    const node = stored.get(spec.nodeId);
    if (node === undefined) broken(spec.nodeId, 'it was registered and is not there');
    else checkNode(spec, node, tasksOf.get(spec.nodeId) ?? [], broken);
  }
  return { checked: registered.length + tasks.length, violations };
}

type Broken = (where: string, message: string) => void;

function checkNode(spec: RegisteredNode, node: StoredNode, tasks: readonly StoredTask[], broken: Broken): void {
  for (const [name, capacity] of Object.entries(spec.capacity)) {
    const used = tasks.reduce((sum, task) => sum + (task.resources[name] ?? 0), 0);
    const free = node.free[name] ?? 0;
    if (node.capacity[name] !== capacity)
      broken(spec.nodeId, `capacity of ${name} is ${node.capacity[name]}, registered were ${capacity}`);
    if (free < 0) broken(spec.nodeId, `${name} is overcommitted: ${free} free`);
    if (free + used !== capacity) broken(spec.nodeId, `${name}: ${free} free and ${used} used of ${capacity}`);
  }
  for (const task of tasks) {
    for (const name of Object.keys(task.resources)) {
      if (!(name in spec.capacity) && task.resources[name] !== 0)
        broken(spec.nodeId, `${task.taskId} uses ${name}, which the node has not`);
    }
  }
  const counted = (node.capacity['max-tasks'] ?? 0) - (node.free['max-tasks'] ?? 0);
  if (counted !== tasks.length) broken(spec.nodeId, `it counts ${counted} tasks and has ${tasks.length}`);
  checkClaims(spec, node, tasks, broken);
}

function checkClaims(spec: RegisteredNode, node: StoredNode, tasks: readonly StoredTask[], broken: Broken): void {
  const expected = new Map(spec.devices.map((device) => [`device/${device}`, '!free']));
  for (const task of tasks) {
    for (const device of task.devices) {
      const key = `device/${device}`;
      const other = expected.get(key);
      if (other === undefined) broken(spec.nodeId, `${task.taskId} holds ${key}, which the node has not`);
      else if (other !== '!free') broken(spec.nodeId, `${key} is held by ${other} and by ${task.taskId}`);
      expected.set(key, task.taskId);
    }
  }
  for (const [key, holder] of expected) {
    const found = node.claims.get(key);
    if (found !== holder) broken(spec.nodeId, `${key} is ${found ?? 'not there'}, expected ${holder}`);
  }
  for (const key of node.claims.keys()) {
    if (!expected.has(key)) broken(spec.nodeId, `a claim ${key} that no task asked for`);
  }
}
