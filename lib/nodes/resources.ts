import * as z from 'zod/mini';
import { quantity, recordOf } from '../schema.ts';
import { BOUNDS } from '../settings.ts';

/**
 * Amounts of resources by name. `cpu` is in thousandths of a core, `memory` and `disk` in MiB, any other name is the
 * user's own (`gpu-milli/0`). All are non-negative safe integers. A resource that is not named is zero.
 */
export type Resources = Readonly<Record<string, number>>;

/**
 * The number of tasks is accounted for like a resource, of which every task takes one: so that a condition can guard it.
 * The name is not a user's to use.
 */
export const TASKS_RESOURCE = 'max-tasks';

/** Capacity in tasks of a node that sets no `maxTasks`. */
export const UNLIMITED_TASKS = 1_000_000_000;

const NAME_PATTERN = new RegExp(
  `^(?!${TASKS_RESOURCE}$)[A-Za-z0-9][A-Za-z0-9._/-]{0,${BOUNDS.resourceNameLength - 1}}$`,
);
const NAME_EXPECTED = `1 to ${BOUNDS.resourceNameLength} letters, digits and . _ / - only, beginning with a letter or a digit, and not "${TASKS_RESOURCE}"`;

const resourceName = z.string().check(z.regex(NAME_PATTERN, { error: NAME_EXPECTED }));

/** Whether a resource of a user may be called `name`. */
export function isResourceName(name: string): boolean {
  return NAME_PATTERN.test(name);
}

/** Schema of amounts by name, at most `max` names. */
export function resourcesSchema(max: number) {
  return recordOf(resourceName, quantity, max, 'an object of amounts by resource name, {"cpu": 500}');
}

/** The amount of `name` in `resources`: zero where it is not named. */
export function amountOf(resources: Resources, name: string): number {
  return Object.hasOwn(resources, name) ? (resources[name] ?? 0) : 0;
}

/**
 * The order in which resources are checked (spec plan-applier.md, "Deciding", 5): cpu, memory, disk, then the others by
 * name. The number of tasks comes after all of them.
 */
export function checkOrder(names: Iterable<string>): string[] {
  const rank = (name: string) =>
    name === 'cpu' ? 0 : name === 'memory' ? 1 : name === 'disk' ? 2 : name === TASKS_RESOURCE ? 4 : 3;
  return [...names].sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : a > b ? 1 : 0));
}
