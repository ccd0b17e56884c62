import type { Account } from '../../lib/nodes/account.ts';
import type { Task } from '../../lib/tasks/task.ts';

/** A node's account, and the tasks that count against the node. */
export interface Audited {
  readonly account: Account;
  readonly tasks: readonly Task[];
}

/** How much of each resource the tasks of a node use. */
function usedBy(tasks: readonly Task[]): Map<string, number> {
  const used = new Map<string, number>([['max-tasks', tasks.length]]);
  for (const { resources } of tasks) {
    for (const [name, amount] of Object.entries(resources)) used.set(name, (used.get(name) ?? 0) + amount);
  }
  return used;
}

/** Resources of which the tasks of a node use more than there is. */
export function overcommitted({ account, tasks }: Audited): Map<string, number> {
  return new Map([...usedBy(tasks)].filter(([name, amount]) => amount > (account.capacity[name] ?? 0)));
}

/**
 * What is wrong between the account of a node and its tasks: something left that does not add up, something that two tasks
 * hold, something that the account gives to another holder than the task that has it.
 */
export function discrepancies({ account, tasks }: Audited): string[] {
  const problems: string[] = [];
  const used = usedBy(tasks);
  for (const name of new Set([...used.keys(), ...Object.keys(account.capacity), ...Object.keys(account.free)])) {
    const left = (account.capacity[name] ?? 0) - (used.get(name) ?? 0);
    if ((account.free[name] ?? 0) !== left) problems.push(`${name}: ${account.free[name]} left, by its tasks ${left}`);
  }

  const holders = new Map<string, string>();
  const hold = (key: string, task: string) => {
    // One task that names a thing twice, by an update in place, is one holder.
    if ((holders.get(key) ?? task) !== task) problems.push(`${key} has two holders: ${holders.get(key)} and ${task}`);
    holders.set(key, task);
  };
  const sharers = new Map<string, Set<string>>();
  const share = (key: string, task: string) => sharers.set(key, (sharers.get(key) ?? new Set()).add(task));
  for (const { taskId, cores, devices, ports, volumes } of tasks) {
    for (const core of cores) hold(`core/${core}`, taskId);
    for (const device of devices) hold(`device/${device}`, taskId);
    for (const { ip, value, ignoreCollision } of ports) {
      if (ignoreCollision) share(`port/${ip}/${value}`, taskId);
      else hold(`port/${ip}/${value}`, taskId);
    }
    for (const { source, mode } of volumes) {
      if (mode === 'single-writer') hold(`volume/${source}`, taskId);
      else share(`volume/${source}`, taskId);
    }
  }
  for (const key of holders.keys()) {
    if (key.startsWith('volume/') && sharers.has(key)) problems.push(`${key} is held alone and shared`);
  }

  for (const [key, task] of holders) {
    if (account.claims.get(key as never) !== task)
      problems.push(`${key} is ${task}'s, not ${account.claims.get(key as never)}'s`);
  }
  for (const [key, holder] of account.claims) {
    if (holder !== '!free' && holders.get(key) !== holder)
      problems.push(`${key} is held by ${holder}, which does not have it`);
  }
  const listed = (map: ReadonlyMap<string, ReadonlySet<string>>) =>
    JSON.stringify([...map].map(([key, set]) => [key, [...set].sort()]).sort());
  if (listed(account.sharers) !== listed(sharers)) {
    problems.push(`shared: ${listed(account.sharers)}, by its tasks ${listed(sharers)}`);
  }
  return problems;
}
