import type { Clock, EpochMs } from '../../time.ts';
import type { Report } from '../act/report.ts';
import { answerTo, note, type ObjectContext } from '../act/tick-context.ts';
import type { Ledger, Whereabouts } from '../observation.ts';
import type { Cluster, LedgerStore, NodeRegistry } from '../ports.ts';
import { failed } from './registration.ts';
import { inTime, PoolSync } from './registration-pool.ts';

/** An object that is gone, and whose nodes are registered with Berth still. */
export interface RegisteredOrphan {
  readonly object: string;
  readonly ledger: Ledger;
}

export interface OrphanPorts {
  readonly cluster: Cluster;
  ledgerOf(object: string): LedgerStore;
  /** As `ReachedCluster` has it. */
  locate(instances: readonly string[]): Promise<ReadonlyMap<string, Whereabouts>>;
  readonly registry: NodeRegistry | undefined;
  readonly clock: Clock;
  readonly deadline: EpochMs;
}

/** What a tick came to for an object that is gone. */
export interface OrphanOutcome {
  readonly name: string;
  readonly report: Report;
}

/**
 * Takes the nodes of objects that are gone out of Berth, as those of a pool that an object names no more: drained, and
 * removed once no task holds them, or once their machine has ended. Then the ledger has nothing of it any more. Asks for
 * nothing if there are none; without a whole snapshot of the cluster nothing is changed.
 */
export async function leaveOrphans(orphans: readonly RegisteredOrphan[], ports: OrphanPorts): Promise<OrphanOutcome[]> {
  if (orphans.length === 0) return [];
  const contexts = orphans.map((orphan) => contextOf(orphan, ports));
  await leaveAll(contexts, ports);
  return contexts.map(({ object, deeds, errors, findings, outOfTime }) => ({
    name: object,
    report: { deeds, errors, findings, outOfTime },
  }));
}

async function leaveAll(contexts: readonly ObjectContext[], { cluster, registry, locate }: OrphanPorts): Promise<void> {
  if (registry === undefined) {
    for (const { findings } of contexts) findings.push(failed('nodes cannot be taken out of Berth from here'));
    return;
  }
  // Of each: who is out of time says so.
  const timely = contexts.filter(inTime);
  if (timely.length === 0) return;
  const snapshot = await answerTo(() => cluster.snapshot());
  for (const context of timely) {
    const { registration } = context.ledger;
    if (!snapshot.ok) note(context, 'read', 'cluster', snapshot.error);
    else if (registration !== undefined && inTime(context)) {
      const scene = { snapshot: snapshot.value, locate };
      await new PoolSync(context, scene, registry).leave(registration.pool, 'whose object is gone');
    }
  }
}

function contextOf({ object, ledger }: RegisteredOrphan, ports: OrphanPorts): ObjectContext {
  const { cluster, clock, deadline } = ports;
  return {
    ...{ object, cluster, clock, deadline, ledger },
    ledgerStore: ports.ledgerOf(object),
    ...{ deeds: [], errors: [], findings: [] },
    throttled: new Set(),
    halted: false,
    outOfTime: false,
  };
}
