import type { Holding } from '../nodes/account.ts';
import { type ClaimKey, claimsOf, claimsWithout, coreKey, deviceKey, portKey, volumeKey } from '../nodes/claims.ts';
import { amountOf } from '../nodes/resources.ts';
import type { Placement } from './plan.ts';

/** What a task wants of its node. */
export type Wants = Pick<Placement, 'taskId' | 'resources' | 'ports' | 'cores' | 'devices' | 'volumes'>;

/** Keys of which `before` gives something up when it becomes `after`. */
function givenUpBy(before: Wants, after: Wants): Set<ClaimKey> {
  return new Set(claimsWithout(claimsOf(before), claimsOf(after)).map(({ key }) => key));
}

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
  // What is given up of a thing is given up whole and what stays of it taken anew: of two claims on one port, the one that
  // ignores collisions goes on holding it when the other is gone.
  const givenUp = givenUpBy(before, after);
  const added = new Set(claimsWithout(asked, held));
  const { taskId } = after;
  return {
    gives: { taskId, resources: less, claims: held.filter(({ key }) => givenUp.has(key)) },
    takes: { taskId, resources: more, claims: asked.filter((claim) => givenUp.has(claim.key) || added.has(claim)) },
  };
}

/** What `before` still wants when it has given back what `after` does not want, and has taken nothing yet. */
export function leftOf(before: Wants, after: Wants): Omit<Wants, 'taskId'> {
  const givenUp = givenUpBy(before, after);
  const resources = Object.entries(before.resources)
    .map(([name, amount]) => [name, Math.min(amount, amountOf(after.resources, name))] as const)
    .filter(([, amount]) => amount > 0);
  return {
    resources: Object.fromEntries(resources),
    ports: before.ports.filter(({ ip, value }) => !givenUp.has(portKey(ip, value))),
    cores: before.cores.filter((core) => !givenUp.has(coreKey(core))),
    devices: before.devices.filter((device) => !givenUp.has(deviceKey(device))),
    volumes: before.volumes.filter(({ source }) => !givenUp.has(volumeKey(source))),
  };
}
