import type { Intercept } from '../../cases/scaler/world.ts';
import type { ObservedNode } from '../../lib/scaler/observation.ts';
import type { ObjectOutcome } from '../../lib/scaler/tick.ts';
import type { EpochMs } from '../../lib/time.ts';
import { ScalerBed } from './bed.ts';
import { MemoryRegistry } from './memory-registry.ts';

const MINUTE_MS = 60_000;

/** No call of the scaler comes to harm. */
export const untouched: Intercept = async (_, act) => act();

/** A pool of `nodes` nodes that is registered as pool `eu`, before its first tick. */
export function bedWith(nodes: number, replicas = nodes, config: Record<string, string> = {}) {
  const bed = new ScalerBed('eks', replicas);
  for (let at = 0; at < nodes; at++) bed.addNode();
  bed.extra = { config: { nodegroup: 'games', pool: 'eu', ...config } };
  const registry = new MemoryRegistry('eu');
  bed.registry = registry;
  return { bed, registry, eu: registry.nodesOf('eu') };
}

/** The same after a first tick, nothing of which is in the log. */
export async function registered(nodes: number, replicas = nodes, config: Record<string, string> = {}) {
  const all = bedWith(nodes, nodes, config);
  await all.bed.tick(untouched);
  all.bed.replicas = replicas;
  all.bed.takeLog();
  all.registry.takeCalls();
  return all;
}

export function pass(bed: ScalerBed, minutes = 1): void {
  bed.now = (bed.now + minutes * MINUTE_MS) as EpochMs;
}

/** What the conditions tell of the pool that is not as it should be. */
export function toldOf(outcome: ObjectOutcome | undefined): string {
  const degraded = outcome?.status.conditions.find(({ type }) => type === 'Degraded');
  return `${degraded?.reason}: ${degraded?.message}`;
}

/** A node of the same name with an identity of its own, as it is after somebody has made it again. */
export function another(name: string, fields: Partial<ObservedNode>): Partial<ObservedNode> {
  return { uid: `uid-${name}-again`, ...fields };
}
