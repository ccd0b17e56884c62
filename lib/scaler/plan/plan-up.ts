import type { Pool, PoolNode } from '../pool/classes.ts';
import { byReturn } from '../pool/order.ts';
import type { Scene } from '../pool/scene.ts';
import { type Intent, NOTHING, type Part } from './intents.ts';

/** Brings nodes back and orders more while active and pending ones are fewer than `target`. */
export function planUp(scene: Scene, pool: Pool, target: number): Part {
  const active = pool.nodes.filter((one) => one.class === 'active');
  const need = target - active.length - pool.pending;
  if (need <= 0) return NOTHING;
  const returning = pool.nodes
    .filter((one) => mayReturn(one, scene))
    .sort(byReturn)
    .slice(0, need);
  const intents: Intent[] = returning.map((node) => ({ kind: 'uncordon', node }));
  const rest = need - returning.length;
  if (rest === 0) return { intents, findings: [] };
  if (!scene.capabilities.changesSize) return { intents, findings: [], beyondProvider: true };
  return planIncrease(scene, pool, rest, intents);
}

/** A node that is not ready adds no capacity, and one that is to be replaced would be cordoned again. */
function mayReturn({ class: of, node }: PoolNode, { replaceIneligible }: Scene): boolean {
  return of === 'draining' && node.ready && !(replaceIneligible && node.ineligible);
}

function planIncrease({ group, now }: Scene, pool: Pool, wanted: number, before: readonly Intent[]): Part {
  if (group === undefined) {
    const baseline = pool.nodes.map(({ node }) => node.uid);
    const entry = { count: pool.pending + wanted, since: now, baseline };
    return { intents: [...before, { kind: 'increase', order: { by: wanted, entry } }], findings: [] };
  }
  const by = Math.min(wanted, Math.max(0, group.max - group.desired));
  const short = wanted - by;
  return {
    intents: by === 0 ? before : [...before, { kind: 'increase', order: { by, from: group.desired } }],
    findings:
      short === 0
        ? []
        : [
            {
              reason: 'AtProviderMaximum',
              message: `${short} more ${short === 1 ? 'node is' : 'nodes are'} needed, and the group is at its maximum of ${group.max}: raise the maximum, or uncordon nodes that are held`,
            },
          ],
  };
}
