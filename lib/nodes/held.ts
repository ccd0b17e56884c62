import type { Account } from './account.ts';
import { FREE } from './claims.ts';
import { amountOf, TASKS_RESOURCE } from './resources.ts';

/** What of a node is held, as its account has it. */
export interface Held {
  /** How many tasks hold something. */
  readonly tasks: number;
  /** Ids of those that hold something of which there is one; what the others hold are amounts. */
  readonly holders: readonly string[];
}

/** What tasks hold of the node; undefined if it is nothing, so that the node can go. */
export function heldOf(account: Account): Held | undefined {
  const { capacity, free, claims, sharers } = account;
  const names = new Set([...Object.keys(capacity), ...Object.keys(free)]);
  const taken = [...names].some((name) => amountOf(capacity, name) !== amountOf(free, name));
  const holders = new Set<string>([...claims.values()].filter((holder) => holder !== FREE));
  for (const tasks of sharers.values()) for (const task of tasks) holders.add(task);
  if (!taken && holders.size === 0) return undefined;
  return { tasks: amountOf(capacity, TASKS_RESOURCE) - amountOf(free, TASKS_RESOURCE), holders: [...holders].sort() };
}
