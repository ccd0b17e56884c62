import type { Account } from '../lib/nodes/account.ts';
import { type ClaimKey, FREE, isPort } from '../lib/nodes/claims.ts';
import { amountOf } from '../lib/nodes/resources.ts';
import { holdingOf } from '../lib/tasks/holding.ts';
import type { Task } from '../lib/tasks/task.ts';
import type { ClusterState } from './cluster-state.ts';

/**
 * What does not add up: on every node, for every resource, what is free and what the unreleased tasks use must make the
 * capacity, and every claim must be held by a task that makes it. `before` excuses what two tasks held from the start.
 */
export function imbalances(state: ClusterState, before: ClusterState): string[] {
  return accountsOf(state).flatMap(({ account, tasks, at }) => {
    const contested = claimantsOf(tasksOn(before, at.pool, account.nodeId));
    return [...unbalancedResources(account, tasks), ...wrongClaims(account, tasks, contested)].map(
      (problem) => `node ${account.nodeId}: ${problem}`,
    );
  });
}

function accountsOf(state: ClusterState) {
  return [...state.accounts].flatMap(([pool, accounts]) =>
    [...accounts.values()].map((account) => ({ account, tasks: tasksOn(state, pool, account.nodeId), at: { pool } })),
  );
}

function tasksOn({ tasks }: ClusterState, pool: Task['pool'], nodeId: Task['nodeId']): Task[] {
  return [...tasks.values()].filter((task) => task.pool === pool && task.nodeId === nodeId && !task.released);
}

function unbalancedResources({ capacity, free }: Account, tasks: readonly Task[]): string[] {
  const used = new Map<string, number>();
  for (const task of tasks) {
    for (const [name, amount] of Object.entries(holdingOf(task).resources)) {
      used.set(name, (used.get(name) ?? 0) + amount);
    }
  }
  const names = new Set([...Object.keys(capacity), ...Object.keys(free), ...used.keys()]);
  return [...names].flatMap((name) => {
    const [left, taken, all] = [amountOf(free, name), used.get(name) ?? 0, amountOf(capacity, name)];
    return left + taken === all ? [] : [`${name}: ${left} free and ${taken} used do not make the capacity of ${all}`];
  });
}

interface Claimants {
  /** Tasks that want the thing for themselves. */
  readonly exclusive: Map<ClaimKey, string[]>;
  /** Tasks that share a volume, or have a port beside whoever holds it. */
  readonly shared: Map<ClaimKey, string[]>;
}

function claimantsOf(tasks: readonly Task[]): Claimants {
  const claimants: Claimants = { exclusive: new Map(), shared: new Map() };
  const add = (map: Map<ClaimKey, string[]>, key: ClaimKey, task: string) =>
    map.set(key, [...(map.get(key) ?? []), task]);
  for (const { taskId, claims } of tasks.map(holdingOf)) {
    for (const { key, mode } of claims) {
      add(mode === 'exclusive' ? claimants.exclusive : claimants.shared, key, taskId);
    }
  }
  return claimants;
}

function wrongClaims({ claims, sharers }: Account, tasks: readonly Task[], before: Claimants): string[] {
  const { exclusive, shared } = claimantsOf(tasks);
  const problems: string[] = [];
  for (const [key, holder] of claims) {
    if (holder !== FREE && !exclusive.get(key)?.includes(holder)) {
      problems.push(`${key} is held by ${holder}, which does not claim it`);
    }
  }
  for (const [key, claimants] of exclusive) {
    if ((claims.get(key) ?? FREE) === FREE)
      problems.push(`${key} is claimed by ${claimants.join(', ')}, held by nobody`);
    const excused = Math.max(1, before.exclusive.get(key)?.length ?? 0);
    if (claimants.length > excused) problems.push(`${key} is claimed by ${claimants.join(' and by ')}`);
  }
  for (const key of new Set([...sharers.keys(), ...shared.keys()])) {
    const listed = (tasks: Iterable<string> = []) => [...new Set(tasks)].sort();
    const [held, claimed] = [listed(sharers.get(key)), listed(shared.get(key))];
    if (held.join() !== claimed.join()) problems.push(`${key} is shared by [${held}], claimed by [${claimed}]`);
    const writers = (exclusive.get(key)?.length ?? 0) - (before.exclusive.get(key)?.length ?? 0);
    if (!isPort(key) && claimed.length > 0 && writers > 0) problems.push(`${key} is shared and held alone`);
  }
  return problems;
}
