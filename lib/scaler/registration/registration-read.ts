import { type Answer, answerTo } from '../act/tick-context.ts';
import type { ClusterSnapshot, Group, RegisteredNode, Whereabouts } from '../observation.ts';
import { membershipOf, unknownInstances } from '../pool/membership.ts';
import type { NodeRegistry } from '../ports.ts';
import type { GameServerNodeSpec } from '../spec/spec.ts';
import { isMachineOf } from './registration-spec.ts';

/** What Berth has of the nodes of all pools that are registered there, asked for once in a tick. */
export interface RegistryView {
  readonly registry: NodeRegistry;
  readonly answer: Answer<ReadonlyMap<string, ReadonlyMap<string, RegisteredNode>>>;
  /** Nodes that were asked for, by pool. */
  readonly asked: ReadonlyMap<string, ReadonlySet<string>>;
}

interface PoolObject {
  readonly spec: GameServerNodeSpec;
  readonly group: Group | undefined;
}

/** Undefined: nothing of Berth is asked for, since no object names a pool of it. */
export async function readRegistry(
  registry: NodeRegistry | undefined,
  objects: readonly PoolObject[],
  snapshot: ClusterSnapshot,
): Promise<RegistryView | undefined> {
  const asked = new Map<string, Set<string>>();
  for (const { spec, group } of objects) {
    const { pool } = spec.config;
    if (pool === undefined) continue;
    const names = asked.get(pool) ?? new Set();
    for (const name of candidatesOf(snapshot, spec, group)) names.add(name);
    asked.set(pool, names);
  }
  if (registry === undefined || asked.size === 0) return undefined;
  const nodes = new Map([...asked].map(([pool, names]) => [pool, [...names]]));
  return { registry, asked, answer: await answerTo(() => registry.read(nodes)) };
}

/** Nodes that may be of the pool: where machines are that are not in the group is not known yet. */
function candidatesOf(snapshot: ClusterSnapshot, spec: GameServerNodeSpec, group: Group | undefined): string[] {
  const unknown = group === undefined ? [] : unknownInstances(snapshot.nodes, spec, group);
  const whereabouts = new Map(unknown.map((instance): [string, Whereabouts] => [instance, 'gone']));
  const selection = { spec, whereabouts, ...(group ? { group } : {}) };
  return snapshot.nodes.filter((node) => membershipOf(node, selection).kind === 'member').map(({ name }) => name);
}

/** `snapshot` as an object sees it: with the nodes that Berth has made ineligible. Where nobody can tell, none is. */
export function withEligibility(
  snapshot: ClusterSnapshot,
  spec: GameServerNodeSpec,
  view: RegistryView | undefined,
): ClusterSnapshot {
  const known = view?.answer.ok ? view.answer.value.get(spec.config.pool ?? '') : undefined;
  if (view === undefined || known === undefined) return snapshot;
  const nodes = snapshot.nodes.map((node) => {
    const registered = known.get(node.name);
    // What befell another machine of that name says nothing of this one.
    const counts = registered?.ineligible && isMachineOf(registered, node);
    return counts ? { ...node, ineligible: true } : node;
  });
  return { ...snapshot, nodes };
}
