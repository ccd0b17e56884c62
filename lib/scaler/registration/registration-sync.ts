import type { TickContext } from '../act/tick-context.ts';
import type { Pool } from '../pool/classes.ts';
import type { Scene } from '../pool/scene.ts';
import type { NodeRegistry } from '../ports.ts';
import { failed } from './registration.ts';
import { inTime, PoolSync } from './registration-pool.ts';
import type { RegistryView } from './registration-read.ts';

const NAMED_NO_MORE = 'which the object names no more: no other pool gets them before';

/** What the nodes of a pool are brought in line with, after the deeds of a tick. */
export interface Synced {
  readonly scene: Scene;
  readonly pool: Pool;
  /** What was read of Berth before the deeds; undefined: no object of the cluster names a pool. */
  readonly view: RegistryView | undefined;
  /** Undefined: the caller has none. */
  readonly registry: NodeRegistry | undefined;
}

/**
 * Brings what Berth has of a pool's nodes in line with what is there after the deeds of a tick. Whatever fails here is
 * told, holds up no machine, and is made good by the next tick.
 *
 * Nodes that are gone can only be found by reading all of the pool of Berth. The ledger has a digest of all that may be
 * registered, so that it is read only where a node came or went; the digest is taken out before that is written, so that
 * after a tick that dies in between all is read once more.
 */
export async function syncRegistration(context: TickContext, synced: Synced): Promise<void> {
  const wanted = synced.scene.spec.config.pool;
  const last = context.ledger.registration;
  if (wanted === undefined && last === undefined) return;
  if (synced.registry === undefined) {
    context.findings.push(failed('nodes cannot be registered with Berth from here'));
    return;
  }
  if (!inTime(context)) return;
  const { snapshot, group } = synced.scene;
  const locate = (instances: readonly string[]) => context.provider.locate(instances);
  const scene = { snapshot, locate, ...(group === undefined ? {} : { group }) };
  const one = new PoolSync(context, scene, synced.registry);
  if (last !== undefined && last.pool !== wanted && !(await one.leave(last.pool, NAMED_NO_MORE))) return;
  if (wanted !== undefined && synced.view !== undefined) await one.bring(wanted, synced.pool, synced.view);
}
