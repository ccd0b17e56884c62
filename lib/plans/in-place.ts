import type { Holding } from '../nodes/account.ts';
import { claimsOf, claimsWithout } from '../nodes/claims.ts';
import { amountOf } from '../nodes/resources.ts';
import type { Placement } from './plan.ts';

/** What a task wants of its node. */
export type Wants = Pick<Placement, 'taskId' | 'resources' | 'ports' | 'cores' | 'devices' | 'volumes'>;

/** What an update in place gives back and takes: the differences, so that a node that holds too much may still be left as it is. */
export function differenceOf(before: Wants, after: Wants): { gives: Holding; takes: Holding } {
  const less: Record<string, number> = {};
  const more: Record<string, number> = {};
  for (const name of new Set([...Object.keys(before.resources), ...Object.keys(after.resources)])) {
    const change = amountOf(after.resources, name) - amountOf(before.resources, name);
    if (change < 0) less[name] = -change;
    if (change > 0) more[name] = change;
  }
  const [held, asked] = [claimsOf(before), claimsOf(after)];
  const { taskId } = after;
  return {
    gives: { taskId, resources: less, claims: claimsWithout(held, asked) },
    takes: { taskId, resources: more, claims: claimsWithout(asked, held) },
  };
}

/** What `before` still wants when it has given back what `after` does not want, and has taken nothing yet. */
export function leftOf(before: Wants, after: Wants): Omit<Wants, 'taskId'> {
  const wanted = claimsOf(after);
  const isKept = (part: Partial<Wants>) =>
    claimsWithout(claimsOf({ ports: [], cores: [], devices: [], volumes: [], ...part }), wanted).length === 0;
  const resources = Object.entries(before.resources)
    .map(([name, amount]) => [name, Math.min(amount, amountOf(after.resources, name))] as const)
    .filter(([, amount]) => amount > 0);
  return {
    resources: Object.fromEntries(resources),
    ports: before.ports.filter((port) => isKept({ ports: [port] })),
    cores: before.cores.filter((core) => isKept({ cores: [core] })),
    devices: before.devices.filter((device) => isKept({ devices: [device] })),
    volumes: before.volumes.filter((volume) => isKept({ volumes: [volume] })),
  };
}
