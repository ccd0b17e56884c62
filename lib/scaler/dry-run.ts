import type { EpochMs } from '../time.ts';
import { CallError } from './call-error.ts';
import type { Ledger, ObservedNode } from './observation.ts';
import type { Cluster, LedgerStore, NodePatch, NodeRegistry, ObjectPorts, Provider } from './ports.ts';
import type { CronTimes } from './spec/cron-times.ts';
import { type ObjectOutcome, runTick, type TickObject } from './tick.ts';

/**
 * Ports that read what `ports` read and change nothing: each change is answered as if it had been made. A tick over them
 * tells what the next tick would do, by the same steps, looks right before a deed included.
 */
export function dryCluster(cluster: Cluster): Cluster {
  const patched = new Map<string, ObservedNode>();
  return {
    snapshot: () => cluster.snapshot(),
    podsOn: (node) => cluster.podsOn(node),
    listGameServers: () => cluster.listGameServers(),
    readGameServer: (server) => cluster.readGameServer(server),
    readNode: async (name) => patched.get(name) ?? cluster.readNode(name),
    patchNode: async (node, patch) => {
      const changed = withPatch(node, patch);
      patched.set(node.name, changed);
      return changed;
    },
    deleteGameServer: async () => undefined,
    deleteNode: async () => undefined,
  };
}

/** As `dryCluster`, for what one object has. The ledger is read once, and what is written to it is forgotten. */
export function dryObjectPorts(ports: ObjectPorts): ObjectPorts {
  return { ledger: dryLedger(ports.ledger), provider: (spec) => dryProvider(ports.provider(spec)) };
}

/** As `dryCluster`, for what Berth has of the nodes. Nobody can tell how many tasks would be orphaned. */
export function dryRegistry(registry: NodeRegistry): NodeRegistry {
  return {
    cluster: registry.cluster,
    read: (nodes) => registry.read(nodes),
    list: (pool) => registry.list(pool),
    register: async () => [],
    remove: async () => 0,
  };
}

function dryLedger(store: LedgerStore): LedgerStore {
  let now: Ledger | undefined;
  return {
    read: async () => {
      now ??= await store.read();
      return now;
    },
    write: async (next) => {
      now = { ...next, version: next.version + 1 };
      return now;
    },
  };
}

function dryProvider(provider: Provider): Provider {
  return {
    capabilities: provider.capabilities,
    validate: () => provider.validate(),
    describe: () => provider.describe(),
    inspect: () => provider.inspect(),
    locate: (instances) => provider.locate(instances),
    increase: async () => undefined,
    endMachine: async () => undefined,
  };
}

function withPatch(node: ObservedNode, { unschedulable, annotations }: NodePatch): ObservedNode {
  const merged = Object.entries({ ...node.annotations, ...annotations }).filter((entry) => entry[1] !== null);
  return {
    ...node,
    unschedulable: unschedulable ?? node.unschedulable,
    annotations: Object.fromEntries(merged) as Record<string, string>,
  };
}

/** An object as somebody means to apply it. */
export type AppliedObject = Pick<TickObject, 'name' | 'spec'>;

/**
 * The objects of a cluster as they are once `applied` has been applied: one of the same name gets the new spec and keeps its
 * age, and so the pool that it was the first to select; one that is new is younger than all that are there.
 */
export function withApplied(
  objects: readonly TickObject[],
  applied: readonly AppliedObject[],
  now: EpochMs,
): readonly TickObject[] {
  const there = new Map(objects.map((object) => [object.name, object]));
  const youngest = Math.max(now, ...objects.map(({ createdAt }) => createdAt + 1)) as EpochMs;
  for (const { name, spec } of applied) {
    there.set(name, { name, spec, createdAt: there.get(name)?.createdAt ?? youngest });
  }
  return [...there.values()];
}

/**
 * What a tick says of `objects` before it has asked anybody outside: `problems` are those of the objects themselves, two that
 * select one pool included; where there are none, the status says no more than that nothing was seen.
 */
export function judge(objects: readonly TickObject[], times: CronTimes): Promise<ObjectOutcome[]> {
  const unseen = async (): Promise<never> => {
    throw new CallError('refused', 'Offline', 'nothing outside is asked');
  };
  return runTick(objects, {
    cluster: {
      snapshot: unseen,
      readNode: unseen,
      podsOn: unseen,
      listGameServers: unseen,
      readGameServer: unseen,
      patchNode: unseen,
      deleteGameServer: unseen,
      deleteNode: unseen,
    },
    portsOf: () => ({
      // A tick reads it first, and goes no further without.
      ledger: { read: unseen, write: unseen },
      provider: () => ({
        capabilities: { readsSize: false, changesSize: false },
        validate: unseen,
        describe: unseen,
        inspect: unseen,
        locate: unseen,
        increase: unseen,
        endMachine: unseen,
      }),
    }),
    times,
    clock: () => 0 as EpochMs,
    deadline: Number.MAX_SAFE_INTEGER as EpochMs,
  });
}
