import type { Ledger, ObservedNode } from './observation.ts';
import type { Cluster, LedgerStore, NodePatch, NodeRegistry, ObjectPorts, Provider } from './ports.ts';

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
